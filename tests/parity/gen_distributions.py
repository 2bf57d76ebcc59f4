#!/usr/bin/env python3
"""PyTorch's torch.distributions: tests/parity/data/distributions.lua. Each case has parameters, a
value, what follows from them with gradients, and samples of a seed; then divergences of pairs."""
import functools

import torch
import torch.distributions as D

import record
from record import cases, write

tensor = functools.partial(record.tensor, digits=12)


def transformed(base, *transforms):
    return D.TransformedDistribution(base, list(transforms))


class InverseGamma(D.TransformedDistribution):
    """As torch.distributions has it from 2.4 on."""
    arg_constraints = D.Gamma.arg_constraints
    support, has_rsample = D.constraints.positive, True

    def __init__(self, concentration, rate):
        base = D.Gamma(concentration, rate)
        self.concentration, self.rate = base.concentration, base.rate
        super().__init__(base, D.transforms.PowerTransform(-torch.ones_like(base.rate)))

    @property
    def mean(self):
        a = self.concentration
        return torch.where(a > 1, self.rate / (a - 1), torch.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        a = self.concentration
        return torch.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), torch.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


D.InverseGamma = getattr(D, "InverseGamma", InverseGamma)


class GeneralizedPareto(D.Distribution):
    """As torch.distributions has it from 2.8 on, by its formulas."""
    arg_constraints = {"loc": D.constraints.real, "scale": D.constraints.positive,
                       "concentration": D.constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration):
        parts = torch.broadcast_tensors(loc, scale, concentration)
        self.loc, self.scale, self.concentration = parts
        super().__init__(self.loc.shape, validate_args=False)

    @property
    def support(self):
        c = self.concentration
        upper = torch.where(c < 0, self.loc - self.scale / c, torch.inf)
        return D.constraints.interval(self.loc, upper)

    def _parts(self, value):
        flat = self.concentration == 0
        return (value - self.loc) / self.scale, flat, torch.where(flat, 1.0, self.concentration)

    def log_prob(self, value):
        z, flat, c = self._parts(value)
        curved = (1 / c + 1) * torch.log1p(c * z)
        return -self.scale.log() - torch.where(flat, z, curved)

    def cdf(self, value):
        z, flat, c = self._parts(value)
        return 1 - torch.where(flat, -z, -torch.log1p(c * z) / c).exp()

    def icdf(self, u):
        c = torch.where(self.concentration == 0, 1.0, self.concentration)
        curved = torch.expm1(-c * torch.log1p(-u)) / c
        straight = -torch.log1p(-u)
        return self.loc + self.scale * torch.where(self.concentration == 0, straight, curved)

    def sample(self, shape=()):
        with torch.no_grad():
            return self.rsample(shape)

    def rsample(self, shape=()):
        return self.icdf(torch.rand(self._extended_shape(shape), dtype=self.loc.dtype))

    @property
    def mean(self):
        c = self.concentration
        return torch.where(c < 1, self.loc + self.scale / (1 - c), torch.nan)

    @property
    def variance(self):
        c = self.concentration
        return torch.where(c < .5, self.scale ** 2 / ((1 - c) ** 2 * (1 - 2 * c)), torch.nan)

    @property
    def mode(self):
        return self.loc

    def entropy(self):
        return self.scale.log() + self.concentration + 1


D.GeneralizedPareto = getattr(D, "GeneralizedPareto", GeneralizedPareto)


