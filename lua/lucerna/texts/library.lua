-- The library's own settings, and gradients of functions.
return { title = "The library",
{"get_default_dtype set_default_dtype", "The dtype of what is made of floats: float32 unless set."},
{"get_num_threads set_num_threads", "How many threads compute; results do not depend on it."},
{"set_flush_denormal", [=[
set_flush_denormal(mode): true makes denormal floats (below 1.2e-38, doubles below 2.2e-308) zeros
to this thread, Lua's own numbers included, and to those that compute for it; false, as at first,
keeps them. Intel's cores take some 150 cycles for each, which a net that has learnt everything
meets. Returns whether the machine can.]=]},
{"is_winograd_enabled set_winograd_enabled", [=[
May 3 x 3 and 5 x 5 convolutions of float32, and those of three dimensions with such kernels in the
last two, go by Winograd's minimal filtering? They do unless it is set to false: several times
faster, with errors of 1e-5 of the output's scale instead of 1e-6. (Lavin and
Gray 2015, Fast Algorithms for Convolutional Neural Networks.)]=]},
{"set_memory_limit", [=[
set_memory_limit(bytes): an allocation beyond fails with an error; 0: no limit.]=]},
{"memory trim_memory", [=[
A table of bytes: live, peak (the most so far), cached (kept for reuse), limit (0: none), pace (live
bytes from which creating tensors pays for garbage collection); gives what is cached back.]=]},
{"profiler.Profile", [=[
What profiler.profile gives. Methods: start, stop, events, key_averages, table, chrome_trace,
export_chrome_trace.]=]},
{"profiler.profile", [=[
> local net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
> local prof, y = lucerna.profiler.profile(net, lucerna.rand(2, 8))
> print(prof:table({ sort_by = "cpu_time_total", row_limit = 5 }))
> local json = prof:chrome_trace()    -- or prof:export_chrome_trace(path)]=]},
{"clock", "A monotonic clock, in seconds."},
{"device", "device(name, index): a device, 'cpu' or 'cuda:0'."},
{"is_grad_enabled is_inference_mode_enabled is_anomaly_enabled", [=[
Are operations recorded? Is inference mode on? Does backward look for NaN?]=]},
{"cuda.is_available cuda.device_count", "Did this build find CUDA devices? How many?"},
{[=[
backends.cuda.is_available backends.cuda.is_built backends.cudnn.is_available
backends.cudnn.is_built backends.mps.is_available backends.mps.is_built]=],
  "Is this library of PyTorch's here? Scripts ask before they choose a device. None is."},
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
{"autocast", [=[
> local net = lucerna.nn.Linear(4, 2)
> local y = lucerna.autocast({dtype = lucerna.bfloat16}, net, lucerna.ones(3, 4))
> assert(y.dtype == lucerna.bfloat16)
> do
>   local _ <close> = lucerna.autocast("cpu")
>   net(lucerna.ones(3, 4)):sum():backward()
> end
> assert(net.weight.grad.dtype == lucerna.float32)]=]},
{"clear_autocast_cache", "Forgets the casts of weights that the running region keeps."},
{"amp.GradScaler", [=[
GradScaler([device,] {init_scale=65536, growth_factor=2, backoff_factor=0.5, growth_interval=2000,
enabled=true}): multiplies losses by a factor that gradients are divided by again before a step, so
that those of float16 do not vanish. A step whose gradients are not finite is left out and makes the
factor smaller; growth_interval steps without one make it larger.
> local net = lucerna.nn.Linear(4, 2)
> local optimizer = lucerna.optim.SGD(net:parameters(), {lr = 0.1})
> local scaler = lucerna.amp.GradScaler()
> local loss = lucerna.autocast({dtype = lucerna.float16}, net, lucerna.ones(3, 4)):float():mean()
> scaler:scale(loss):backward()
> scaler:step(optimizer)
> scaler:update()]=]},
{"amp.custom_fwd amp.custom_bwd", [=[
> local Square = lucerna.autograd.Function("Square", {
>   forward = lucerna.amp.custom_fwd(function(ctx, x)
>     ctx:save_for_backward(x)
>     return x * x
>   end, {cast_inputs = lucerna.float32}),
>   backward = lucerna.amp.custom_bwd(function(ctx, g) return 2 * g * ctx.saved_tensors[1] end),
> })
> local y = Square.apply(lucerna.ones(2):requires_grad_())]=]},
{"autograd.grad", [=[
> local x = lucerna.tensor{1.0, 2.0}:requires_grad_()
> local g = lucerna.autograd.grad((x * x):sum(), x)    -- 2 4
> local rows = lucerna.autograd.grad(x * x, x, {grad_outputs = lucerna.eye(2),
>   is_grads_batched = true})    -- the Jacobian [2, 2]]=]},
{"autograd.graph.saved_tensors_hooks", [=[
> local graph, x = lucerna.autograd.graph, lucerna.randn(4):requires_grad_()
> local y = graph.saved_tensors_hooks(function(t) return t:half() end,
>   function(t) return t:float() end, function() return x:sin():sum() end)
> y:backward()    -- by cosines of halves]=]},
{"autograd.graph.register_multi_grad_hook", [=[
> local a = lucerna.ones(2):requires_grad_()
> local b = lucerna.ones(2):requires_grad_()
> local handle = lucerna.autograd.graph.register_multi_grad_hook({a, b}, function(grads)
>   assert(grads.n == 2 and grads[1]:equal(b))
> end)
> local loss = (a * b):sum()
> loss:backward()
> handle:remove()]=]},
{"autograd.graph.allow_mutation_on_saved_tensors", [=[
> local graph, x = lucerna.autograd.graph, lucerna.ones(2):requires_grad_()
> graph.allow_mutation_on_saved_tensors(function()
>   local y = x * 3
>   local z = y:pow(2):sum()
>   y:zero_()
>   z:backward()    -- by the y before
> end)]=]},
{"utils.checkpoint.checkpoint utils.checkpoint.checkpoint_sequential", [=[
> local net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
> local x = lucerna.randn(8, 4)
> lucerna.utils.checkpoint.checkpoint(net, x):sum():backward()
> lucerna.utils.checkpoint.checkpoint_sequential(net, 2, x):sum():backward()]=]},
{"utils.checkpoint.set_checkpoint_early_stop", [=[
> local checkpoint, net, x = lucerna.utils.checkpoint, nn.Linear(4, 1), lucerna.randn(8, 4)
> checkpoint.set_checkpoint_early_stop(false, function()
>   checkpoint.checkpoint(net, x):sum():backward()
> end)]=]},
{"autograd.detect_anomaly", [=[
> local x = lucerna.zeros(2):requires_grad_()
> local ok, message = pcall(lucerna.autograd.detect_anomaly, function()
>   (x:sqrt() * 0):sum():backward()    -- 0 * inf
> end)
> assert(not ok and message:find("SqrtBackward0"))]=]},
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
{"autograd.once_differentiable", [=[
> local Half = lucerna.autograd.Function("Half", {
>   forward = function(ctx, x) return x / 2 end,
>   backward = lucerna.autograd.once_differentiable(function(ctx, g)
>     return lucerna.tensor(g:item() / 2)    -- through a number, which no graph knows
>   end),
> })
> local x = lucerna.tensor(3.0):requires_grad_()
> Half.apply(x):backward()]=]},
}
