-- Texts as letters with ids: letters(text) has the kinds of letters of a text (bytes, so any
-- language will do) and turns texts into tensors of ids, which count from 1, and back.

local lucerna = require "lucerna"

return function(text)
  local seen, kinds, ids = {}, {}, {}
  for i = 1, #text do seen[text:byte(i)] = true end
  for byte = 0, 255 do
    if seen[byte] then
      kinds[#kinds + 1] = string.char(byte)
      ids[byte] = #kinds
    end
  end
  local letters = {kinds = kinds}

  --- The ids of a text [#text], or nil if it has a letter that the first text lacks.
  function letters.encode(other)
    local list = {}
    for i = 1, #other do
      list[i] = ids[other:byte(i)]
      if not list[i] then return nil end
    end
    return lucerna.tensor(list, {dtype = lucerna.int64})
  end

  --- The text of ids [T].
  function letters.decode(tensor)
    local list = tensor:tolist()
    for i, id in ipairs(list) do list[i] = kinds[id] end
    return table.concat(list)
  end

  return letters
end
