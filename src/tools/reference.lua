-- The reference: build/docs/<family>.md for each family of lucerna.texts and an index of all names.
-- A section is an entry: the signatures of its names, what the comments and the entry say, an
-- example, the pages of PyTorch. Names that only a comment documents stand at the end of a page.

local help = require "lucerna.help"
local texts = require "lucerna.texts"

local reference = {}

-- Where names without an entry go: the page of the first prefix that fits.
local HOMES = {
  { "nn.init.", "initializers" }, { "nn.utils.", "utils" }, { "data.", "data" },
  { "safetensors.", "data" }, { "numpy.", "data" },
  { "models.", "models", "Nets with published names" },
  { "distributions.", "distributions" }, { "func.", "func" }, { "autograd.functional.", "func" },
  { "optim.lr_scheduler.", "schedulers" },
  { "optim.swa_utils.", "schedulers" }, { "optim.", "optim" },
  { "nn.attention.", "attention" }, { "nn.Module.", "methods" }, { "nn.grad.", "conv" },
  { "nn.", "container" },
  { "linalg.", "linalg" }, { "fft.", "signal" }, { "special.", "special" },
  { "F.", "activation" }, { "tensor", "tensor" }, { "", "library" },
}

-- The pages of PyTorch that a prefix's names have; %s is the name.
local PYTORCH = "https://docs.pytorch.org/docs/stable/"
local SOURCES = {
  { "F.", "generated/torch.nn.functional.%s.html" },
  { "nn.init.", "nn.init.html#torch.nn.init.%s" },
  { "nn.Module.", "generated/torch.nn.Module.html#torch.nn.Module.%s" },
  { "nn.Sequential:", "generated/torch.nn.Sequential.html#torch.nn.Sequential.%s" },
  { "nn.ModuleList:", "generated/torch.nn.ModuleList.html#torch.nn.ModuleList.%s" },
  { "nn.ModuleDict:", "generated/torch.nn.ModuleDict.html#torch.nn.ModuleDict.%s" },
  { "nn.ParameterList:", "generated/torch.nn.ParameterList.html#torch.nn.ParameterList.%s" },
  { "nn.ParameterDict:", "generated/torch.nn.ParameterDict.html#torch.nn.ParameterDict.%s" },
  { "nn.utils.", "generated/torch.nn.utils.%s.html" },
  { "nn.attention.bias.", "nn.attention.bias.html#torch.nn.attention.bias.%s" },
  { "nn.attention.flex_attention.",
    "nn.attention.flex_attention.html#torch.nn.attention.flex_attention.%s" },
  { "nn.register_module_", "generated/torch.nn.modules.module.register_module_%s.html" },
  { "nn.parallel.data_parallel",
    "generated/torch.nn.functional.torch.nn.parallel.data_parallel.html" },
  { "nn.parallel.", "generated/torch.nn.%s.html" },
  { "nn.", "generated/torch.nn.%s.html" },
  { "optim.Optimizer:", "generated/torch.optim.Optimizer.%s.html" },
  { "optim.lr_scheduler.LRScheduler:", "generated/torch.optim.lr_scheduler.LRScheduler.html"
    .. "#torch.optim.lr_scheduler.LRScheduler.%s" },
  { "optim.lr_scheduler.", "generated/torch.optim.lr_scheduler.%s.html" },
  { "optim.swa_utils.", "optim.html#torch.optim.swa_utils.%s" },
  { "optim.", "generated/torch.optim.%s.html" },
  { "func.", "generated/torch.func.%s.html" },
  { "linalg.", "generated/torch.linalg.%s.html" },
  { "fft.", "generated/torch.fft.%s.html" },
  { "special.", "special.html#torch.special.%s" },
  { "autograd.functional.", "generated/torch.autograd.functional.%s.html" },
  { "autograd.graph.", "autograd.html#torch.autograd.graph.%s" },
  { "autograd.", "generated/torch.autograd.%s.html" },
  { "amp.GradScaler:", "amp.html#torch.amp.GradScaler.%s" },
  { "amp.", "amp.html#torch.amp.%s" }, { "lucerna.autocast", "amp.html#torch.autocast" },
  { "profiler.Profile:", "profiler.html#torch.profiler.profile" },
  { "profiler.", "profiler.html#torch.profiler.%s" },
  { "lucerna.", "generated/torch.%s.html" },
  { "utils.checkpoint.", "checkpoint.html#torch.utils.checkpoint.%s" },
  { "cuda.", "generated/torch.cuda.%s.html" },
  { "tensor:", "generated/torch.Tensor.%s.html" }, { "tensor.", "generated/torch.Tensor.%s.html" },
}

