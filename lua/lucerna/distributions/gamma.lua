-- The gamma distribution and those made of it: Gamma, Chi2, StudentT, Beta, Dirichlet. Samples have
-- gradients to the parameters, which the operators that draw them know.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local standard_normal = require("lucerna.distributions.normal").standard_normal
local tools = require "lucerna.distributions.tools"

local Distribution = base.Distribution
local positive = constraints.positive

local M = {}

-- ---- Gamma ----

--- Gamma(concentration, rate, validate_args): a waiting time for `concentration` events that
-- happen at a rate; both > 0.
M.Gamma = base.elementwise("Gamma", base.ExponentialFamily,
  {"concentration", "rate", concentration = positive, rate = positive}, constraints.nonnegative)
local Gamma = M.Gamma
Gamma.has_rsample = true

function Gamma.getters:mean() return self.concentration / self.rate end
function Gamma.getters:mode() return ((self.concentration - 1) / self.rate):clamp(0) end
function Gamma.getters:variance() return self.concentration / self.rate ^ 2 end

function Gamma:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local value = core._standard_gamma(self.concentration:expand(shape)) / self.rate:expand(shape)
  value.data:clamp_(lucerna.finfo(value.dtype).tiny) -- no zeros: log_prob is infinite there
  return value
end

function Gamma:_log_prob(value)
  local alpha = self.concentration
  return lucerna.xlogy(alpha, self.rate) + lucerna.xlogy(alpha - 1, value) - self.rate * value
    - alpha:lgamma()
end

function Gamma:_cdf(value) return lucerna.igamma(self.concentration, self.rate * value) end

function Gamma:entropy()
  local alpha = self.concentration
  return alpha - self.rate:log() + alpha:lgamma() + (1 - alpha) * alpha:digamma()
end

-- ---- Chi2 ----

--- Chi2(df, validate_args): the sum of the squares of df standard normal values.
M.Chi2 = base.class("Chi2", Gamma)
local Chi2 = M.Chi2
Chi2.arg_constraints = {"df", df = positive}

local take_df = base.taker("Chi2", {"df"})
function Chi2:__init(...)
  local validate_args = take_df(self, ...)
  self.concentration, self.rate = self.df * 0.5, lucerna.full_like(self.df:detach(), 0.5)
  Distribution.__init(self, self.df.shape, {}, validate_args)
end

function Chi2:_expand(shape)
  self.df, self.concentration = self.df:expand(shape), self.concentration:expand(shape)
  self.rate = self.rate:expand(shape)
end

-- ---- FisherSnedecor ----

--- FisherSnedecor(df1, df2, validate_args): the ratio of two Chi2 values, each over its degrees of
-- freedom.
M.FisherSnedecor = base.elementwise("FisherSnedecor", nil,
  {"df1", "df2", df1 = positive, df2 = positive}, positive)
local Fisher = M.FisherSnedecor
Fisher.has_rsample = true

function Fisher.getters:mean()
  local df2 = self.df2:masked_fill(self.df2:le(2), lucerna.nan)
  return df2 / (df2 - 2)
end

function Fisher.getters:mode()
  local mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
  return mode:masked_fill(self.df1:le(2), lucerna.nan)
end

function Fisher.getters:variance()
  local a, b = self.df1, self.df2:masked_fill(self.df2:le(4), lucerna.nan)
  return b ^ 2 * 2 * (a + b - 2) / (a * (b - 2) ^ 2 * (b - 4))
end

function Fisher:_rsample(sample_shape)
  local value = M.Gamma(self.df1 * 0.5, self.df1, false):rsample(sample_shape)
    / M.Gamma(self.df2 * 0.5, self.df2, false):rsample(sample_shape)
  value.data:clamp_(lucerna.finfo(value.dtype).tiny)
  return value
end

function Fisher:_log_prob(value)
  local a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
  return (a + b):lgamma() - a:lgamma() - b:lgamma() + a * ratio:log() + (a - 1) * value:log()
    - (a + b) * (ratio * value):log1p()
end

-- ---- StudentT ----

--- StudentT(df, loc = 0, scale = 1, validate_args): a normal value over the square root of a
-- Chi2 value of df degrees of freedom, over df.
M.StudentT = base.class "StudentT"
local StudentT = M.StudentT
StudentT.arg_constraints =
  {"df", "loc", "scale", df = positive, loc = constraints.real, scale = positive}
StudentT.support, StudentT.has_rsample = constraints.real, true

function StudentT:__init(...)
  local df, loc, scale, validate_args =
    arguments("StudentT", {"df", "loc", "scale", "validate_args", options = 2}, ...)
  self.df, self.loc, self.scale =
    tools.broadcast("StudentT", {"df", "loc", "scale"}, df, loc or 0.0, scale or 1.0)
  self._chi2 = M.Chi2(self.df, false)
  Distribution.__init(self, self.df.shape, {}, validate_args)
end

function StudentT:_expand(shape)
  Distribution._expand(self, shape)
  self._chi2 = self._chi2:expand(shape)
end

function StudentT.getters:mean()
  return self.loc:masked_fill(self.df:le(1), lucerna.nan)
end

function StudentT.getters:mode() return self.loc end

