-- lucerna.amp: automatic mixed precision. autocast chooses the dtype of each operator, GradScaler
-- keeps small gradients of float16 from vanishing, custom_fwd and custom_bwd tell a Function of it.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local autocast = require "lucerna.autocast"
local check = require "lucerna.check"
local scoped = require "lucerna.scoped"

local amp = { autocast = autocast.autocast, is_autocast_available = autocast.is_autocast_available }

-- ---- GradScaler ----

local GradScaler = { __name = "GradScaler" }
GradScaler.__index = GradScaler

local READY, UNSCALED, STEPPED = 0, 1, 2

local function check_number(name, value, least)
  if type(value) ~= "number" or value ~= value or not least(value) then
    core._fail("GradScaler: %s (got %s)", name, value)
  end
end

-- What the fields that a user sets must be, in the order in which they are checked.
local RULES = { "_growth_factor", "_backoff_factor", "_growth_interval",
  _growth_factor = { "The growth factor must be > 1.0.", function(v) return v > 1 end },
  _backoff_factor = { "The backoff factor must be < 1.0.", function(v) return v < 1 end },
  _growth_interval = { "growth_interval must be a positive integer",
    function(v) return v >= 1 and v == math.floor(v) end } }

local function set_checked(self, field, value)
  check_number(RULES[field][1], value, RULES[field][2])
  self[field] = value
end

local function check_self(who, self)
  if getmetatable(self) ~= GradScaler then
    core._fail("GradScaler.%s: must be called with a colon, scaler:%s(...)", who, who)
  end
end

local function fail(who, text, ...) core._fail("GradScaler." .. who .. ": " .. text, ...) end

local function check_optimizer(who, optimizer)
  if type(optimizer) ~= "table" or type(optimizer.param_groups) ~= "table" then
    fail(who, "optimizer must be an Optimizer (got %s)", core.nn.kind_name(optimizer))
  end
end

-- What is known of an optimizer since the last update: its stage and whether a gradient of it is
-- not finite (nil: not looked at).
local function state_of(self, optimizer)
  local state = self._optimizers[optimizer]
  if not state then
    state = { stage = READY }
    self._optimizers[optimizer] = state
  end
  return state
end

local SCALER = { "device", "init_scale", "growth_factor", "backoff_factor", "growth_interval",
  "enabled", options = 1 } -- what it takes

local function is_scale(v) return v > 0 and v < math.huge end

setmetatable(GradScaler, { __call = function(_, ...)
  local device, init_scale, growth_factor, backoff_factor, growth_interval, enabled =
    arguments("GradScaler", SCALER, ...)
  check.option("GradScaler", "device", device, "string")
  local self = setmetatable({ _enabled = enabled ~= false, _init_scale = init_scale or 65536.0,
    _growth_factor = growth_factor or 2.0, _backoff_factor = backoff_factor or 0.5,
    _growth_interval = growth_interval or 2000, _growth_tracker = 0, _optimizers = {} }, GradScaler)
  check_number("init_scale must be a positive number", self._init_scale, is_scale)
  for _, field in ipairs(RULES) do set_checked(self, field, self[field]) end
  return self
end })

local function scaled(self, outputs)
  if core.is_tensor(outputs) then return outputs * self._scale end
  if type(outputs) ~= "table" then
    fail("scale", "outputs must be a Tensor or a table of Tensors (got %s)", type(outputs))
  end
  local list = {}
  for key, value in pairs(outputs) do list[key] = scaled(self, value) end
  return list
end

--- scaler:scale(outputs): a tensor, or tables of tensors, times the factor.
function GradScaler:scale(outputs)
  check_self("scale", self)
  if not self._enabled then return outputs end
  self._scale = self._scale or self._init_scale
  return scaled(self, outputs)
end

