-- lucerna.backends: what scripts ask of PyTorch's libraries for devices, and the switches that they
-- set there, which are only kept: none of these libraries is here.

local function absent() return false end

local backends = { cuda = {}, cudnn = {}, mps = {} }
for _, library in pairs(backends) do library.is_available, library.is_built = absent, absent end
backends.cudnn.enabled, backends.cudnn.benchmark, backends.cudnn.deterministic = false, false, false

return backends
