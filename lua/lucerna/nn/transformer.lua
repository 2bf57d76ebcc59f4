-- The Transformer and its parts (Vaswani et al. 2017; norm_first: Xiong et al. 2020): modules made
-- of MultiheadAttention, Linear, LayerNorm and Dropout. Sequences are [length, batch, d_model],
-- [batch, length, d_model] with batch_first, or [length, d_model]. Masks are boolean (true: not
-- looked at) or float (added to the scores).

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local nn = require "lucerna.nn"
local F = require "lucerna.nn.functional"

local fail = core._fail
local transformer = {}

-- ---- what the classes share ----

-- The arguments of a forward, of which those before the options are tensors, and masks where they
-- are given.
local function read(who, names, ...)
  local values = { arguments(who, names, ...) }
  for i = 1, #names do
    local mask = values[i] ~= nil and names[i]:find "mask"
    if i < names.options or mask then check.tensor(who, names[i], values[i]) end
  end
  return table.unpack(values, 1, #names)
end

local function either(value, default)
  if value == nil then return default end
  return value
end

local relu, relu_of = F.relu, core.nn.relu
local ACTIVATIONS = { relu = relu, gelu = F.gelu }

local function activation_of(who, given)
  if given == nil then return F.relu end
  if type(given) ~= "string" then return check.callable(who, "activation", given) end
  local f = ACTIVATIONS[given]
  return f or fail("%s: activation should be relu/gelu, not %s", who, given)
end

-- 1: relu, 2: gelu, 0: another function or module.
local function kind_of(activation)
  if activation == F.relu or nn.isinstance(activation, nn.ReLU) then return 1 end
  if activation == F.gelu or nn.isinstance(activation, nn.GELU) then return 2 end
  return 0
end

-- A mask to add; a boolean one says where not to look.
local function added(who, name, mask, dtype)
  if mask == nil or lucerna.is_floating_point(mask) then return mask end
  if mask.dtype ~= lucerna.bool then
    fail("%s: only bool and floating types of %s are supported (got %s)", who, name, mask.dtype)
  end
  return lucerna.zeros_like(mask, { dtype = dtype }):masked_fill_(mask, -math.huge)
end

local function causal_mask(size, options)
  return lucerna.full({ size, size }, -math.huge, options):triu(1)
end

-- What was said of a mask, or whether it hides just what comes later.
local function is_causal(mask, said, x, batch_first)
  if said ~= nil or mask == nil then return said == true end
  local size = x:size(x:dim() == 3 and batch_first and 2 or 1)
  if mask:dim() ~= 2 or mask:size(1) ~= size or mask:size(2) ~= size then return false end
  return lucerna.equal(mask, causal_mask(size, { dtype = mask.dtype }))
end

local function clones(who, module, count)
  check.integer(who, "num_layers", count)
  local list = nn.ModuleList()
  for _ = 1, count do list:append(module:clone()) end
  return list
end

-- The parts of a layer as methods, which subclasses may replace.

local function attend_to_itself(self, x, mask, padding, causal)
  local y = self.self_attn(x, x, x, padding, false, mask, true, causal or false)
  return self.dropout1(y)
end

-- The feed-forward part; its last dropout is number `last`.
local function feed_forward(last)
  return function(self, x)
    local y = self.activation == relu and relu_of(self.linear1, x)
    y = y or self.activation(self.linear1(x))
    return self["dropout" .. last](self.linear2(self.dropout(y)))
  end
end

local LAYER = { "d_model", "nhead", "dim_feedforward", "dropout", "activation", "layer_norm_eps",
  "batch_first", "norm_first", "bias", "device", "dtype", options = 3 }

-- Fills a layer with `attentions` (names) and one norm and dropout more than those.
local function build_layer(self, who, attentions, ...)
  local d_model, nhead, width, dropout, activation, eps, batch_first, norm_first, bias, device,
    dtype = arguments(who, LAYER, ...)
  check.integer(who, "d_model", d_model)
  check.integer(who, "nhead", nhead)
  check.option(who, "norm_first", norm_first, "boolean")
  width, dropout, eps = width or 2048, dropout or 0.1, eps or 1e-5
  bias, batch_first = either(bias, true), either(batch_first, false)
  activation = activation_of(who, activation)
  local options = { bias = bias, device = device, dtype = dtype }
  for _, name in ipairs(attentions) do
    self[name] = nn.MultiheadAttention(d_model, nhead, { dropout = dropout, bias = bias,
      batch_first = batch_first, device = device, dtype = dtype })
  end
  self.linear1 = nn.Linear(d_model, width, options)
  self.dropout = nn.Dropout(dropout)
  self.linear2 = nn.Linear(width, d_model, options)
  self.norm_first = either(norm_first, false)
  for i = 1, #attentions + 1 do
    self["norm" .. i] = nn.LayerNorm(d_model, { eps = eps, bias = bias, device = device,
      dtype = dtype })
  end
  for i = 1, #attentions + 1 do self["dropout" .. i] = nn.Dropout(dropout) end
  self.activation = activation
end

-- A part of a layer with its norm, added to the part's input. (No tail call: messages name the
-- forward that called.)
local function residual(self, norm, x, part, ...)
  norm = self[norm]
  if self.norm_first then return x + self[part](self, norm(x), ...) end
  return norm(x + self[part](self, x, ...))
