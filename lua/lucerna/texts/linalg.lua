-- Products of matrices.
return { title = "Linear algebra",
{"matmul", [=[
Product of vectors, matrices, or batches of them that broadcast: [*, n, m], [*, m, p] -> [*, n, p].
> local y = lucerna.ones(5, 2, 3):matmul(lucerna.ones(3, 4))    -- [5, 2, 4]]=]},
{"mm bmm mv dot vdot inner", [=[
Of two matrices, batches, matrix and vector, vectors; inner: over the last.]=]},
{"outer ger", "a_i b_j of two vectors."},
{"addmm addbmm baddbmm addmv addr", [=[
beta · input + alpha · the product (addbmm: summed over the batch).]=]},
{"einsum", [=[
Sums of products by a formula of subscripts.
> local y = lucerna.einsum("ij,jk->ik", lucerna.ones(2, 3), lucerna.ones(3, 4))    -- [2, 4]]=]},
{"tensordot", "Products summed over dims dimensions, or pairs of them."},
{"qr", "Q with orthonormal columns and upper triangular R, input = Q R."},
}
