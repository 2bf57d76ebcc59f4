-- Nested tables of tensors as arguments and results of functions: taken apart into a list of leaves
-- and put together again. Plain tables and ordered maps are nodes, everything else is a leaf.

local before = require("lucerna.core")._before
local ordered = require "lucerna.nn.ordered"

local tree = {}

function tree.is_node(value)
  return type(value) == "table" and (getmetatable(value) == nil or ordered.is(value))
end

-- Positions in order, then names, sorted; an ordered map's keys as they stand in it.
local function keys_of(node)
  local keys, names = {}, {}
  if ordered.is(node) then
    for key in pairs(node) do keys[#keys + 1] = key end
    return keys
  end
  for k = 1, #node do keys[k] = k end
  for key in pairs(node) do
    local position = math.type(key) == "integer" and key >= 1 and key <= #node
    if not position then names[#names + 1] = key end
  end
  table.sort(names, function(a, b) return before(tostring(a), tostring(b)) end)
  table.move(names, 1, #names, #keys + 1, keys)
  return keys
end

local function flatten(value, leaves)
  if not tree.is_node(value) then
    leaves.n = leaves.n + 1
    leaves[leaves.n] = value
    return false
  end
  local keys = keys_of(value)
  local shape = { keys = keys, children = {}, ordered = ordered.is(value) }
  for k, key in ipairs(keys) do shape.children[k] = flatten(value[key], leaves) end
  return shape
end

--- The leaves of a value, {n = count}, and its shape: false for a leaf.
function tree.flatten(value)
  local leaves = { n = 0 }
  return leaves, flatten(value, leaves)
end

local function unflatten(shape, leaves, at)
  if not shape then return leaves[at], at + 1 end
  local values = {}
  for k = 1, #shape.keys do values[k], at = unflatten(shape.children[k], leaves, at) end
  if shape.ordered then return ordered.new(shape.keys, values), at end
  local node = {}
  for k, key in ipairs(shape.keys) do node[key] = values[k] end
  return node, at
end

--- A value of that shape with these leaves.
function tree.unflatten(shape, leaves) return (unflatten(shape, leaves, 1)) end

--- The value with f(leaf) in the place of every leaf.
function tree.map(f, value)
  local leaves, shape = tree.flatten(value)
  for k = 1, leaves.n do leaves[k] = f(leaves[k], k) end
  return tree.unflatten(shape, leaves)
end

-- Does the value end where the shape does not?
local function spread(value, shape, out, is_end)
  if is_end(value) then
    local n = 0
    local function count(node)
      if not node then n = n + 1 end
      for _, child in ipairs(node and node.children or {}) do count(child) end
    end
    count(shape)
    for _ = 1, n do out[#out + 1] = value end
    return true
  end
  if not shape or not tree.is_node(value) then return false end
  local keys = keys_of(value)
  if #keys ~= #shape.keys then return false end
  for k, key in ipairs(shape.keys) do
    if value[key] == nil or not spread(value[key], shape.children[k], out, is_end) then
      return false
    end
  end
  return true
end

--- A list with a value for every leaf of `shape`: `value` has its structure, or ends earlier, and
-- then goes for all that is below. nil if the structures differ.
function tree.spread(value, shape, is_end)
  local out = {}
  return spread(value, shape, out, is_end) and out or nil
end

return tree
