-- torch.nn.parallel as far as one process without several GPUs goes: DataParallel then passes its
-- arguments on to the module it wraps, and its parameters have the names they have everywhere.
-- Source: https://pytorch.org/docs/stable/generated/torch.nn.DataParallel.html

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local nn = require "lucerna.nn"

local fail = core._fail
local parallel = {}

local function check_call(who, module, device_ids)
  check.module(who, "module", module)
  if device_ids ~= nil and (type(device_ids) ~= "table" or #device_ids > 0) then
    fail("%s: device_ids must be empty: batches are not spread over devices", who)
  end
end

local DataParallel = nn.class("DataParallel")
parallel.DataParallel = DataParallel

--- DataParallel(module, {device_ids=, output_device=, dim=1}): module, spread over no devices: a
-- call is module's. Parameters are called module.…, as in checkpoints of wrapped models.
function DataParallel:__init(...)
  local module, device_ids, output_device, dim =
    arguments("DataParallel", { "module", "device_ids", "output_device", "dim" }, ...)
  check_call("DataParallel", module, device_ids)
  self.module, self.device_ids, self.output_device = module, {}, output_device
  self.dim = dim or 1
end

function DataParallel:forward(...) return self.module(...) end

--- data_parallel(module, inputs, {device_ids=, output_device=, dim=1, module_kwargs=}): calls it
-- with a list of arguments, or with one.
function parallel.data_parallel(...)
  local module, inputs, device_ids, _, _, kwargs = arguments("data_parallel",
    { "module", "inputs", "device_ids", "output_device", "dim", "module_kwargs" }, ...)
  check_call("data_parallel", module, device_ids)
  if type(inputs) ~= "table" then inputs = { n = 1, inputs } end
  local list = table.pack(table.unpack(inputs, 1, inputs.n or #inputs))
  if kwargs ~= nil then
    list.n = list.n + 1
    list[list.n] = kwargs
  end
  return module(table.unpack(list, 1, list.n))
end

return parallel
