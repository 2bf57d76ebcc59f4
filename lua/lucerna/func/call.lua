-- One differentiated call of a function, which is what all transformations are made of: reverse
-- mode, on fresh leaves. A call is {levels, xs = leaves without levels, outs = results without
-- levels, leaves = results as samples see them, shape = their structure, trees = the arguments that
-- are differentiated, recorded = does something further out need the graph: an enclosing
-- transformation, or a tensor from outside that requires grad}. Inside vmap leaves have the
-- dimensions of all levels, so that every sample gets its own gradient.

local arguments = require "lucerna.arguments"
local core = require "lucerna.core"
local check = require "lucerna.check"
local drop_empty = require("lucerna.options").drop_empty
local levels = require "lucerna.func.levels"
local modes = require "lucerna.modes"
local scoped = require "lucerna.scoped"
local shape_text = require "lucerna.shape_text"
local tree = require "lucerna.func.tree"
local vmap = require "lucerna.func.vmap"

local is_tensor, kind_name = core.is_tensor, core.nn.kind_name

local M = {}

local fail = core._fail
M.fail = fail

--- Refuses what cannot be called.
function M.check_function(who, f) check.callable(who, "func", f) end

--- Arguments by these names; a last {} is a table of no keyword arguments.
function M.arguments(who, names, ...)
  local given = drop_empty(table.pack(...))
  return arguments(who, names, table.unpack(given, 1, given.n))
end

-- ---- inputs and outputs ----

-- x as an input of its own: part of the graph of x if x has one.
local function fresh(who, x, entered)
  if not is_tensor(x) then
    fail("%s: Expected all arguments to differentiate to hold only Tensors (got %s)", who,
      kind_name(x))
  end
  local raw = levels.expose(x, entered)
  if raw.requires_grad then return raw:view_as(raw) end
  return raw:detach():requires_grad_()
end

--- The value with its tensors outside the graph.
function M.detached(value)
  return tree.map(function(t)
    return is_tensor(t) and t.requires_grad and t:detach() or t
  end, value)
end

