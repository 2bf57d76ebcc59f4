-- Examples of optimizers; their texts are the comments in lucerna.optim.
local entries = { title = "Optimizers" }

local function add(names, text) entries[#entries + 1] = { names, text } end

local STEP = [=[
> local net = nn.Linear(2, 1)
> local optimizer = optim.%s(net:parameters(), {lr = 0.01})
> optimizer:zero_grad()
> net(lucerna.ones(4, 2)):square():mean():backward()
> optimizer:step()]=]
local FUSED = "SGD Adam AdamW SparseAdam Adamax NAdam RAdam RMSprop Rprop Adagrad Adadelta ASGD"
for name in (FUSED .. " Adafactor"):gmatch("%S+") do
  add("optim." .. name, STEP:format(name))
end
add("optim.Muon", [=[
> local net = nn.Linear(2, 3, {bias = false})
> local optimizer = optim.Muon(net:parameters(), {lr = 0.01})
> net(lucerna.ones(4, 2)):square():mean():backward()
> optimizer:step()]=])
add("optim.LBFGS", [=[
> local net = nn.Linear(2, 1)
> local optimizer = optim.LBFGS(net:parameters(), {line_search_fn = "strong_wolfe"})
> optimizer:step(function()
>   optimizer:zero_grad()
>   local loss = net(lucerna.ones(4, 2)):square():mean()
>   loss:backward()
>   return loss
> end)]=])
add("optim.Optimizer", [=[
> local Plain = optim.class("Plain")
> function Plain:__init(params, options) optim.Optimizer.__init(self, params, options) end
> local o = Plain(nn.Linear(1, 1):parameters(), {lr = 0.1})
> assert(o.param_groups[1].lr == 0.1)]=])

add("optim.class", [=[
> local Plain = optim.class("Plain")
> assert(optim.is_optimizer(Plain(nn.Linear(1, 1):parameters(), {lr = 0.1})))]=])
add("optim.is_optimizer", [=[
> assert(optim.is_optimizer(optim.SGD(nn.Linear(1, 1):parameters())))]=])
add("optim.register_optimizer_step_pre_hook optim.register_optimizer_step_post_hook", [=[
> local handle = optim.register_optimizer_step_post_hook(function(optimizer, args) end)
> handle:remove()]=])

return entries
