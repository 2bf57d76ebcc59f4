-- What a program of C in this folder prints, as a list of numbers; `more` is told to the compiler.
return function(name, more)
  local binary = "build/bench_" .. name
  assert(os.execute(("${CC:-cc} -O3 -march=native -o %s tests/bench/%s.c %s"):format(
    binary, name, more)))
  local out = {}
  local program = assert(io.popen(binary))
  for line in program:lines() do out[#out + 1] = assert(tonumber(line), line) end
  assert(program:close(), "failed: " .. binary)
  return out
end
