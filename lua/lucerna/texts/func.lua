-- Examples of lucerna.func and autograd.functional; their texts are the comments in the files.
return { title = "Transformations of functions",
{"func.vmap", [=[
Every operator can be mapped over; those without a rule of their own (src/ops/ops.def) run sample
by sample. What reads values (item, tolist, nonzero, x[mask]) is refused, and so is a write of
mapped values into a tensor that is not mapped. To Lua's `if` every tensor is true: choose with
lucerna.where.
> local dots = lucerna.func.vmap(function(a, b) return a:dot(b) end)
> dots(lucerna.ones(4, 3), lucerna.ones(4, 3))    -- [4]
> local scaled = lucerna.func.vmap(lucerna.mul, {2, lucerna.none}, {out_dims = 2})
> scaled(lucerna.ones(3, 4), lucerna.ones(3))    -- [3, 4]]=]},
{"func.grad", [=[
> local f = function(w, x) return w:dot(x):sin() end
> lucerna.func.grad(f)(lucerna.ones(2), lucerna.ones(2))    -- [2]
> local each = lucerna.func.vmap(lucerna.func.grad(f), {lucerna.none, 1})
> each(lucerna.ones(2), lucerna.rand(5, 2))    -- [5, 2]: a gradient for every sample]=]},
{"func.grad_and_value", [=[
> local d, y = lucerna.func.grad_and_value(function(x) return x:sum() end)(lucerna.ones(2))]=]},
{"func.vjp", [=[
> local y, pull = lucerna.func.vjp(lucerna.sin, lucerna.ones(3))
> local d = pull(lucerna.ones(3))]=]},
{"func.jvp", [=[
> local y, d = lucerna.func.jvp(lucerna.sin, {lucerna.ones(3)}, {lucerna.ones(3)})]=]},
{"func.linearize", [=[
> local y, push = lucerna.func.linearize(lucerna.sin, lucerna.ones(3))
> local d = push(lucerna.ones(3))]=]},
{"func.jacrev func.jacfwd", [=[
> local j = lucerna.func.jacrev(function(x) return x * x end)(lucerna.ones(3))    -- [3, 3]]=]},
{"func.hessian", [=[
> local h = lucerna.func.hessian(function(x) return x:pow(3):sum() end)(lucerna.ones(2))]=]},
{"func.stack_module_state", [=[
> local nets = {nn.Linear(2, 1), nn.Linear(2, 1)}
> local params, buffers = lucerna.func.stack_module_state(nets)
> local call = function(p, b, x) return lucerna.func.functional_call(nets[1], {p, b}, x) end
> local all = lucerna.func.vmap(call, {1, 1, lucerna.none})
> all(params, buffers, lucerna.ones(3, 2))    -- [2, 3, 1]]=]},
{"func.replace_all_batch_norm_modules_", [=[
> local net = lucerna.func.replace_all_batch_norm_modules_(nn.BatchNorm1d(2))]=]},
{"autograd.functional.vjp autograd.functional.jvp", [=[
> local y, d = lucerna.autograd.functional.vjp(lucerna.sin, lucerna.ones(3), lucerna.ones(3))]=]},
{"autograd.functional.jacobian", [=[
> local j = lucerna.autograd.functional.jacobian(lucerna.sin, lucerna.ones(3))    -- [3, 3]]=]},
{"autograd.functional.hessian autograd.functional.vhp autograd.functional.hvp", [=[
> local f = function(x) return (x ^ 3):sum() end
> local h = lucerna.autograd.functional.hessian(f, lucerna.ones(2))    -- [2, 2]
> local y, hv = lucerna.autograd.functional.hvp(f, lucerna.ones(2), lucerna.ones(2))]=]},
}
