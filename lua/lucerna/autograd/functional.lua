-- lucerna.autograd.functional: derivatives of a function at given inputs, made of what lucerna.func
-- is made of. inputs, v and what func returns: one tensor, or a table of them; results are
-- structured alike.

local check = require "lucerna.check"
local call_of = require "lucerna.func.call"
local core = require "lucerna.core"
local scoped = require "lucerna.scoped"
local shape_text = require "lucerna.shape_text"

local arguments, fail = call_of.arguments, call_of.fail
local is_tensor, kind_name = core.is_tensor, core.nn.kind_name

local functional = {}

-- ---- arguments and results ----

local function as_list(who, what, value)
  if is_tensor(value) then return { value }, true end
  if type(value) ~= "table" then
    fail("%s: The %s must be given as a Tensor or a table of Tensors (got %s)", who, what,
      kind_name(value))
  end
  local name = next(value)
  if type(name) == "string" then
    fail("%s: The %s must be given as a Tensor or a table of Tensors (got a table with '%s')", who,
      what, name)
  end
  for k, t in ipairs(value) do
    if not is_tensor(t) then
      fail("%s: The %s must be Tensors (entry %d is a %s)", who, what, k, kind_name(t))
    end
  end
  return value, false
end

-- Calls func at the inputs. options: {create_graph, strict}.
local function begin(who, f, inputs, options)
  call_of.check_function(who, f)
  local list, single = as_list(who, "inputs to the user-provided function", inputs)
  local args, places = { n = #list }, {}
  for k, t in ipairs(list) do args[k], places[k] = t, k end
  local call = call_of.begin(who, f, args, places, false, options.create_graph)
  as_list(who, "outputs of the user-provided function", call.output)
  call.single, call.options = single, options
  for k, out in ipairs(call.outs) do
    if options.strict and not out.requires_grad then
      fail("%s: Output %d of the user-provided function does not require gradients. The outputs "
        .. "must be computed in a differentiable manner from the input when running in strict mode",
        who, k)
    end
  end
  return call
end

local function pack(call, list, single)
  local result = single and list[1] or list
  if call.options.create_graph then return result end
  return call_of.detached(result)
end

local function output_of(call)
  if call.options.create_graph then return call.output end
  return call_of.detached(call.output)
end

-- Zeros for inputs that the outputs do not come from; in strict mode an error.
local function fill(who, call, grads)
  for k in ipairs(call.xs) do
    if call.options.strict and not grads[k] then
      fail("%s: The output of the user-provided function is independent of input %d. This is not "
        .. "allowed in strict mode", who, k)
    end
  end
  return call_of.finish(call, grads, call.xs)
end

-- v as a list that looks like the tensors of `like`; one element needs none.
local function read_v(who, v, like, what)
  if v == nil then
    if #like ~= 1 or like[1]:numel() ~= 1 then
      fail("%s: The vector v can only be None if %s a single Tensor with a single element", who,
        what)
    end
    return { core.ones_like(like[1]) }
  end
  local list = as_list(who, "v", v)
  if #list ~= #like then
    fail("%s: v is a table of invalid length: should be %d but got %d", who, #like, #list)
  end
  for k, t in ipairs(list) do
    local have, want = shape_text(t.shape), shape_text(like[k].shape)
    if have ~= want then
      fail("%s: v has invalid size: should be %s but got %s", who, want, have)
    end
  end
  return list
end

local function check_scalar(who, call)
  if #call.outs ~= 1 or call.outs[1]:numel() ~= 1 then
    fail("%s: The function given to %s should return a single Tensor with a single element", who,
      who)
  end
end

local function flags(who, create_graph, strict)
  if create_graph ~= nil then check.boolean(who, "create_graph", create_graph) end
  if strict ~= nil then check.boolean(who, "strict", strict) end
  return { create_graph = create_graph, strict = strict }
end

local function read(who, ...)
  local v, create_graph, strict = arguments(who, { "v", "create_graph", "strict" }, ...)
  return v, flags(who, create_graph, strict)
end

-- Runs body with recording on if a graph is asked for.
local function in_mode(options, body)
  return scoped(function(guard)
    return guard or core._mode(options.create_graph or core.is_grad_enabled())
  end, body)
end

-- ---- products ----

--- vjp(func, inputs, v, {create_graph=, strict=}) -> outputs, the product of v with the Jacobian.
function functional.vjp(f, inputs, ...)
  local v, options = read("vjp", ...)
  return in_mode(options, function()
    local call = begin("vjp", f, inputs, options)
    local seeds = read_v("vjp", v, call.outs, "the user-provided function returns")
    local grads = call_of.gradients(call.outs, seeds, call.xs,
      { create_graph = options.create_graph })
    return output_of(call), pack(call, fill("vjp", call, grads), call.single)
  end)
end

--- jvp(func, inputs, v, {create_graph=, strict=}) -> outputs, the product of the Jacobian with v.
function functional.jvp(f, inputs, ...)
  local v, options = read("jvp", ...)
  return in_mode(options, function()
    local call = begin("jvp", f, inputs, options)
    local tangents = read_v("jvp", v, call.xs, "the input to the user-provided function is")
    call_of.prepare_push(call)
    return output_of(call), pack(call, call.push(tangents), is_tensor(call.output))
  end)
end

-- The gradient of a scalar function, as a function of the inputs.
local function gradient_of(who, f, options)
  return function(...)
    local args = table.pack(...)
    local call = begin(who, f, args, options)
    check_scalar(who, call)
    local grads = call_of.gradients(call.outs, { core.ones_like(call.outs[1]) }, call.xs,
      { create_graph = true })
    local list = fill(who, call, grads)
    list[#list + 1] = call.output
    return table.unpack(list)
  end
end

local function hessian_product(who, f, inputs, ...)
  local v, options = read(who, ...)
  return in_mode({ create_graph = true }, function()
    local list, single = as_list(who, "inputs to the user-provided function", inputs)
    local call = begin(who, gradient_of(who, f, options), list, { create_graph = true })
    call.options = options
    local n = #list
    local seeds = read_v(who, v, list, "the input to the user-provided function is")
    local outs = table.move(call.outs, 1, n, 1, {})
    local grads = call_of.gradients(outs, seeds, call.xs, { create_graph = options.create_graph })
    local value = call.output[n + 1]
    return options.create_graph and value or value:detach(),
      pack(call, fill(who, call, grads), single)
  end)
end

--- vhp(func, inputs, v, {create_graph=, strict=}) -> output, the product of v with the Hessian of
-- func, which returns one element.
function functional.vhp(f, inputs, ...) return hessian_product("vhp", f, inputs, ...) end

--- hvp(func, inputs, v, {create_graph=, strict=}) -> output, the product of the Hessian with v,
-- which is vhp's, since a Hessian is symmetric.
function functional.hvp(f, inputs, ...) return hessian_product("hvp", f, inputs, ...) end

-- ---- matrices ----

local NAMES = { "create_graph", "strict", "vectorize", "strategy" }

local function rows(who, call, options)
  local result = {}
  for o, out in ipairs(call.outs) do
    local grads = options.strict and call_of.gradients({ out }, { core.ones_like(out) }, call.xs,
      { retain_graph = true }) or {}
    for k in ipairs(options.strict and call.xs or {}) do
      if not grads[k] then
        fail("%s: Output %d of the user-provided function is independent of input %d. This is not "
          .. "allowed in strict mode", who, o, k)
      end
    end
    result[o] = pack(call, call_of.rows_of(call, o), call.single)
  end
  return result
end

--- jacobian(func, inputs, {create_graph=, strict=, vectorize=, strategy=}): for each output and
-- input a tensor of both their shapes. strategy "forward-mode" goes by columns; rows and columns
-- are always computed together, so vectorize changes nothing.
function functional.jacobian(f, inputs, ...)
  local create_graph, strict, _, strategy = arguments("jacobian", NAMES, ...)
  local options = flags("jacobian", create_graph, strict)
  if strategy ~= nil and strategy ~= "reverse-mode" and strategy ~= "forward-mode" then
    fail("jacobian: Expected strategy to be either 'reverse-mode' or 'forward-mode' (got %s)",
      strategy)
  end
  return in_mode(options, function()
    local call = begin("jacobian", f, inputs, options)
    local result
    if strategy == "forward-mode" then
      call_of.prepare_push(call)
      local columns = {}
      for k in ipairs(call.xs) do columns[k] = call_of.columns_of(call, k, "error") end
      result = {}
      for o in ipairs(call.outs) do
        local row = {}
        for k in ipairs(call.xs) do row[k] = columns[k][o] end
        result[o] = pack(call, row, call.single)
      end
    else
      result = rows("jacobian", call, options)
    end
    return is_tensor(call.output) and result[1] or result
  end)
end

--- hessian(func, inputs, {create_graph=, strict=, vectorize=, outer_jacobian_strategy=}): the
-- second derivatives of func, which returns one element: a tensor, or for a table of inputs a
-- table of tables.
function functional.hessian(f, inputs, ...)
  local create_graph, strict, vectorize, strategy = arguments("hessian",
    { "create_graph", "strict", "vectorize", "outer_jacobian_strategy" }, ...)
  flags("hessian", create_graph, strict)
  local _, single = as_list("hessian", "inputs to the user-provided function", inputs)
  local inner = { create_graph = true, strict = strict }
  local function gradient(...)
    local list = table.pack(gradient_of("hessian", f, inner)(...))
    list[list.n], list.n = nil, nil
    return single and list[1] or list
  end
  return functional.jacobian(gradient, inputs, { create_graph = create_graph, strict = strict,
    vectorize = vectorize, strategy = strategy })
end

return functional
