-- Modules, containers, parameters, global hooks.
return { title = "Modules and containers",
{"nn.Module nn.Container", [=[
The base of every layer and net. A subclass is made by nn.class; assigning a module, parameter or
buffer to a field registers it. Calling m(...) runs pre-hooks, forward, hooks. Fields: training.
> local Net = nn.class("Net")
> function Net:__init() self.fc = nn.Linear(4, 2) end
> function Net:forward(x) return self.fc(x):relu() end
> local y = Net()(lucerna.ones(1, 4))]=]},
{"nn.Sequential", [=[
Calls its children one after the other, each with what the one before returned. #s is their number;
append, extend and insert add some. In state_dict they are "0", "1", …, as in PyTorch.
> local net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
> local y = net(lucerna.ones(3, 4))    -- [3, 2]]=]},
{"nn.ModuleList", [=[
> local layers = nn.ModuleList{nn.Linear(4, 4), nn.Linear(4, 4)}
> local x = lucerna.ones(1, 4)
> for _, layer in ipairs(layers) do x = layer(x) end]=]},
{"nn.ModuleDict", [=[
> local heads = nn.ModuleDict{{"a", nn.Linear(4, 1)}, {"b", nn.Linear(4, 2)}}
> local y = heads.b(lucerna.ones(1, 4))]=]},
{"nn.ModuleDict:keys nn.ModuleDict:values nn.ModuleDict:items nn.ParameterDict:keys", [=[
For the generic for: the keys, the modules, key and module, in order.]=]},
{"nn.ModuleDict:contains nn.ParameterDict:contains", [=[
contains(key): is there such an entry?]=]},
{"nn.ParameterList", [=[
> local list = nn.ParameterList{nn.Parameter(lucerna.ones(2)), nn.Parameter(lucerna.zeros(3))}
> local sum = list[1]:sum() + list[2]:sum()]=]},
{"nn.ParameterDict", [=[
> local map = nn.ParameterDict{{"scale", nn.Parameter(lucerna.ones(2))}}
> local y = map.scale * 3]=]},
{"nn.Parameter nn.parameter.Parameter", [=[
A tensor that a module registers as a parameter when it is assigned to a field; requires a gradient
unless told otherwise. A leaf that shares the data it is given.
> local m = nn.Module()
> m.scale = nn.Parameter(lucerna.ones(1))]=]},
{"nn.Buffer nn.parameter.Buffer", [=[
A tensor that a module registers as a buffer when it is assigned to a field: moved and saved (if
persistent), not trained.
> local m = nn.Module()
> m.mean = nn.Buffer(lucerna.zeros(3))]=]},
{"nn.UninitializedParameter nn.parameter.UninitializedParameter", [=[
A parameter without a shape, as lazy modules hold until their first call; materialize(shape) gives
it memory. Everything else that needs a shape is refused.
> local p = nn.UninitializedParameter()
> p:materialize({2, 3})]=]},
{"nn.UninitializedBuffer nn.parameter.UninitializedBuffer", [=[
A buffer without a shape; see UninitializedParameter.
> local b = nn.UninitializedBuffer()
> b:materialize({2})]=]},
{"nn.class", [=[
> local Doubled = nn.class("Doubled", nn.Linear)
> function Doubled:forward(x) return nn.Linear.forward(self, x) * 2 end
> local y = Doubled(3, 1)(lucerna.ones(1, 3))]=]},
{"nn.isinstance", [=[
nn.isinstance(m, Class): is m of the class (or of one of a list of classes), or of one that derives
from it? The class may be nn.Parameter or nn.Buffer.
> assert(nn.isinstance(nn.Linear(1, 1), nn.Module))]=]},
{"nn.delattr", [=[
nn.delattr(m, name): removes a parameter, buffer, child or field. (Assigning nil empties the slot
but keeps its name.)
> local m = nn.Linear(2, 2)
> nn.delattr(m, "bias")]=]},
{"nn.unregistered", [=[
> local m = nn.Module()
> m.friends = nn.unregistered{nn.Linear(1, 1)}    -- not among m's children]=]},
{"nn.factory_kwargs", [=[
> local options = nn.factory_kwargs{dtype = lucerna.float64}
> local x = lucerna.zeros(2, options)]=]},
{"nn.property", [=[
> local Net = nn.class("Net")
> Net.width = nn.property(function() return 3 end)
> assert(Net().width == 3)]=]},
{"nn.register_module_forward_hook nn.register_module_forward_pre_hook", [=[
Adds a hook that runs at every call of every module, before the module's own: f(m, args[, output]);
what it returns, if not nil, replaces. Returns a handle with remove().
> local handle = nn.register_module_forward_hook(function(m, args, output) end)
> handle:remove()]=]},
{"nn.register_module_full_backward_hook nn.register_module_full_backward_pre_hook \
nn.register_module_backward_hook", [=[
Adds a hook that runs whenever gradients of a module's inputs (pre: its outputs) are known:
f(m, grad_input, grad_output). Returns a handle with remove().
> local handle = nn.register_module_full_backward_hook(function(m, gin, gout) end)
> handle:remove()]=]},
{"nn.register_module_parameter_registration_hook nn.register_module_buffer_registration_hook \
nn.register_module_module_registration_hook", [=[
Adds a hook that runs when any module registers a parameter (buffer, child): f(m, name, value); what
it returns, if not nil, is registered instead. Returns a handle with remove().
> local handle = nn.register_module_parameter_registration_hook(function(m, name, p) end)
> handle:remove()]=]},
{"nn.parameter.is_lazy", [=[
Is it an uninitialized parameter or buffer?
> assert(nn.parameter.is_lazy(nn.LazyLinear(2).weight))]=]},
{"nn.DataParallel nn.parallel.DataParallel nn.parallel.data_parallel", [=[
> local net = nn.DataParallel(nn.Linear(2, 1))    -- its parameters: module.weight, module.bias
> local y = net(lucerna.ones(4, 2))]=]},
{"nn.LazyModuleMixin", [=[
What lazy layers have in common: their parameters are uninitialized until the first call, which
reads the missing sizes from the input and makes them plain layers (LazyLinear: Linear).
> local m = nn.LazyLinear(2)
> assert(m:has_uninitialized_params())]=]},
}