-- What PyTorch has no page for.
local OURS = {}
for name in ([[nn.class nn.delattr nn.isinstance nn.property nn.unregistered nn.Container
  nn.NLLLoss2d nn.NonDynamicallyQuantizableLinear nn.RNNCellBase nn.LazyModuleMixin nn.grad
  nn.utils.prune.class nn.utils.SpectralNorm nn.utils.WeightNorm nn.Module.clone optim.class
  optim.is_optimizer optim.optimizer lucerna.clock lucerna.scope lucerna.idx_load lucerna.memory
  lucerna.trim_memory lucerna.set_memory_limit lucerna.summary lucerna.set_winograd_enabled
  lucerna.is_winograd_enabled lucerna.clear_autocast_cache lucerna.get_autocast_dtype
  lucerna.is_autocast_available lucerna.is_autocast_cache_enabled lucerna.is_autocast_enabled
  lucerna.set_autocast_cache_enabled lucerna.set_autocast_dtype lucerna.set_autocast_enabled
  nn.ModuleDict:contains nn.ParameterDict:contains nn.ParameterDict:reversed
  lucerna.progress autograd.once_differentiable optim.register_optimizer_step_post_hook
  optim.register_optimizer_step_pre_hook profiler.Profile tensor:release tensor:materialize
  tensor:tostring tensor:where_self tensor.data tensor.dtype tensor.grad_fn tensor.layout
  tensor.output_nr tensor:celu_ tensor:elu_ tensor:hardsigmoid_ tensor:hardswish_ tensor:hardtanh_
  tensor:leaky_relu_ tensor:mish_ tensor:relu6_ tensor:rrelu_ tensor:selu_ tensor:silu_
  tensor:threshold_ F.celu_ F.hardsigmoid_ F.hardswish_ F.mish_ F.relu6_ F.selu_ F.sigmoid_ F.silu_
  F.tanh_
  F.linear_cross_entropy nn.LinearCrossEntropyLoss nn.LinearCrossEntropyOptions]])
  :gmatch("%S+") do
  OURS[name] = true
end

