-- Modules for transformations: ensembles as stacked tensors, and batch norms without statistics,
-- which vmap could not write.

local core = require "lucerna.core"
local is_batch_norm = require "lucerna.nn.is_batch_norm"
local check = require "lucerna.nn.utils.check"

local nn = core.nn
local models = {}

-- {name -> the tensors of all models stacked}, by the names of the first.
local function stack(method, list)
  local stacked = {}
  for name, first in nn[method](list[1]) do
    local all, needs = { first }, first.requires_grad
    for k = 2, #list do
      for other, tensor in nn[method](list[k]) do
        if other == name then all[k] = tensor end
      end
      if not all[k] then
        check.fail("stack_module_state: Expected all models to have the same names (model %d has "
          .. "no '%s')", k, name)
      end
      if all[k].requires_grad ~= needs then
        check.fail("Expected all parameters to have the same .requires_grad state (%s)", name)
      end
    end
    stacked[name] = core.stack(all):detach():requires_grad_(needs)
  end
  return stacked
end

--- stack_module_state(models) -> params, buffers: the tensors of modules of one class, by name,
-- each stacked along a new first dimension: what vmap over functional_call takes. They are new
-- leaves.
function models.stack_module_state(list)
  if type(list) ~= "table" or #list == 0 then
    check.fail("stack_module_state: Expected at least one model, got 0.")
  end
  for k, model in ipairs(list) do
    check.module("stack_module_state", "models[" .. k .. "]", model)
    if model.training ~= list[1].training then
      check.fail("stack_module_state: Expected all models to have the same training/eval mode.")
    end
    if nn.class_of(model) ~= nn.class_of(list[1]) then
      check.fail("stack_module_state: Expected all models to be of the same class.")
    end
  end
  return stack("named_parameters", list), stack("named_buffers", list)
end

--- replace_all_batch_norm_modules_(root): takes the running statistics out of every BatchNorm of
-- a module, which then always uses those of its batch. Returns the module.
function models.replace_all_batch_norm_modules_(root)
  check.module("replace_all_batch_norm_modules_", "root", root)
  for module in nn.modules(root) do
    if is_batch_norm(module) then
      module.running_mean, module.running_var, module.num_batches_tracked = nil, nil, nil
      module.track_running_stats = false
    end
  end
  return root
end

return models
