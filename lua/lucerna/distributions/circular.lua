-- The von Mises distribution, of angles.

local lucerna = require "lucerna"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local tools = require "lucerna.distributions.tools"

local special = lucerna.special
local PI = math.pi

local M = {}

--- VonMises(loc, concentration, validate_args): angles near loc, in radians, as a normal
-- distribution of variance 1 / concentration wound around the circle; concentration > 0.
M.VonMises = base.elementwise("VonMises", nil,
  {"loc", "concentration", loc = constraints.real, concentration = constraints.positive},
  constraints.real)
local VonMises = M.VonMises

function VonMises.getters:mean() return self.loc end
function VonMises.getters:mode() return self.loc end

-- Of angles: 1 less the mean of cos(value - loc).
function VonMises.getters:variance()
  return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)
end

-- log I0(c) is log i0e(c) + c: taken together with the cosine, nothing large is left.
function VonMises:_log_prob(value)
  local c = self.concentration
  return c * ((value - self.loc):cos() - 1) - special.i0e(c):log() - math.log(2 * PI)
end

-- The parameter of the wrapped Cauchy distribution that proposals come from; for small
-- concentrations by its series.
local function proposal(c)
  local tau = 1 + (1 + 4 * c ^ 2):sqrt()
  local rho = (tau - (2 * tau):sqrt()) / (2 * c)
  return lucerna.where(c:lt(1e-5), c:reciprocal() + c, (1 + rho ^ 2) / (2 * rho))
end

-- By rejection, in double (Best and Fisher, 1979). Without a finite proposal, NaN.
function VonMises:_sample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local c = self.concentration:double():expand(shape)
  local r = proposal(c)
  local done = r:isfinite():logical_not()
  local x = lucerna.full_like(r, 0 / 0)
  while not done:all():item() do
    local u1, u2, u3 =
      table.unpack(lucerna.rand(tools.join({3}, shape), {dtype = lucerna.float64}):unbind())
    local z = (PI * u1):cos()
    local f = (1 + r * z) / (r + z)
    local d = c * (r - f)
    local accept = (d * (2 - d) - u2):gt(0):logical_or(((d / u2):log() + 1 - d):ge(0))
    x = lucerna.where(accept, (u3 - 0.5):sign() * f:acos(), x)
    done = done:logical_or(accept)
  end
  return ((x + PI + self.loc:double()) % (2 * PI) - PI):to(self.loc.dtype)
end

return M
