-- Reductions, scans, sorting. dim counts from 1; -1 is the last.
return { title = "Reducing and sorting",
{"sum nansum", [=[
Over all elements or the dimensions dim; integers and booleans give int64. nansum takes NaN as 0.
> local s = lucerna.ones(2, 3):sum(2, {keepdim = true})    -- [2, 1]]=]},
{"mean nanmean", "The mean over all elements or dim, of floats; nanmean leaves NaN out."},
{"prod", "The product of all elements or along dim."},
{"var std var_mean std_mean", [=[
The variance (its root) over all elements or dim, divided by n - 1 (unbiased = false: n; correction
= c: n - c); var_mean and std_mean also the mean.
> local v = lucerna.randn(3, 4):var(2)]=]},
{"max min", [=[
The largest (smallest) of all; along dim also its position, from 1; with a tensor maximum (minimum).
> local values, positions = lucerna.randn(3, 4):max(2)]=]},
{"amax amin aminmax", "The largest, smallest, both; ties share the gradient."},
{"argmax argmin", [=[
The position, from 1, of the first largest (smallest): in the flattened tensor, or along dim.
> local best = lucerna.tensor{3, 9, 4}:argmax()    -- 2]=]},
{"any all", "Is any (are all) not 0? Over all elements or dim, a number or several; {}: of each."},
{"norm", "The p-norm over all elements or dim; p may be math.huge, 0, 'fro'; 'nuc' of matrices."},
{"dist", "The p-norm of input - other."},
{"cdist", [=[
The p-norm distances of all rows of x1 [*, P, M] to all of x2 [*, R, M]: [*, P, R].
> local d = lucerna.cdist(lucerna.randn(5, 3), lucerna.randn(2, 3))    -- [5, 2]]=]},
{"renorm", "The parts along dim, those of a p-norm above maxnorm scaled down to it."},
{"logsumexp", "log Σ e^x along dim, without overflow."},
{"nanmedian", "The median of what is not NaN; NaN where nothing else is."},
{"median", "The middle value, the lower of two; along dim also its position."},
{"mode", "The most frequent value along dim, and its last position."},
{"kthvalue", "The k-th smallest along dim, and its position."},
{"quantile nanquantile", [=[
The q-quantiles, q in [0, 1], over all elements or along dim, interpolated; several q come as the
first dimension. The second leaves NaN out.]=]},
{"count_nonzero", "How many are not 0."},
{"cumsum cumprod logcumsumexp", "Sums (products, log Σ e^x) up to each position along dim."},
{"cummax cummin", "The largest (smallest) up to each position along dim, and its position."},
{"diff", "Differences of neighbours along dim, n times; of prepend, input and append joined."},
{"gradient", [=[
A table of the slopes along each dimension (of dim) of samples spacing apart: one number, one for
each dimension, or tensors of positions. Inside of parabolas through three neighbours, at the ends
of a line through two (edge_order = 2: of a parabola too).
> local slope = lucerna.gradient(lucerna.tensor {1.0, 4.0, 9.0, 16.0})[1]    -- 3 4 6 7]=]},
{"sort msort", [=[
In ascending order along dim (msort: 1), and where each came from.
> local sorted, from = lucerna.tensor{3, 1, 2}:sort()    -- 1 2 3, 2 3 1]=]},
{"argsort", "Where each would come from in sorted order."},
{"topk", [=[
The k largest (smallest) along dim, in order, and their positions.
> local values, positions = lucerna.randn(10):topk(3)]=]},
{"unique unique_consecutive", [=[
The distinct values, sorted (of runs of equal ones); then, where asked for, each element's position
in them (return_inverse) and counts (return_counts). With dim, the distinct slices along it.
> local values = lucerna.tensor{2, 1, 2}:unique()    -- 1 2
> local values, counts = lucerna.tensor{2, 1, 2}:unique{return_counts = true}    -- 1 2, 1 2
> local rows = lucerna.tensor{{1, 2}, {0, 3}, {1, 2}}:unique{dim = 1}    -- {{0, 3}, {1, 2}}]=]},
{"histc", [=[
How many values fall into each of bins equal parts of [min, max] (of the values' range if both are
0).]=]},
{"histogram", [=[
How many values (the sum of their weights, a density) fall into each of bins equal parts of range,
or between the edges of a tensor bins; and the edges.
> local hist, edges = lucerna.histogram(lucerna.randn(100), 5, {density = true})]=]},
{"cov", [=[
The covariance matrix of variables (rows) by observations (columns), with counts fweights and
weights aweights; the divisor is their sum less correction.]=]},
{"corrcoef", "The correlation matrix of variables (rows) by observations (columns)."},
{"trapezoid trapz cumulative_trapezoid", [=[
The integral of samples y along dim by the trapezoidal rule, at x or dx apart (1); the last one: the
integrals up to each sample but the first.
> local area = lucerna.trapezoid(lucerna.tensor {1.0, 2.0, 4.0})    -- 4.5]=]},
{"segment_reduce", [=[
> local data = lucerna.tensor{1.0, 2.0, 3.0, 4.0}
> local sums = lucerna.segment_reduce(data, "sum", {lengths = lucerna.tensor{1, 3}})    -- 1 9]=]},
{"histogramdd", [=[
> local points = lucerna.rand(100, 2)
> local hist, edges = lucerna.histogramdd(points, {4, 3})    -- [4, 3]; {[5], [4]}]=]},
{"bincount", "How often each number from 0 on occurs, or the sum of its weights."},
{"searchsorted bucketize", [=[
Where each value would go to keep the order, as int64, or int32 with out_int32; right or side =
"right": after equal ones. sorter: the positions that put sorted_sequence in order, from argsort.
> local at = lucerna.searchsorted(lucerna.tensor {1, 3, 5}, lucerna.tensor {3, 9})    -- {2, 4}]=]},
}
