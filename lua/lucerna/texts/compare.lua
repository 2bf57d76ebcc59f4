-- Comparisons and tests.
return { title = "Comparing",
{"eq ne not_equal lt less le less_equal gt greater ge greater_equal", [=[
input =, ≠, <, ≤, >, ≥ other: a bool tensor. (Lua's own < and == cannot give tensors.)
> local mask = lucerna.arange(4):gt(1)]=]},
{"equal", "Are shape and all values the same? A boolean."},
{"isclose allclose", [=[
|input - other| <= atol + rtol |other|: for each element; for all, a boolean.]=]},
{"isnan isinf isfinite isposinf isneginf isreal", "Tests of each element."},
{"isin", "Is each element among test_elements?"},
{"logical_and logical_or logical_xor logical_not", "Of what is not 0."},
{"is_nonzero", "The one element: is it not 0? A boolean."},
}
