-- What the comments of lucerna.distributions do not say.
return { title = "Probability distributions",
{"distributions.Distribution:log_prob", [=[
d:log_prob(value): the logarithm of the density (probability) at value, [*, batch_shape,
event_shape] -> [*, batch_shape].]=]},
{"distributions.Distribution:cdf", "d:cdf(value): the probability of at most value."},
{"distributions.Distribution:icdf", [=[
d:icdf(value): where cdf is value, a probability.]=]},
{"distributions.constraints.Constraint", [=[
What a parameter or value must satisfy: check(value) gives a bool tensor.]=]},
}
