-- What recurrent layers have in Lua besides their C part: packed batches of sequences, and the
-- lists of weights.

local root = require "lucerna.core"

local fail = root._fail

-- The PackedSequence a layer was called with goes in as its data and the rows of each step. The
-- layer sees its sequences longest first; states are given and returned in the caller's order.
local function packed(call, self, input, hx)
  if type(input) ~= "table" or not root.is_tensor(input.data) then
    fail("%s: input must be a Tensor or a PackedSequence (got %s)", root.nn.class_name(self),
      type(input))
  end
  local function reorder(state, order)
    if state == nil or order == nil then return state end
    if root.is_tensor(state) then return state:index_select(2, order) end
    return { state[1]:index_select(2, order), state[2]:index_select(2, order) }
  end
  local output, state =
    call(self, input.data, reorder(hx, input.sorted_indices), input.batch_sizes:tolist())
  local result = require("lucerna.nn.utils.rnn").PackedSequence(
    output, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
  return result, reorder(state, input.unsorted_indices)
end

local RNNBase = {}

--- flatten_parameters(): does nothing; weights need no particular place in memory here.
function RNNBase:flatten_parameters() end -- luacheck: ignore 212

-- all_weights: for each layer and direction a table of its parameters.
RNNBase.all_weights = root.nn.property(function(self)
  local all, places = {}, {}
  for name, parameter in pairs(self._parameters) do
    local place = name:match("_(l%d+.*)$") or name
    if not places[place] then
      places[place] = {}
      all[#all + 1] = places[place]
    end
    table.insert(places[place], parameter)
  end
  return all
end)

-- mode and proj_size, where the constructor does not take them.
local RNN = {
  mode = root.nn.property(
    function(self) return root.nn._fields(self).mode or "RNN_" .. self.nonlinearity:upper() end,
    function(self, mode) root.nn._set_field(self, "mode", mode) end),
  proj_size = 0,
}

return {
  packed = packed,
  RNNBase = RNNBase,
  RNN = RNN,
  LSTM = { mode = "LSTM" },
  GRU = { mode = "GRU", proj_size = 0 },
}
