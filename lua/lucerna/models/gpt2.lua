-- GPT-2 (Radford et al., 2019): a decoder of text by the names of Hugging Face's GPT2Model, so that
-- its checkpoints load. The head that gives logits is the table of token embeddings itself.

local lucerna = require "lucerna"
local nn = require "lucerna.nn"
local fail = require("lucerna.core")._fail
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local sizes = require "lucerna.models.sizes"

local init, F = nn.init, nn.functional
local gpt2 = {}

-- A linear layer whose weight is [in, out], as in the published files.
local Conv1D = nn.class("Conv1D")

function Conv1D:__init(nf, nx)
  self.weight = nn.Parameter(lucerna.empty(nx, nf))
  self.bias = nn.Parameter(lucerna.zeros(nf))
  init.normal_(self.weight, 0, 0.02)
end

function Conv1D:forward(x) return F.linear(x, self.weight:t(), self.bias) end

local Attention = nn.class("GPT2Attention")

function Attention:__init(width, heads, dropout)
  self.heads = heads
  self.c_attn = Conv1D(3 * width, width)
  self.c_proj = Conv1D(width, width)
  self.attn_dropout = nn.Dropout(dropout)
  self.resid_dropout = nn.Dropout(dropout)
end

-- past: the keys and values of the tokens before, which get those of x; mask: who sees whom, if not
-- each token itself and those before it.
function Attention:forward(x, past, mask)
  local parts = self.c_attn(x):chunk(3, -1)
  for i, part in ipairs(parts) do
    parts[i] = part:unflatten(-1, {self.heads, -1}):transpose(-3, -2) -- [..., heads, T, size]
  end
  local query, key, value = parts[1], parts[2], parts[3]
  if past then
    if past.key then
      key, value = lucerna.cat({past.key, key}, -2), lucerna.cat({past.value, value}, -2)
    end
    past.key, past.value = key, value
  end
  local y = F.scaled_dot_product_attention(query, key, value, {attn_mask = mask,
    is_causal = mask == nil, dropout_p = self.training and self.attn_dropout.p or 0})
  return self.resid_dropout(self.c_proj(y:transpose(-3, -2):flatten(-2)))
end

local MLP = nn.class("GPT2MLP")

function MLP:__init(inner, width, dropout)
  self.c_fc = Conv1D(inner, width)
  self.c_proj = Conv1D(width, inner)
  self.dropout = nn.Dropout(dropout)
end

function MLP:forward(x)
  return self.dropout(self.c_proj(F.gelu(self.c_fc(x), {approximate = "tanh"})))
end

local Block = nn.class("GPT2Block")

function Block:__init(width, heads, inner, dropout, eps)
  self.ln_1 = nn.LayerNorm(width, {eps = eps})
  self.attn = Attention(width, heads, dropout)
  self.ln_2 = nn.LayerNorm(width, {eps = eps})
  self.mlp = MLP(inner, width, dropout)
end

function Block:forward(x, past, mask)
  x = x + self.attn(self.ln_1(x), past, mask)
  return x + self.mlp(self.ln_2(x))
end

-- ---- the net ----

local GPT2 = nn.class("GPT2")
gpt2.GPT2 = GPT2

