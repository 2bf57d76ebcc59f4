-- Sequences of different lengths in one tensor (torch.nn.utils.rnn). Padded: [T, B, *] or, with
-- batch_first, [B, T, *]. Packed: data [sum of lengths, *], where step t stands as batch_sizes[t]
-- rows, longest sequence first. Lengths and batch sizes are numbers; sorted_indices and
-- unsorted_indices are positions, which count from 1.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local check = require "lucerna.nn.utils.check"
local check_self = require("lucerna.plain").self_check "sequence"
local shape_text = require "lucerna.shape_text"

local rnn = {}

-- ---- PackedSequence ----

local FIELDS = { "data", "batch_sizes", "sorted_indices", "unsorted_indices" }
local PackedSequence = { __name = "PackedSequence" }
local methods = {}

function PackedSequence.__index(self, key)
  if key == "is_cuda" then return tostring(self.data.device):find("^cuda") ~= nil end
  return methods[key]
end

function PackedSequence.__tostring(self)
  local parts = {}
  for k, name in ipairs(FIELDS) do
    local value = self[name]
    parts[k] = name .. "=" .. (value == nil and "None" or tostring(value))
  end
  return "PackedSequence(" .. table.concat(parts, ", ") .. ")"
end

--- to(dtype), to(device), …: the data converted as Tensor:to does; itself when nothing changes.
function methods:to(...)
  check_self(self, "PackedSequence", "to", "data")
  local data = self.data:to(...)
  if rawequal(data, self.data) then return self end
  return rnn.PackedSequence(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)
end

function methods:cpu() return methods.to(self, "cpu") end
function methods:cuda() return methods.to(self, "cuda") end

function methods:is_pinned()
  check_self(self, "PackedSequence", "is_pinned", "data")
  return self.data:is_pinned()
end

--- pin_memory(): its tensors in memory that a device reads directly, where there is one.
function methods:pin_memory()
  check_self(self, "PackedSequence", "pin_memory", "data")
  local sorted, unsorted = self.sorted_indices, self.unsorted_indices
  return rnn.PackedSequence(self.data:pin_memory(), self.batch_sizes,
    sorted and sorted:pin_memory(), unsorted and unsorted:pin_memory())
end

for name, dtype in pairs {
  double = "float64", float = "float32", half = "float16", long = "int64", int = "int32",
  short = "int16", char = "int8", byte = "uint8",
} do
  methods[name] = function(self) return methods.to(self, lucerna[dtype]) end
end

--- PackedSequence(data, batch_sizes, sorted_indices, unsorted_indices): what pack_padded_sequence
-- makes; not to be made by hand.
function rnn.PackedSequence(...)
  local data, batch_sizes, sorted, unsorted = arguments("PackedSequence", FIELDS, ...)
  check.tensor("PackedSequence", "data", data)
  check.tensor("PackedSequence", "batch_sizes", batch_sizes)
  if batch_sizes.device ~= "cpu" then
    check.fail("PackedSequence: batch_sizes should always be on CPU. Instances of PackedSequence "
      .. "should never be created manually. They should be instantiated by functions like "
      .. "pack_sequence and pack_padded_sequences in nn.utils.rnn")
  end
  return setmetatable({
    data = data, batch_sizes = batch_sizes, sorted_indices = sorted,
    unsorted_indices = unsorted or rnn.invert_permutation(sorted),
  }, PackedSequence)
end

--- invert_permutation(permutation): where each position went; nil for nil.
function rnn.invert_permutation(...)
  local permutation = arguments("invert_permutation", { "permutation" }, ...)
  if permutation == nil then return nil end
  check.tensor("invert_permutation", "permutation", permutation)
  local order = lucerna.arange(1, permutation:numel() + 1, { dtype = permutation.dtype })
  return lucerna.empty_like(permutation):scatter_(1, permutation, order)
end

-- ---- packing ----

local function lengths_tensor(who, lengths)
  if type(lengths) == "table" and #lengths > 0 then
    lengths = lucerna.tensor(lengths)
  end
  if not lucerna.is_tensor(lengths) then
    check.fail("%s: lengths must be a Tensor or an array of numbers (got %s)", who, type(lengths))
  end
  if lengths:dim() ~= 1 then
    check.fail("%s: 'lengths' argument should be a 1D CPU int64 tensor, but got %dD %s %s tensor",
      who, lengths:dim(), lengths.device, lengths.dtype)
  end
  return lengths:to(lucerna.int64)
end

