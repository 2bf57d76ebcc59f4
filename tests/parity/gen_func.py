"""Records what torch.func (functorch, in 1.13) and torch.autograd.functional answer, into
data/func.lua: pairs of the same few lines in Lua and in Python. What is newer than 1.13 (linearize,
chunk_size) is written out in what it has.

Run with /usr/bin/python3."""
import functorch as ft
import torch
import torch.nn.functional as F
from torch.autograd import functional

from record import answer, save

cases = []


def flat(v):
    if isinstance(v, (list, tuple)):
        return [leaf for item in v for leaf in flat(item)]
    if isinstance(v, dict):
        return [leaf for key in sorted(v) for leaf in flat(v[key])]
    return [v]


def case(topic, name, source, python):
    results = flat(python())
    cases.append('{topic="%s", name="%s", lua=[==[\n%s]==],\n out={%s}}' % (
        topic, name, source.strip(), ", ".join(map(answer, results))))


def x(*shape):
    n = torch.Size(shape).numel()
    return ((torch.arange(n, dtype=torch.float64) * 7 % 11) * 0.25 - 1).reshape(shape)


def f(a):
    return (a.sin() * a).sum()


def g(a, b):
    return torch.tanh(a @ b) * 2


def two(a, b):
    return a * b, (a + b).exp().sum()


def grads():
    case("grad", "grad", "return func.grad(f)(x(4))", lambda: ft.grad(f)(x(4)))
    case("grad", "grad, second argument",
         "return func.grad(function(a, b) return g(a, b):sum() end, 2)(x(2, 3), x(3))",
         lambda: ft.grad(lambda a, b: g(a, b).sum(), 1)(x(2, 3), x(3)))
    case("grad", "grad, both arguments", """
local d = func.grad(function(a, b) return g(a, b):sum() end, {1, -1})(x(2, 3), x(3))
return d[1], d[2]""", lambda: ft.grad(lambda a, b: g(a, b).sum(), (0, 1))(x(2, 3), x(3)))
    case("grad", "grad of a table", """
local d = func.grad(function(p) return (p.w:matmul(p.b) * p.b:sum()):sum() end)(
  {w = x(2, 3), b = x(3)})
return d.b, d.w""", lambda: ft.grad(lambda p: ((p["w"] @ p["b"]) * p["b"].sum()).sum())(
        {"w": x(2, 3), "b": x(3)}))
    case("grad", "grad with aux", """
local d, aux = func.grad(function(a) return f(a), a * 2 end, {has_aux = true})(x(4))
return d, aux""", lambda: ft.grad(lambda a: (f(a), a * 2), has_aux=True)(x(4)))
    case("grad", "grad_and_value", "return func.grad_and_value(f)(x(4))",
         lambda: ft.grad_and_value(f)(x(4)))
    case("grad", "grad_and_value with aux", """
local d, both = func.grad_and_value(function(a) return f(a), a * 2 end, {has_aux = true})(x(4))
return d, both[1], both[2]""",
         lambda: ft.grad_and_value(lambda a: (f(a), a * 2), has_aux=True)(x(4)))
    case("grad", "grad of grad of grad", """
local function h(a) return (a * a):sin() end
return func.grad(func.grad(func.grad(h)))(x(1)[1])""",
         lambda: ft.grad(ft.grad(ft.grad(lambda a: (a * a).sin())))(x(1)[0]))
    case("grad", "no_grad inside counts, outside does not", """
local inside = func.grad(function(a)
  local c = lucerna.no_grad(function() return a * a end)
  return (a * c):sum()
end)(x(3))
local outside = lucerna.no_grad(function() return func.grad(f)(x(3)) end)
return inside, outside""", lambda: no_grads())


def no_grads():
    def inside(a):
        with torch.no_grad():
            c = a * a
        return (a * c).sum()
    with torch.no_grad():
        outside = ft.grad(f)(x(3))
    return ft.grad(inside)(x(3)), outside


