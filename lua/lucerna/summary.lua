-- summary(net, input): a table of the layers of a net with shapes, parameters, multiply-adds and
-- bytes. The counts come from the operators that one run calls, so functional calls count too.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local shape_text = require "lucerna.shape_text"
local trace = require "lucerna.trace"

-- ---- multiply-adds ----

local function numel(t) return t and t:numel() or 0 end

local function last_size(t) return t.shape[#t.shape] or 1 end

-- Every element of the result sums as many products as `a` has columns.
local function product(a, result) return numel(result) * last_size(a) end

local function first_product(args, result) return product(args[1], result) end

local function second_product(args, result) return product(args[2], result) end

-- Every element of `t` meets the weights of one channel once.
local function per_channel(t, weight) return numel(t) * weight:numel() // weight:size(1) end

local function convolution(args, result) return per_channel(result, args[2]) end

local function transposed(args) return per_channel(args[1], args[2]) end

-- Queries meet keys, their weights meet values.
local function attention(args, result)
  local keys = args[2].shape
  return (numel(args[1]) + numel(result)) * keys[#keys - 1]
end

-- Every row meets the recurrent weights, and the projection's.
local function recurrence(args)
  return args[1]:size(1) * (numel(args[4]) + numel(args[6]))
end

local function fold(args, result)
  return numel(result) * numel(args[1]) // math.max(last_size(args[1]), 1)
end

--- The one place that knows what operators cost: by the name of their row, multiply-adds of a call
-- from its arguments and first result. All others (pointwise, reductions, copies) count as none.
local MULTIPLY_ADDS = {
  linear = first_product, matmul = first_product, mm = first_product, bmm = first_product,
  mv = first_product, dot = first_product, vdot = first_product,
  addmm = second_product, addmv = second_product, baddbmm = second_product,
  convolution = convolution, convolution_input = transposed,
  attention = attention, mm_fold = fold, recurrence = recurrence,
}

-- ---- counting ----

local function bytes_of(t) return t:numel() * t:element_size() end

-- Calls add(row, t) for every parameter or buffer (`method` iterates over a module's own) and the
-- rows that have it at or below them, each once; those without a shape yet are none.
local function count(method, rows, modules, parents, add)
  local holders = {}
  for i, row in ipairs(rows) do
    for t in modules[i][method](modules[i], false) do
      local list = holders[t] or {}
      holders[t], list[#list + 1] = list, row
    end
  end
  for t, list in pairs(holders) do
    local told = { [false] = true }
    if core.nn.is_lazy(t) then list = {} end
    for _, row in ipairs(list) do
      while not told[row] do
        add(row, t)
        told[row], row = true, parents[row]
      end
    end
  end
end

local function add_parameter(row, p)
  row.parameters = row.parameters + p:numel()
  if p.requires_grad then row.trainable = row.trainable + p:numel() end
  row.parameter_bytes = row.parameter_bytes + bytes_of(p)
end

local function add_buffer(row, b) row.buffer_bytes = row.buffer_bytes + bytes_of(b) end

local function new_row(name, shared)
  return {
    name = name, depth = 0, calls = 0, shared = shared,
    parameters = 0, trainable = 0, parameter_bytes = 0, buffer_bytes = 0,
    multiply_adds = 0, activation_bytes = 0,
  }
end

local function is_below(name, above)
  return above == "" or name:sub(1, #above + 1) == above .. "."
end

-- The rows in the tree's order, the module of each, the first row of each module and the row above
-- each (false: none). A module's second name has a row of its own, which says where the first is.
local function make_rows(net)
  local rows, modules, first, parents = {}, {}, {}, {}
  for name, m in net:named_modules(nil, "", false) do
    local row, parent = new_row(name, first[m] and first[m].name), rows[#rows]
    while parent and not is_below(name, parent.name) do parent = parents[parent] end
    rows[#rows + 1], modules[#modules + 1] = row, m
    first[m], parents[row] = first[m] or row, parent or false
    row.depth = parent and parent.depth + 1 or 0
  end
  return rows, modules, first, parents
end

local function shapes_of(value)
  local shapes = {}
  trace.each_tensor(value, function(t) shapes[#shapes + 1] = t.shape end)
  return shapes
end

-- Follows the calls of modules; what operators cost goes to all that are being called.
local function follow(first)
  local running = {}
  local function leave(m)
    for i = #running, 1, -1 do
      if running[i].module == m then
        for k = #running, i, -1 do running[k] = nil end
        return
      end
    end
  end
  return {
    enter = function(m, args)
      local row = first[m]
      row.calls = row.calls + 1
      row.input_shapes = row.input_shapes or shapes_of(args)
      running[#running + 1] = { module = m, row = row }
    end,
    leave = function(m, _, output)
      local row = first[m]
      row.output_shapes = row.output_shapes or shapes_of(output)
      leave(m)
    end,
    call = function(call)
      if call.composite then return end
      local rule = MULTIPLY_ADDS[call.id]
      local cost = rule and rule(call.args, call.results[1]) or 0
      local told = {}
      for _, one in ipairs(running) do
        local row = one.row
        if not told[row] then
          told[row] = true
          row.multiply_adds = row.multiply_adds + cost
          row.activation_bytes = row.activation_bytes + call.bytes
        end
      end
    end,
  }
end

-- ---- text ----

local function grouped(n)
  local text = tostring(n):reverse():gsub("(%d%d%d)", "%1,"):reverse()
  return (text:gsub("^,", ""))
end

local UNITS = { "bytes", "KiB", "MiB", "GiB", "TiB" }

local function bytes_text(n)
  local unit = 1
  while n >= 1024 and unit < #UNITS do n, unit = n / 1024, unit + 1 end
  return (unit == 1 and "%d %s" or "%.2f %s"):format(n, UNITS[unit])
end

local function shapes_text(shapes)
  if not shapes or #shapes == 0 then return "-" end
  local texts = {}
  for i, shape in ipairs(shapes) do texts[i] = shape_text(shape) end
  return table.concat(texts, ", ")
end

local DEEPEST = 32 -- levels that are set off, so that a deep tree's text stays readable

local function label_of(row)
  local length = row.name:reverse():find(".", 1, true)
  local own = length and row.name:sub(#row.name - length + 2) or row.name
  local label = own == "" and row.class or ("%s (%s)"):format(own, row.class)
  if row.shared then label = ("%s = %s"):format(label, row.shared) end
  if row.calls > 1 then label = ("%s x%d"):format(label, row.calls) end
  return ("  "):rep(math.min(row.depth, DEEPEST)) .. label
end

local function cells_of(row, ran)
  local cells = { label_of(row) }
  if ran then
    cells[2], cells[3] = shapes_text(row.input_shapes), shapes_text(row.output_shapes)
  end
  cells[#cells + 1] = row.shared and "-" or grouped(row.parameters)
  if ran then cells[#cells + 1] = row.calls > 0 and grouped(row.multiply_adds) or "-" end
  return cells
end

-- Lines of cells in columns; numbers, the columns from `right` on, end where others do.
local function align(lines, right)
  local widths, texts = {}, {}
  for _, cells in ipairs(lines) do
    for c, cell in ipairs(cells) do widths[c] = math.max(widths[c] or 0, #cell) end
  end
  for i, cells in ipairs(lines) do
    local padded = {}
    for c, cell in ipairs(cells) do
      local space = (" "):rep(widths[c] - #cell)
      padded[c] = c < right and cell .. space or space .. cell
    end
    texts[i] = table.concat(padded, "  ")
  end
  return texts
end

local function totals_text(self)
  local total, lines = self.total, {}
  lines[1] = ("Parameters: %s (trainable %s, frozen %s)"):format(grouped(total.parameters),
    grouped(total.trainable), grouped(total.parameters - total.trainable))
  if total.input_bytes then
    lines[2] = "Multiply-adds: " .. grouped(total.multiply_adds)
    lines[3] = ("Bytes: inputs %s, parameters %s, buffers %s, activations %s"):format(
      bytes_text(total.input_bytes), bytes_text(total.parameter_bytes),
      bytes_text(total.buffer_bytes), bytes_text(total.activation_bytes))
  else
    lines[2] = ("Bytes: parameters %s, buffers %s"):format(bytes_text(total.parameter_bytes),
      bytes_text(total.buffer_bytes))
  end
  return table.concat(lines, "\n")
end

local Summary = { __name = "Summary" }

function Summary:__tostring()
  local ran = self.total.input_bytes ~= nil
  local lines = { ran and { "Layer", "Input", "Output", "Parameters", "Multiply-adds" }
    or { "Layer", "Parameters" } }
  for i, row in ipairs(self.layers) do lines[i + 1] = cells_of(row, ran) end
  local texts = align(lines, ran and 4 or 2)
  local rule = ("-"):rep(#texts[1])
  table.insert(texts, 2, rule)
  texts[#texts + 1] = rule
  texts[#texts + 1] = totals_text(self)
  return table.concat(texts, "\n")
end

-- ---- the function ----

local OPTIONS = { "net", "input_size", "dtype", "device", "depth", "mode" }

--- summary(net, input_size, {dtype=, device=, depth=, mode="eval"}): a table of the layers of a
-- net, from running it once without leaving a trace in it. input_size: a size, a tensor, or a list
-- of sizes, tensors and other arguments (dtype: one for all sizes, or a list); without it nothing
-- runs, and only parameters are counted. tostring gives the table as text; `layers` is a list of
-- {name, class, depth, calls, input_shapes, output_shapes, parameters, trainable, multiply_adds,
-- parameter_bytes, buffer_bytes, activation_bytes, shared}, down to `depth` levels below the net;
-- `total` has the counts of the whole net and input_bytes. Each row counts all that is below it,
-- shared parameters once, and shows the shapes of its first call; `shared` is the first name of a
-- module that has several, whose calls are counted there. Multiply-adds are those of matrix
-- products and convolutions; activations are the results of operators that took new memory.
return function(...)
  local net, input, dtype, device, depth, mode = arguments("summary", OPTIONS, ...)
  trace.check("summary", net, mode)
  if depth ~= nil and (math.type(depth) ~= "integer" or depth < 0) then
    core._fail("summary: depth must be a number of levels (got %s)", depth)
  end
  local rows, modules, first, parents = make_rows(net)
  local total = {}
  if input ~= nil then
    local on = follow(first)
    function on.inputs(args)
      total.input_bytes = 0
      trace.each_tensor(args, function(t) total.input_bytes = total.input_bytes + bytes_of(t) end)
    end
    trace.run("summary", net, input, { dtype = dtype, device = device, mode = mode }, on)
  end
  for i, row in ipairs(rows) do row.class = modules[i]:_get_name() end -- lazy layers are others now
  count("parameters", rows, modules, parents, add_parameter)
  count("buffers", rows, modules, parents, add_buffer)
  for _, key in ipairs { "parameters", "trainable", "parameter_bytes", "buffer_bytes",
    "multiply_adds", "activation_bytes" } do
    total[key] = rows[1][key]
  end
  local layers = {}
  for _, row in ipairs(rows) do
    if not depth or row.depth <= depth then layers[#layers + 1] = row end
  end
  return setmetatable({ layers = layers, total = total }, Summary)
end
