-- Modules without their default initialization, for those whose parameters are loaded anyway.

local core = require("lucerna.core").nn
local check = require "lucerna.nn.utils.check"
local scoped = require "lucerna.scoped"

local module = {}

local Skipping = { __close = core._skip_init_as }
function Skipping.__call() core._skip_init(true) end
local function skipping() return setmetatable({ core._skip_init() }, Skipping) end

local function takes_device(class)
  while class do
    local constructor = core.schemas(class)
    if constructor then return constructor:find("device? device", 1, true) ~= nil end
    class = core.parent(class)
  end
end

--- skip_init(class, ...): class(...) with parameters and buffers whose contents are undefined;
-- draws no random numbers. For classes written in C that take a device, and their subclasses.
function module.skip_init(class, ...)
  if not core.is_class(class) then
    check.fail("skip_init: Expected a Module; got %s", check.type_name(class))
  end
  if not takes_device(class) then
    check.fail("skip_init: Module must support a 'device' arg to skip initialization (%s does not)",
      core.class_name(class))
  end
  return (scoped(skipping, class, ...))
end

return module