local function check_lengths(who, lengths, batch)
  if #lengths ~= batch then
    check.fail("%s: Expected `len(lengths)` to be equal to batch_size, but got %d (batch_size=%d)",
      who, #lengths, batch)
  end
  for k = batch, 1, -1 do
    if lengths[k] <= 0 then
      check.fail("%s: Length of all samples has to be greater than 0, but found an element in "
        .. "'lengths' that is <= 0", who)
    end
    if k > 1 and lengths[k] > lengths[k - 1] then
      check.fail("%s: `lengths` array must be sorted in decreasing order when `enforce_sorted` is "
        .. "true. You can pass `enforce_sorted=false` to pack_padded_sequence and/or pack_sequence "
        .. "to sidestep this requirement", who)
    end
  end
end

-- Steps of the same batch size are moved together: data and the batch size of every step.
local function pack(input, lengths)
  local parts, batch_sizes, done = {}, {}, 0
  for k = #lengths, 1, -1 do
    local length = lengths[k]
    if length > done then
      local run = input:narrow(1, done + 1, length - done):narrow(2, 1, k)
      parts[#parts + 1] = run:flatten(1, 2)
      for step = done + 1, length do batch_sizes[step] = k end
      done = length
    end
  end
  return lucerna.cat(parts), lucerna.tensor(batch_sizes)
end

local function pack_padded(who, input, lengths, batch_first, enforce_sorted)
  check.tensor(who, "input", input)
  if input:dim() < 2 then
    check.fail("%s: input must have at least 2 dimensions (got %d)", who, input:dim())
  end
  lengths = lengths_tensor(who, lengths)
  if batch_first then input = input:transpose(1, 2) end
  if input:numel() == 0 then check.fail("%s: Cannot pack empty tensors.", who) end
  local sorted
  if enforce_sorted == false and lengths:numel() == input:size(2) then
    lengths, sorted = lengths:sort({ descending = true, stable = true })
    input = input:index_select(2, sorted)
  end
  local list = lengths:tolist()
  check_lengths(who, list, input:size(2))
  if list[1] > input:size(1) then
    check.fail("%s: the longest of lengths is %d, but input has %d steps", who, list[1],
      input:size(1))
  end
  local data, batch_sizes = pack(input, list)
  return rnn.PackedSequence(data, batch_sizes, sorted)
end

--- pack_padded_sequence(input, lengths, batch_first = false, enforce_sorted = true): a
-- PackedSequence of input [T, B, *] (batch_first: [B, T, *]) with these lengths (an array or a
-- tensor), which must fall unless enforce_sorted is false.
function rnn.pack_padded_sequence(...)
  return pack_padded("pack_padded_sequence", arguments("pack_padded_sequence",
    { "input", "lengths", "batch_first", "enforce_sorted", options = 3 }, ...))
end

-- [n, batch, *] made [n, most, *].
local function widen(run, most, value)
  local missing = most - run:size(2)
  if missing == 0 then return run end
  local shape = run:size()
  shape[2] = missing
  return lucerna.cat({ run, run:new_full(shape, value) }, 2)
end

local function check_packed(who, sequence)
  if getmetatable(sequence) ~= PackedSequence then
    check.fail("%s: sequence must be a PackedSequence (got %s)", who, check.type_name(sequence))
  end
end

local function total_steps(who, total, longest)
  if total == nil then return longest end
  if check.number(who, "total_length", total) < longest then
    check.fail("%s: Expected total_length to be at least the length of the longest sequence in "
      .. "input, but got total_length=%d and max sequence length being %d", who, total, longest)
  end
  return total
end

-- The padded tensor [steps, B, *] and the lengths, in packed order.
local function unpack_data(data, sizes, steps, value)
  local parts, lengths, most, at, from = {}, {}, sizes[1], 1, 1
  while from <= #sizes do
    local to, batch = from, sizes[from]
    while sizes[to + 1] == batch do to = to + 1 end
    local rows = (to - from + 1) * batch
    local run = data:narrow(1, at, rows):unflatten(1, { to - from + 1, batch })
    parts[#parts + 1] = widen(run, most, value)
    for k = (sizes[to + 1] or 0) + 1, batch do lengths[k] = to end
    at, from = at + rows, to + 1
  end
  local shape = parts[1]:size()
  shape[1] = steps - #sizes
  if shape[1] > 0 then parts[#parts + 1] = data:new_full(shape, value) end
  return lucerna.cat(parts), lucerna.tensor(lengths)
end

--- pad_packed_sequence(sequence, batch_first = false, padding_value = 0, total_length): the padded
-- tensor [T, B, *] (batch_first: [B, T, *]) and the lengths, in the order they had before packing.
function rnn.pad_packed_sequence(...)
  local who = "pad_packed_sequence"
  local sequence, batch_first, value, total = arguments(who,
    { "sequence", "batch_first", "padding_value", "total_length", options = 2 }, ...)
  check_packed(who, sequence)
  local sizes = sequence.batch_sizes:tolist()
  local steps = total_steps(who, total, #sizes)
  local padded, lengths = unpack_data(sequence.data, sizes, steps, value or 0.0)
  if sequence.unsorted_indices ~= nil then
    padded = padded:index_select(2, sequence.unsorted_indices)
    lengths = lengths[sequence.unsorted_indices]
  end
  return batch_first and padded:transpose(1, 2) or padded, lengths
end

-- ---- padding ----

local SIDES = { left = true, right = true }

local function check_sequences(who, list)
  if #list == 0 then check.fail("%s: received an empty list of sequences", who) end
  local longest, shortest = 0, math.huge
  for k, seq in ipairs(list) do
    if seq:dim() == 0 then check.fail("%s: a sequence has no dimensions", who) end
    local n = seq:size(1)
    longest, shortest = math.max(longest, n), math.min(shortest, n)
    if k > 1 and not check.same_size(seq, list[1], 2) then
      check.fail("%s: sequences must have the same sizes after the first dimension (got %s and %s)",
        who, shape_text(list[1].shape), shape_text(seq.shape))
    end
  end
  return longest, shortest
end

-- All go one below the other, each with its padding, so that one call moves them.
local function pad(who, sequences, batch_first, value, side)
  side = side or "right"
  if not SIDES[side] then
    check.fail("%s: Expected padding_side to be one of left or right, but got %s.", who, side)
  end
  if lucerna.is_tensor(sequences) and sequences:dim() > 0 then
    sequences = sequences:unbind(1)
  elseif type(sequences) ~= "table" and type(sequences) ~= "function" then
    check.fail("%s: Expected iterable for input sequences, but got arg of type: %s", who,
      check.type_name(sequences))
  end
  local list = check.tensors(who, "sequences", sequences)
  local longest, shortest = check_sequences(who, list)
  local shape, dtype = list[1]:size(), list[1].dtype
  shape[1] = longest - shortest
  local padding, parts = list[1]:new_full(shape, value or 0.0), {}
  for _, seq in ipairs(list) do
    local missing = longest - seq:size(1)
    local filler = missing > 0 and padding:narrow(1, 1, missing)
    if filler and side == "left" then parts[#parts + 1] = filler end
    parts[#parts + 1] = seq:to(dtype)
    if filler and side == "right" then parts[#parts + 1] = filler end
  end
  local padded = lucerna.cat(parts):unflatten(1, { #list, longest })
  return batch_first and padded or padded:transpose(1, 2):contiguous()
end

local PAD = { "sequences", "batch_first", "padding_value", "padding_side", options = 2 }

--- pad_sequence(sequences, batch_first = false, padding_value = 0, padding_side = "right"): tensors
-- [L_i, *] in one tensor [T, B, *] (batch_first: [B, T, *]).
function rnn.pad_sequence(...)
  return pad("pad_sequence", arguments("pad_sequence", PAD, ...))
end

local function unpad(who, padded, lengths, batch_first)
  check.tensor(who, "padded_sequences", padded)
  if not batch_first then padded = padded:transpose(1, 2) end
  local list = {}
  for k, length in ipairs(lengths_tensor(who, lengths):tolist()) do
    if k > padded:size(1) then break end
    local most = math.min(length, padded:size(2))
    list[k] = padded:select(1, k):narrow(1, 1, math.max(most, 0)):clone()
  end
  return list
end

--- unpad_sequence(padded_sequences, lengths, batch_first = false): the sequences as an array.
function rnn.unpad_sequence(...)
  local sequences = unpad("unpad_sequence", arguments("unpad_sequence",
    { "padded_sequences", "lengths", "batch_first", options = 3 }, ...))
  return sequences -- no tail call: errors name this one
end

--- pack_sequence(sequences, enforce_sorted = true): a PackedSequence of tensors [L_i, *].
function rnn.pack_sequence(...)
  local who = "pack_sequence"
  local sequences, enforce_sorted = arguments(who,
    { "sequences", "enforce_sorted", options = 2 }, ...)
  local list, lengths = check.tensors(who, "sequences", sequences), {}
  local padded = pad(who, list)
  for k, seq in ipairs(list) do lengths[k] = seq:size(1) end
  return pack_padded(who, padded, lengths, false, enforce_sorted)
end

--- unpack_sequence(packed_sequences): the sequences as an array, in the order they had.
function rnn.unpack_sequence(...)
  local packed = arguments("unpack_sequence", { "packed_sequences" }, ...)
  check_packed("unpack_sequence", packed)
  local padded, lengths = rnn.pad_packed_sequence(packed, true)
  return unpad("unpack_sequence", padded, lengths, true)
end

return rnn
