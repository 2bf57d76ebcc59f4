-- Examples of schedulers and averages of weights; their texts are the comments in lucerna.optim.
local entries = { title = "Learning rates and averages" }

local function add(names, text) entries[#entries + 1] = { names, text } end

local RATE = [=[
> local optimizer = optim.SGD(nn.Linear(2, 1):parameters(), {lr = 0.1, momentum = 0.9})
> local scheduler = optim.lr_scheduler.%s
> for epoch = 1, 3 do
>   optimizer:step()
>   scheduler:step(%s)
> end
> local rate = scheduler:get_last_lr()[1]]=]
local function rate(name, arguments, step)
  local call = ("%s(optimizer%s)"):format(name, arguments)
  add("optim.lr_scheduler." .. name, RATE:format(call, step or ""))
end
add("optim.lr_scheduler.LRScheduler", [=[
> local Halving = optim.class("Halving", optim.lr_scheduler.LRScheduler)
> function Halving:get_lr() return {1 / 2 ^ self.last_epoch} end
> local scheduler = Halving(optim.SGD(nn.Linear(2, 1):parameters(), {lr = 1}))
> assert(scheduler:get_last_lr()[1] == 1)]=])
rate("LambdaLR", ", function(epoch) return 0.95 ^ epoch end")
rate("MultiplicativeLR", ", function(epoch) return 0.95 end")
rate("StepLR", ", 2, 0.5")
rate("MultiStepLR", ", {1, 3}")
rate("ConstantLR", ", {factor = 0.5, total_iters = 2}")
rate("LinearLR", ", {total_iters = 3}")
rate("ExponentialLR", ", 0.9")
rate("PolynomialLR", ", {total_iters = 4, power = 2}")
rate("CosineAnnealingLR", ", 10")
rate("CosineAnnealingWarmRestarts", ", 2")
rate("CyclicLR", ", 0.01, 0.1")
rate("OneCycleLR", ", 0.1, 10")
rate("ReduceLROnPlateau", ", 'min', {patience = 1}", "1.0")
add("optim.lr_scheduler.ChainedScheduler", [=[
> local optimizer = optim.SGD(nn.Linear(2, 1):parameters(), {lr = 0.1})
> local lr = optim.lr_scheduler
> local scheduler = lr.ChainedScheduler{lr.ConstantLR(optimizer), lr.ExponentialLR(optimizer, 0.9)}
> optimizer:step()
> scheduler:step()]=])
add("optim.lr_scheduler.SequentialLR", [=[
> local optimizer = optim.SGD(nn.Linear(2, 1):parameters(), {lr = 0.1})
> local lr = optim.lr_scheduler
> local warm, cool = lr.LinearLR(optimizer), lr.ExponentialLR(optimizer, 0.9)
> local scheduler = lr.SequentialLR(optimizer, {warm, cool}, {5})
> optimizer:step()
> scheduler:step()]=])
add("optim.swa_utils.SWALR", [=[
> local optimizer = optim.SGD(nn.Linear(2, 1):parameters(), {lr = 0.1})
> local scheduler = optim.swa_utils.SWALR(optimizer, 0.05)
> optimizer:step()
> scheduler:step()]=])
add("optim.swa_utils.AveragedModel optim.swa_utils.update_bn", [=[
> local net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
> local average = optim.swa_utils.AveragedModel(net)
> average:update_parameters(net)
> optim.swa_utils.update_bn({lucerna.randn(4, 2), lucerna.randn(4, 2)}, average)]=])
add("optim.swa_utils.get_ema_avg_fn optim.swa_utils.get_swa_avg_fn", [=[
> local average = optim.swa_utils.get_ema_avg_fn(0.99)
> local net = nn.Linear(2, 1)
> local model = optim.swa_utils.AveragedModel(net, {avg_fn = average})]=])
add("optim.swa_utils.get_ema_multi_avg_fn optim.swa_utils.get_swa_multi_avg_fn", [=[
> local average = optim.swa_utils.get_ema_multi_avg_fn(0.99)
> local model = optim.swa_utils.AveragedModel(nn.Linear(2, 1), {multi_avg_fn = average})]=])

return entries
