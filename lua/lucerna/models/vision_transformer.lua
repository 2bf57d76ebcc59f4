-- Vision transformers (Dosovitskiy et al., 2020; torchvision.models.vision_transformer): an image
-- cut into patches, read as a sequence that a class token goes before.

local lucerna = require "lucerna"
local nn = require "lucerna.nn"
local fail = require("lucerna.core")._fail
local arguments = require "lucerna.arguments"
local shape_text = require "lucerna.shape_text"
local sizes = require "lucerna.models.sizes"

local init = nn.init
local vision_transformer = {}

local MLPBlock = nn.class("MLPBlock", nn.Sequential)

function MLPBlock:__init(width, inner, dropout)
  nn.Sequential.__init(self, nn.Linear(width, inner), nn.GELU(), nn.Dropout(dropout),
    nn.Linear(inner, width), nn.Dropout(dropout))
  for m in self:children() do
    if nn.isinstance(m, nn.Linear) then
      init.xavier_uniform_(m.weight)
      init.normal_(m.bias, 0, 1e-6)
    end
  end
end

local EncoderBlock = nn.class("EncoderBlock")

function EncoderBlock:__init(o)
  self.num_heads = o.num_heads
  self.ln_1 = o.norm_layer(o.hidden_dim)
  self.self_attention = nn.MultiheadAttention(o.hidden_dim, o.num_heads,
    {dropout = o.attention_dropout, batch_first = true})
  self.dropout = nn.Dropout(o.dropout)
  self.ln_2 = o.norm_layer(o.hidden_dim)
  self.mlp = MLPBlock(o.hidden_dim, o.mlp_dim, o.dropout)
end

function EncoderBlock:forward(input)
  local x = self.ln_1(input)
  x = self.self_attention(x, x, x, {need_weights = false})
  x = self.dropout(x) + input
  return x + self.mlp(self.ln_2(x))
end

local Encoder = nn.class("Encoder")

function Encoder:__init(seq_length, o)
  self.pos_embedding = nn.Parameter(lucerna.empty(1, seq_length, o.hidden_dim))
  init.normal_(self.pos_embedding, 0, 0.02)
  self.dropout = nn.Dropout(o.dropout)
  local layers = {}
  for i = 1, o.num_layers do
    layers[i] = {("encoder_layer_%d"):format(i - 1), EncoderBlock(o)}
  end
  self.layers = nn.Sequential(layers)
  self.ln = o.norm_layer(o.hidden_dim)
end

function Encoder:forward(x) return self.ln(self.layers(self.dropout(x + self.pos_embedding))) end

-- ---- the net ----

local VisionTransformer = nn.class("VisionTransformer")
vision_transformer.VisionTransformer = VisionTransformer

local OPTIONS = {"image_size", "patch_size", "num_layers", "num_heads", "hidden_dim", "mlp_dim",
  "dropout", "attention_dropout", "num_classes", "representation_size", "norm_layer",
  options = 1}

local function read_options(...)
  local values, o = table.pack(arguments("VisionTransformer", OPTIONS, ...)), {}
  for k, name in ipairs(OPTIONS) do o[name] = values[k] end
  sizes("VisionTransformer", {table.unpack(OPTIONS, 1, 6)}, table.unpack(values, 1, 6))
  if o.image_size % o.patch_size ~= 0 then fail("Input shape indivisible by patch size!") end
  o.dropout, o.attention_dropout = o.dropout or 0, o.attention_dropout or 0
  o.norm_layer = o.norm_layer or function(width) return nn.LayerNorm(width, {eps = 1e-6}) end
  return o
end

local function make_heads(o)
  local size, classes = o.representation_size, o.num_classes or 1000
  if not size then return nn.Sequential {{"head", nn.Linear(o.hidden_dim, classes)}} end
  return nn.Sequential {{"pre_logits", nn.Linear(o.hidden_dim, size)}, {"act", nn.Tanh()},
    {"head", nn.Linear(size, classes)}}
end

-- Normal weights whose spread depends on the number of inputs of an output.
local function initialize(layer, fan_in)
  init.trunc_normal_(layer.weight, {std = math.sqrt(1 / fan_in)})
  init.zeros_(layer.bias)
end

--- VisionTransformer{image_size=, patch_size=, num_layers=, num_heads=, hidden_dim=, mlp_dim=,
-- dropout=0, attention_dropout=0, num_classes=1000, representation_size=, norm_layer=}: square
-- images [N, 3, image_size, image_size] -> [N, num_classes]. representation_size: one more linear
-- layer before the head. norm_layer(width) makes the norms (LayerNorm with eps=1e-6).
function VisionTransformer:__init(...)
  local o = read_options(...)
  self.image_size, self.patch_size, self.hidden_dim = o.image_size, o.patch_size, o.hidden_dim
  self.conv_proj = nn.Conv2d(3, o.hidden_dim, o.patch_size, {stride = o.patch_size})
  self.class_token = nn.Parameter(lucerna.zeros(1, 1, o.hidden_dim))
  local patches = o.image_size // o.patch_size
  self.seq_length = patches * patches + 1
  self.encoder = Encoder(self.seq_length, o)
  self.heads = make_heads(o)
  initialize(self.conv_proj, 3 * o.patch_size * o.patch_size)
  if o.representation_size then initialize(self.heads.pre_logits, o.hidden_dim) end
  init.zeros_(self.heads.head.weight)
  init.zeros_(self.heads.head.bias)
end

function VisionTransformer:forward(x)
  local shape, size = x.shape, self.image_size
  if #shape ~= 4 or shape[3] ~= size or shape[4] ~= size then
    fail("VisionTransformer: expected images of %dx%d (got %s)", size, size,
      shape_text(shape))
  end
  x = self.conv_proj(x):flatten(3):transpose(2, 3) -- [N, patches, hidden_dim]
  x = lucerna.cat({self.class_token:expand(shape[1], -1, -1), x}, 2)
  return self.heads(self.encoder(x):select(2, 1))
end

--- vit_b_16({options of VisionTransformer}): 12 layers on 16x16 patches of 224x224 images,
-- 86,567,656 parameters.
function vision_transformer.vit_b_16(options)
  if options ~= nil and type(options) ~= "table" then
    fail("vit_b_16: expected a table of options (got %s)", type(options))
  end
  local all = {image_size = 224, patch_size = 16, num_layers = 12, num_heads = 12,
    hidden_dim = 768, mlp_dim = 3072}
  for key, value in pairs(options or {}) do all[key] = value end
  return (VisionTransformer(all))
end

return vision_transformer
