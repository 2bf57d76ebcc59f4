-- dot(net, x): the call graph of a net as Graphviz text; dot(y): the autograd graph behind a
-- tensor; dot(a, b): the product of two vectors. The same net and input give the same text.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local shape_text = require "lucerna.shape_text"
local trace = require "lucerna.trace"

local fail, is_tensor = core._fail, core.is_tensor

-- ---- text ----

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n" }

local function quoted(text) return '"' .. text:gsub('["\\\n]', ESCAPES) .. '"' end

-- A graph is written from its clusters (trees of items: nodes and clusters) and a list of edges.
local Graph = {}
Graph.__index = Graph

local function new_graph(name)
  return setmetatable({ name = name, top = { items = {} }, edges = {}, nodes = 0, clusters = 0 },
    Graph)
end

local STYLES = {
  operator = "", input = ", shape=ellipse, style=filled, fillcolor=lightgrey",
  output = ", shape=ellipse, style=filled, fillcolor=lightgrey",
  parameter = ", shape=ellipse, style=filled, fillcolor=lightblue",
  buffer = ", shape=ellipse, style=filled, fillcolor=lightyellow",
  constant = ", shape=ellipse",
}

-- A node in a cluster: its name in the text.
function Graph:node(cluster, kind, label)
  self.nodes = self.nodes + 1
  local id = "n" .. self.nodes
  table.insert(cluster.items, ("%s [label=%s%s];"):format(id, quoted(label), STYLES[kind]))
  return id
end

function Graph:edge(from, to, shape)
  table.insert(self.edges, ("%s -> %s [label=%s];"):format(from, to, quoted(shape_text(shape))))
end

local function is_empty(cluster)
  for _, item in ipairs(cluster.items) do
    if type(item) == "string" or not is_empty(item) then return false end
  end
  return true
end