local function starts(name, prefix) return name:sub(1, #prefix) == prefix end

local function source_of(name)
  if OURS[name] or name:find("^lucerna%..*_$") then return nil end
  for _, source in ipairs(SOURCES) do
    if starts(name, source[1]) then
      return PYTORCH .. source[2]:format(name:sub(#source[1] + 1))
    end
  end
end

local function home_of(name)
  for _, home in ipairs(HOMES) do
    if starts(name, home[1]) then return home[2], home[3] end
  end
end

-- The pages in order: {name, title, sections = {{names, parts, entry}}}, and those by name.
local function empty_pages()
  local pages, by_name = {}, {}
  for i, family in ipairs(texts.families) do
    pages[i] = { name = family.name, title = family.title, sections = {} }
    by_name[family.name] = pages[i]
  end
  return pages, by_name
end

-- The entry of each text, for the names that share it.
local function sections_by_text(by_name)
  local sections = {}
  for _, family in ipairs(texts.families) do
    for _, entry in ipairs(family) do
      local section = { names = {}, parts = {} }
      table.insert(by_name[family.name].sections, section)
      sections[texts.find(entry[1]:match("%S+"))] = section
    end
  end
  return sections
end

--- The pages of the reference, filled: {name, title, sections = {{names, parts = {…}}}}.
function reference.pages()
  local pages, by_name = empty_pages()
  local sections = sections_by_text(by_name)
  local by_value = {} -- for what has two names: amp.autocast, lucerna.autocast
  help.each(function(name, value, parts)
    local section = sections[parts.entry] or by_value[value]
    if not section then
      section = { names = {}, parts = {} }
      local home, title = home_of(name)
      if not by_name[home] then
        by_name[home] = { name = home, title = title, sections = {} }
        table.insert(pages, by_name[home])
      end
      table.insert(by_name[home].sections, section)
    end
    by_value[value] = section
    table.insert(section.names, name)
    table.insert(section.parts, parts)
  end)
  return pages
end

-- ---- Markdown ----

local function unindented(text) return (text:gsub("\n  ", "\n"):gsub("^  ", "")) end

-- Each different text of the parts once.
local function distinct(parts, key)
  local list, seen = {}, {}
  for _, p in ipairs(parts) do
    local text = p[key]
    if text and not seen[text] then list[#list + 1] = text end
    if text then seen[text] = true end
  end
  return list
end

local function block(out, language, text) out:write("\n```", language, "\n", text, "\n```\n") end

-- The pages of PyTorch on names; where a layer has one, its operator's is not shown.
local function links(names)
  local layers, list = false, {}
  for _, name in ipairs(names) do
    layers = layers or starts(name, "nn.") or starts(name, "F.")
  end
  for _, name in ipairs(names) do
    local source = source_of(name)
    local plain = starts(name, "lucerna.") or starts(name, "tensor:")
    local wanted = source and not (layers and plain)
    if wanted then list[#list + 1] = ("[%s](%s)"):format(name, source) end
  end
  return list
end

local function write_section(out, section)
  out:write("\n## `", table.concat(section.names, "`, `"), "`\n")
  local known = distinct(section.parts, "signature")
  for _, comment in ipairs(distinct(section.parts, "comment")) do known[#known + 1] = comment end
  if #known > 0 then block(out, "", unindented(table.concat(known, "\n"))) end
  local entry = section.parts[1].entry
  local code, text = nil, ""
  if entry then code, text = texts.example(entry) end
  if section.parts[1].shared then -- in the order of the text, which section.names may not have
    text = table.concat(section.parts[1].shared, " ") .. " " .. text
  end
  if text ~= "" then out:write("\n", (text:gsub("[*_<|]", "\\%0")), "\n") end
  if code then block(out, "lua", code) end
  local sources = links(section.names)
  if #sources > 0 then out:write("\nPyTorch: ", table.concat(sources, ", "), "\n") end
end

local function write_page(folder, page)
  local out = assert(io.open(("%s/%s.md"):format(folder, page.name), "w"))
  out:write("# ", page.title, "\n")
  for _, section in ipairs(page.sections) do
    if #section.names > 0 then write_section(out, section) end
  end
  out:close()
end

local INTRODUCTION = [[
# Reference

Signatures are schemas, as the library reads them: what follows `*` is given by name, in a table, as
everything may be: `x:sum(1, {keepdim = true})`. `Dim`, `Index` and `IndexTensor` count from 1;
`Size` and `Dims` also go as varargs; `int[2]` is one number or a table of two. In texts `[N, C, *]`
is a shape. Examples have `lucerna`, `nn`, `F` (`nn.functional`) and `optim` at hand.
]]

--- Writes all pages and index.md into the folder.
function reference.write(folder)
  local index = assert(io.open(folder .. "/index.md", "w"))
  index:write(INTRODUCTION)
  for _, page in ipairs(reference.pages()) do
    write_page(folder, page)
    local names = {}
    for _, section in ipairs(page.sections) do
      table.move(section.names, 1, #section.names, #names + 1, names)
    end
    index:write(("\n## [%s](%s.md)\n\n%s\n"):format(page.title, page.name,
      table.concat(names, " · ")))
  end
  index:close()
end

return reference
