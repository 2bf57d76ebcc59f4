-- Reading and writing at positions; positions count from 1, -1 is the last.
return { title = "Positions",
{"gather", [=[
out[i][j] = input[index[i][j]][j] for dim = 1, and so on.
> local y = lucerna.tensor{{1, 2}, {3, 4}}:gather(2, lucerna.tensor{{2}, {1}})    -- 2, 3]=]},
{"scatter scatter_add", [=[
Writes (adds) src at index along dim: out[index[i][j]][j] = src[i][j] for dim = 1.
> local y = lucerna.zeros(2, 3):scatter(2, lucerna.tensor{{3}, {1}}, 1)]=]},
{"scatter_reduce index_reduce", [=[
Reduces src (source) into the positions index names along dim, as scatter (index_add) finds them;
reduce is 'sum', 'prod', 'mean', 'amax' or 'amin' (index_reduce has no 'sum'). Without include_self
what was at a written position does not count.
> local y = lucerna.zeros(2):scatter_reduce(1, lucerna.tensor{1, 1}, lucerna.ones(2), "sum")]=]},
{"index_select", [=[
The slices at positions along dim.
> local y = lucerna.arange(5):index_select(1, lucerna.tensor{5, 1})    -- 4 0]=]},
{"index_add index_copy index_fill", [=[
At the positions index along dim: adds alpha · source, writes source, writes value.
> local y = lucerna.zeros(3):index_add(1, lucerna.tensor{1, 1}, lucerna.ones(2))    -- 2 0 0]=]},
{"index_put", [=[
Writes values at positions, one tensor of them for each dimension; accumulate adds.
> local x = lucerna.zeros(3, 3)
> x:index_put_({lucerna.tensor{1, 3}, lucerna.tensor{2, 2}}, lucerna.tensor(1.0))]=]},
{"take put", [=[
At positions in the flattened tensor: reads, in index's shape; writes source, or adds it
(accumulate).]=]},
{"take_along_dim", "gather that broadcasts; without dim, of the flattened tensor."},
{"masked_fill masked_scatter masked_select", [=[
Where mask is true: value; the next elements of source; the elements as a vector.
> local y = lucerna.arange(4):masked_fill(lucerna.tensor{true, false, true, false}, 9)]=]},
{"where where_self", [=[
input where condition, else other; all three broadcast.
> local y = lucerna.where(lucerna.tensor{true, false}, 1.0, 2.0)]=]},
{"nonzero argwhere", [=[
The positions of what is not 0: [n, dimensions]; with as_tuple = true, and as where(condition), a
table of vectors, one for each dimension, that can index.
> local x = lucerna.tensor{{1, 0}, {2, 3}}
> local y = x[lucerna.where(x)]    -- 1 2 3]=]},
{"unravel_index", [=[
A table of positions along each dimension of shape, from positions in the flattened tensor.
> local x = lucerna.tensor{{1, 5}, {9, 2}}
> local row, column = table.unpack(lucerna.unravel_index(x:argmax(), x.shape))    -- 2, 1]=]},
{"select_scatter diagonal_scatter as_strided_scatter", [=[
A copy with a slice (diagonal, what as_strided shows) replaced by src.]=]},
{"slice_scatter", [=[
A copy with the range from start to end (included) along dim replaced by src, every step-th.
> local y = lucerna.zeros(4):slice_scatter(lucerna.ones(2), 1, 2, 3)    -- 0 1 1 0]=]},
{"fill_diagonal", "Writes the diagonal; wrap begins again below a tall matrix's square."},
}
