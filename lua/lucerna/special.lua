-- lucerna.special: special functions. Those that only it has are the operators that the table names
-- so; the others are functions of the library, some under another name.

local core = require "lucerna.core"

local special = core.special

for _, name in ipairs {"digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p",
  "log_softmax", "logit", "logsumexp", "polygamma", "round", "sinc", "softmax", "xlogy"} do
  special[name] = core[name]
end

local OTHER_NAMES = {expit = "sigmoid", gammaln = "lgamma", psi = "digamma",
  multigammaln = "mvlgamma", gammainc = "igamma", gammaincc = "igammac", modified_bessel_i0 = "i0"}
for name, existing in pairs(OTHER_NAMES) do
  special[name] = core._renamed(core[existing], "special." .. name)
end
special.modified_bessel_i1 = core._renamed(special.i1, "special.modified_bessel_i1")

return special
