-- Tensors and the levels of vmap: a batched tensor without some of its levels, their dimensions in
-- front, and back. Autograd records what batched tensors hide, so gradients are asked for there.

local core = require "lucerna.core"

local levels = {}

-- The level objects that were made and may be entered again, by number.
local known = setmetatable({}, { __mode = "v" })

--- A level for `size` samples: its object, to be entered, and its number.
function levels.new(size, randomness)
  local level, number = core._vmap_level(size, randomness)
  known[number] = level
  return level, number
end

--- What is entered now, innermost first: {numbers, sizes, objects}.
function levels.entered()
  local numbers, sizes = core._vmap_levels()
  local objects = {}
  for k, number in ipairs(numbers) do objects[k] = known[number] end
  return { numbers = numbers, sizes = sizes, objects = objects }
end

-- t without that level, whose dimension comes first; t may lack it, and have levels further in.
local function expose(t, number, size)
  local inner, top = core._unbatched(t)
  if top == number then return inner end
  if not top or top < number then
    local shape = t.shape
    table.insert(shape, 1, size)
    return t:unsqueeze(1):expand(shape)
  end
  return core._batched(expose(inner, number, size):transpose(1, 2), top)
end

local function hide(t, number)
  local inner, top = core._unbatched(t)
  if top and top > number then
    return core._batched(hide(inner:transpose(1, 2), number), top)
  end
  return core._batched(t, number)
end

--- t without the levels, their dimensions in front, the outermost first.
function levels.expose(t, entered)
  for k, number in ipairs(entered.numbers) do t = expose(t, number, entered.sizes[k]) end
  return t
end

--- The way back.
function levels.hide(t, entered)
  for k = #entered.numbers, 1, -1 do t = hide(t, entered.numbers[k]) end
  return t
end

--- A guard that enters the levels again, for what belongs to a vmap that has ended.
function levels.guard(entered)
  return core._vmap_guard(table.move(entered.objects, 1, #entered.objects, 1, {}))
end

return levels