def products():
    def vjp():
        out, pull = ft.vjp(two, x(3), x(3) * 2)
        return out, pull((x(3), torch.tensor(0.5, dtype=torch.float64)))
    case("vjp", "vjp", """
local out, pull = func.vjp(two, x(3), x(3) * 2)
local da, db = pull({x(3), lucerna.tensor(0.5, {dtype = lucerna.float64})})
return out[1], out[2], da, db""", vjp)
    def vjp_aux():
        out, pull, aux = ft.vjp(lambda a: (a.sin(), a * 3), x(3), has_aux=True)
        return out, pull(x(3)), aux
    case("vjp", "vjp with aux", """
local out, pull, aux = func.vjp(function(a) return a:sin(), a * 3 end, x(3), {has_aux = true})
return out, pull(x(3)), aux""", vjp_aux)
    case("jvp", "jvp", """
local out, d = func.jvp(g, {x(2, 3), x(3)}, {x(2, 3) * 2, x(3) - 1})
return out, d""", lambda: ft.jvp(g, (x(2, 3), x(3)), (x(2, 3) * 2, x(3) - 1)))
    case("jvp", "jvp of several", """
local out, d = func.jvp(two, {x(3), x(3) * 2}, {x(3) + 1, x(3)})
return out[1], out[2], d[1], d[2]""", lambda: ft.jvp(two, (x(3), x(3) * 2), (x(3) + 1, x(3))))
    case("jvp", "linearize", """
local out, push = func.linearize(g, x(2, 3), x(3))
return out, push(x(2, 3) * 2, x(3) - 1), push(x(2, 3), x(3))""", lambda: (
        ft.jvp(g, (x(2, 3), x(3)), (x(2, 3) * 2, x(3) - 1)),
        ft.jvp(g, (x(2, 3), x(3)), (x(2, 3), x(3)))[1]))
    case("jvp", "jvp of jvp", """
local function d(a) return (select(2, func.jvp(function(b) return b:sin() end, {a}, {x(3)}))) end
return (select(2, func.jvp(d, {x(3)}, {x(3) + 1})))""", lambda: ft.jvp(
        lambda a: ft.jvp(torch.sin, (a,), (x(3),))[1], (x(3),), (x(3) + 1,))[1])


def jacobians():
    for name in ["jacrev", "jacfwd"]:
        t = getattr(ft, name)
        case("jacobian", name, "return func.%s(g)(x(2, 3), x(3, 2))" % name,
             lambda: t(g)(x(2, 3), x(3, 2)))
        case("jacobian", name + ", second argument", "return func.%s(g, 2)(x(2, 3), x(3))" % name,
             lambda: t(g, 1)(x(2, 3), x(3)))
        case("jacobian", name + ", several results and arguments", """
local j = func.%s(two, {1, 2})(x(3), x(3) * 2)
return j[1][1], j[1][2], j[2][1], j[2][2]""" % name, lambda: t(two, (0, 1))(x(3), x(3) * 2))
        case("jacobian", name + " with aux", """
local j, aux = func.%s(function(a) return a:sin(), a:sum() end, {has_aux = true})(x(3))
return j, aux""" % name, lambda: t(lambda a: (a.sin(), a.sum()), has_aux=True)(x(3)))
    case("jacobian", "jacrev in chunks", """
return func.jacrev(g, {chunk_size = 3})(x(2, 3), x(3, 2))""",
         lambda: ft.jacrev(g)(x(2, 3), x(3, 2)))
    case("jacobian", "hessian", "return func.hessian(f)(x(3))", lambda: ft.hessian(f)(x(3)))
    case("jacobian", "hessian of vectors", """
return func.hessian(function(a) return a:sin() * a:sum() end)(x(3))""",
         lambda: ft.hessian(lambda a: a.sin() * a.sum())(x(3)))
    case("jacobian", "hessian, two arguments", """
local h = func.hessian(function(a, b) return g(a, b):sum() end, {1, 2})(x(2, 3), x(3))
return h[1][1], h[1][2], h[2][1], h[2][2]""",
         lambda: ft.hessian(lambda a, b: g(a, b).sum(), (0, 1))(x(2, 3), x(3)))
    case("jacobian", "jacfwd of jacrev, jacrev of jacfwd", """
return func.jacfwd(func.jacrev(f))(x(3)), func.jacrev(func.jacfwd(f))(x(3))""",
         lambda: (ft.jacfwd(ft.jacrev(f))(x(3)), ft.jacrev(ft.jacfwd(f))(x(3))))


