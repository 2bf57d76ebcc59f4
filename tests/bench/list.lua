-- What a list of benchmarks is made with. A case has a name, a unit, the numbers of threads it
-- runs with, perhaps its work (flops or bytes), the ratio to PyTorch wanted of it, how many times
-- faster than one thread two shall be (`scales`), and setup(lucerna), which returns one
-- repetition. `train` says that gradients are wanted; `scoped` that results are freed at once, by
-- lucerna.scope, as Python's counts of references do: else the collector's pace decides how much
-- cold memory large results go through.

local List = {}
List.__index = List

function List:add(name, case)
  case.name, case.unit, case.threads = name, case.unit or "ms", case.threads or { 1, 2 }
  local setup = case.setup
  case.setup = function(lucerna)
    local once = setup(lucerna)
    local function dropped() once() end -- a scope keeps what its function returns
    local function run(n)
      for _ = 1, n do
        if case.scoped then lucerna.scope(dropped) else once() end
      end
    end
    return case.train and run or function(n) lucerna.no_grad(run, n) end
  end
  self[#self + 1] = case
end

return function() return setmetatable({}, List) end
