-- lucerna.func: transformations of functions of tensors (torch.func).

local models = require "lucerna.func.models"
local transforms = require "lucerna.func.transforms"

return {
  functional_call = require("lucerna.nn.utils.stateless").functional_call,
  vmap = require "lucerna.func.vmap",
  grad = transforms.grad,
  grad_and_value = transforms.grad_and_value,
  vjp = transforms.vjp,
  jvp = transforms.jvp,
  linearize = transforms.linearize,
  jacrev = transforms.jacrev,
  jacfwd = transforms.jacfwd,
  hessian = transforms.hessian,
  stack_module_state = models.stack_module_state,
  replace_all_batch_norm_modules_ = models.replace_all_batch_norm_modules_,
}
