-- Random numbers: on the CPU those of PyTorch for the same seed.
return { title = "Random numbers",
{"manual_seed seed initial_seed", [=[
Seeds the default generator; seed() with a fresh one, initial_seed() says which.
> lucerna.manual_seed(1)
> local x = lucerna.randn(2)]=]},
{"Generator", [=[
A generator of its own, for the option generator.
> local g = lucerna.Generator():manual_seed(3)
> local x = lucerna.rand(2, {generator = g})]=]},
{"get_rng_state set_rng_state", [=[
The state of the default generator, as a tensor of PyTorch's bytes; sets it.]=]},
{"rand rand_like", "U(0, 1), without 1."},
{"randn randn_like", "N(0, 1)."},
{"randint randint_like", [=[
Integers from low (0) up to but without high, as PyTorch's.
> local x = lucerna.randint(1, 7, {10})]=]},
{"randperm", "The numbers 1 to n in random order."},
{"uniform", "uniform_(from, to): U(from, to) in place."},
{"normal", "Of N(mean, std²), with tensors for either; normal_ in place."},
{"log_normal exponential cauchy geometric random", [=[
In place: e^N(mean, std²), exponential (lambd), Cauchy, the number of trials up to a success,
integers.
> local x = lucerna.empty(3):exponential_(2)]=]},
{"bernoulli", "1 with probability input (or p, in place), else 0."},
{"poisson binomial", [=[
A number of the Poisson distribution of rate input; how many of count trials succeed with prob.]=]},
{"multinomial", [=[
num_samples positions, from 1, drawn by the weights in the rows of input.
> local ids = lucerna.tensor{0.0, 3.0, 1.0}:multinomial(5, true)]=]},
}
