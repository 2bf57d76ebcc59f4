-- What the out-of-memory sweep runs of nn.functional: losses, pooling, bags and resampling that
-- keep tables or scratch memory, forwards and backwards. Returns the scenario as a function.
local lucerna = require "lucerna"
local nn, F = lucerna.nn, lucerna.nn.functional

local function learn(...) return lucerna.rand(...):requires_grad_() end

local function losses()
  local log_probs = learn(4, 2, 3)
  F.ctc_loss(log_probs:log_softmax(3), lucerna.tensor {{2, 3}, {3, 2}}, {4, 4}, {2, 1}):backward()
  local x = learn(2, 3)
  F.multilabel_margin_loss(x, lucerna.tensor {{1, -1, 2}, {3, 2, -1}}):backward()
  F.multi_margin_loss(x, lucerna.tensor {1, 3}):backward()
  F.gaussian_nll_loss(x, x:detach(), lucerna.ones(2)):backward()
  local m = nn.AdaptiveLogSoftmaxWithLoss(4, 6, {2, 4})
  local _, loss = m(learn(3, 4), lucerna.tensor {1, 3, 6})
  loss:backward()
  nn.TripletMarginWithDistanceLoss()(x, x + 1, x - 1):backward()
end

local function pooling()
  local x = learn(1, 1, 4, 4, 4)
  local y, at = F.max_pool3d(x, 2, {return_indices = true})
  F.max_unpool3d(y, at, 2):sum():backward()
  F.avg_pool3d(x, 2):sum():backward()
  F.adaptive_max_pool3d(x, 3):sum():backward()
  nn.FractionalMaxPool3d(2, 2)(x):sum():backward()
end

local function mixed_precision()
  local _ <close> = lucerna.autocast("cpu")
  local layer, x = nn.Linear(3, 2), learn(2, 3)
  F.mse_loss(lucerna.cat({layer(x), layer(x)}), lucerna.zeros(4, 2)):backward()
end

local function sampling()
  local x = learn(1, 1, 3, 4)
  F.interpolate(x, {5, 2}, {mode = "bicubic", antialias = true}):sum():backward()
  local grid = F.affine_grid(lucerna.tensor {{{1.0, 0, 0}, {0, 1, 0}}}, {1, 1, 3, 4})
  F.grid_sample(x, grid:requires_grad_()):sum():backward()
  local bag = nn.EmbeddingBag(4, 2, {mode = "max", padding_idx = 1, max_norm = 1.0})
  bag(lucerna.tensor {1, 2, 3, 2}, lucerna.tensor {1, 3}):sum():backward()
  F.pdist(learn(3, 2)):sum():backward()
  F.rrelu(learn(3, 2), {training = true}):sum():backward()
  F.gumbel_softmax(learn(3, 2), {hard = true}):sum():backward()
  F.alpha_dropout(learn(3, 2), {training = true}):sum():backward()
end

return function()
  losses()
  mixed_precision()
  pooling()
  sampling()
end
