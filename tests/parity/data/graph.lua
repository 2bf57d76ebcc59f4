-- Written by tests/parity/gen_graph.py from PyTorch 2.15.0+cu132: do not edit.
return {
  every = {
    {n = 4, {shape={2}, dtype="float64", data={3.0,4.0}}, {shape={2}, dtype="float64", data={1.0,2.0}}, {shape={2}, dtype="float64", data={1.0,1.0}}, false},
    {n = 4, {shape={2}, dtype="float64", data={3.0,4.0}}, false, {shape={2}, dtype="float64", data={1.0,1.0}}, false},
    {n = 4, false, false, {shape={2}, dtype="float64", data={1.0,1.0}}, false},
    {n = 4, {shape={2}, dtype="float64", data={9.0,12.0}}, {shape={2}, dtype="float64", data={3.0,6.0}}, {shape={2}, dtype="float64", data={1.0,1.0}}, {shape={2}, dtype="float64", data={2.0,2.0}}},
  },
  any = {
    {n = 1, {shape={2}, dtype="float64", data={1.0,1.0}}},
    {n = 1, {shape={2}, dtype="float64", data={2.0,2.0}}},
  },
  twice = {
    {n = 2, {shape={2}, dtype="float64", data={2.0,4.0}}, {shape={2}, dtype="float64", data={2.0,4.0}}},
  },
  without = {
    {n = 3, {shape={1}, dtype="float64", data={1.0}}, false, false},
  },
  nested = {
    {n = 2, {shape={2}, dtype="float64", data={6.0,8.0}}, {shape={2}, dtype="float64", data={2.0,4.0}}},
    {n = 2, {shape={2}, dtype="float64", data={3.0,4.0}}, {shape={2}, dtype="float64", data={1.0,2.0}}},
  },
  queued = {
    {n = 1, {shape={2}, dtype="float64", data={2.0,4.0}}},
    {n = 1, {shape={2}, dtype="float64", data={4.0,8.0}}},
    {n = 1, {shape={2}, dtype="float64", data={6.0,12.0}}},
    {n = 1, {shape={2}, dtype="float64", data={2.0,4.0}}},
    {n = 1, {shape={2}, dtype="float64", data={10.0,10.0}}},
    {n = 1, {shape={2}, dtype="float64", data={15.0,15.0}}},
  },
  mutated = {
    {n = 2, {shape={2}, dtype="float64", data={3.1477211018514391,2.9677621576018685}}, {shape={2}, dtype="float64", data={0.0,0.0}}},
  },
}
