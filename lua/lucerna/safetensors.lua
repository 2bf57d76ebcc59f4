-- safetensors files (huggingface.co/docs/safetensors): named tensors and string metadata, nothing
-- that could be executed. Saves are atomic; a file is validated before anything is made of it.

local core = require "lucerna.core"

local safetensors = {}

--- Returns a table from names to tensors, and the file's metadata (a table of strings).
function safetensors.load_file(path) return core._load_file(path) end

--- Writes named tensors: a table or a state_dict. metadata is a table of strings. Tensors that
-- share memory are refused.
function safetensors.save_file(tensors, path, metadata)
  if type(tensors) == "userdata" or getmetatable(tensors) then
    local plain = {}
    for name, tensor in pairs(tensors) do plain[name] = tensor end
    tensors = plain
  end
  return core._save_file(tensors, path, metadata)
end

return safetensors
