-- Derivatives of functions of tensors: grad, vjp, jvp and what is made of them. All are reverse
-- mode (lucerna.func.call); jvp is the gradient of a vjp with respect to its cotangents, and so
-- needs gradients that can themselves be differentiated.

local call_of = require "lucerna.func.call"
local core = require "lucerna.core"
local options = require "lucerna.options"
local tree = require "lucerna.func.tree"

local arguments, begin, deal, fail = call_of.arguments, call_of.begin,
  call_of.deal, call_of.fail
local check_function, leaves_like = call_of.check_function, call_of.leaves_like
local is_tensor, kind_name = core.is_tensor, core.nn.kind_name

local transforms = {}

-- ---- argnums ----

-- The positions of the arguments to differentiate, and whether argnums was a single number.
local function read_argnums(who, argnums, n)
  local single = math.type(argnums) == "integer"
  if not single and not (tree.is_node(argnums) and #argnums > 0) then
    fail("%s: argnums must be an integer or a table of them (got %s)", who, kind_name(argnums))
  end
  local places, seen = {}, {}
  for k, given in ipairs(single and { argnums } or argnums) do
    if math.type(given) ~= "integer" then
      fail("%s: argnums must hold integers (got %s)", who, kind_name(given))
    end
    local place = given < 0 and given + n + 1 or given
    if place < 1 or place > n then
      fail("%s: Got argnum=%d, but only %d positional inputs (arguments count from 1)", who, given,
        n)
    end
    if seen[place] then fail("%s: argnums holds %d twice", who, given) end
    places[k], seen[place] = place, true
  end
  return places, single
end

-- ---- grad ----

local function check_scalar(who, call)
  local output = call.leaves[1]
  if call.shape then
    fail("%s: Expected f to return a Tensor, got a table", who)
  elseif output:dim() ~= 0 then
    fail("%s: Expected f to return scalar tensor, got tensor with %d dims", who, output:dim())
  end
end

local function grad_and_value(who, f, argnums, has_aux, ...)
  local args = table.pack(...)
  local places, single = read_argnums(who, argnums, args.n)
  local call = begin(who, f, args, places, has_aux)
  check_scalar(who, call)
  local grads = call_of.gradients(call.outs, { core.ones_like(call.outs[1]) }, call.xs,
    { create_graph = call.recorded })
  return deal(call, call_of.finish(call, grads, call.xs), single), call.output, call.aux
end

local function reader(who, names, f, ...)
  check_function(who, f)
  return arguments(who, names, ...)
end

--- grad(func, argnums, has_aux) -> a function that returns the gradient of func, which returns a
-- 0-d tensor, with respect to its arguments at argnums (1 unless given): as the argument is
-- structured, or a table of these for a table of positions. has_aux: func returns something more,
-- which comes back as the second result.
function transforms.grad(f, ...)
  local argnums, has_aux = reader("grad", { "argnums", "has_aux" }, f, ...)
  return function(...)
    local grads, _, aux = grad_and_value("grad", f, argnums or 1, has_aux, ...)
    if has_aux then return grads, aux end
    return grads
  end
end

--- grad_and_value(func, argnums, has_aux): grad with func's result: a function that returns
-- gradient, value; with has_aux gradient, {value, aux}.
function transforms.grad_and_value(f, ...)
  local argnums, has_aux = reader("grad_and_value", { "argnums", "has_aux" }, f, ...)
  return function(...)
    local grads, value, aux = grad_and_value("grad_and_value", f, argnums or 1, has_aux, ...)
    if has_aux then return grads, { value, aux } end
    return grads, value
  end
end

-- ---- vjp ----

local function all_places(n)
  local places = {}
  for k = 1, n do places[k] = k end
  return places
end

--- vjp(func, primals..., {has_aux=}) -> output, vjp_fn[, aux]. vjp_fn takes cotangents, shaped like
-- the output, and returns the gradients with respect to the primals, one result each.
function transforms.vjp(f, ...)
  check_function("vjp", f)
  local args = table.pack(...)
  local set = options.take(args, { has_aux = true })
  if args.n == 0 then fail("vjp: got no primals") end
  local call = begin("vjp", f, args, all_places(args.n), set.has_aux)
  local function vjp_fn(...)
    local given = table.pack(...)
    local cotangents = given[1]
    if given.n > 1 then
      given.n = nil
      cotangents = given
    end
    local leaves = leaves_like("vjp", "cotangents", cotangents, call.shape, call.leaves)
    return table.unpack(deal(call, call_of.pull(call, call.outs, leaves)))
  end
  if set.has_aux then return call.output, vjp_fn, call.aux end
  return call.output, vjp_fn
end

-- ---- jvp ----

-- Tensors (or one) as a list.
local function list_of(what, value)
  if is_tensor(value) then return { value } end
  if not tree.is_node(value) or #value == 0 then
    fail("jvp: Expected %s to be a table of Tensors (got %s)", what, kind_name(value))
  end
  return value
end

--- jvp(func, primals, tangents, {strict=, has_aux=}) -> output, the derivative of func along the
-- tangents[, aux]. primals and tangents are tables of arguments. Done by differentiating twice: an
-- operator whose gradient has no gradient is an error.
function transforms.jvp(f, primals, tangents, ...)
  check_function("jvp", f)
  local strict, has_aux = arguments("jvp", { "strict", "has_aux" }, ...)
  local args = list_of("primals", primals)
  tangents = list_of("tangents", tangents)
  args = table.move(args, 1, #args, 1, { n = #args })
  local call = begin("jvp", f, args, all_places(args.n), has_aux)
  local leaves, shape = call_of.primal_leaves(call)
  local along = leaves_like("jvp", "tangents", tangents, shape, leaves)
  for k, out in ipairs(call.outs) do
    if strict and not out.requires_grad then
      fail("jvp: output %d of f is independent of the inputs. This is not allowed with strict=true",
        k)
    end
  end
  call_of.prepare_push(call)
  local output = tree.unflatten(call.shape, call.push(along))
  if has_aux then return call.output, output, call.aux end
  return call.output, output
end

--- linearize(func, primals...) -> output, jvp_fn. jvp_fn(tangents...) is the derivative of func at
-- the primals along the tangents; func is not called again.
function transforms.linearize(f, ...)
  check_function("linearize", f)
  local args = table.pack(...)
  if args.n == 0 then fail("linearize: got no primals") end
  local call = begin("linearize", f, args, all_places(args.n), false)
  call_of.prepare_push(call)
  local leaves, shape = call_of.primal_leaves(call)
  return call.output, function(...)
    local along = leaves_like("linearize", "tangents", { ... }, shape, leaves)
    return tree.unflatten(call.shape, call.push(along))
  end
end

-- ---- Jacobians ----

-- The function that jacrev and jacfwd return. begin_rows(call) returns what gives the Jacobian of
-- output k with respect to every x.
local function jacobian(who, f, argnums, has_aux, begin_rows)
  return function(...)
    local args = table.pack(...)
    local places, single = read_argnums(who, argnums or 1, args.n)
    local call = begin(who, f, args, places, has_aux)
    local row_of, k = begin_rows(call), 0
    local result = tree.map(function()
      k = k + 1
      return deal(call, row_of(k), single)
    end, call.output)
    if has_aux then return result, call.aux end
    return result
  end
end

--- jacrev(func, argnums, {has_aux=, chunk_size=}) -> a function that returns the Jacobian of func
-- with respect to its arguments at argnums: for an output and an input a tensor of both their
-- shapes; tables of them where there are several. Reverse mode: vmap over vjp, chunk_size rows at a
-- time. With has_aux: Jacobian, aux.
function transforms.jacrev(f, ...)
  local argnums, has_aux, chunk_size = reader("jacrev", { "argnums", "has_aux", "chunk_size" }, f,
    ...)
  return jacobian("jacrev", f, argnums, has_aux, function(call)
    return function(k) return call_of.rows_of(call, k, chunk_size) end
  end)
end

--- jacfwd(func, argnums, has_aux, {randomness=}) -> the same as jacrev, column by column: vmap over
-- jvp, for functions with more outputs than inputs.
function transforms.jacfwd(f, ...)
  local argnums, has_aux, randomness = reader("jacfwd", { "argnums", "has_aux", "randomness" }, f,
    ...)
  return jacobian("jacfwd", f, argnums, has_aux, function(call)
    local columns = {}
    call_of.prepare_push(call)
    for i in ipairs(call.xs) do columns[i] = call_of.columns_of(call, i, randomness or "error") end
    return function(k)
      local row = {}
      for i in ipairs(call.xs) do row[i] = columns[i][k] end
      return row
    end
  end)
end

--- hessian(func, argnums) -> a function that returns the second derivatives of func: the Jacobian
-- of its Jacobian. Both by reverse mode.
function transforms.hessian(f, ...)
  local argnums = reader("hessian", { "argnums" }, f, ...) or 1
  return transforms.jacrev(transforms.jacrev(f, argnums), argnums)
end

return transforms
