-- lucerna.nn.attention.flex_attention: attention whose scores and masks are functions of the
-- positions. They get whole tensors of positions that broadcast, batch [B, 1, 1, 1], head
-- [1, H, 1, 1], query [1, 1, L, 1] and key [1, 1, 1, S], all counted from 1.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local F = require "lucerna.nn.functional"

local fail = core._fail
local flex = {}

local function positions(sizes)
  local list = {}
  for d, size in ipairs(sizes) do
    local shape = { 1, 1, 1, 1 }
    shape[d] = size
    list[d] = lucerna.arange(1, size + 1):view(shape)
  end
  return table.unpack(list)
end

-- ---- masks ----

--- noop_mask(batch, head, query, key): everything is seen.
function flex.noop_mask(_, _, query, key)
  return query:eq(query):logical_and(key:eq(key))
end

local function combined(who, join, ...)
  local mods = table.pack(...)
  for i = 1, mods.n do
    if type(mods[i]) ~= "function" then
      fail("%s: All inputs should be callable mask_mods (got %s)", who, type(mods[i]))
    end
  end
  return function(...)
    local result
    for i = 1, mods.n do
      local mask = mods[i](...)
      result = result and result[join](result, mask) or mask
    end
    return result
  end
end

--- and_masks(mask_mod, ...): sees what all of them see.
function flex.and_masks(...) return combined("and_masks", "logical_and", flex.noop_mask, ...) end

--- or_masks(mask_mod, ...): sees what one of them sees.
function flex.or_masks(...) return combined("or_masks", "logical_or", ...) end

--- create_mask(mod_fn, B, H, Q_LEN, KV_LEN): mod_fn(batch, head, query, key) for all positions, a
-- mask [B, H, Q_LEN, KV_LEN] of booleans. B or H left out: 1.
function flex.create_mask(...)
  local mod, batch, heads, queries, keys =
    arguments("create_mask", { "mod_fn", "B", "H", "Q_LEN", "KV_LEN", "device" }, ...)
  check.callable("create_mask", "mod_fn", mod)
  local sizes = { batch or 1, heads or 1, queries, keys }
  local mask = mod(positions(sizes))
  if not lucerna.is_tensor(mask) or mask.dtype ~= lucerna.bool then
    fail("create_mask: mod_fn must give a tensor of booleans")
  end
  return mask:expand(sizes)
end

--- BlockMask: what create_block_mask makes: mask, its shape, and the mask_mod.
local BlockMask = {}
BlockMask.__index = BlockMask
flex.BlockMask = BlockMask

--- create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN): the mask of mask_mod, for flex_attention.
function flex.create_block_mask(...)
  local mod, batch, heads, queries, keys = arguments("create_block_mask",
    { "mask_mod", "B", "H", "Q_LEN", "KV_LEN", "device", "BLOCK_SIZE" }, ...)
  local mask = flex.create_mask(mod, batch, heads, queries, keys)
  return setmetatable({ mask = mask, shape = mask.shape, mask_mod = mod }, BlockMask)
end

-- ---- attention ----

local function check_tensors(query, key, value)
  for name, t in pairs { query = query, key = key, value = value } do
    if not lucerna.is_tensor(t) or t:dim() ~= 4 then
      fail("flex_attention: Expected query, key and value to be 4D tensors (%s is %s)", name,
        lucerna.is_tensor(t) and t:dim() .. "D" or "a " .. type(t))
    end
  end
end

-- softmax(scores) value, and the logarithms of the sums; zeros for a query that sees no key.
local function attend(scores, value)
  local blind = scores:eq(-math.huge):all(-1, { keepdim = true })
  local weights = lucerna.softmax(scores:masked_fill(blind, 0), -1):masked_fill(blind, 0)
  return weights:matmul(value), scores:logsumexp(-1)
end

--- flex_attention(query, key, value, {score_mod =, block_mask =, scale =, enable_gqa = false,
-- return_lse = false}): attention of [B, H, L, E]. score_mod(score [B, H, L, S], batch, head,
-- query, key) gives the scores to use; block_mask says what is seen. With return_lse the logarithms
-- of the sums of exponentials [B, H, L] too.
function flex.flex_attention(...)
  local query, key, value, score_mod, block_mask, scale, gqa, return_lse =
    arguments("flex_attention", { "query", "key", "value", "score_mod", "block_mask", "scale",
      "enable_gqa", "return_lse" }, ...)
  check_tensors(query, key, value)
  local mask = block_mask and block_mask.mask
  if not score_mod and not return_lse then
    return F.scaled_dot_product_attention(query, key, value, { attn_mask = mask, scale = scale,
      enable_gqa = gqa })
  end
  if gqa then
    key = key:repeat_interleave(query:size(2) // key:size(2), 2)
    value = value:repeat_interleave(query:size(2) // value:size(2), 2)
  end
  local scores = (query * (scale or query:size(-1) ^ -0.5)):matmul(key:transpose(-2, -1))
  if score_mod then scores = score_mod(scores, positions(scores.shape)) end
  if mask then scores = scores:masked_fill(mask:logical_not(), -math.huge) end
  local output, lse = attend(scores, value)
  if return_lse then return output, lse end
  return output
end

return flex