# What is made of others; tests/lua/distributions_spec.lua makes the same.
MADE = {
    "Independent of Normal": lambda loc, scale: D.Independent(D.Normal(loc, scale), 1),
    "Independent of OneHotCategorical":
        lambda logits: D.Independent(D.OneHotCategorical(logits=logits), 1),
    "TransformedDistribution by AffineTransform, SigmoidTransform":
        lambda loc, scale: transformed(D.Laplace(loc, 0.5), D.AffineTransform(0.5, scale),
                                       D.SigmoidTransform()),
    "TransformedDistribution by TanhTransform":
        lambda loc, scale: transformed(D.Normal(loc, scale), D.TanhTransform()),
    "TransformedDistribution by SoftplusTransform, PowerTransform, ExpTransform.inv":
        lambda loc, scale: transformed(D.Normal(loc, scale), D.SoftplusTransform(),
                                       D.PowerTransform(torch.tensor(1.5)), D.ExpTransform().inv),
    "TransformedDistribution by StickBreakingTransform":
        lambda loc, scale: transformed(D.Normal(loc, scale), D.StickBreakingTransform()),
    "TransformedDistribution by ReshapeTransform, IndependentTransform":
        lambda loc, scale: transformed(
            D.Normal(loc, scale), D.ReshapeTransform((4,), (2, 2)),
            D.IndependentTransform(D.ExpTransform(), 2), D.AffineTransform(0, -2.0, 1)),
    "TransformedDistribution by ComposeTransform":
        lambda loc, scale: transformed(
            D.Gamma(loc.exp(), scale), D.ComposeTransform([
                D.ExpTransform().inv, D.StickBreakingTransform(),
                D.AffineTransform(1.0, scale[0])])),
    "TransformedDistribution by CatTransform":
        lambda loc, scale: transformed(
            D.Normal(loc, scale),
            D.CatTransform([D.TanhTransform(), D.ExpTransform()], -1, [1, 2])),
    "TransformedDistribution by CumulativeDistributionTransform":
        lambda loc, scale: transformed(
            D.Normal(loc, scale), D.CumulativeDistributionTransform(D.Laplace(0.5, 2.0))),
    "TransformedDistribution by CorrCholeskyTransform":
        lambda loc, scale: transformed(D.Normal(loc, scale), D.CorrCholeskyTransform()),
    "MixtureSameFamily of Normal": lambda probs, loc, scale: D.MixtureSameFamily(
        D.Categorical(probs), D.Normal(loc, scale)),
    "MixtureSameFamily of vectors": lambda logits, loc, scale: D.MixtureSameFamily(
        D.Categorical(logits=logits), D.Independent(D.Normal(loc, scale), 1)),
}


def make(name, kw):
    return MADE[name](**kw) if name in MADE else getattr(D, name)(**kw)


SHOWN = ("mean", "variance", "stddev", "mode")
METHODS = ("log_prob", "cdf", "icdf", "entropy")


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


def table(items):
    return "{%s}" % ", ".join("%s=%s" % item for item in items)


def parameters(kw):
    return {k: v.clone().requires_grad_() if isinstance(v, torch.Tensor) and
            v.dtype.is_floating_point else v for k, v in kw.items()}


def written(kw):
    brackets = str.maketrans("[]", "{}")
    return table((k, tensor(v) if isinstance(v, torch.Tensor)
                  else repr(v).lower().translate(brackets))
                 for k, v in kw.items())


def gradients(out, kw):
    leaves = {k: v for k, v in kw.items() if isinstance(v, torch.Tensor) and v.requires_grad}
    if not isinstance(out, torch.Tensor) or not out.requires_grad or not leaves:
        return None
    grads = torch.autograd.grad(out.sum(), list(leaves.values()), allow_unused=True,
                                retain_graph=True)
    return table((k, tensor(g)) for k, g in zip(leaves, grads) if g is not None)


def ask(name, kw, value, what, u=None):
    """What `what` gives, with its gradients, or None where PyTorch has no answer."""
    kw = parameters(kw)
    try:
        d = make(name, kw)
        if what in SHOWN:
            out = getattr(d, what)
        elif what == "entropy":
            out = d.entropy()
        else:
            x = (u if what == "icdf" else value).clone()
            if x.dtype.is_floating_point and what != "icdf" and not d.support.is_discrete:
                kw["value"] = x.requires_grad_()
            out = getattr(d, what)(x)
    except NotImplementedError:
        return None
    return out, gradients(out, kw)