-- The leaves of the trees, as inputs, put in the place of the tensors; returns the new trees.
local function inputs_of(who, call, trees)
  local inner = {}
  for k, value in ipairs(trees) do
    inner[k] = tree.map(function(t)
      local x = fresh(who, t, call.levels)
      call.xs[#call.xs + 1] = x
      return levels.hide(x, call.levels)
    end, value)
  end
  return inner
end

-- What f returned: the output, and aux if there is one.
local function read_outputs(who, call, has_aux, ...)
  local results = table.pack(...)
  local output = results[1]
  if has_aux and results.n ~= 2 then
    fail("%s: output of function f should be a tuple: (output, aux) if has_aux is True (it "
      .. "returned %d values)", who, results.n)
  end
  if not has_aux and results.n ~= 1 then
    results.n = nil
    output = results
  end
  call.output = output
  local leaves
  leaves, call.shape = tree.flatten(output)
  call.outs, call.leaves = {}, leaves
  for k = 1, leaves.n do
    if not is_tensor(leaves[k]) then
      fail("%s: Expected f to return only Tensors, got type %s", who, kind_name(leaves[k]))
    end
    call.outs[k] = levels.expose(leaves[k], call.levels)
  end
  call.aux = has_aux and results[2] or nil
end

--- Runs f(args), a packed table, with the arguments at `places` as inputs; `recorded`: the results
-- keep their graph in any case.
function M.begin(who, f, args, places, has_aux, recorded)
  local call = { levels = levels.entered(), xs = {}, places = places }
  local trees = {}
  for k, place in ipairs(places) do trees[k] = args[place] end
  call.outer = core.is_grad_enabled()
  local own = table.move(args, 1, args.n, 1, { n = args.n })
  local inner = scoped(modes.recorded, inputs_of, who, call, trees)
  for k, place in ipairs(places) do own[place] = inner[k] end
  call.trees = trees
  read_outputs(who, call, has_aux, scoped(modes.recorded, f, table.unpack(own, 1, own.n)))
  call.recorded = recorded
    or call.outer and #call.outs > 0 and core.autograd._reaches(call.outs, call.xs)
  if not call.recorded then
    call.output, call.aux = M.detached(call.output), M.detached(call.aux)
  end
  return call
end

--- Gradients of outs with these cotangents, one for each x; nil where there is none.
function M.gradients(outs, cotangents, xs, options)
  local used, seeds = {}, {}
  for k, out in ipairs(outs) do
    if out.requires_grad then
      used[#used + 1], seeds[#seeds + 1] = out, cotangents[k]
    end
  end
  if #used == 0 or #xs == 0 then return {} end
  return table.pack(core.autograd.grad(used, xs, { grad_outputs = seeds, allow_unused = true,
    create_graph = options.create_graph, retain_graph = options.retain_graph }))
end

--- Zeros where there is no gradient; the levels back on.
function M.finish(call, grads, like)
  local out = {}
  for k, x in ipairs(like) do
    local g = grads[k] or core.zeros_like(x)
    out[k] = levels.hide(g, call.levels)
  end
  return out
end

--- The leaves dealt out to the trees they came from: one tree, or a list of them.
function M.deal(call, leaves, single)
  local at, list = 0, {}
  for k, value in ipairs(call.trees) do
    list[k] = tree.map(function()
      at = at + 1
      return leaves[at]
    end, value)
  end
  if single then return list[1] end
  return list
end

-- ---- back and forth ----

--- The leaves of cotangents (tangents), which must look like those given.
function M.leaves_like(who, what, value, shape, like)
  local leaves = tree.flatten(value)
  local spread = tree.spread(value, shape, function(leaf) return not tree.is_node(leaf) end)
  if not spread or leaves.n ~= #like then
    fail("%s: Expected %s to have the same structure", who, what)
  end
  for k = 1, leaves.n do
    local t, wanted = leaves[k], like[k]
    if not is_tensor(t) then
      fail("%s: Expected %s to hold only Tensors (got %s)", who, what, kind_name(t))
    end
    if not check.same_size(t, wanted) then
      fail("%s: Expected %s to have the shape %s (got %s)", who, what, shape_text(wanted.shape),
        shape_text(t.shape))
    end
  end
  return leaves
end

local function any_requires_grad(tensors)
  for _, t in ipairs(tensors) do
    if t.requires_grad then return true end
  end
  return false
end

-- Gradients of outs by xs for these seeds, shaped like `like`; part of a graph if one needs it.
local function differentiate(call, outs, seeds, xs, like)
  local needed = core.is_grad_enabled() and (call.recorded or any_requires_grad(seeds)) or false
  local options = { retain_graph = true, create_graph = needed }
  return M.finish(call, M.gradients(outs, seeds, xs, options), like)
end

--- Gradients of `outs` for cotangents as samples see them.
function M.pull(call, outs, cotangents)
  local seeds = {}
  for k, t in ipairs(cotangents) do seeds[k] = levels.expose(t, call.levels) end
  return differentiate(call, outs, seeds, call.xs, call.xs)
end

--- Makes call.push(tangents): the derivative along them, one for each output. us stand for the
-- cotangents, gs are linear in them.
function M.prepare_push(call)
  local us = {}
  for k, out in ipairs(call.outs) do us[k] = core.zeros_like(out:detach()):requires_grad_() end
  local gs = scoped(modes.recorded, M.gradients, call.outs, us, call.xs, { create_graph = true })
  function call.push(tangents)
    local linear, seeds = {}, {}
    for k in ipairs(call.xs) do
      if gs[k] then
        linear[#linear + 1] = gs[k]
        seeds[#linear] = levels.expose(tangents[k], call.levels)
      end
    end
    return differentiate(call, linear, seeds, us, call.outs)
  end
end

--- The leaves and the structure of what is differentiated.
function M.primal_leaves(call)
  local leaves, shape = tree.flatten(call.trees)
  return leaves, shape
end

-- ---- Jacobians ----

-- The unit vectors of a tensor's shape: [numel, shape...].
local function basis(t)
  local n = t:numel()
  local shape = t.shape
  table.insert(shape, 1, n)
  return core.eye(n, { dtype = t.dtype }):reshape(shape)
end

local function joined_shape(a, b)
  local shape = a.shape
  table.move(b.shape, 1, b:dim(), #shape + 1, shape)
  return shape
end

--- For output k, the Jacobian with respect to every x.
function M.rows_of(call, k, chunk_size)
  local out, like = call.leaves[k], tree.flatten(call.trees)
  if out:numel() == 0 then
    local empty = {}
    for i = 1, like.n do
      empty[i] = core.zeros(joined_shape(out, like[i]), { dtype = like[i].dtype })
    end
    return empty
  end
  local rows = table.pack(vmap(function(seed)
    return table.unpack(M.pull(call, { call.outs[k] }, { seed }))
  end, { chunk_size = chunk_size })(basis(out)))
  for i = 1, like.n do rows[i] = rows[i]:reshape(joined_shape(out, like[i])) end
  return rows
end

--- For input k (after prepare_push), the Jacobian of every output.
function M.columns_of(call, k, randomness)
  local leaves = tree.flatten(call.trees)
  local x = leaves[k]
  if x:numel() == 0 then
    local empty = {}
    for i, out in ipairs(call.leaves) do
      empty[i] = core.zeros(joined_shape(out, x), { dtype = out.dtype })
    end
    return empty
  end
  local columns = table.pack(vmap(function(seed)
    local tangents = {}
    for i = 1, leaves.n do tangents[i] = i == k and seed or core.zeros_like(leaves[i]) end
    return table.unpack(call.push(tangents))
  end, { randomness = randomness })(basis(x)))
  for i, out in ipairs(call.leaves) do
    columns[i] = columns[i]:movedim(1, -1):reshape(joined_shape(out, x))
  end
  return columns
end

return M
