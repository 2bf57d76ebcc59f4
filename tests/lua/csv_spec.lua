-- CSV files: what a table of numbers may look like, and what is refused by line and column.
local lucerna = require "lucerna"
local parity = require "parity"
local files = require "files"
local data = lucerna.data

local temporary = files.temporary

local function read(text, options)
  options = options or {}
  options.bytes = text
  return data.read_csv(options)
end

local refused = parity.refused

describe("read_csv", function()
  it("reads rows and columns", function()
    for _, text in ipairs {"1,2,3\n4,5,6\n", "1,2,3\n4,5,6", "1,2,3\r\n4,5,6\r\n",
      "\n1,2,3\n\n\r\n4,5,6\n\n", "\xef\xbb\xbf1, 2 ,\t3\n4,5,6", '"1",2,"3"\n4,"5" ,6\n'} do
      assert.same({{1, 2, 3}, {4, 5, 6}}, read(text):tolist())
    end
    assert.same({{1, 2}, {3, 4}}, read("1;2\n3;4", {delimiter = ";"}):tolist())
    assert.same({{1, 2}, {3, 4}}, read("1\t2\n3\t4", {delimiter = "\t"}):tolist())
    assert.same({{1}, {2}}, read("1\n2\n"):tolist())
    assert.same({0, 0}, read(""):size())
  end)

  it("gives the names of a header", function()
    local x, names = read('a,"b, ""x""\ny",c\n1,2,3\n', {header = true})
    assert.same({{1, 2, 3}}, x:tolist())
    assert.same({"a", 'b, "x"\ny', "c"}, names)
    x, names = read("a,b\n", {header = true})
    assert.same({0, 2}, x:size())
    assert.same({"a", "b"}, names)
    assert.equal(1, select("#", read "1"))
  end)

  it("reads the columns asked for, in their order", function()
    local text = "a,b,c\n1,text,3\n4,,6\n"
    local x, names = read(text, {header = true, columns = {"c", "a"}})
    assert.same({{3, 1}, {6, 4}}, x:tolist())
    assert.same({"c", "a"}, names)
    x = read(text, {header = true, columns = {3, "a", "c"}})
    assert.same({{3, 1, 3}, {6, 4, 6}}, x:tolist())
    assert.same({{2}}, read("1,2", {columns = {2}}):tolist())
    refused("read_csv: columns must be a table of positions or names %(got an empty one%)$", read,
      "1,2", {columns = {}})
    refused("read_csv: columns: there is no column 'd'$", read, text,
      {header = true, columns = {"d"}})
    refused("read_csv: columns: 4 is out of range %[1, 3%]", read, text,
      {header = true, columns = {4}})
    refused("read_csv: columns: 4 is out of range %[1, 3%]", read, "1,2,3", {columns = {4}})
    refused("read_csv: columns: names need header = true$", read, text, {columns = {"a"}})
    refused("read_csv: columns must be positions from 1 on or names %(got 0%)$", read, text,
      {columns = {0}})
  end)

  it("has a value for what is missing, if one is given", function()
    local text = "1,,3\n NA,n/a,NULL\n"
    local x = read(text, {missing = 0 / 0})
    assert.same({{false, true, false}, {true, true, true}}, x:isnan():tolist())
    assert.same({{1, -1, 3}, {-1, -1, -1}},
      read(text, {missing = -1, dtype = lucerna.int64}):tolist())
    refused("read_csv: line 1, column 2: a value is missing %(got ''%)$", read, text)
    refused("read_csv: missing must be an integer %(got 0.5%)$", read, text,
      {missing = 0.5, dtype = lucerna.int64})
  end)

  it("reads every number exactly", function()
    local numbers = {"0.1", "1e22", "123456789012345678901234567890", "4.9e-324", "-0", "1e400",
      "-1.7976931348623157e308", "9007199254740993", "0.30000000000000004", "1.", ".5", "+2",
      "nan", "-inf", "Infinity", "1E-7", "123456789.123456789", "000000000000000000000000001"}
    local x = read(table.concat(numbers, ","), {dtype = lucerna.float64})[1]
    for k, text in ipairs(numbers) do
      local want = tonumber(text)
      if text == "nan" then
        assert.is_true(x[k]:isnan():item())
      else
        want = want or (text:find "-" and -math.huge or math.huge)
        assert.equal(want + 0.0, x[k]:item())
      end
    end
    math.randomseed(3)
    local values, texts = {}, {}
    for k = 1, 2000 do
      values[k] = string.unpack("<d", string.pack("<i8", math.random(0)))
      if values[k] ~= values[k] or math.abs(values[k]) == math.huge then values[k] = 1.5 end
      texts[k] = ("%.17g"):format(values[k])
    end
    assert.same({values}, read(table.concat(texts, ";"),
      {delimiter = ";", dtype = lucerna.float64}):tolist())
  end)

  it("reads integers and booleans whole", function()
    local x = read("9223372036854775807,-9223372036854775808,+3", {dtype = lucerna.int64})
    assert.same({{math.maxinteger, math.mininteger, 3}}, x:tolist())
    assert.same({{true, false, true, false}},
      read("true,FALSE,1,0", {dtype = lucerna.bool}):tolist())
    assert.same({{0, 255}}, read("0,255", {dtype = lucerna.uint8}):tolist())
    refused("line 1, column 1: expected a smaller integer", read, "9223372036854775808",
      {dtype = lucerna.int64})
    refused("line 1, column 2: expected what fits into uint8 %(got '256'%)$", read, "0,256",
      {dtype = lucerna.uint8})
    refused("line 1, column 1: expected an integer %(got '1.0'%)$", read, "1.0",
      {dtype = lucerna.int32})
    refused("line 1, column 1: expected what fits into bool", read, "2", {dtype = lucerna.bool})
  end)

  it("says line and column of what is no number", function()
    for _, text in ipairs {"0x10", "1e", "1.2.3", "--1", "1 2", "e5", ".", "+", "1,5x", "inf1",
      "nan(1)", "1\0", ("9"):rep(300), "'1'"} do
      refused("read_csv: line 3, column %d: expected a number", read, "1;2\n\n3;" .. text
        .. "\n", {delimiter = ";"})
    end
    refused("read_csv: line 4, column 2: expected a number %(got 'x'%)$", read,
      'a,"b\nc"\n\n1,x', {header = true})
    refused("read_csv: line 2 has 1 fields, the first has 2$", read, "1,2\n3\n")
    refused("read_csv: line 2 has 3 fields, the first has 2$", read, "1,2\n3,4,5\n")
    refused("read_csv: line 1, column 2: a quote is never closed$", read, '1,"2\n3,4\n')
    refused("read_csv: line 1, column 2: something stands behind a quote", read, '1,"2"3\n')
    refused("read_csv: line 1, column 1: expected a number", read, '1"2"\n')
    refused("read_csv: the file is empty$", read, "", {header = true})
  end)

  it("comes from a path or a reader, in pieces of any size", function()
    local lines = {}
    for k = 1, 20000 do lines[k] = ('%d,"%d", %g'):format(k, k * k, k / 3) end
    local path = files.with(table.concat(lines, "\r\n"))
    local x = data.read_csv(path, {dtype = lucerna.float64})
    assert.same({20000, 3}, x:size())
    assert.same({20000, 4e8, 6666.67}, x[-1]:tolist())
    assert.is_true(x[{{}, 2}]:equal(x[{{}, 1}] * x[{{}, 1}]))
    local opened <close> = assert(io.open(path, "rb"))
    assert.is_true(x:equal(data.read_csv(opened, {dtype = lucerna.float64})))
    refused("read_csv: cannot open '/no/such/file'", data.read_csv, "/no/such/file")
    refused("read_csv: '.*': line 1, column 3: expected an integer", data.read_csv, path,
      {dtype = lucerna.int64})
  end)

  it("refuses options that make no sense", function()
    for _, delimiter in ipairs {"", "ab", "1", '"', "\n", "e", 5, "."} do
      refused("read_csv: delimiter must be one character", read, "1", {delimiter = delimiter})
    end
    refused("read_csv: dtype must be a dtype", read, "1", {dtype = "float"})
    refused("read_csv: header must be a boolean", read, "1", {header = 1})
    refused("read_csv: columns must be a table", read, "1", {columns = 1})
    refused("read_csv: path must be a path or a reader %(got nil%)$", data.read_csv)
  end)
end)

