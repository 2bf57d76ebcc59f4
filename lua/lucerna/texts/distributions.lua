-- What the comments of lucerna.distributions do not say.
return { title = "Probability distributions",
{"distributions.Distribution:log_prob", [=[
d:log_prob(value): the logarithm of the density (probability) at value, [*, batch_shape,
event_shape] -> [*, batch_shape].]=]},
{"distributions.Distribution:cdf distributions.Distribution:icdf", [=[
d:cdf(value), d:icdf(value): the probability of at most value; the value below which that
probability lies.]=]},
{"distributions.constraints.Constraint", [=[
What a parameter or value must satisfy: check(value) gives a bool tensor.]=]},
}
