-- Losses that are modules with children, or take a function or a table of options.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local nn = require "lucerna.nn"
local F = require "lucerna.nn.functional"
local python = require "lucerna.python"
local shape_text = require "lucerna.shape_text"

local fail = core._fail
local loss = {}

-- ---- TripletMarginWithDistanceLoss ----

local Triplet = nn.class("TripletMarginWithDistanceLoss")
loss.TripletMarginWithDistanceLoss = Triplet

--- TripletMarginWithDistanceLoss{distance_function = nn.PairwiseDistance(), margin = 1.0,
-- swap = false, reduction = "mean"}; forward(anchor, positive, negative).
function Triplet:__init(...)
  local who = "TripletMarginWithDistanceLoss"
  local distance, margin, swap, reduction =
    arguments(who, { "distance_function", "margin", "swap", "reduction", options = 1 }, ...)
  if distance ~= nil then check.callable(who, "distance_function", distance) end
  self.margin = check.option(who, "margin", margin, "number") or 1.0
  self.swap, self.reduction = swap or false, reduction or "mean"
  check.reduction(who, self.reduction)
  if self.margin <= 0 then
    fail("%s: expected margin to be greater than 0, got %s instead", who, self.margin)
  end
  self.distance_function = distance or nn.PairwiseDistance()
end

function Triplet:forward(...)
  local anchor, positive, negative =
    arguments("TripletMarginWithDistanceLoss", { "anchor", "positive", "negative" }, ...)
  return F.triplet_margin_with_distance_loss(anchor, positive, negative, {
    distance_function = self.distance_function, margin = self.margin, swap = self.swap,
    reduction = self.reduction })
end

-- ---- LinearCrossEntropyLoss ----

local OPTIONS = { allow_retain_graph = "boolean", batch_chunk_size = "number",
  chunking_method = "string", acc_policy = "string", acc_dtype = "userdata" }
local ORDER = { "allow_retain_graph", "batch_chunk_size", "chunking_method", "acc_policy",
  "acc_dtype", options = 1 }

--- LinearCrossEntropyOptions{allow_retain_graph = false, batch_chunk_size =, chunking_method =
-- "auto", acc_policy = "auto", acc_dtype =}: how the loss may be computed; a table.
function loss.LinearCrossEntropyOptions(...)
  local values = table.pack(arguments("LinearCrossEntropyOptions", ORDER, ...))
  local options = { allow_retain_graph = false, chunking_method = "auto", acc_policy = "auto" }
  for i, name in ipairs(ORDER) do
    local value = check.option("LinearCrossEntropyOptions", name, values[i], OPTIONS[name])
    if value ~= nil then options[name] = value end
  end
  return options
end

local function options_text(options)
  local items = {}
  for i, name in ipairs(ORDER) do
    local value = options[name]
    items[i] = name .. "=" .. (type(value) == "string" and ("'%s'"):format(value) or python(value))
  end
  return "LinearCrossEntropyOptions(" .. table.concat(items, ", ") .. ")"
end

local LinearCross = nn.class("LinearCrossEntropyLoss")
loss.LinearCrossEntropyLoss = LinearCross

local function product(list)
  local n = 1
  for _, size in ipairs(list) do n = n * size end
  return n
end