describe("write_csv", function()
  it("writes what read_csv reads", function()
    for _, name in ipairs {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int64",
      "bool"} do
      local path = temporary()
      local x = (lucerna.randn(50, 7) * 20):abs():to(lucerna[name])
      data.write_csv(x, path)
      assert.is_true(x:equal(data.read_csv(path, {dtype = x.dtype})))
      data.write_csv(x:t(), path, ";")
      assert.is_true(x:t():equal(data.read_csv(path, ";", false, x.dtype)))
    end
  end)

  it("writes short numbers, names and what is not finite", function()
    local pieces = {}
    data.write_csv(lucerna.tensor {{0.1, -3, 1e10}, {0 / 0, 1 / 0, -1 / 0}},
      function(piece) pieces[#pieces + 1] = piece end, {header = {"a", "b, c", 'say "x"'}})
    assert.equal('a,"b, c","say ""x"""\n0.1,-3,1e+10\nnan,inf,-inf\n', table.concat(pieces))
    pieces = {}
    data.write_csv(lucerna.arange(3), function(piece) pieces[#pieces + 1] = piece end)
    assert.equal("0\n1\n2\n", table.concat(pieces))
    data.write_csv(lucerna.ones(0, 3), function(piece) pieces[#pieces + 1] = piece end)
    assert.equal("0\n1\n2\n", table.concat(pieces))
  end)

  it("refuses what is no table of numbers", function()
    local x = lucerna.ones(2, 2)
    refused("write_csv: input must be a Tensor", data.write_csv, 3, "x")
    refused("write_csv: input must be %[rows, columns%] or %[rows%] %(got 3 dimensions%)$",
      data.write_csv, lucerna.ones(1, 1, 1), "x")
    refused("write_csv: filename must be a path or a writer", data.write_csv, x)
    refused("write_csv: header must be a table of 2 names %(got a table of 1%)$", data.write_csv,
      x, "x", {header = {"a"}})
    refused("write_csv: header must be strings", data.write_csv, x, "x", {header = {"a", 2}})
    refused("write_csv: cannot create a file beside '/no/such/x'", data.write_csv, x, "/no/such/x")
  end)
end)