local function unscale(who, self, optimizer, state)
  local inverse, grads, infinite = 1 / self._scale, {}, nil
  for _, group in ipairs(optimizer.param_groups) do
    for _, p in ipairs(group.params) do grads[#grads + 1] = p.grad end
  end
  for _, grad in ipairs(grads) do
    if grad.dtype == core.float16 then fail(who, "Attempting to unscale FP16 gradients.") end
    infinite = infinite or not grad:isfinite():all():item()
  end
  for _, grad in ipairs(grads) do grad:mul_(inverse) end
  state.infinite = infinite
end

local function need_scale(who, self)
  if not self._scale then
    fail(who, "Attempted " .. who .. " but _scale is None. This may indicate your script did not "
      .. "use scaler.scale(loss or outputs) earlier in the iteration.")
  end
end

--- scaler:unscale_(optimizer): divides its parameters' gradients by the factor now, so that they
-- can be clipped; step does it otherwise.
function GradScaler:unscale_(optimizer)
  check_self("unscale_", self)
  if not self._enabled then return end
  check_optimizer("unscale_", optimizer)
  need_scale("unscale_", self)
  local state = state_of(self, optimizer)
  if state.stage == UNSCALED then
    fail("unscale_",
      "unscale_() has already been called on this optimizer since the last update().")
  elseif state.stage == STEPPED then
    fail("unscale_", "unscale_() is being called after step().")
  end
  lucerna.no_grad(unscale, "unscale_", self, optimizer, state)
  state.stage = UNSCALED
end

--- scaler:step(optimizer): optimizer:step() unless a gradient is infinite or NaN.
function GradScaler:step(optimizer, ...)
  check_self("step", self)
  check_optimizer("step", optimizer)
  if not self._enabled then return optimizer:step(...) end
  if select("#", ...) > 0 and (...) ~= nil then
    fail("step", "Closure use is not currently supported if GradScaler is enabled.")
  end
  need_scale("step", self)
  local state = state_of(self, optimizer)
  if state.stage == STEPPED then
    fail("step", "step() has already been called since the last update().")
  end
  if state.stage == READY then self:unscale_(optimizer) end
  if state.infinite == nil then fail("step", "No inf checks were recorded for this optimizer.") end
  local result
  if not state.infinite then result = optimizer:step() end
  state.stage = STEPPED
  return result
end

-- Adapts the factor: it shrinks if a step was left out (infinite), and grows after so many steps
-- that were not.
local function adapt(self, infinite)
  if infinite then
    self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
    return
  end
  self._growth_tracker = self._growth_tracker + 1
  if self._growth_tracker < self._growth_interval then return end
  local larger = self._scale * self._growth_factor
  if larger <= 0x1.fffffep127 then self._scale = larger end -- of float32, as in PyTorch
  self._growth_tracker = 0
end

--- scaler:update([new_scale]): after the steps of an iteration; adapts the factor, or sets it.
function GradScaler:update(...)
  check_self("update", self)
  local new_scale = arguments("update", { "new_scale", options = 1 }, ...)
  if not self._enabled then return end
  need_scale("update", self)
  if new_scale ~= nil then
    if core.is_tensor(new_scale) then new_scale = new_scale:item() end
    check_number("new_scale must be a positive number", new_scale, function(v) return v > 0 end)
    self._scale = new_scale + 0.0
  else
    local infinite
    for _, state in pairs(self._optimizers) do
      if state.infinite ~= nil then infinite = infinite or state.infinite end
    end
    if infinite == nil then fail("update", "No inf checks were recorded prior to update.") end
    adapt(self, infinite)
  end
  self._optimizers = {}
end

--- scaler:get_scale(): the factor.
function GradScaler:get_scale()
  check_self("get_scale", self)
  if not self._enabled then return 1.0 end
  return (self._scale or self._init_scale) + 0.0
end

--- scaler:is_enabled(): does it scale?
function GradScaler:is_enabled()
  check_self("is_enabled", self)
  return self._enabled
end

-- get_name and set_name of a field _name.
local function getter(field)
  return function(self)
    check_self("get" .. field, self)
    return self[field]
  end
end

local function setter(field)
  return function(self, value)
    check_self("set" .. field, self)
    set_checked(self, field, value)
  end
end

--- scaler:get_growth_factor(): what the factor grows by.
GradScaler.get_growth_factor = getter "_growth_factor"

--- scaler:set_growth_factor(number): more than 1.
GradScaler.set_growth_factor = setter "_growth_factor"

--- scaler:get_backoff_factor(): what the factor shrinks by.
GradScaler.get_backoff_factor = getter "_backoff_factor"

--- scaler:set_backoff_factor(number): less than 1.
GradScaler.set_backoff_factor = setter "_backoff_factor"

--- scaler:get_growth_interval(): how many finite steps make the factor grow.
GradScaler.get_growth_interval = getter "_growth_interval"

--- scaler:set_growth_interval(n): a positive integer.
GradScaler.set_growth_interval = setter "_growth_interval"

--- scaler:state_dict(): factor, factors and counts, under PyTorch's names; {} if not enabled.
function GradScaler:state_dict()
  check_self("state_dict", self)
  if not self._enabled then return {} end
  return { scale = self:get_scale(), growth_factor = self._growth_factor,
    backoff_factor = self._backoff_factor, growth_interval = self._growth_interval,
    _growth_tracker = self._growth_tracker }
end

--- scaler:load_state_dict(state): what state_dict gave.
function GradScaler:load_state_dict(state)
  check_self("load_state_dict", self)
  if not self._enabled then return end
  if type(state) ~= "table" then
    fail("load_state_dict", "state_dict must be a table (got %s)", type(state))
  end
  local got = {}
  for _, key in ipairs { "scale", "growth_factor", "backoff_factor", "growth_interval",
    "_growth_tracker" } do
    got[key] = state[key]
    if got[key] == nil then
      fail("load_state_dict", next(state) == nil and "The source state dict is empty, possibly "
        .. "because it was saved from a disabled instance of GradScaler." or "no " .. key)
    elseif type(got[key]) ~= "number" then
      fail("load_state_dict", "%s must be a number (got %s)", key, type(got[key]))
    end
  end
  self._init_scale, self._growth_factor = got.scale, got.growth_factor
  self._scale = self._scale and got.scale
  self._backoff_factor, self._growth_interval = got.backoff_factor, got.growth_interval
  self._growth_tracker = got._growth_tracker
end

amp.GradScaler = GradScaler

-- ---- functions with a backward of their own ----

-- Casts floating point tensors other than float64 to dtype, also those in tables.
local function cast(value, dtype)
  if core.is_tensor(value) then
    local fits = value.dtype.is_floating_point and value.dtype ~= core.float64
    return fits and value:to(dtype) or value
  end
  if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
  local copy = {}
  for key, item in pairs(value) do copy[key] = cast(item, dtype) end
  return copy
end

--- custom_fwd(forward, {cast_inputs=}): the forward of an autograd.Function that autocast knows of.
-- With cast_inputs its tensors are cast to that dtype, and it runs without autocast; otherwise as
-- autocast has it. Its backward wants custom_bwd.
function amp.custom_fwd(...)
  local forward, device_type, cast_inputs =
    arguments("custom_fwd", { "fwd", "device_type", "cast_inputs" }, ...)
  if forward == nil then -- options first, then the function
    local options = { device_type = device_type, cast_inputs = cast_inputs }
    return function(f) return amp.custom_fwd(f, next(options) and options or nil) end
  end
  check.callable("custom_fwd", "fwd", forward)
  return function(ctx, ...)
    local on = autocast.is_autocast_enabled(device_type)
    ctx._dtype = autocast.get_autocast_dtype(device_type)
    ctx._fwd_used_autocast = on and not cast_inputs
    if not on or not cast_inputs then return forward(ctx, ...) end
    local given = table.pack(...)
    for i = 1, given.n do given[i] = cast(given[i], cast_inputs) end
    return autocast.autocast({ enabled = false }, forward, ctx, table.unpack(given, 1, given.n))
  end
end

--- custom_bwd(backward): the backward of a forward by custom_fwd; it runs as that one ran.
function amp.custom_bwd(backward)
  check.callable("custom_bwd", "bwd", backward)
  return function(ctx, ...)
    local function make(guard)
      return guard or core._autocast(ctx._fwd_used_autocast, ctx._dtype)
    end
    return scoped(make, backward, ctx, ...)
  end
end

return amp