end

-- ---- TransformerEncoderLayer ----

local EncoderLayer = nn.class("TransformerEncoderLayer")
transformer.TransformerEncoderLayer = EncoderLayer

--- TransformerEncoderLayer(d_model, nhead, {dim_feedforward = 2048, dropout = 0.1, activation =
-- "relu", layer_norm_eps = 1e-5, batch_first = false, norm_first = false, bias = true, device =,
-- dtype =}): attention of a sequence to itself and two linear layers, each added to its input and
-- normalized (norm_first: normalized before). activation: "relu", "gelu", a function or a module.
-- forward(src, src_mask, src_key_padding_mask, is_causal = false).
function EncoderLayer:__init(...)
  build_layer(self, "TransformerEncoderLayer", { "self_attn" }, ...)
  self.activation_relu_or_gelu = kind_of(self.activation)
end

EncoderLayer._sa_block = attend_to_itself
EncoderLayer._ff_block = feed_forward(2)

local ENCODE_LAYER = { "src", "src_mask", "src_key_padding_mask", "is_causal", options = 2 }

function EncoderLayer:forward(...)
  local who = "TransformerEncoderLayer"
  local x, mask, padding, causal = read(who, ENCODE_LAYER, ...)
  padding = added(who, "src_key_padding_mask", padding, x.dtype)
  mask = added(who, "src_mask", mask, x.dtype)
  x = residual(self, "norm1", x, "_sa_block", mask, padding, causal)
  return (residual(self, "norm2", x, "_ff_block"))
end

-- ---- TransformerDecoderLayer ----

local DecoderLayer = nn.class("TransformerDecoderLayer")
transformer.TransformerDecoderLayer = DecoderLayer

--- TransformerDecoderLayer(d_model, nhead, {...}): as TransformerEncoderLayer, with attention to
-- another sequence, memory, after that to itself. forward(tgt, memory, tgt_mask, memory_mask,
-- tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal = false, memory_is_causal = false).
function DecoderLayer:__init(...)
  build_layer(self, "TransformerDecoderLayer", { "self_attn", "multihead_attn" }, ...)
end

DecoderLayer._sa_block = attend_to_itself
DecoderLayer._ff_block = feed_forward(3)

function DecoderLayer:_mha_block(x, memory, mask, padding, causal)
  local y = self.multihead_attn(x, memory, memory, padding, false, mask, true, causal or false)
  return self.dropout2(y)
end

local DECODE = { "tgt", "memory", "tgt_mask", "memory_mask", "tgt_key_padding_mask",
  "memory_key_padding_mask", "tgt_is_causal", "memory_is_causal", options = 3 }

function DecoderLayer:forward(...)
  local x, memory, mask, memory_mask, padding, memory_padding, causal, memory_causal =
    read("TransformerDecoderLayer", DECODE, ...)
  x = residual(self, "norm1", x, "_sa_block", mask, padding, causal)
  x = residual(self, "norm2", x, "_mha_block", memory, memory_mask, memory_padding, memory_causal)
  return (residual(self, "norm3", x, "_ff_block"))
end

-- ---- TransformerEncoder ----

local Encoder = nn.class("TransformerEncoder")
transformer.TransformerEncoder = Encoder