def maps():
    case("vmap", "vmap", """
return func.vmap(function(a, b) return a:dot(b) end)(x(4, 3), x(4, 3) + 1)""",
         lambda: ft.vmap(torch.dot)(x(4, 3), x(4, 3) + 1))
    case("vmap", "in_dims and out_dims", """
return func.vmap(function(a, b) return a * b end, {2, lucerna.none}, 2)(x(2, 3), x(2)),
  func.vmap(function(a) return a:sum(1) end, {in_dims = -1, out_dims = -1})(x(2, 3, 4))""",
         lambda: (ft.vmap(torch.mul, (1, None), 1)(x(2, 3), x(2)),
                  ft.vmap(lambda a: a.sum(0), -1, -1)(x(2, 3, 4))))
    case("vmap", "tables", """
local out = func.vmap(function(p, b) return {s = p.a + b, q = p.c * 2} end,
  {{a = 1, c = lucerna.none}, 2})({a = x(3), c = x(2)}, x(2, 3))
return out.q, out.s""", lambda: ft.vmap(lambda p, b: {"s": p["a"] + b, "q": p["c"] * 2},
                                       ({"a": 0, "c": None}, 1))({"a": x(3), "c": x(2)}, x(2, 3)))
    case("vmap", "several results", """
return func.vmap(function(a) return a * 2, a:sum() end, 1, {2, 1})(x(2, 3))""",
         lambda: ft.vmap(lambda a: (a * 2, a.sum()), 0, (1, 0))(x(2, 3)))
    case("vmap", "maps in maps", """
local dot = function(a, b) return a:dot(b) end
return func.vmap(func.vmap(dot, {1, lucerna.none}), {lucerna.none, 1})(x(2, 3), x(4, 3))""",
         lambda: ft.vmap(ft.vmap(torch.dot, (0, None)), (None, 0))(x(2, 3), x(4, 3)))
    case("vmap", "chunk_size", "return func.vmap(f, {chunk_size = 2})(x(5, 3))",
         lambda: ft.vmap(f)(x(5, 3)))
    case("vmap", "written in place", """
return func.vmap(function(a, b)
  local c = a:clone()
  c:add_(b)
  c[1] = 0
  return c
end, {1, lucerna.none})(x(2, 3), x(3))""", lambda: ft.vmap(written, (0, None))(x(2, 3), x(3)))
    case("vmap", "gradients of samples", """
local function loss(w, a, y) return ((w:matmul(a):tanh() - y) ^ 2):sum() end
return func.vmap(func.grad(loss), {lucerna.none, 1, 1})(x(2, 3), x(4, 3), x(4, 2))""",
         lambda: ft.vmap(ft.grad(lambda w, a, y: ((torch.tanh(w @ a) - y) ** 2).sum()),
                         (None, 0, 0))(x(2, 3), x(4, 3), x(4, 2)))
    case("vmap", "gradients of samples of a small CNN", """
local function loss(w, v, a, y)
  local h = F.max_pool2d(F.relu(F.conv2d(a:unsqueeze(1), w, {padding = 1})), 2):flatten(2)
  return F.cross_entropy(F.linear(h, v), y:unsqueeze(1))
end
local d = func.vmap(func.grad(loss, {1, 2}), {lucerna.none, lucerna.none, 1, 1})(
  x(2, 1, 3, 3), x(3, 8), x(3, 1, 4, 4), lucerna.tensor{1, 3, 2})
return d[1], d[2]""", lambda: ft.vmap(ft.grad(cnn, (0, 1)), (None, None, 0, 0))(
        x(2, 1, 3, 3), x(3, 8), x(3, 1, 4, 4), torch.tensor([0, 2, 1])))
    case("vmap", "hessians of samples", "return func.vmap(func.hessian(f))(x(2, 3))",
         lambda: ft.vmap(ft.hessian(f))(x(2, 3)))
    case("vmap", "hessian of a map", """
return func.hessian(function(a) return func.vmap(f)(a):sum() end)(x(2, 2))""",
         lambda: ft.hessian(lambda a: ft.vmap(f)(a).sum())(x(2, 2)))