-- Published files may have the body below "transformer.", the head as a tensor of its own, and each
-- layer's causal mask, which is no parameter.
local function rename(_, state, prefix)
  local names = {}
  for name in pairs(state) do
    if name:sub(1, #prefix) == prefix then names[#names + 1] = name end
  end
  for _, name in ipairs(names) do
    local own = name:sub(#prefix + 1)
    local bare = own:gsub("^transformer%.", "")
    local dropped = bare == "lm_head.weight" or bare:find("^h%.%d+%.attn%.bias$")
      or bare:find("^h%.%d+%.attn%.masked_bias$")
    if dropped or bare ~= own then
      local value = state[name]
      state[name] = nil
      if not dropped then state[prefix .. bare] = value end
    end
  end
end

-- Children first: what leads back into the sum of the layers begins smaller.
local function initialize(net, layers)
  net:apply(function(m)
    if nn.isinstance(m, Conv1D) or nn.isinstance(m, nn.Embedding) then
      init.normal_(m.weight, 0, 0.02)
    elseif nn.isinstance(m, Attention) or nn.isinstance(m, MLP) then
      init.normal_(m.c_proj.weight, 0, 0.02 / math.sqrt(2 * layers))
    end
  end)
end

local OPTIONS = {"vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner", "dropout",
  "layer_norm_epsilon", options = 1}
local SIZES = {table.unpack(OPTIONS, 1, 6)}

--- GPT2{vocab_size=50257, n_positions=1024, n_embd=768, n_layer=12, n_head=12, n_inner=4 * n_embd,
-- dropout=0.1, layer_norm_epsilon=1e-5}: ids [N, T] or [T] of tokens, from 1, -> logits [N, T,
-- vocab_size] or [T, vocab_size] of the token that follows each. T is at most n_positions. net(ids,
-- cache) goes on after the ids of earlier calls with the same table, empty at first, which keeps
-- what is needed of them. State dicts of GPT2Model and GPT2LMHeadModel load.
function GPT2:__init(...)
  local vocab_size, n_positions, n_embd, n_layer, n_head, n_inner, dropout, eps =
    arguments("GPT2", OPTIONS, ...)
  vocab_size, n_positions, n_layer = vocab_size or 50257, n_positions or 1024, n_layer or 12
  local width, heads = n_embd or 768, n_head or 12
  sizes("GPT2", {"n_embd"}, width)
  local inner = n_inner or 4 * width
  sizes("GPT2", SIZES, vocab_size, n_positions, width, n_layer, heads, inner)
  if width % heads ~= 0 then
    fail("GPT2: n_embd must be divisible by n_head (got %s and %s)", width, heads)
  end
  self.n_positions = n_positions
  dropout = dropout or 0.1
  self.wte = nn.Embedding(vocab_size, width)
  self.wpe = nn.Embedding(n_positions, width)
  self.drop = nn.Dropout(dropout)
  self.h = nn.ModuleList()
  for _ = 1, n_layer do
    self.h:append(Block(width, heads, inner, dropout, eps or 1e-5))
  end
  self.ln_f = nn.LayerNorm(width, {eps = eps or 1e-5})
  initialize(self, n_layer)
  self:register_load_state_dict_pre_hook(rename)
end

function GPT2:forward(ids, cache)
  local before = cache and cache.tokens or 0
  local all, mask = before + ids:size(-1), nil
  if all > self.n_positions then
    fail("GPT2: input has %d tokens, n_positions is %d", all, self.n_positions)
  end
  if before > 0 then
    mask = lucerna.ones(all - before, all, {dtype = lucerna.bool, device = ids.device}):tril(before)
  end
  local positions = lucerna.arange(before + 1, all + 1, {device = ids.device})
  local x = self.drop(self.wte(ids) + self.wpe(positions))
  for i, block in ipairs(self.h) do
    if cache then cache[i] = cache[i] or {} end
    x = block(x, cache and cache[i], mask)
  end
  if cache then cache.tokens = all end
  return F.linear(self.ln_f(x), self.wte.weight)
end

-- The next token of each row of logits [..., vocab_size], with a last size of 1.
local function choose(logits, temperature, top_k, generator)
  if temperature == 0 then return logits:argmax(-1, {keepdim = true}) end
  logits = logits / temperature
  if top_k and top_k < logits:size(-1) then
    local best = logits:topk(top_k, -1)
    logits = logits:masked_fill(logits:lt(best:narrow(-1, top_k, 1)), -math.huge)
  end
  return lucerna.multinomial(F.softmax(logits, -1), 1, {generator = generator})
end

-- Returns ids with `count` more tokens behind them.
local function extend(self, ids, count, ...)
  local cache, unread = {}, ids
  for _ = 1, count do
    if ids:size(-1) > self.n_positions then -- every position has moved: all is to be read again
      cache, unread = nil, ids:narrow(-1, -self.n_positions, self.n_positions)
    end
    local token = choose(self(unread, cache):select(-2, -1), ...)
    ids, unread = lucerna.cat({ids, token}, -1), token
  end
  return ids
end

local GENERATE = {"ids", "max_new_tokens", "temperature", "top_k", "generator", options = 2}

--- generate(ids, {max_new_tokens=20, temperature=1, top_k=, generator=}): ids [N, T] or [T] with
-- max_new_tokens more, each drawn by the logits / temperature of the top_k likeliest (of all
-- without top_k; temperature 0 takes the likeliest). The last n_positions tokens are looked at.
-- Nothing is recorded; net:eval() first, or dropout takes part.
function GPT2:generate(...)
  local ids, count, temperature, top_k, generator = arguments("generate", GENERATE, ...)
  if not lucerna.is_tensor(ids) or ids:dim() < 1 or ids:size(-1) < 1 then
    fail("generate: ids must be a tensor of at least one token")
  end
  temperature = temperature or 1
  if type(temperature) ~= "number" or temperature < 0 then
    fail("generate: temperature must not be negative (got %s)", temperature)
  end
  check.positive("generate", "top_k", top_k)
  return lucerna.no_grad(extend, self, ids, count or 20, temperature, top_k, generator)
end

--- gpt2({options of GPT2}): the smallest published one, 124,439,808 parameters.
function gpt2.gpt2(...) return (GPT2(...)) end

return gpt2
