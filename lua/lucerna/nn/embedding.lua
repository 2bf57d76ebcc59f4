-- Embedding.from_pretrained and EmbeddingBag.from_pretrained: a table that is there already.

local lucerna = require "lucerna"
local root = require "lucerna.core"
local arguments = require "lucerna.arguments"

local core, fail = root.nn, root._fail
local embedding = { Embedding = {}, EmbeddingBag = {} }

-- A module of the class with this weight; `names` are the arguments after it, freeze first. As a
-- method of a class, `Mine:from_pretrained(weight)`, it makes one of that class.
local function from(kind, class, names, first, ...)
  if core.is_class(first) then return from(kind, first, names, ...) end
  local who = kind .. ".from_pretrained"
  local values =
    table.pack(arguments(who, { "embeddings", "freeze", table.unpack(names) }, first, ...))
  local weight, freeze = values[1], values[2]
  if not lucerna.is_tensor(weight) or weight:dim() ~= 2 then
    fail("%s: Embeddings parameter is expected to be 2-dimensional (got %s)", who,
      lucerna.is_tensor(weight) and weight:dim() .. "D" or type(weight))
  end
  local options = { _weight = weight }
  for i, name in ipairs(names) do options[name] = values[i + 2] end
  local made = class(weight:size(1), weight:size(2), options)
  made.weight.requires_grad = freeze == false
  return made
end

--- Embedding.from_pretrained(embeddings, {freeze = true, padding_idx =, max_norm =,
-- norm_type = 2.0, scale_grad_by_freq = false, sparse = false}): the module of that table, which
-- keeps the row of padding_idx as it is.
function embedding.Embedding.from_pretrained(...)
  return from("Embedding", core.layer "Embedding", { "padding_idx", "max_norm", "norm_type",
    "scale_grad_by_freq", "sparse" }, ...)
end

--- EmbeddingBag.from_pretrained(embeddings, {freeze = true, max_norm =, norm_type = 2.0,
-- scale_grad_by_freq = false, mode = "mean", sparse = false, include_last_offset = false,
-- padding_idx =}).
function embedding.EmbeddingBag.from_pretrained(...)
  return from("EmbeddingBag", core.layer "EmbeddingBag", { "max_norm", "norm_type",
    "scale_grad_by_freq", "mode", "sparse", "include_last_offset", "padding_idx" }, ...)
end

return embedding
