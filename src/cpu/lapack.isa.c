/* Spectra and QR of small matrices with one in each lane, as LAPACK takes a microsecond for what
 * are some hundred multiplications. By Jacobi's rotations, which lose nothing of small singular
 * values; lanes that are done are rotated by nothing, so no matrix depends on its neighbours. On
 * the way it lies by columns, over a power of two, so that no square leaves double's range.
 * Vectors are LAPACK's: they would get other signs, and other ones than a lone matrix's. */
#include "cpu/lapack_kernels.h"

#include <math.h>
#include <string.h>

#include "cpu/real_f64.inc"

enum { MOST = LUC_LANES_SIDE * LUC_LANES_SIDE, SWEEPS = 24 };

#define ALL (~(VI){0})

/* Elements [rows, columns] of matrices in memory: of one they are down and right apart. */
typedef struct layout {
  int64_t rows, columns, down, right;
} layout;

/* Lanes without a matrix of their own repeat the last. */
static void take(luc_lanes l, layout y, const void *from, V *x) {
  const int64_t size = y.rows * y.columns;
  for (int64_t c = 0; c < y.columns; c++)
    for (int64_t r = 0; r < y.rows; r++) {
      T lanes[LANES];
      for (int64_t i = 0; i < LANES; i++) {
        const int64_t at = (i < l.count ? i : l.count - 1) * size + r * y.down + c * y.right;
        lanes[i] = l.f32 ? ((const float *)from)[at] : ((const double *)from)[at];
      }
      x[c * y.rows + r] = vload(lanes);
    }
}

static void give(luc_lanes l, layout y, unsigned left, const V *x, V unit, void *to) {
  const int64_t size = y.rows * y.columns;
  for (int64_t c = 0; c < y.columns; c++)
    for (int64_t r = 0; r < y.rows; r++) {
      T lanes[LANES];
      vstore(lanes, x[c * y.rows + r] * unit);
      for (int64_t i = 0; i < LANES && i < l.count; i++) {
        const int64_t at = i * size + r * y.down + c * y.right;
        if (left >> i & 1) continue;
        if (l.f32)
          ((float *)to)[at] = (float)lanes[i];
        else
          ((double *)to)[at] = lanes[i];
      }
    }
}

/* Divides by the power of two near the largest element, which it returns; lanes of other than
 * finite numbers leave those that are. */
LUC_INLINE V scale(int64_t n, V *x, VI *finite) {
  V largest = vset1(0x1p-1022), sum = {0};
  for (int64_t e = 0; e < n; e++) {
    largest = vlarger(vabs(x[e]), largest);
    sum += x[e] * 0;
  }
  *finite &= (VI)(sum == 0);
  const V unit = (V)((VI)vsmaller(largest, vset1(0x1p1022)) & (VI)vset1(INFINITY));
  const V inverse = vset1(1) / unit;
  for (int64_t e = 0; e < n; e++) x[e] *= inverse;
  return unit;
}

/* Bits of the lanes that are set. */
LUC_INLINE unsigned bits(VI mask) {
  unsigned all = 0;
  for (int i = 0; i < LANES; i++) all |= (unsigned)(mask[i] != 0) << i;
  return all;
}

/* ---- rotations ---- */

/* Of two axes, by less than 45 degrees. */
typedef struct turn {
  V cosine, sine, tangent;
} turn;

/* What makes a diagonal of [[a, b], [b, a + gap]], in lanes that are set. */
LUC_INLINE turn turn_of(V gap, V b, VI set) {
  const V twice = b + b, hypotenuse = vroot(gap * gap + twice * twice);
  const V sign = (V)((VI)gap & (VI)vset1(-0.0));
  const V tangent = (V)((VI)(twice / (vabs(gap) + hypotenuse)) ^ (VI)sign);
  turn t = {.tangent = (V)((VI)tangent & set)};
  t.cosine = 1 / vroot(1 + t.tangent * t.tangent);
  t.sine = t.cosine * t.tangent;
  return t;
}