def one(name, value, positions=False, sample=(torch.float64, torch.float32), skip=(), label="",
        near=False, **kw):
    """positions: values are categories, which count from 1. near: PyTorch has but seven digits."""
    shift = 1 if positions else 0
    text = '{name="%s", class="%s",%s\n kw=%s' % (name + label, name, " near=true," * near,
                                                  written(kw))
    text += ",\n value=%s" % tensor(value, shift)
    u = torch.linspace(0.1, 0.8, value.shape[-1] if value.dim() else 1, dtype=torch.float64)
    if value.dim() == 0:
        u = u[0]
    out, grads = [], []
    for what in SHOWN + METHODS:
        answer = None if what in skip else ask(name, kw, value, what, u)
        if answer:
            out.append((what, tensor(answer[0], shift if what == "mode" else 0)))
            if answer[1]:
                grads.append((what, answer[1]))
    text += ",\n u=%s,\n out=%s,\n grads=%s" % (tensor(u), table(out), table(grads))
    if sample:
        for dtype in sample:
            given = {k: v.to(dtype) if isinstance(v, torch.Tensor) and v.dtype.is_floating_point
                     else v for k, v in kw.items()}
            d = make(name, given)
            torch.manual_seed(5)
            key = "sample" if dtype == torch.float64 else "sample32"
            text += ",\n %s=%s" % (key, tensor(d.sample((3,)), shift))
    if sample and make(name, parameters(kw)).has_rsample:
        given = parameters(kw)
        torch.manual_seed(6)
        drawn = make(name, given).rsample((2,))
        weights = torch.arange(1.0, drawn.numel() + 1, dtype=torch.float64).view(drawn.shape)
        text += ",\n rsample=%s, weighted=%s" % (tensor(drawn), gradients(drawn * weights, given))
    cases.append(text + "}")


def kl(p, kw_p, q, kw_q):
    a, b = parameters(kw_p), parameters(kw_q)
    out = D.kl_divergence(make(p, a), make(q, b))
    cases.append('{name="KL(%s || %s)", p="%s", q="%s",\n kw_p=%s,\n kw_q=%s,\n kl=%s,'
                 '\n grads_p=%s,\n grads_q=%s}' % (
                     p, q, p, q, written(kw_p), written(kw_q), tensor(out),
                     gradients(out, a) or "{}", gradients(out, b) or "{}"))


def location_and_scale():
    loc, scale, value = t(0.5, -1, 2), t([0.5], [2]), t(0.25, 1.5, -1)
    for name in ("Normal", "Laplace", "Cauchy"):
        one(name, value, loc=loc, scale=scale)
    one("Normal", t(0.5)[0], loc=t(1)[0], scale=t(0.25)[0], label=" of scalars")
    one("Uniform", t(0.25, 1.5, -0.5), low=t(0, -1, -2), high=t([1.75], [2.5]), skip=("log_prob",))
    one("Uniform", t(0.25, 1.5, -0.5), low=t(0, -1, -2), high=t(1, 2, 3), label=" inside")
    one("Exponential", t(0.25, 1.5, 3), rate=t(0.5, 1, 4))


def choices():
    weights = t([1, 2, 3], [0.5, 0.25, 0.25])
    logits = t([0.5, -1, 2], [0.25, 1, 0])
    one("Bernoulli", t(0, 1, 1), probs=t(0.25, 0.5, 0.75))
    one("Bernoulli", t(0, 1, 1), logits=t([0.5, -1, 0], [2, 3, 0.25]), label=" of logits")
    ids = torch.tensor([[2, 0], [1, 1]])
    one("Categorical", ids, positions=True, probs=weights)
    one("Categorical", ids, positions=True, logits=logits, label=" of logits")
    chosen = t([0, 0, 1], [1, 0, 0])
    one("OneHotCategorical", chosen, probs=weights)
    one("OneHotCategorical", chosen, logits=logits, label=" of logits")
    one("OneHotCategoricalStraightThrough", chosen, probs=weights)


def gammas():
    a, b, unit = t(0.5, 1.5, 9), t([0.75], [2]), t(0.25, 0.5, 0.875)
    one("Gamma", t(0.25, 1.5, 3), concentration=a, rate=b)
    one("Chi2", t(0.25, 1.5, 3), df=a)
    one("StudentT", t(0.25, -1.5, 3), df=t(0.5, 1.5, 4), loc=t(0.5, 1, 2), scale=b)
    one("Dirichlet", t([0.25, 0.25, 0.5], [0.125, 0.25, 0.625]),
        concentration=t([0.5, 0.75, 0.25], [3, 9, 1]))
    one("Beta", unit, concentration1=a, concentration0=b)