--- TransformerEncoder(encoder_layer, num_layers, {norm =, enable_nested_tensor = true, mask_check =
-- true}): copies of encoder_layer one after another, which begin alike, and a norm.
-- forward(src, mask, src_key_padding_mask, is_causal); is_causal left out: the mask is looked at.
-- As in PyTorch, where it computes without the padding (batch_first, in eval mode, without
-- gradients; enable_nested_tensor), what comes before the norm is zero there.
function Encoder:__init(...)
  local who = "TransformerEncoder"
  local layer, count, norm, nested, mask_check = arguments(who, { "encoder_layer", "num_layers",
    "norm", "enable_nested_tensor", "mask_check", options = 3 }, ...)
  check.module(who, "encoder_layer", layer)
  self.layers = clones(who, layer, count)
  self.num_layers, self.norm = count, norm and check.callable(who, "norm", norm)
  self.enable_nested_tensor, self.mask_check = either(nested, true), either(mask_check, true)
end

-- Is PyTorch's way without the padding open to this layer?
local function can_skip_padding(layer)
  return nn.isinstance(layer, EncoderLayer) and not layer.norm_first and not layer.training
    and layer.self_attn.batch_first and layer.self_attn._qkv_same_embed_dim
    and layer.self_attn.in_proj_bias ~= nil and layer.activation_relu_or_gelu ~= 0
    and layer.norm1.eps == layer.norm2.eps and layer.self_attn.num_heads % 2 == 0
end

-- Where the padding is [batch, length, 1], if it counts as zeros.
local function skipped(self, src, mask, padding)
  local first = self.layers[1]
  if not (padding and self.enable_nested_tensor and mask == nil and src:dim() == 3 and first
    and can_skip_padding(first)) then
    return nil
  end
  if lucerna.is_grad_enabled() then
    if src.requires_grad then return nil end
    for p in first:parameters() do
      if p.requires_grad then return nil end
    end
  end
  local hidden = padding:ne(0)
  if self.mask_check and hidden:size(2) > 1 then -- padding comes last in every row
    local before, after = hidden[{ {}, { 1, -2 } }], hidden[{ {}, { 2, -1 } }]
    if before:logical_and(after:logical_not()):any():item() then return nil end
  end
  return hidden:unsqueeze(-1)
end

local function batch_first_of(layers)
  local first = layers[1]
  return first and first.self_attn and first.self_attn.batch_first
end

local ENCODE = { "src", "mask", "src_key_padding_mask", "is_causal", options = 2 }

function Encoder:forward(...)
  local who = "TransformerEncoder"
  local x, mask, padding, causal = read(who, ENCODE, ...)
  padding = added(who, "src_key_padding_mask", padding, x.dtype)
  mask = added(who, "mask", mask, x.dtype)
  local zeros = skipped(self, x, mask, padding)
  causal = is_causal(mask, causal, x, batch_first_of(self.layers))
  for _, layer in ipairs(self.layers) do x = layer(x, mask, padding, causal) end
  if zeros then x = x:masked_fill(zeros, 0) end
  return self.norm and self.norm(x) or x
end

-- ---- TransformerDecoder ----

local Decoder = nn.class("TransformerDecoder")
transformer.TransformerDecoder = Decoder

--- TransformerDecoder(decoder_layer, num_layers, {norm =}): copies of decoder_layer one after
-- another, which begin alike, and a norm. forward(tgt, memory, tgt_mask, memory_mask,
-- tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal = false);
-- tgt_is_causal left out: the mask is looked at.
function Decoder:__init(...)
  local who = "TransformerDecoder"
  local layer, count, norm = arguments(who, { "decoder_layer", "num_layers", "norm",
    options = 3 }, ...)
  check.module(who, "decoder_layer", layer)
  self.layers = clones(who, layer, count)
  self.num_layers, self.norm = count, norm and check.callable(who, "norm", norm)
end

function Decoder:forward(...)
  local x, memory, mask, memory_mask, padding, memory_padding, causal, memory_causal =
    read("TransformerDecoder", DECODE, ...)
  causal = is_causal(mask, causal, x, batch_first_of(self.layers))
  for _, layer in ipairs(self.layers) do
    x = layer(x, memory, mask, memory_mask, padding, memory_padding, causal, memory_causal or false)
  end
  return self.norm and self.norm(x) or x