LUC_INLINE void rotate(turn t, V *x, V *y) {
  const V old = *x;
  *x = t.cosine * old - t.sine * *y;
  *y = t.sine * old + t.cosine * *y;
}

LUC_INLINE void rotate_all(turn t, int64_t n, V *x, V *y) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; i++) rotate(t, x + i, y + i);
}

LUC_INLINE V dot(int64_t n, const V *x, const V *y) {
  V sum = {0};
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

LUC_INLINE void identity(int64_t rows, int64_t columns, V *x) {
  memset(x, 0, (size_t)(rows * columns) * sizeof *x);
  const int64_t ones = rows < columns ? rows : columns;
#pragma GCC unroll 4
  for (int64_t i = 0; i < ones; i++) x[i * rows + i] = vset1(1);
}

/* n keys in descending order. */
LUC_INLINE void order(int64_t n, V *keys) {
#pragma GCC unroll 4
  for (int64_t end = n - 1; end > 0; end--)
#pragma GCC unroll 4
    for (int64_t i = 0; i < end; i++) {
      const V key = keys[i];
      keys[i] = vlarger(key, keys[i + 1]);
      keys[i + 1] = vsmaller(key, keys[i + 1]);
    }
}

/* ---- QR ---- */

/* Columns x [m, n] become R and, below it, reflections whose first element is 1, as geqr2's.
 * What is so small that its square has few digits counts as zero. */
LUC_INLINE void reduce(int64_t m, int64_t n, V *x, V *tau) {
  const int64_t columns = m < n ? m : n;
#pragma GCC unroll 4
  for (int64_t j = 0; j < columns; j++) {
    V *column = x + j * m, rest = {0};
#pragma GCC unroll 4
    for (int64_t i = j + 1; i < m; i++) rest += column[i] * column[i];
    const V head = column[j], size = vroot(head * head + rest);
    const V end = (V)((VI)size | (~(VI)head & (VI)vset1(-0.0))); /* of the other sign */
    const VI below = (VI)(rest > 1e-290);
    const V inverse = (V)((VI)(1 / (head - end)) & below);
    tau[j] = (V)((VI)((end - head) / end) & below);
    column[j] = vselect(below, end, head);
#pragma GCC unroll 4
    for (int64_t i = j + 1; i < m; i++) column[i] *= inverse;
#pragma GCC unroll 4
    for (int64_t c = j + 1; c < n; c++) {
      V *other = x + c * m;
      const V part = tau[j] * (other[j] + dot(m - j - 1, column + j + 1, other + j + 1));
      other[j] -= part;
#pragma GCC unroll 4
      for (int64_t i = j + 1; i < m; i++) other[i] -= part * column[i];
    }
  }
}

/* Columns q [m, wide] of the product of k reflections. */
LUC_INLINE void form_q(int64_t m, int64_t k, int64_t wide, const V *x, const V *tau, V *q) {
  identity(m, wide, q);
#pragma GCC unroll 4
  for (int64_t j = k - 1; j >= 0; j--) {
    const V *column = x + j * m;
#pragma GCC unroll 4
    for (int64_t c = j; c < wide; c++) {
      V *other = q + c * m;
      const V part = tau[j] * (other[j] + dot(m - j - 1, column + j + 1, other + j + 1));
      other[j] -= part;
#pragma GCC unroll 4
      for (int64_t i = j + 1; i < m; i++) other[i] -= part * column[i];
    }
  }
}

/* Each column over a unit of its own, which Q does not depend on. */
LUC_INLINE unsigned qr_of(luc_lanes l, int64_t m, int64_t n, int64_t wide, const void *a, void *q,
                          void *r) {
  const int64_t k = m < n ? m : n;
  V x[MOST], of[MOST], tau[LUC_LANES_SIDE], units[LUC_LANES_SIDE];
  VI finite = ALL;
  take(l, (layout){m, n, n, 1}, a, x);
#pragma GCC unroll 4
  for (int64_t c = 0; c < n; c++) units[c] = scale(m, x + c * m, &finite);
  const unsigned left = bits(~finite);
  reduce(m, n, x, tau);
  if (q) {
    form_q(m, k, wide, x, tau, of);
    give(l, (layout){m, wide, wide, 1}, left, of, vset1(1), q);
  }
#pragma GCC unroll 4
  for (int64_t c = 0; c < n; c++)
#pragma GCC unroll 4
    for (int64_t i = 0; i < wide; i++) of[c * wide + i] = i > c ? (V){0} : x[c * m + i] * units[c];
  if (r) give(l, (layout){wide, n, n, 1}, left, of, vset1(1), r);
  return left;
}

/* ---- singular values ---- */

/* Columns x [rows, n] are turned until all are orthogonal; returns the lanes in which they are not
 * yet. */
LUC_INLINE VI turn_columns(luc_lanes l, int64_t rows, int64_t n, VI finite, V *x) {
  const T limit = l.f32 ? 0x1p-36 : (T)(n + 2) * 0x1p-53, least = 1e-200;
  VI moving = finite;
  for (int sweep = 0; sweep < SWEEPS && vany(moving); sweep++) {
    moving = (VI){0};
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
      for (int64_t j = i + 1; j < n; j++) {
        V *a = x + i * rows, *b = x + j * rows;
        const V aa = dot(rows, a, a), bb = dot(rows, b, b), ab = dot(rows, a, b);
        const VI set = (VI)(ab * ab > aa * limit * (bb * limit) + least) & finite;
        moving |= set;
        if (vany(set)) rotate_all(turn_of(bb - aa, ab, set), rows, a, b);
      }
  }
  return moving;
}

/* Of columns, or of a wide matrix's rows. */
LUC_INLINE unsigned values_of(luc_lanes l, int64_t m, int64_t n, const void *a, void *values) {
  const bool wide = m <= n;
  const int64_t k = wide ? m : n, rows = wide ? n : m;
  V x[MOST], sizes[LUC_LANES_SIDE];
  VI finite = ALL;
  take(l, (layout){rows, k, wide ? 1 : n, wide ? n : 1}, a, x);
  const V unit = scale(rows * k, x, &finite);
  const unsigned left = bits(turn_columns(l, rows, k, finite, x) | ~finite);
#pragma GCC unroll 4
  for (int64_t j = 0; j < k; j++) sizes[j] = dot(rows, x + j * rows, x + j * rows);
  order(k, sizes);
#pragma GCC unroll 4
  for (int64_t j = 0; j < k; j++) sizes[j] = vroot(sizes[j]);
  give(l, (layout){k, 1, 1, 1}, left, sizes, unit, values);
  return left;
}

/* ---- eigenvalues ---- */

/* The upper triangle of x becomes diagonal; returns the lanes in which it is not yet. */
LUC_INLINE VI turn_axes(luc_lanes l, int64_t n, VI finite, V *x) {
  const T limit = l.f32 ? 0x1p-40 : 0x1p-54;
  VI moving = finite;
  for (int sweep = 0; sweep < SWEEPS && vany(moving); sweep++) {
    moving = (VI){0};
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
      for (int64_t j = i + 1; j < n; j++) {
        V *a = x + i * n + i, *b = x + j * n + j, *ab = x + j * n + i;
        const VI set = (VI)(vabs(*ab) > limit) & finite;
        moving |= set;
        if (!vany(set)) continue;
        const turn t = turn_of(*b - *a, *ab, set);
        *a -= t.tangent * *ab;
        *b += t.tangent * *ab;
        *ab = vselect(set, (V){0}, *ab);
#pragma GCC unroll 4
        for (int64_t r = 0; r < n; r++)
          if (r != i && r != j)
            rotate(t, x + (r < i ? i * n + r : r * n + i), x + (r < j ? j * n + r : r * n + j));
      }
  }
  return moving;
}

LUC_INLINE unsigned eigenvalues_of(luc_lanes l, int64_t n, bool upper, const void *a,
                                   void *values) {
  V x[MOST], keys[LUC_LANES_SIDE];
  VI finite = ALL;
  take(l, (layout){n, n, upper ? n : 1, upper ? 1 : n}, a, x);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++) x[j * n + i] = x[i * n + j];
  const V unit = scale(n * n, x, &finite);
  const unsigned left = bits(turn_axes(l, n, finite, x) | ~finite);
#pragma GCC unroll 4
  for (int64_t j = 0; j < n; j++) keys[j] = -x[j * n + j];
  order(n, keys);
  give(l, (layout){n, 1, 1, 1}, left, keys, -unit, values);
  return left;
}