def counts():
    drawn = t(0, 2, 5)
    one("Poisson", drawn, rate=t(0.5, 3, 20))
    one("Binomial", drawn, total_count=torch.tensor([3, 30, 40]), probs=t(0.25, 0.5, 0.75))
    one("Binomial", drawn, total_count=8, probs=t(0.25, 0.5, 0.75), label=" of one count")
    one("Binomial", drawn, total_count=8, logits=t(0.25, -1, 0), label=" of logits")
    one("Geometric", drawn, probs=t(0.25, 0.5, 0.75))
    one("Geometric", drawn, logits=t(0.25, -1, 0), label=" of logits")


def composed():
    loc, scale, value = t([0.5, -1, 2], [0, 1, 0.25]), t([0.5], [2]), t(0.25, 1.5, 2)
    one("LogNormal", value, loc=loc, scale=scale)
    one("HalfNormal", value, scale=t(0.5, 1, 2))
    one("HalfCauchy", value, scale=t(0.5, 1, 2))
    one("Independent of Normal", value, loc=loc, scale=scale)
    one("Independent of OneHotCategorical", t([0, 0, 1], [1, 0, 0]), logits=loc)
    names = [name for name in MADE if name.startswith("Transformed")]
    for name, value in zip(names, (t(0.25, 0.5, 0.75), t(0.25, -0.5, 0.75), t(0.25, -1.5, 0.75))):
        one(name, value, loc=loc, scale=scale)
    parts = t([0.25, 0.25, 0.375, 0.125], [0.5, 0.125, 0.125, 0.25])
    one(names[3], parts, loc=loc, scale=scale)
    four = t([0.5, -1, 2, 0.25])
    one(names[4], -t([[1, 2], [0.5, 0.25]]), loc=four, scale=scale)
    one(names[5], 1 + parts * 0.5, loc=loc, scale=scale[:, :1] * 0 + 0.5, skip=("icdf", "cdf"))
    one(names[6], t([0.5, 3, 0.75], [-0.25, 0.25, 0.625]), loc=loc, scale=scale,
        skip=("cdf", "icdf"))
    one(names[7], t(0.25, 0.5, 0.75), loc=loc, scale=scale)
    one(names[8], t([1, 0, 0], [0.6, 0.8, 0], [0.48, 0.6, 0.64]), loc=loc, scale=scale,
        skip=("cdf", "icdf"))
    kl("LogNormal", dict(loc=loc, scale=scale), "LogNormal", dict(loc=loc + 1, scale=scale * 2))
    kl("HalfNormal", dict(scale=scale), "HalfNormal", dict(scale=scale * 2))
    kl("Independent of Normal", dict(loc=loc, scale=scale), "Independent of Normal",
       dict(loc=loc + 1, scale=scale * 2))


def extremes():
    loc, scale = t([0.5, -1, 2], [0, 1, 0.25]), t([0.5], [2])
    one("Gumbel", t(0.25, 1.5, -1), loc=loc, scale=scale)
    one("Pareto", t(2.25, 2.5, 3), scale=scale, alpha=t(0.5, 1.5, 4))
    one("Weibull", t(2.25, 1.5, 3), scale=scale, concentration=t(1.5, 2, 4))
    one("Kumaraswamy", t(0.25, 0.5, 0.75), concentration1=t(0.5, 1.5, 4), concentration0=scale)
    one("FisherSnedecor", t(0.25, 1.5, 3), df1=t(1.5, 4, 9), df2=t(1.5, 4.5, 12))
    one("InverseGamma", t(0.25, 1.5, 3), concentration=t(0.5, 1.5, 4), rate=scale)
    hot, free = t(0.75)[0], t([0.25, 0.5, 0.25], [0.125, 0.125, 0.75])
    one("RelaxedBernoulli", t(0.25, 0.75, 0.5), temperature=hot, probs=free)
    one("RelaxedOneHotCategorical", free, temperature=hot, logits=loc)
    one("RelaxedOneHotCategorical", free, temperature=hot, probs=free, label=" of probs")
    one("LogisticNormal", t([0.25, 0.25, 0.375, 0.125]), loc=loc, scale=scale)


