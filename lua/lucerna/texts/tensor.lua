-- What a tensor is, its memory, its gradient.
return { title = "A tensor itself",
{"size", "The sizes as a table, or that of dim; x.shape and #x too."},
{"stride storage_offset", [=[
Steps in elements between neighbours (of dim); where it begins in its storage.]=]},
{"dim ndimension", "The number of dimensions."},
{"numel nelement", "The number of elements."},
{"element_size", "Bytes of an element."},
{"data_ptr", "The address of the first element."},
{"item", "The one element as a number or boolean; more are refused."},
{"tolist", "Nested tables of numbers."},
{"get_device", "The number of its CUDA device, -1 on the CPU."},
{"backward autograd.backward", [=[
Gradients of the tensor by all leaves, added to their grad. One that is not a number needs gradient,
of its shape. retain_graph keeps the graph for another pass, create_graph makes one of this pass.
> local x = lucerna.tensor{2.0, 3.0}:requires_grad_()
> local _ = (x * x):sum():backward()
> assert(x.grad[1]:item() == 4)]=]},
{"requires_grad", "requires_grad_(flag = true): should gradients be computed? In place."},
{"retain_grad", "Keeps the gradient of what is computed, in grad."},
{"register_hook", [=[
f(grad) runs when the gradient is known; what it returns, if not nil, replaces it.
> local x = lucerna.ones(2):requires_grad_()
> local handle = x:register_hook(function(grad) return grad * 2 end)]=]},
{"register_post_accumulate_grad_hook", [=[
f(x) runs when the gradient has been added to the leaf's grad.]=]},
{"release", "Gives the memory back at once; the tensor cannot be used any more."},
}