/* ---- lanes after lanes, of a constant number of rows where that is small ---- */

/* Those from the i-th on, which are of this many elements. */
LUC_INLINE void *behind(luc_lanes l, const void *p, int64_t elements) {
  return p ? (char *)p + elements * (l.f32 ? (int64_t)sizeof(float) : (int64_t)sizeof(T)) : NULL;
}

static unsigned values_lanes(luc_lanes l, int64_t m, int64_t n, const void *a, void *values) {
  switch (m == n ? n : 0) {
  case 2: return values_of(l, 2, 2, a, values);
  case 3: return values_of(l, 3, 3, a, values);
  case 4: return values_of(l, 4, 4, a, values);
  default: return values_of(l, m, n, a, values);
  }
}

static unsigned svdvals(luc_lanes l, int64_t m, int64_t n, const void *a, void *values) {
  const int64_t k = m < n ? m : n;
  unsigned left = 0;
  for (int64_t i = 0; i < l.count; i += LANES)
    left |= values_lanes((luc_lanes){l.f32, l.count - i}, m, n, behind(l, a, i * m * n),
                         behind(l, values, i * k))
            << i;
  return left;
}

static unsigned eigenvalues_lanes(luc_lanes l, int64_t n, bool upper, const void *a, void *values) {
  switch (n) {
  case 2: return eigenvalues_of(l, 2, upper, a, values);
  case 3: return eigenvalues_of(l, 3, upper, a, values);
  case 4: return eigenvalues_of(l, 4, upper, a, values);
  default: return eigenvalues_of(l, n, upper, a, values);
  }
}

