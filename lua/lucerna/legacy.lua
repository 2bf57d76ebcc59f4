-- PyTorch's old constructors: FloatTensor, LongTensor and so on, and Tensor called as one. Sizes
-- make a tensor whose values are arbitrary, a table gives the values.

local core = require "lucerna.core"

local DTYPES = {
  FloatTensor = "float32", DoubleTensor = "float64", HalfTensor = "float16",
  BFloat16Tensor = "bfloat16", ByteTensor = "uint8", CharTensor = "int8", ShortTensor = "int16",
  IntTensor = "int32", LongTensor = "int64", BoolTensor = "bool",
}

local function make(who, dtype, ...)
  local first, n = ..., select("#", ...)
  local alone = n == 1
  if n > 0 and first == nil then core._fail("%s: size must be an integer (got nil)", who) end
  if alone and core.is_tensor(first) then
    if first.dtype == dtype then return first:detach() end
    core._fail("%s: expected a Tensor of %s (got %s)", who, dtype, first.dtype)
  end
  if alone and type(first) == "table" then return (core.tensor(first, { dtype = dtype })) end
  return (core.empty({ n == 0 and 0 or first, select(2, ...) }, { dtype = dtype }))
end

local legacy = {}

for name, dtype in pairs(DTYPES) do
  legacy[name] = function(...) return (make(name, core[dtype], ...)) end
end

setmetatable(core.Tensor, {
  __call = function(_, ...) return (make("Tensor", core.get_default_dtype(), ...)) end,
})

return legacy
