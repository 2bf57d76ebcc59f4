-- Views and shapes.
return { title = "Shapes, views, joining",
{"view view_as", [=[
The same elements in another shape, one size may be -1; no copy, so that strides must allow it. Of a
dtype: the same bytes as such elements, more or fewer along the last dimension.
> local y = lucerna.arange(6):view(2, -1)    -- [2, 3]
> local bits = lucerna.tensor{1.0, -2.0}:view(lucerna.int32)    -- 0x3f800000 -0x40000000]=]},
{"sum_to_size", "The sum over the dimensions that broadcast size to the tensor's shape."},
{"reshape reshape_as", "view where possible, else a copy."},
{"ravel", "As one dimension."},
{"squeeze", "Without the dimensions of size 1 (of dim, if its size is 1)."},
{"unsqueeze", [=[
A dimension of size 1 put at dim.
> local y = lucerna.ones(3):unsqueeze(2)    -- [3, 1]]=]},
{"transpose swapaxes swapdims t", "Two dimensions exchanged; t: of a matrix."},
{"permute", [=[
The dimensions in another order.
> local y = lucerna.ones(2, 3, 4):permute(3, 1, 2)    -- [4, 2, 3]]=]},
{"movedim moveaxis", "Dimension source at place destination."},
{"expand expand_as broadcast_to", "Dimensions of size 1 repeated without a copy; -1 keeps a size."},
{"broadcast_tensors", "All expanded to their common shape."},
{"repeat tile", [=[
Copies side by side. repeat is a word of Lua: x["repeat"](x, 2), or x:tile(2).
> local y = lucerna.arange(2):tile(2, 2)    -- [2, 4]]=]},
{"repeat_interleave", "Each element (slice along dim) repeats times."},
{"narrow", [=[
length slices from position start along dim, a view.
> local y = lucerna.arange(5):narrow(1, 2, 3)    -- 1 2 3]=]},
{"select", "The slice at a position along dim, a view without dim; x[i] along the first."},
{"diagonal diag", [=[
The diagonal of two dimensions as the last one, a view; diag: of a matrix, or a matrix of a
vector.]=]},
{"diag_embed diagflat", "Matrices with the last dimension (all elements) as diagonal."},
{"unfold", "x:unfold(dim, size, step): windows of size, step apart, as a last dimension; a view."},
{"as_strided", "Any strides over the storage; storage_offset counts from 0."},
{"narrow_copy", "narrow, with memory of its own."},
{"split split_with_sizes chunk tensor_split hsplit vsplit dsplit", [=[
A table of views along dim: of split_size (or sizes), in so many chunks, in sections or at indices
(also those in a tensor), from 1, where parts begin; h, v, d: along dimension 2, 1, 3.
> local parts = lucerna.arange(7):split(3)              -- 3 tensors
> local three = lucerna.arange(7):tensor_split{3, 6}    -- 0 1, 2 3 4, 5 6]=]},
{"unbind", "A table of the slices along dim."},
{"cat concat concatenate", [=[
Joined along dim, of equal sizes elsewhere.
> local y = lucerna.cat({lucerna.ones(2, 3), lucerna.zeros(1, 3)}, 1)    -- [3, 3]]=]},
{"stack", [=[
Joined along a new dimension dim, of one shape.
> local y = lucerna.stack{lucerna.ones(3), lucerna.zeros(3)}    -- [2, 3]]=]},
{"hstack vstack row_stack dstack column_stack", [=[
Joined along dimension 2, 1, 3; vectors as columns.]=]},
{"block_diag", "Matrices along the diagonal of one."},
{"meshgrid", "A table of grids of vectors; indexing 'ij' or 'xy'."},
{"cartesian_prod", "All combinations of vectors' elements, as rows."},
{"combinations", [=[
The elements of a vector r at a time, as rows; with_replacement also more than once each.
> local y = lucerna.combinations(lucerna.arange(3))    -- [3, 2]]=]},
{"flip fliplr flipud", "Reversed along dims (2, 1)."},
{"roll", "Moved by shifts along dims, around the end."},
{"rot90", "Rotated k times by 90 degrees in the plane of two dimensions."},
{"atleast_1d atleast_2d atleast_3d",
  "With dimensions of size 1 until there are so many; of several tensors a table."},
{"tril triu", "The lower (upper) triangle, zeros elsewhere; diagonal moves its edge."},
}
