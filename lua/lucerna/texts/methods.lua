-- Methods of modules that are written in C; the others are documented in lucerna.nn.
return { title = "Methods of modules",
{"nn.Module.parameters nn.Module.buffers", [=[
For the generic for: the parameters (buffers) of the module and, with recurse, of all below, each
once.
> for p in nn.Linear(2, 1):parameters() do assert(p.requires_grad) end]=]},
{"nn.Module.named_parameters nn.Module.named_buffers", [=[
For the generic for: name, tensor; names as in state_dict, after prefix. remove_duplicate = false
repeats what is shared.
> for name, p in nn.Linear(2, 1):named_parameters() do assert(#name > 0) end]=]},
{"nn.Module.modules nn.Module.children", [=[
For the generic for: the module and all below (its children alone), each once.
> local n = 0
> for m in nn.Sequential(nn.ReLU(), nn.Tanh()):modules() do n = n + 1 end
> assert(n == 3)]=]},
{"nn.Module.named_modules nn.Module.named_children", [=[
For the generic for: name, module; the module itself is "".
> for name, m in nn.Sequential(nn.ReLU()):named_children() do assert(name == "0") end]=]},
{"nn.Module.add_module nn.Module.register_module", [=[
Registers a child under a name without a dot; nil keeps the name and no child.
> local m = nn.Module()
> m:add_module("act", nn.ReLU())]=]},
{"nn.Module.register_parameter nn.Module.register_buffer", [=[
Registers a parameter (buffer); one that is not persistent is left out of state_dict.
> local m = nn.Module()
> m:register_buffer("mean", lucerna.zeros(3), {persistent = false})]=]},
{"nn.Module.get_parameter nn.Module.get_buffer nn.Module.get_submodule", [=[
What a dotted name leads to; errors if nothing of that kind.
> local w = nn.Sequential(nn.Linear(2, 1)):get_parameter("0.weight")]=]},
{"nn.Module.requires_grad_ nn.Module.zero_grad", [=[
For all parameters: should gradients be computed; drops (or zeros) the gradients.
> local m = nn.Linear(2, 1):requires_grad_(false)
> m:zero_grad()]=]},
{"nn.Module.float nn.Module.double nn.Module.half nn.Module.bfloat16", [=[
Converts floating point parameters and buffers, in place; returns the module.
> local m = nn.Linear(2, 1):double()]=]},
{"nn.Module.train nn.Module.eval", [=[
Sets training of the module and all below, which dropout and normalization read. Returns the module.
> local m = nn.Dropout(0.5):eval()
> assert(not m.training)]=]},
{"nn.Module.forward", [=[
What a call computes. Classes define it; call the module, m(x), so that hooks run.]=]},
{"nn.Module.extra_repr", [=[
For classes that define it: what tostring shows between the parentheses.]=]},
{"nn.Module.state_dict nn.Module.load_state_dict", [=[
> local a, b = nn.Linear(2, 1), nn.Linear(2, 1)
> local missing, unexpected = b:load_state_dict(a:state_dict())]=]},
{"nn.Module.apply", [=[
> nn.Sequential(nn.Linear(2, 1)):apply(function(m)
>   if nn.isinstance(m, nn.Linear) then nn.init.zeros_(m.bias) end
> end)]=]},
}