def mixtures():
    weights, drawn = t([1, 2, 3], [0.5, 0.25, 0.25]), t([0, 3, 1], [2, 0, 2])
    # PyTorch takes log n! in float32 for the entropy: only 1! is exact.
    one("Multinomial", drawn, total_count=4, probs=weights, skip=("entropy",))
    one("Multinomial", drawn, total_count=4, logits=weights, skip=("entropy",), label=" of logits")
    one("Multinomial", t(0, 1, 0), total_count=1, probs=weights, label=" of one draw")
    one("NegativeBinomial", t(0, 2, 5), total_count=t(3, 1.5, 4), probs=t(0.25, 0.5, 0.75))
    one("NegativeBinomial", t(0, 2, 5), total_count=t(3, 1.5, 4), logits=t(0.25, -1, 0),
        label=" of logits")
    loc = t([0.5, -1, 2], [0, 1, 0.25])
    one("MixtureSameFamily of Normal", t(0.25, 1.5), probs=weights, loc=loc, scale=t(0.5, 1, 2))
    one("MixtureSameFamily of vectors", t(0.25, 1.5, -1), logits=t(0.5, -1), loc=loc,
        scale=t(0.5, 1, 2), skip=("cdf",))


def multivariate():
    lower, loc = t([2, 0], [-0.5, 0.75]), t([0.5, -1], [0, 1], [2, 0.25])
    cov, value = lower @ lower.T, t([0.25, 1.5], [-1, 0.5], [2, 2])
    many = torch.stack([lower, lower + torch.eye(2), 2 * lower])
    name = "MultivariateNormal"
    one(name, value, loc=loc, scale_tril=lower)
    one(name, value, loc=loc[0], scale_tril=many, label=" of many factors")
    one(name, value[0], loc=loc[0], covariance_matrix=cov, label=" of a covariance")
    one(name, value, loc=loc, precision_matrix=cov, label=" of a precision")
    kl(name, dict(loc=loc, scale_tril=lower), name, dict(loc=loc + 1, scale_tril=many))
    kl(name, dict(loc=loc[0], covariance_matrix=cov), name, dict(loc=loc[1], scale_tril=lower * 2))


def bounded():
    """ContinuousBernoulli and what it has divergences with; VonMises, whose Bessel functions are
    rough and whose samples newer PyTorch draws in double; GeneralizedPareto."""
    name, a, b = "ContinuousBernoulli", t(0.25, 0.4995, 0.9), t(0.5, 0.125, 0.75)
    value = t(0.25, 0.5, 0.875)
    one(name, value, probs=a)
    one(name, value, logits=t(-2, 0.001, 3), label=" of logits")
    one(name, value, probs=a, lims=[0.125, 0.5], label=" with other lims")
    kl(name, dict(probs=a), name, dict(probs=b))
    kl(name, dict(logits=a), name, dict(logits=b))
    parts = t(0.25, 0.5, 0.75)
    others = {
        "Beta": dict(concentration1=a, concentration0=b), "Exponential": dict(rate=a),
        "Gamma": dict(concentration=a, rate=b), "Gumbel": dict(loc=a, scale=b),
        "Laplace": dict(loc=a, scale=b), "Normal": dict(loc=a, scale=b),
        "Pareto": dict(scale=a, alpha=b), "Uniform": dict(low=parts - 0.125, high=parts + 0.125)}
    for other, kw in others.items():
        own = dict(probs=b)
        for p, kw_p, q, kw_q in ((name, own, other, kw), (other, kw, name, own)):
            try:
                D.kl_divergence(make(p, kw_p), make(q, kw_q))
            except NotImplementedError:
                continue
            kl(p, kw_p, q, kw_q)
    loc = t([0.5, -1, 2], [0, 1, 0.25])
    one("VonMises", t(0.25, 1.5, -3), loc=loc, concentration=t(0.5, 2, 9), near=True,
        sample=(torch.float64,))
    one("GeneralizedPareto", t([2.25, 0.5, 3], [2, 1.5, 3]), loc=loc, scale=t([0.5], [2]),
        concentration=t(0.25, -0.125, 0.75))
    one("GeneralizedPareto", t(2.25, 3), loc=t(0.5, 1), scale=t(1, 2), concentration=t(0, 1.5),
        label=" of exponential tail")


