-- What a tensor is, its memory, its gradient.
return { title = "A tensor itself",
{"tensor.shape tensor.ndim", "The sizes, a table (#x is the first of them); how many."},
{"tensor.dtype tensor.device tensor.layout", "What an element is; where it is, 'cpu'; 'strided'."},
{"tensor.is_cpu tensor.is_cuda tensor.is_meta tensor.is_sparse tensor.is_quantized", [=[
Is it on the CPU (always)? On a device, without memory, sparse, quantized (never)?]=]},
{"tensor.itemsize tensor.nbytes", "Bytes of an element; of all."},
{"tensor.data", "The same memory without its history; x.data = y gives x the memory of y."},
{"tensor.requires_grad tensor.is_leaf", [=[
Are its gradients computed? Is it no result of operators that were recorded? x.requires_grad = true
may be assigned to leaves.]=]},
{"tensor.grad tensor.retains_grad", [=[
The gradient that backward added up, or nil; x.grad = nil drops it. Only leaves have one, and what
retain_grad() was called of, which retains_grad tells.]=]},
{"tensor.grad_fn tensor.output_nr", [=[
The node of the graph that made it (nil for a leaf): grad_fn:name(), grad_fn.next_functions, hooks.
Which of the node's results it is, from 1.]=]},
{"tensor.T tensor.mT tensor.H tensor.mH", [=[
Views: all dimensions turned round; the last two exchanged; both conjugated.]=]},
{"tensor.real tensor.imag", [=[
The two parts of a complex tensor, views of its memory; x.real = y writes there.]=]},
{"size", "The sizes as a table, or that of dim; x.shape and #x too."},
{"stride storage_offset", [=[
Steps in elements between neighbours (of dim); where it begins in its storage.]=]},
{"dim ndimension", "The number of dimensions."},
{"numel nelement", "The number of elements."},
{"resize resize_as", [=[
In place: another size over the same memory without gaps; elements beyond it are arbitrary, and in
new memory that views do not see.
> local x = lucerna.arange(6):resize_(2, 2)    -- 0 1, 2 3]=]},
{"set", "set_(source): sees the memory of source; without it, no elements."},
{"apply map", [=[
In place: every element (and that of another tensor) through a Lua function. Slow; for odd cases.
> local x = lucerna.arange(3):apply_(function(v) return v * v end)]=]},
{"is_pinned pin_memory", "Memory pinned for a device: never, and an error, on the CPU."},
{"element_size", "Bytes of an element."},
{"data_ptr", "The address of the first element, an integer."},
{"set_printoptions", [=[
How tensors are printed: digits (precision, 4), from how many elements on only edgeitems (3) at each
end are shown (threshold, 1000), the width of lines (linewidth, 80), always or never in scientific
notation (sci_mode). profile: 'default', 'short' or 'full'.
> lucerna.set_printoptions{precision = 2}
> assert(tostring(lucerna.tensor{0.125, 1.5}) == "tensor([0.12, 1.50])")
> lucerna.set_printoptions{profile = "default"}]=]},
{"tostring", [=[
The printed text; tostring("raw") gives the bytes of the elements, in order, as a string. frombuffer
reads them back.
> local bytes = lucerna.tensor({1, 2}, {dtype = lucerna.int16}):tostring("raw")
> assert(bytes == string.pack("<i2i2", 1, 2))]=]},
{"frombuffer", [=[
A tensor of one dimension from bytes: count elements (-1: all) of dtype that begin after offset
bytes. A string is copied, since strings never change. A userdata that is plain memory (without a
finalizer) is used in place and kept alive; what a light userdata points to, length bytes or count
elements, is used in place and must stay as long as the tensor. Booleans are copied: any byte but 0
is true.
> local x = lucerna.frombuffer(string.pack("<fff", 1, 2, 3), {dtype = lucerna.float32})
> assert(x[3]:item() == 3)]=]},
{"to_dlpack", [=[
The tensor for another library, which sees the same memory: a capsule, that is a userdata named
"dltensor" (x:__dlpack__{max_version = {1, 0}}: "dltensor_versioned") whose block is a pointer to a
DLManagedTensor. Who takes it sets the pointer to NULL. The protocol's methods, x:__dlpack__{...}
and x:__dlpack_device__(), are there too.
> local capsule = lucerna.to_dlpack(lucerna.ones(3))]=]},
{"from_dlpack", [=[
A tensor over another library's memory: of a capsule, of an object with a method __dlpack__, or of a
light userdata, a DLManagedTensor (with versioned, a DLManagedTensorVersioned). copy = true copies,
false refuses what must be copied; else it copies where it must, as from memory that is read only.
> local x = lucerna.zeros(2)
> local _ = lucerna.from_dlpack(x):fill_(1)
> assert(x:sum():item() == 2)]=]},
{"item", "The one element as a number or boolean; more are refused."},
{"tolist", "Nested tables of numbers."},
{"get_device", "The number of its CUDA device, -1 on the CPU."},
{"backward autograd.backward", [=[
Gradients of the tensor by all leaves, added to their grad. One that is not a number needs gradient,
of its shape. retain_graph keeps the graph for another pass, create_graph makes one of this pass.
inputs: the leaves that are to get gradients, and no others.
> local x = lucerna.tensor{2.0, 3.0}:requires_grad_()
> local _ = (x * x):sum():backward()
> assert(x.grad[1]:item() == 4)]=]},
{"requires_grad", "requires_grad_(flag = true): should gradients be computed? In place."},
{"retain_grad", "Keeps the gradient of what is computed, in grad."},
{"register_hook", [=[
f(grad) runs when the gradient is known; what it returns, if not nil, replaces it. A grad_fn has
hooks of its own: register_hook(f) calls f(grad_input, grad_output) after it, register_prehook(f)
f(grad_output) before it, with packed tables; what f returns is taken instead.
> local x = lucerna.ones(2):requires_grad_()
> local handle = x:register_hook(function(grad) return grad * 2 end)]=]},
{"register_post_accumulate_grad_hook", [=[
f(x) runs when the gradient has been added to the leaf's grad.]=]},
{"release", "Gives the memory back at once; the tensor cannot be used any more."},
}
