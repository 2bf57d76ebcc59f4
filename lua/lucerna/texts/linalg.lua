-- Products of matrices.
return { title = "Linear algebra",
{"matmul", [=[
Product of vectors, matrices, or batches of them that broadcast: [*, n, m], [*, m, p] -> [*, n, p].
> local y = lucerna.ones(5, 2, 3):matmul(lucerna.ones(3, 4))    -- [5, 2, 4]]=]},
{"mm bmm mv dot vdot inner", [=[
Products [n, m], [m, p] -> [n, p]; of batches [b, n, m], [b, m, p] -> [b, n, p]; of matrix and
vector [n, m], [m] -> [n]; of vectors [n], [n] -> [] (vdot: the first one conjugated); summed over
both last dimensions.]=]},
{"outer ger", "a_i b_j of two vectors: [n], [m] -> [n, m]."},
{"addmm addbmm baddbmm addmv addr", [=[
beta · input + alpha · the product: mm, bmm summed over the batch, bmm, mv, outer.]=]},
{"einsum", [=[
> local a, b = lucerna.ones(2, 3), lucerna.ones(3, 4)
> local y = lucerna.einsum("ij,jk->ik", a, b)    -- [2, 4]
> local z = lucerna.einsum(a, {1, 2}, b, {2, 3}, {1, 3})    -- the same]=]},
{"tensordot", [=[
Products summed over the last dims dimensions of a and the first dims of b, or over pairs of
dimensions: dims = {those of a, those of b}.]=]},
{"linalg.matmul", "Product of vectors, matrices or batches of them."},
{"linalg.multi_dot chain_matmul", [=[
The product of a list of matrices, in the order that takes the fewest multiplications.
> local y = lucerna.linalg.multi_dot {lucerna.ones(2, 9), lucerna.ones(9, 1)}]=]},
{"linalg.matrix_power matrix_power", "A^n of square matrices; of the inverse for negative n."},
{"linalg.matrix_exp matrix_exp", "The exponential of square matrices: I + A + A²/2 + ..."},
{"linalg.diagonal", "The diagonals of matrices [*, m, n], as a view."},
{"linalg.vecdot", "Sums of products along dim, the last one by default; x is conjugated."},
{"linalg.cross cross", "Vector products along a dim of size 3."},
{"trace", "The sum of a matrix's diagonal."},
{"linalg.vander", "For each element a row of its powers 0 to N - 1."},
{"vander", [=[
For each element of a vector a row of its powers N - 1 to 0; increasing: 0 to N - 1.]=]},
{"kron", [=[
The Kronecker product: other, scaled by each element of input in its place.
> local y = lucerna.kron(lucerna.eye(2), lucerna.ones(2, 3))    -- [4, 6]]=]},
{"linalg.tensorinv", "The inverse of A as a matrix whose rows are its first ind dims."},
{"linalg.tensorsolve", "X of tensordot(A, X) = B; dims of A are moved to the end before."},
{"linalg.inv inverse", [=[
The inverses of square matrices [*, n, n]; an error where there is none.
> local y = lucerna.linalg.inv(lucerna.tensor {{2.0, 0.0}, {0.0, 4.0}})]=]},
{"linalg.inv_ex", [=[
The inverses, and for each matrix 0 or the diagonal element at which it proved singular (its inverse
is NaN then).]=]},
{"linalg.solve", [=[
X of A X = B (X A = B with left = false); A [*, n, n], B [*, n, k], or [*, n] for vectors. A
singular A is an error.
> local x = lucerna.linalg.solve(lucerna.eye(2) * 2, lucerna.ones(2))    -- 0.5 0.5]=]},
{"linalg.solve_ex", "The solution, and for each matrix 0 or the step at which it is singular."},
{"linalg.solve_triangular", [=[
X of A X = B by one triangle of A (upper or lower); unitriangular: with ones on its diagonal.]=]},
{"triangular_solve", "X of A X = b by a triangle of A, and a copy of A. Older."},
{"linalg.cholesky cholesky", [=[
Lower triangular L of A = L Lᴴ (upper: U of Uᴴ U), A [*, n, n] symmetric (complex: Hermitian), of
which one triangle is read, and positive-definite, or it is an error.]=]},
{"linalg.cholesky_ex", "L, and 0 or the order of the leading minor that is not positive-definite."},
{"cholesky_solve", "X of A X = B by A's factor L."},
{"cholesky_inverse", "The inverse of A by its factor L."},
{"linalg.qr qr", [=[
Q with orthonormal columns and upper triangular R, A = Q R. mode: 'reduced', 'complete' (Q square)
or 'r' (no Q).
> local q, r = lucerna.linalg.qr(lucerna.randn(4, 3))    -- [4, 3], [3, 3]]=]},
{"linalg.householder_product orgqr", [=[
The first n columns of a product of Householder reflections: of Q where geqrf gave them.]=]},
{"geqrf", [=[
QR as LAPACK leaves it: R above the reflections whose product is Q, and their factors tau.
> local a, tau = lucerna.geqrf(lucerna.randn(4, 3))
> local q = lucerna.orgqr(a, tau)    -- [4, 3]]=]},
{"linalg.lu", "P, L and U of A = P L U."},
{"linalg.lu_factor linalg.lu_factor_ex lu", [=[
L and U packed in one matrix, and pivots: the row, from 1, that each row was exchanged with.]=]},
{"lu_unpack", "P, L and U of packed factors and pivots."},
{"linalg.lu_solve lu_solve", "X of A X = B by A's packed factors and pivots."},
{"linalg.det det", [=[
Determinants of square matrices.
> local d = lucerna.linalg.det(lucerna.eye(3))    -- 1]=]},
{"linalg.slogdet slogdet", "Signs of determinants, and logarithms of their absolute values."},
{"logdet", "Logarithms of determinants; NaN for negative real ones."},
{"linalg.ldl_factor linalg.ldl_factor_ex", [=[
L and D of a symmetric A = L D Lᵀ, or of a Hermitian one (hermitian) = L D Lᴴ, in LAPACK's packed
form, and pivots. Without a gradient.]=]},
{"linalg.ldl_solve", "X of A X = B by that factorization."},
{"linalg.eigh", [=[
Eigenvalues [*, n], ascending, and eigenvectors as columns, of symmetric or Hermitian matrices, of
which one triangle (UPLO, 'L' or 'U') is read. Complex vectors are free as those of eig.
> local values, vectors = lucerna.linalg.eigh(lucerna.eye(3))]=]},
{"linalg.eig", [=[
Eigenvalues and eigenvectors (as columns, of length 1) of square matrices, which are complex.
Vectors are free up to a complex factor of size 1; the gradient of what depends on it is refused.
> local values, vectors = lucerna.linalg.eig(lucerna.tensor {{0.0, -1.0}, {1.0, 0.0}})]=]},
{"linalg.eigvals", "The eigenvalues of square matrices alone, complex."},
{"linalg.eigvalsh", "The eigenvalues of symmetric or Hermitian matrices alone."},
{"linalg.svd", [=[
U, S and Vh of A = U diag(S) Vh, S descending; full_matrices: U and Vh are square. Complex vectors
are free up to a factor of size 1 for each value; the gradient of what depends on it is refused.
> local u, s, vh = lucerna.linalg.svd(lucerna.randn(4, 3), false)    -- [4, 3], [3], [3, 3]]=]},
{"linalg.svdvals", "The singular values alone, descending: [*, min(m, n)]."},
{"svd", "U, S and V (not its transpose) of input = U diag(S) Vᴴ; some: thin factors."},
{"svd_lowrank pca_lowrank", [=[
> local a = lucerna.randn(50, 3):matmul(lucerna.randn(3, 40))
> local u, s, v = lucerna.svd_lowrank(a, 3)    -- [50, 3], [3], [40, 3]
> local directions = select(3, lucerna.pca_lowrank(a, 2))    -- [40, 2]]=]},
{"linalg.matrix_rank", "How many singular values exceed max(atol, rtol · the largest): [*]."},
{"linalg.pinv pinverse", "Pseudo-inverses [*, n, m], by the singular values that count."},
{"linalg.lstsq", [=[
The X [*, n, k] closest to A X = B, of least norm; A [*, m, n], B [*, m, k], or [*, m] for vectors.
Then residuals [*, k], ranks [*] and singular values; as in PyTorch some are empty, by driver:
'gelsy', 'gels' (full rank), 'gelsd', 'gelss'.]=]},
{"linalg.norm", [=[
Without ord the 2-norm of all elements or over dim; else that of vectors (one dim) or matrices.
> local n = lucerna.linalg.norm(lucerna.ones(3, 4), "nuc")]=]},
{"linalg.vector_norm", "(Σ |x|^ord)^(1/ord) over dim, or over everything."},
{"linalg.matrix_norm", "'fro', 'nuc', or 1, 2, infinity and their negatives, over two dims."},
{"linalg.cond", "The norm of A times that of its inverse; infinite where there is none."},
}
