-- What the comments of lucerna.distributions do not say.
return { title = "Probability distributions",
{"distributions.Distribution:log_prob", "The logarithm of the density (probability) at value."},
{"distributions.Distribution:cdf distributions.Distribution:icdf", [=[
The probability of at most value; the value below which that probability lies.]=]},
{"distributions.constraints.Constraint", [=[
What a parameter or value must satisfy: check(value) gives a bool tensor.]=]},
}