def matrices():
    lower, loc = t([2, 0], [-0.5, 0.75]), t([0.5, -1], [0, 1], [2, 0.25])
    factor, diag = t([1], [-0.5]), t(0.5, 2)
    name, full = "LowRankMultivariateNormal", "MultivariateNormal"
    one(name, loc - 0.25, loc=loc, cov_factor=factor, cov_diag=diag)
    many = torch.stack([factor, 2 * factor, factor + 1])
    one(name, loc[0], loc=loc[1], cov_factor=many, cov_diag=diag, label=" of many factors")
    low = dict(loc=loc, cov_factor=factor, cov_diag=diag)
    kl(name, low, name, dict(loc=loc + 1, cov_factor=many, cov_diag=diag * 2))
    kl(full, dict(loc=loc, scale_tril=lower), name, low)
    kl(name, low, full, dict(loc=loc + 1, scale_tril=lower))
    cov = lower @ lower.T
    values = torch.stack([cov, 2 * cov, cov + torch.eye(2)])
    quiet = dict(sample=())  # 1.13 draws matrices again that are not singular
    one("Wishart", values, df=t(3, 2.5, 7), covariance_matrix=cov, **quiet)
    # Of log_prob PyTorch's gradient has values above the diagonal, too.
    one("Wishart", values, df=t(3, 2.5, 7), scale_tril=lower, skip=("log_prob",),
        label=" of a factor", **quiet)
    one("Wishart", cov, df=t(4)[0], covariance_matrix=cov, label=" of a covariance", **quiet)
    one("Wishart", cov, df=5.5, precision_matrix=cov, label=" of a precision", **quiet)
    kl("Wishart", dict(df=t(4)[0], scale_tril=lower), "Wishart",
       dict(df=t(5.5)[0], covariance_matrix=2 * cov))
    one("LKJCholesky", t([1, 0], [0.6, 0.8]), dim=2, concentration=t(0.5, 1, 3), label=" of 2")
    one("LKJCholesky", t([1, 0, 0, 0], [0.6, 0.8, 0, 0], [0.48, 0.6, 0.64, 0], [0.5] * 4), dim=4,
        concentration=t(1.5)[0], label=" of 4")


def divergences():
    """Every pair that PyTorch has a formula for."""
    a, b, c, d = t(0.5, 2), t(0.75, 0.25), t(1.5, 3), t(0.25, 0.5)
    rows, others = t([0.25, 0.75], [0.5, 0.5]), t([0.5, 0.5], [1, 0])
    two = {
        "Normal": [dict(loc=a, scale=b), dict(loc=b, scale=c)],
        "Laplace": [dict(loc=a, scale=b), dict(loc=b, scale=c)],
        "Cauchy": [dict(loc=a, scale=b), dict(loc=b, scale=c)],
        "Uniform": [dict(low=d, high=b + 0.5), dict(low=d - 0.25, high=t(1, 2))],
        "Exponential": [dict(rate=a), dict(rate=b)],
        "Gumbel": [dict(loc=a, scale=b), dict(loc=b, scale=c)],
        "Pareto": [dict(scale=t(0.5, 0.25), alpha=t(2.5, 1.5)), dict(scale=d, alpha=c)],
        "Gamma": [dict(concentration=a, rate=b), dict(concentration=c, rate=a)],
        "Beta": [dict(concentration1=a, concentration0=b), dict(concentration1=c,
                                                                concentration0=a)],
        "Dirichlet": [dict(concentration=rows), dict(concentration=t([2, 3], [0.5, 1]))],
        "Bernoulli": [dict(probs=b), dict(probs=d)],
        "Binomial": [dict(total_count=5, probs=b), dict(total_count=5, probs=d)],
        "Geometric": [dict(probs=b), dict(probs=d)],
        "Poisson": [dict(rate=a), dict(rate=b)],
        "Categorical": [dict(probs=rows), dict(probs=others)],
        "OneHotCategorical": [dict(logits=rows), dict(logits=rows + t(0, 1))],
    }
    for p in two:
        for q in two:
            try:
                D.kl_divergence(make(p, two[p][0]), make(q, two[q][1]))
            except NotImplementedError:
                continue
            kl(p, two[p][0], q, two[q][1])
    kl("Binomial", dict(total_count=t(5, 6), probs=b), "Binomial", dict(total_count=5, probs=d))


for part in (location_and_scale, choices, gammas, counts, composed, extremes,
             mixtures, multivariate, bounded, matrices, divergences):
    part()
write("distributions", __file__)
