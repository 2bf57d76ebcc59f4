-- What is here of PyTorch has a recorded case; `make parity-report` prints the same as a table.
local report = dofile((os.getenv("LUCERNA_ROOT") or ".") .. "/tests/parity/report.lua")

describe("the parity report:", function()
  for _, group in ipairs(report.all()) do
    it("every name of " .. group.title .. " that is here has a recorded case", function()
      assert.equal("", table.concat(group.faults, "\n"))
    end)
  end

  it("a name without a case is a fault that says what to do", function()
    local group = {title = "t", place = "nn", files = {"^init$"}, names = "Linear Nothing"}
    local result = report.count(group)
    assert.same({0, 2, {"Nothing"}}, {result.covered, result.total, result.lacking})
    local text = table.concat(result.faults, "\n")
    assert.matches("nn.Linear has no recorded case: add one to a generator", text)
    assert.matches("nn.Conv2d is not in tests/parity/names.lua", text)
  end)

  it("a case counts once, and a recorded error is no case", function()
    local words = {}
    report.collect(words, {
      {name = "relu", fn = "F.relu", args = {}}, {lua = "F.relu(F.relu(x))"},
      {fn = "F.elu", error = "refused"},
    })
    assert.equal(2, words.relu)
    assert.is_nil(words.elu)
  end)

  it("cases are run: each data file is named by a spec", function()
    local specs = assert(io.popen("cat tests/lua/*.lua")):read("a")
    for _, file in ipairs(report.data_files()) do
      local read = specs:find('"' .. file .. '"', 1, true)
        or specs:find("data/" .. file .. ".lua", 1, true)
      assert(read, file .. ".lua: no spec reads it")
    end
  end)
end)