function StudentT.getters:variance()
  local df = self.df
  local finite = self.scale ^ 2 * df / (df - 2)
  local variance = finite:masked_fill(df:le(2), lucerna.inf)
  return variance:masked_fill(df:le(1), lucerna.nan)
end

function StudentT:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local x = standard_normal(shape, self.df)
  local z = self._chi2:rsample(sample_shape)
  return self.loc + self.scale * (x * (z / self.df):rsqrt())
end

function StudentT:_log_prob(value)
  local df = self.df
  local y = (value - self.loc) / self.scale
  local z = self.scale:log() + df:log() * 0.5 + 0.5 * math.log(math.pi) + (df * 0.5):lgamma()
    - ((df + 1) * 0.5):lgamma()
  return (df + 1) * -0.5 * (y ^ 2 / df):log1p() - z
end

function StudentT:entropy()
  local df = self.df
  local half = df * 0.5
  local log_beta = half:lgamma() + 0.5 * math.log(math.pi) - (half + 0.5):lgamma()
  return self.scale:log() + (df + 1) / 2 * (((df + 1) * 0.5):digamma() - half:digamma())
    + df:log() * 0.5 + log_beta
end

-- ---- Dirichlet and Beta ----

--- Dirichlet(concentration, validate_args): probabilities that sum to 1, in the last dimension, of
-- the size of the concentration's.
M.Dirichlet = base.class("Dirichlet", base.ExponentialFamily)
local Dirichlet = M.Dirichlet
Dirichlet.arg_constraints =
  {"concentration", concentration = constraints.independent(positive, 1)}
Dirichlet.support, Dirichlet.has_rsample = constraints.simplex, true

function Dirichlet:__init(...)
  local concentration, validate_args =
    arguments("Dirichlet", {"concentration", "validate_args", options = 2}, ...)
  tools.tensor("Dirichlet", "concentration", concentration)
  if concentration:dim() < 1 then
    tools.fail("Dirichlet: `concentration` parameter must be at least one-dimensional.")
  end
  self.concentration = concentration
  local shape = concentration.shape
  Distribution.__init(self, tools.first(shape, -1), tools.last(shape, 1), validate_args)
end

local function total(self) return self.concentration:sum(-1, {keepdim = true}) end

function Dirichlet.getters:mean() return self.concentration / total(self) end

function Dirichlet.getters:variance()
  local con0 = total(self)
  return self.concentration * (con0 - self.concentration) / (con0 ^ 2 * (con0 + 1))
end

-- Where every concentration is below 1 the density is highest in all corners: the first is given.
function Dirichlet.getters:mode()
  local less = (self.concentration - 1):clamp(0)
  local mode = less / less:sum(-1, {keepdim = true})
  local flat = self.concentration:lt(1):all(-1):unsqueeze(-1)
  local corner = lucerna.nn.functional.one_hot(mode:nan_to_num(0):argmax(-1), mode:size(-1))
  return lucerna.where(flat, corner:to(mode.dtype), mode)
end

function Dirichlet:_rsample(sample_shape)
  return core._sample_dirichlet(self.concentration:expand(self:_extended_shape(sample_shape)))
end

function Dirichlet:_log_prob(value)
  local alpha = self.concentration
  return lucerna.xlogy(alpha - 1, value):sum(-1) + alpha:sum(-1):lgamma() - alpha:lgamma():sum(-1)
end

function Dirichlet:entropy()
  local alpha = self.concentration
  local k, a0 = alpha:size(-1), alpha:sum(-1)
  return alpha:lgamma():sum(-1) - a0:lgamma() - (k - a0) * a0:digamma()
    - ((alpha - 1) * alpha:digamma()):sum(-1)
end

--- Beta(concentration1, concentration0, validate_args): a probability; the first of the two of a
-- Dirichlet.
M.Beta = base.class("Beta", base.ExponentialFamily)
local Beta = M.Beta
Beta.arg_constraints = {"concentration1", "concentration0", concentration1 = positive,
  concentration0 = positive}
Beta.support, Beta.has_rsample = constraints.unit_interval, true

local take_both = base.taker("Beta", {"concentration1", "concentration0"})
function Beta:__init(...)
  local validate_args = take_both(self, ...)
  local both = {self.concentration1, self.concentration0}
  self._dirichlet = M.Dirichlet(lucerna.stack(both, -1), false)
  Distribution.__init(self, both[1].shape, {}, validate_args)
end

function Beta:_expand(shape)
  Distribution._expand(self, shape)
  self._dirichlet = self._dirichlet:expand(shape)
end

function Beta.getters:mean()
  return self.concentration1 / (self.concentration1 + self.concentration0)
end

function Beta.getters:mode() return self._dirichlet.mode:select(-1, 1) end

function Beta.getters:variance()
  local sum = self.concentration1 + self.concentration0
  return self.concentration1 * self.concentration0 / (sum ^ 2 * (sum + 1))
end

function Beta:_rsample(sample_shape) return self._dirichlet:rsample(sample_shape):select(-1, 1) end

function Beta:_log_prob(value)
  return self._dirichlet:log_prob(lucerna.stack({value, 1 - value}, -1))
end

function Beta:entropy() return self._dirichlet:entropy() end

return M
