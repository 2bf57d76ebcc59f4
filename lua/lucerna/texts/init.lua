-- What the reference and help() say of names beside their signatures: one file a family, each a
-- list of {names, text} under a title. What is written in Lua is documented by the comment above
-- it; an entry adds to that (an example). Names are as users write them: "nn.Linear", "F.linear";
-- bare ones are functions and methods of tensors ("abs": lucerna.abs, x:abs(), x:abs_()). In a
-- text, lines that begin with "> " are an example that runs as it stands.

local FAMILIES = { "container", "methods", "linear", "conv", "pool", "pad", "activation", "norm",
  "recurrent", "attention", "embedding", "loss", "vision", "initializers", "utils", "optim",
  "schedulers", "create", "complex", "pointwise", "special", "compare", "reduce", "shape",
  "positions", "linalg", "signal", "random", "tensor", "data", "distributions", "func",
  "library" }

local texts = { families = {} }

local of = {} -- name -> text
local sharing = {} -- text -> {"max,", "min:"}, for a text of several things

-- What stands before an entry's text, unless all its names are one thing's (nn.ReLU, F.relu, relu).
local function heading_of(entry)
  local heading, seen = {}, {}
  for name in entry[1]:gmatch("%S+") do
    local letters = name:match("[%w_]+$"):lower():gsub("_", "")
    if not seen[letters] then heading[#heading + 1] = name .. "," end
    seen[letters] = true
  end
  heading[#heading] = heading[#heading]:gsub(",$", ":")
  return #heading > 1 and heading or nil
end

for i, name in ipairs(FAMILIES) do
  local family = require("lucerna.texts." .. name)
  family.name = name
  texts.families[i] = family
  for _, entry in ipairs(family) do
    local text = entry[2]:gsub("%s+$", "")
    for key in entry[1]:gmatch("%S+") do of[key] = text end
    sharing[text] = not text:find("^>") and heading_of(entry) or nil
  end
end

-- A function of nn.functional is often also one on tensors, and the other way round.
local function other_home(name)
  return name:find("^F%.") and name:sub(3) or not name:find(".", 1, true) and "F." .. name or nil
end

--- The text of a name as users write it ("lucerna.abs", "tensor:abs_", "nn.ReLU"), or nil; and, if
-- several things share it, a list of their names. What writes in place has the text of what does
-- not.
function texts.find(name)
  name = name:gsub("^lucerna%.", ""):gsub("^tensor:", "")
  local plain = name:gsub("_$", "")
  for _, key in ipairs { name, plain } do
    local other = other_home(key)
    local text = of[key] or other and of[other]
    if text then return text, sharing[text] end
  end
end

--- A text's example, as one string of Lua, or nil; and the text without it.
function texts.example(text)
  local code, rest = {}, {}
  for line in text:gmatch("[^\n]+") do
    local example = line:match("^> ?(.*)")
    table.insert(example and code or rest, example or line)
  end
  return #code > 0 and table.concat(code, "\n") or nil, table.concat(rest, "\n")
end

return texts
