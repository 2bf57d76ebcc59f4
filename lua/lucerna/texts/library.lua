-- The library's own settings, and gradients of functions.
return { title = "The library",
{"get_default_dtype set_default_dtype", "The dtype of what is made of floats: float32 unless set."},
{"get_num_threads set_num_threads", "How many threads compute; results do not depend on it."},
{"is_winograd_enabled set_winograd_enabled", [=[
May 3 x 3 convolutions of float32 go by Winograd's minimal filtering? They do unless it is set to
false: several times faster, with errors of 1e-5 of the output's scale instead of 1e-6. (Lavin and
Gray 2015, Fast Algorithms for Convolutional Neural Networks.)]=]},
{"set_memory_limit", [=[
set_memory_limit(bytes): an allocation beyond fails with an error; 0: no limit.]=]},
{"memory trim_memory", "Bytes held and cached, as a table; gives cached memory back."},
{"clock", "A monotonic clock, in seconds."},
{"device", "device(name): a device, 'cpu' or 'cuda:0'."},
{"is_grad_enabled is_inference_mode_enabled", "Are operations recorded? Is inference mode on?"},
{"cuda.is_available cuda.device_count", "Did this build find CUDA devices? How many?"},
{"idx_load", "The tensor of an IDX file (MNIST's format), gzipped or not."},
{"is_tensor", "Is it a tensor? A boolean."},
{"scope", [=[
scope(f, ...): releases at its end every tensor that f made and does not return.
> local y = lucerna.scope(function()
>   local big = lucerna.ones(1000)
>   return big:sum()
> end)]=]},
{"no_grad", [=[
> local y = lucerna.no_grad(function() return lucerna.ones(2):requires_grad_() * 2 end)
> assert(not y.requires_grad)]=]},
{"autograd.grad", [=[
The gradients of outputs by inputs, one result for each input, without touching grad. allow_unused
gives nil for an input that is not used. create_graph: gradients that can be differentiated again.
> local x = lucerna.tensor(3.0):requires_grad_()
> local g = lucerna.autograd.grad(x * x, x)    -- 6]=]},
{"autograd.Function", [=[
> local Exp = lucerna.autograd.Function("Exp", {
>   forward = function(ctx, x)
>     local y = x:exp()
>     ctx:save_for_backward(y)
>     return y
>   end,
>   backward = function(ctx, g) return g * ctx.saved_tensors[1] end,
> })
> local y = Exp.apply(lucerna.ones(2):requires_grad_())]=]},
}