function Graph:write_items(cluster, indent, lines)
  for _, item in ipairs(cluster.items) do
    if type(item) == "string" then
      lines[#lines + 1] = indent .. item
    elseif not is_empty(item) then
      self.clusters = self.clusters + 1
      lines[#lines + 1] = ("%ssubgraph cluster_%d {"):format(indent, self.clusters)
      lines[#lines + 1] = ("%s  label=%s;"):format(indent, quoted(item.label))
      self:write_items(item, indent .. "  ", lines)
      lines[#lines + 1] = indent .. "}"
    end
  end
end

function Graph:text()
  local lines = { ("digraph %s {"):format(quoted(self.name)), "  node [shape=box];" }
  self:write_items(self.top, "  ", lines)
  for _, edge in ipairs(self.edges) do lines[#lines + 1] = "  " .. edge end
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

-- ---- the calls of a net ----

-- Names of modules, and of what a net holds by address: {kind, name}.
local function names_in(net)
  local modules, held = {}, {}
  for name, m in net:named_modules() do modules[m] = name end
  for name, p in net:named_parameters() do held[core._address(p)] = { "parameter", name } end
  for name, b in net:named_buffers() do held[core._address(b)] = { "buffer", name } end
  return modules, held
end

-- What is known while a net runs. Tensors are told apart by address, so all that were met are kept.
local function new_run(net, graph)
  local modules, held = names_in(net)
  return { graph = graph, modules = modules, held = held, sources = {}, kept = {}, calls = {},
    stack = { graph.top } }
end

local function made_by(run, t, node)
  table.insert(run.kept, t)
  run.sources[core._address(t)] = node
  return node
end

-- The node a tensor comes from; one that nobody made is a leaf where it is first used.
local function source(run, t)
  local at = core._address(t)
  if run.sources[at] then return run.sources[at] end
  local kind, name = table.unpack(run.held[at] or { "constant" })
  local label = (name and name .. "\n" or "") .. shape_text(t.shape)
  return made_by(run, t, run.graph:node(run.stack[#run.stack], kind, label))
end

-- Calls f(t, label) for the tensors of a list, which are numbered if there are several.
local function each_labelled(list, name, f)
  local tensors = {}
  trace.each_tensor(list, function(t) tensors[#tensors + 1] = t end)
  for i, t in ipairs(tensors) do f(t, #tensors > 1 and name .. " " .. i or name) end
end

local function enter(run, m)
  local calls, class = (run.calls[m] or 0) + 1, m:_get_name()
  local label = run.modules[m] == "" and class or ("%s (%s)"):format(run.modules[m], class)
  if calls > 1 then label = ("%s, call %d"):format(label, calls) end
  local cluster = { label = label, items = {}, module = m }
  run.calls[m] = calls
  table.insert(run.stack[#run.stack].items, cluster)
  run.stack[#run.stack + 1] = cluster
end

-- After an error inside it a module is left together with those that it had called.
local function leave(run, m)
  for i = #run.stack, 2, -1 do
    if run.stack[i].module == m then
      for k = #run.stack, i, -1 do run.stack[k] = nil end
      return
    end
  end
end

local function operator(run, call)
  local from = {}
  trace.each_tensor(call.args, function(t) from[#from + 1] = { source(run, t), t.shape } end)
  local node = run.graph:node(run.stack[#run.stack], "operator", call.name)
  for _, edge in ipairs(from) do run.graph:edge(edge[1], node, edge[2]) end
  trace.each_tensor(call.results, function(t) made_by(run, t, node) end)
end

-- What trace.run calls, to draw the run in a graph.
local function follow(net, graph)
  local run
  return {
    inputs = function(args)
      run = new_run(net, graph)
      each_labelled(args, "input", function(t, label)
        made_by(run, t, graph:node(graph.top, "input", label .. "\n" .. shape_text(t.shape)))
      end)
    end,
    outputs = function(results)
      each_labelled(results, "output", function(t, label)
        local from = source(run, t)
        graph:edge(from, graph:node(graph.top, "output", label), t.shape)
      end)
    end,
    enter = function(m) enter(run, m) end,
    leave = function(m) leave(run, m) end,
    call = function(call)
      if call.depth == 0 then operator(run, call) end
    end,
  }
end

local OPTIONS = { "net", "input_size", "dtype", "device", "mode" }

local function net_graph(...)
  local net, input, dtype, device, mode = arguments("dot", OPTIONS, ...)
  trace.check("dot", net, mode)
  if input == nil then fail("dot: missing argument 'input_size'") end
  local graph = new_graph(net:_get_name())
  local on = follow(net, graph)
  local options = { dtype = dtype, device = device, mode = mode }
  on.outputs(trace.run("dot", net, input, options, on))
  return graph:text()
end

-- ---- the graph behind a tensor ----

-- Names of leaves by address, from a module or a map of names.
local function names_of(params)
  local names = {}
  if core.nn.is_module(params) then
    for name, p in params:named_parameters() do names[core._address(p)] = name end
  elseif params ~= nil then
    for name, p in pairs(params) do
      if is_tensor(p) then names[core._address(p)] = tostring(name) end
    end
  end
  return names
end

local function tensor_graph(...)
  local y, params = arguments("dot", { "tensor", "params" }, ...)
  local names = names_of(params)
  local graph = new_graph(tostring(y.grad_fn or "leaf"))
  local list, ids, leaves = core.autograd._graph(y), {}, {}
  for i = #list, 1, -1 do ids[i] = graph:node(graph.top, "operator", list[i].name) end
  local function leaf(t)
    local at = core._address(t)
    if not leaves[at] then
      local label = (names[at] and names[at] .. "\n" or "") .. shape_text(t.shape)
      leaves[at] = graph:node(graph.top, "parameter", label)
    end
    return leaves[at]
  end
  for i = #list, 1, -1 do
    for _, edge in ipairs(list[i].edges) do
      if edge.leaf then
        graph:edge(leaf(edge.leaf), ids[i], edge.leaf.shape)
      else
        graph:edge(ids[edge.node], ids[i], list[edge.node].shapes[edge.result])
      end
    end
  end
  graph:edge(ids[1] or leaf(y), graph:node(graph.top, "output", "output"), y.shape)
  return graph:text()
end

--- dot(net, input_size, {dtype=, device=, mode="eval"}): the call graph of one run as Graphviz
-- text: a cluster for every call of a module, a node for every operator, with the shapes of tensors
-- on the edges; parameters, buffers and other constants are leaves. input_size is what summary
-- takes: a size, a tensor, or a list; the net is left as it was.
-- dot(y, {params=}): the autograd graph that led to a tensor; params (a module, or a map of names)
-- names its leaves. dot(input, tensor): the product of two 1-d tensors, torch.dot.
local function dot(first, ...)
  if core.nn.is_module(first) then return net_graph(first, ...) end
  local second = ...
  local plain = type(second) == "table" and getmetatable(second) == nil
  local alone = select("#", ...) == 0 or plain and second.params ~= nil
  if is_tensor(first) and alone then return tensor_graph(first, ...) end
  if type(first) == "table" and first.net ~= nil then return net_graph(first, ...) end
  return core.dot(first, ...)
end

core._instead[dot] = core.dot
return dot