end

-- ---- Transformer ----

local Transformer = nn.class("Transformer")
transformer.Transformer = Transformer

--- Transformer(d_model = 512, nhead = 8, {num_encoder_layers = 6, num_decoder_layers = 6,
-- dim_feedforward = 2048, dropout = 0.1, activation = "relu", custom_encoder =, custom_decoder =,
-- layer_norm_eps = 1e-5, batch_first = false, norm_first = false, bias = true, device =, dtype =}):
-- an encoder and a decoder with their norms; matrices begin with xavier_uniform_.
-- forward(src, tgt, src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask,
-- memory_key_padding_mask, src_is_causal, tgt_is_causal, memory_is_causal = false).
function Transformer:__init(...)
  local d_model, nhead, encoders, decoders, width, dropout, activation, encoder, decoder, eps,
    batch_first, norm_first, bias, device, dtype = arguments("Transformer", { "d_model", "nhead",
      "num_encoder_layers", "num_decoder_layers", "dim_feedforward", "dropout", "activation",
      "custom_encoder", "custom_decoder", "layer_norm_eps", "batch_first", "norm_first", "bias",
      "device", "dtype", options = 1 }, ...)
  d_model, nhead, eps, bias = d_model or 512, nhead or 8, eps or 1e-5, either(bias, true)
  local options = { dim_feedforward = width, dropout = dropout, activation = activation,
    layer_norm_eps = eps, batch_first = batch_first, norm_first = norm_first, bias = bias,
    device = device, dtype = dtype }
  local function norm()
    return nn.LayerNorm(d_model, { eps = eps, bias = bias, device = device, dtype = dtype })
  end
  self.encoder = encoder and check.callable("Transformer", "custom_encoder", encoder)
    or Encoder(EncoderLayer(d_model, nhead, options), encoders or 6, norm())
  self.decoder = decoder and check.callable("Transformer", "custom_decoder", decoder)
    or Decoder(DecoderLayer(d_model, nhead, options), decoders or 6, norm())
  self:_reset_parameters()
  self.d_model, self.nhead, self.batch_first = d_model, nhead, either(batch_first, false)
end

local SEQUENCES = { "src", "tgt", "src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask",
  "tgt_key_padding_mask", "memory_key_padding_mask", "src_is_causal", "tgt_is_causal",
  "memory_is_causal", options = 3 }

function Transformer:forward(...)
  local src, tgt, src_mask, tgt_mask, memory_mask, src_padding, tgt_padding, memory_padding,
    src_causal, tgt_causal, memory_causal = read("Transformer", SEQUENCES, ...)
  local batch = self.batch_first and 1 or 2
  if src:dim() == 3 and (tgt:dim() ~= 3 or src:size(batch) ~= tgt:size(batch)) then
    fail("Transformer: the batch number of src and tgt must be equal")
  end
  if src:dim() == 0 or tgt:dim() == 0 or src:size(-1) ~= self.d_model
    or tgt:size(-1) ~= self.d_model then
    fail("Transformer: the feature number of src and tgt must be equal to d_model")
  end
  local memory = self.encoder(src, src_mask, src_padding, src_causal)
  return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_padding, memory_padding, tgt_causal,
    memory_causal or false)
end

--- Transformer.generate_square_subsequent_mask(sz, {device =, dtype =}): [sz, sz], -inf above the
-- diagonal and 0 elsewhere.
function Transformer.generate_square_subsequent_mask(...)
  local who = "generate_square_subsequent_mask"
  local first = ...
  if nn.isinstance(first, Transformer) then -- called with a colon
    return Transformer.generate_square_subsequent_mask(select(2, ...))
  end
  local size, device, dtype = arguments(who, { "sz", "device", "dtype", options = 2 }, ...)
  if math.type(size) ~= "integer" or size < 0 then
    fail("%s: sz must be an integer of at least 0 (got %s)", who, size)
  end
  return causal_mask(size, { device = device, dtype = dtype })
end

--- _reset_parameters(): xavier_uniform_ for every parameter of more than one dimension.
function Transformer:_reset_parameters()
  for p in self:parameters() do
    if p:dim() > 1 then nn.init.xavier_uniform_(p) end
  end
end

return transformer
