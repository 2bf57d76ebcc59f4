-- lucerna.func: functions of modules and tensors (torch.func).

return { functional_call = require("lucerna.nn.utils.stateless").functional_call }