--- LinearCrossEntropyLoss(in_features, num_classes, {out_features = {}, bias = false, device =,
-- dtype =, reduction = "mean", weight =, ignore_index =, label_smoothing = 0.0, options =}): a
-- linear layer of num_classes (for each place of out_features) and cross_entropy of what it gives.
-- forward(input [N, in_features], target [N, out_features...]).
function LinearCross:__init(...)
  local who = "LinearCrossEntropyLoss"
  local features, classes, out, bias, device, dtype, reduction, weight, ignore, smoothing, options =
    arguments(who, { "in_features", "num_classes", "out_features", "bias", "device", "dtype",
      "reduction", "weight", "ignore_index", "label_smoothing", "options" }, ...)
  if type(out) == "number" then out = { out } end
  self.in_features, self.num_classes = features, classes
  self.out_features = check.option(who, "out_features", out, "table") or {}
  self.reduction, self.ignore_index = reduction or "mean", ignore
  self.label_smoothing = smoothing or 0.0
  self.options = check.option(who, "options", options, "table")
  check.reduction(who, self.reduction)
  check.integer(who, "num_classes", classes)
  if weight ~= nil and (check.tensor(who, "weight", weight):dim() ~= 1 or #weight ~= classes) then
    fail("%s: expected weight shape to be [%d], got %s", who, classes, shape_text(weight.shape))
  end
  check.number(who, "label_smoothing", self.label_smoothing)
  if not (self.label_smoothing >= 0 and self.label_smoothing <= 1) then
    fail("%s: expected label_smoothing to be in range [0, 1], got %s", who, self.label_smoothing)
  end
  self.linear = nn.Linear(features, classes * product(self.out_features),
    { bias = bias or false, device = device, dtype = dtype })
  self:register_buffer("weight", weight)
end

function LinearCross:forward(...)
  local input, target = arguments("LinearCrossEntropyLoss", { "input", "target" }, ...)
  local matrix = self.linear.weight
  if #self.out_features > 0 then
    matrix = matrix:unflatten(1, { self.num_classes, table.unpack(self.out_features) })
  end
  return F.linear_cross_entropy(input, matrix, target, {
    linear_bias = self.linear.bias, weight = self.weight, reduction = self.reduction,
    ignore_index = self.ignore_index, label_smoothing = self.label_smoothing,
    options = self.options })
end

function LinearCross:extra_repr()
  return ("in_features=%d, num_classes=%d, out_features=%s, bias=%s, reduction=%s, "
    .. "ignore_index=%s, label_smoothing=%s, options=%s"):format(self.in_features, self.num_classes,
    python(self.out_features), python(self.linear.bias ~= nil), self.reduction,
    python(self.ignore_index), python(self.label_smoothing),
    self.options and options_text(self.options) or "None")
end

-- ---- AdaptiveLogSoftmaxWithLoss ----

local Adaptive = nn.class("AdaptiveLogSoftmaxWithLoss")
loss.AdaptiveLogSoftmaxWithLoss = Adaptive

local function check_cutoffs(cutoffs, classes)
  local last, good = 0, type(cutoffs) == "table" and #cutoffs > 0
  if good then
    for _, cutoff in ipairs(cutoffs) do
      good = good and math.type(cutoff) == "integer" and cutoff > last and cutoff < classes
      last = good and cutoff or last
    end
  end
  if good then return end
  fail("AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of unique, positive integers "
    .. "sorted in an increasing order, where each value is between 1 and n_classes-1")
end

--- AdaptiveLogSoftmaxWithLoss(in_features, n_classes, cutoffs, {div_value = 4.0, head_bias = false,
-- device =, dtype =}): a softmax in clusters (Grave et al. 2017), for many classes of which few are
-- frequent. The first cutoffs[1] classes are the head's, those up to cutoffs[2] the next cluster's.
-- forward(input [N, in_features], target [N]) gives the targets' log-probabilities and the loss.
function Adaptive:__init(...)
  local features, classes, cutoffs, div, bias, device, dtype = arguments(
    "AdaptiveLogSoftmaxWithLoss", { "in_features", "n_classes", "cutoffs", "div_value", "head_bias",
      "device", "dtype", options = 4 }, ...)
  check.integer("AdaptiveLogSoftmaxWithLoss", "in_features", features)
  check_cutoffs(cutoffs, check.integer("AdaptiveLogSoftmaxWithLoss", "n_classes", classes))
  if (check.option("AdaptiveLogSoftmaxWithLoss", "div_value", div, "number") or 1) <= 0 then
    fail("AdaptiveLogSoftmaxWithLoss: div_value must be above 0 (got %s)", div)
  end
  self.in_features, self.n_classes, self.div_value = features, classes, div or 4.0
  self.head_bias, self.cutoffs = bias or false, { table.unpack(cutoffs) }
  self.cutoffs[#cutoffs + 1] = classes
  self.shortlist_size, self.n_clusters = cutoffs[1], #cutoffs
  self.head_size = self.shortlist_size + self.n_clusters
  local options = { bias = false, device = device, dtype = dtype }
  self.head = nn.Linear(features, self.head_size,
    { bias = self.head_bias, device = device, dtype = dtype })
  self.tail = nn.ModuleList()
  for i = 1, self.n_clusters do
    local inner = math.tointeger(features // self.div_value ^ i)
    self.tail:append(nn.Sequential(nn.Linear(features, inner, options),
      nn.Linear(inner, self.cutoffs[i + 1] - self.cutoffs[i], options)))
  end
end

local function check_self(self, method)
  if core.nn.is_module(self) and nn.isinstance(self, Adaptive) then return end
  fail("AdaptiveLogSoftmaxWithLoss.%s: must be called with a colon, loss:%s(...)", method, method)
end

--- reset_parameters(): the head and the clusters begin anew.
function Adaptive:reset_parameters()
  check_self(self, "reset_parameters")
  self.head:reset_parameters()
  for _, part in ipairs(self.tail) do
    part[1]:reset_parameters()
    part[2]:reset_parameters()
  end
end

local function refuse(text, ...) fail("AdaptiveLogSoftmaxWithLoss: " .. text, ...) end

local function check_call(input, target)
  check.tensor("AdaptiveLogSoftmaxWithLoss", "input", input)
  check.tensor("AdaptiveLogSoftmaxWithLoss", "target", target)
  if target:dim() > 1 then refuse("0D or 1D target tensor expected, multi-target not supported") end
  if input:dim() ~= target:dim() + 1 then
    refuse("%dD target tensor expects %dD input tensors, but found inputs with size %s",
      target:dim(), target:dim() + 1, shape_text(input.shape))
  end
  if target:dim() == 1 and input:size(1) ~= target:size(1) then
    refuse("Input and target should have the same size in the batch dimension.")
  end
end

-- The places of targets in the cluster that begins after `low`, and what the cluster says of them.
local function cluster_part(self, i, input, target)
  local low, high = self.cutoffs[i], self.cutoffs[i + 1]
  local rows = lucerna.nonzero(target:gt(low):logical_and(target:le(high))):reshape(-1)
  if rows:numel() == 0 then return end
  local log_probs = self.tail[i](input:index_select(1, rows)):log_softmax(2)
  local own = (target:index_select(1, rows) - low):unsqueeze(2)
  return rows, log_probs:gather(2, own):squeeze(2)
end

function Adaptive:forward(...)
  local input, target = arguments("AdaptiveLogSoftmaxWithLoss", { "input_", "target_" }, ...)
  check_call(input, target)
  local single = target:dim() == 0
  if single then input, target = input:unsqueeze(1), target:unsqueeze(1) end
  local least, most = 1, 1
  if target:numel() > 0 then least, most = target:min():item(), target:max():item() end
  if least < 1 or most > self.n_classes then
    refuse("Target values should be in [1, %d], but values in range [%d, %d] were found.",
      self.n_classes, least, most)
  end
  local place, output = target:clone(), input:new_zeros(target:size(1))
  for i = 1, self.n_clusters do
    local rows, part = cluster_part(self, i, input, target)
    if rows then
      place:index_fill_(1, rows, self.shortlist_size + i)
      output = output:index_add(1, rows, part)
    end
  end
  local head = self.head(input):log_softmax(2)
  output = output + head:gather(2, place:unsqueeze(2)):squeeze(2)
  local mean = -output:mean()
  return single and output:squeeze(1) or output, mean
end

local function full_log_prob(self, input, head)
  local log_probs = head:log_softmax(2)
  local parts = { log_probs:narrow(2, 1, self.shortlist_size) }
  for i = 1, self.n_clusters do
    local own = log_probs:narrow(2, self.shortlist_size + i, 1)
    parts[i + 1] = self.tail[i](input):log_softmax(2) + own
  end
  return lucerna.cat(parts, 2)
end

--- log_prob(input [N, in_features]): the log-probabilities [N, n_classes].
function Adaptive:log_prob(...)
  check_self(self, "log_prob")
  local input = check.tensor("log_prob", "input", (arguments("log_prob", { "input" }, ...)))
  return full_log_prob(self, input, self.head(input))
end

--- predict(input [N, in_features]): the most probable class of each line, [N].
function Adaptive:predict(...)
  check_self(self, "predict")
  local input = check.tensor("predict", "input", (arguments("predict", { "input" }, ...)))
  local head = self.head(input)
  local best = head:argmax(2)
  local rows = lucerna.nonzero(best:gt(self.shortlist_size)):reshape(-1)
  if rows:numel() == 0 then return best end
  local full = full_log_prob(self, input:index_select(1, rows), head:index_select(1, rows))
  return best:index_copy(1, rows, full:argmax(2))
end

return loss