static unsigned eigvalsh(luc_lanes l, int64_t n, bool upper, const void *a, void *values) {
  unsigned left = 0;
  for (int64_t i = 0; i < l.count; i += LANES)
    left |= eigenvalues_lanes((luc_lanes){l.f32, l.count - i}, n, upper, behind(l, a, i * n * n),
                              behind(l, values, i * n))
            << i;
  return left;
}

static unsigned qr_lanes(luc_lanes l, int64_t m, int64_t n, int64_t wide, const void *a, void *q,
                         void *r) {
  switch (m == n && wide == n ? n : 0) {
  case 2: return qr_of(l, 2, 2, 2, a, q, r);
  case 3: return qr_of(l, 3, 3, 3, a, q, r);
  case 4: return qr_of(l, 4, 4, 4, a, q, r);
  default: return qr_of(l, m, n, wide, a, q, r);
  }
}

static unsigned qr(luc_lanes l, int64_t m, int64_t n, int64_t wide, const void *a, void *q,
                   void *r) {
  unsigned left = 0;
  for (int64_t i = 0; i < l.count; i += LANES)
    left |= qr_lanes((luc_lanes){l.f32, l.count - i}, m, n, wide, behind(l, a, i * m * n),
                     behind(l, q, i * m * wide), behind(l, r, i * wide * n))
            << i;
  return left;
}

const luc_lapack_kernels LUC_ISA_NAME(luc__lapack) = {.side = LANES > 2 ? LUC_LANES_SIDE
                                                                        : LUC_LANES_SIDE / 2,
                                                      .svdvals = svdvals,
                                                      .eigvalsh = eigvalsh,
                                                      .qr = qr};
