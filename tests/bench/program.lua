-- What a program of C in this folder prints, as a list of numbers; `more` is told to the compiler.
return function(name, more)
  local binary = "build/bench_" .. name
  assert(os.execute(("${CC:-cc} -O3 -march=native -o %s tests/bench/%s.c %s"):format(
    binary, name, more)))
  local out = {}
  for line in io.popen(binary):lines() do out[#out + 1] = assert(tonumber(line), line) end
  return out
end