def written(a, b):
    c = a.clone()
    c.add_(b)
    c[0] = 0
    return c


def cnn(w, v, a, y):
    h = F.max_pool2d(F.relu(F.conv2d(a.unsqueeze(0), w, padding=1)), 2).flatten(1)
    return F.cross_entropy(F.linear(h, v), y.unsqueeze(0))


def ensembles():
    def models():
        made = []
        for k in range(3):
            m = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(),
                                    torch.nn.BatchNorm1d(2)).double().eval()
            for p in m.parameters():
                p.data = x(*p.shape) + k
            made.append(m)
        return made
    def run():
        f, params, buffers = ft.combine_state_for_ensemble(models())
        return ft.vmap(f, (0, 0, None))(params, buffers, x(4, 3))
    case("ensemble", "stack_module_state", """
local models = {}
for k = 0, 2 do
  local m = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.BatchNorm1d(2)):double():eval()
  for p in m:parameters() do p.data = x(table.unpack(p.shape)) + k end
  models[k + 1] = m
end
local params, buffers = func.stack_module_state(models)
return func.vmap(function(p, b, a) return func.functional_call(models[1], {p, b}, a) end,
  {1, 1, lucerna.none})(params, buffers, x(4, 3))""", run)
    def replaced():
        m = torch.nn.BatchNorm1d(2).double()
        m.track_running_stats, m.running_mean, m.running_var = False, None, None
        return ft.vmap(m)(x(2, 3, 2))
    case("ensemble", "replace_all_batch_norm_modules_", """
local m = func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2):double()))
return func.vmap(m)(x(2, 3, 2))""", replaced)


def functionals():
    fn = functional
    case("functional", "vjp", "return functional.vjp(f, x(3))", lambda: fn.vjp(f, x(3)))
    case("functional", "vjp of two", """
local out, d = functional.vjp(g, {x(2, 3), x(3)}, x(2))
return out, d[1], d[2]""", lambda: fn.vjp(g, (x(2, 3), x(3)), x(2)))
    case("functional", "jvp", """
local out, d = functional.jvp(two, {x(3), x(3) * 2}, {x(3), x(3) + 1})
return out[1], out[2], d[1], d[2]""", lambda: fn.jvp(two, (x(3), x(3) * 2), (x(3), x(3) + 1)))
    case("functional", "jacobian", """
local j = functional.jacobian(two, {x(3), x(3) * 2})
local k = functional.jacobian(g, {x(2, 3), x(3)}, {strategy = "forward-mode", vectorize = true})
return j[1][1], j[1][2], j[2][1], j[2][2], k[1], k[2]""", lambda: (
        fn.jacobian(two, (x(3), x(3) * 2)), fn.jacobian(g, (x(2, 3), x(3)))))
    case("functional", "hessian", """
local h = functional.hessian(function(a, b) return g(a, b):sum() end, {x(2, 3), x(3)})
return functional.hessian(f, x(3)), h[1][1], h[1][2], h[2][1], h[2][2]""", lambda: (
        fn.hessian(f, x(3)), fn.hessian(lambda a, b: g(a, b).sum(), (x(2, 3), x(3)))))
    case("functional", "vhp and hvp", """
local out, d = functional.vhp(f, x(3), x(3) + 1)
local same, e = functional.hvp(f, x(3), x(3) + 1)
return out, d, same, e""", lambda: (fn.vhp(f, x(3), x(3) + 1), fn.hvp(f, x(3), x(3) + 1)))


for part in [grads, products, jacobians, maps, ensembles, functionals]:
    part()
save(__file__, ",\n".join(cases))
