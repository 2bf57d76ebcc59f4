/* Discrete Fourier transforms by FFTW. Its planner keeps state for the whole process, so the part
 * of it that takes locks is loaded, and is told to. A plan costs a few microseconds, less than a
 * call in PyTorch takes in all, so none is kept. */
#include "cpu/fft.h"

#include "cpu/library.h"
#include "tensor/tensor.h"

/* What the functions used look like: FFTW's manual, "Guru Interface". */
typedef struct dimension {
  ptrdiff_t n, in, out; /* strides in elements */
} dimension;
enum { ESTIMATE = 1 << 6, PRESERVE_INPUT = 1 << 4 };
typedef void *(*plan_complex_fn)(int rank, const dimension *dims, int loops, const dimension *loop,
                                 void *in, void *out, int sign, unsigned flags);
typedef void *(*plan_real_fn)(int rank, const dimension *dims, int loops, const dimension *loop,
                              void *in, void *out, unsigned flags);

typedef struct fftw {
  void (*thread_safe)(void);
  plan_complex_fn plan_complex;
  plan_real_fn plan_real;
  void (*execute)(void *plan);
  void (*destroy)(void *plan);
} fftw;

static luc_status load(luc_context *ctx, const luc_fft *t, fftw *f) {
  static const char *const names[2][6] = {
      {"fftw_make_planner_thread_safe", "fftw_plan_guru64_dft", "fftw_plan_guru64_dft_r2c",
       "fftw_plan_guru64_dft_c2r", "fftw_execute", "fftw_destroy_plan"},
      {"fftwf_make_planner_thread_safe", "fftwf_plan_guru64_dft", "fftwf_plan_guru64_dft_r2c",
       "fftwf_plan_guru64_dft_c2r", "fftwf_execute", "fftwf_destroy_plan"}};
  bool single = t->dtype == LUC_FLOAT32;
  const char *const *name = names[single];
  void *library;
  LUC_TRY(luc__library_open(ctx, "FFTW",
                            single ? "libfftw3f_threads.so.3" : "libfftw3_threads.so.3",
                            single ? "libfftw3-single3" : "libfftw3-double3", &library));
  bool whole = luc__library_find(library, name[0], &f->thread_safe) &&
               luc__library_find(library, name[1], &f->plan_complex) &&
               luc__library_find(library, name[t->kind == LUC_FFT_BACK ? 3 : 2], &f->plan_real) &&
               luc__library_find(library, name[4], &f->execute) &&
               luc__library_find(library, name[5], &f->destroy);
  LUC_CHECK(ctx, whole, LUC_ERR_SUPPORT, "this FFTW is older than 3.3.5");
  return LUC_OK;
}

/* FFTW ends the process when malloc fails in it, so what it may take is asked for beforehand,
 * within the context's limit and from the system. Measured over lengths of all kinds (primes take
 * most) it is up to 11 complex numbers per point of each length, and about 1 MB of tables. */
static luc_status reserve(luc_context *ctx, const luc_fft *t) {
  size_t points = 0;
  for (int i = 0; i < t->count; i++) points += (size_t)t->sizes[t->dims[i]];
  size_t wanted = luc__mul_size(points, 16 * 2 * luc__dtype_size(t->dtype));
  if (wanted < SIZE_MAX - (2 << 20)) wanted += 2 << 20;
  void *block = luc__alloc(ctx, wanted);
  if (!block) return LUC_ERR_MEMORY;
  luc__heap_free(ctx->heap, block, wanted); /* past the cache, which would keep it */
  return LUC_OK;
}

/* Sorts the dimensions into those transformed, in their order, and those looped over. */
static int lay_out(const luc_fft *t, dimension *dims, dimension *loops) {
  int64_t in[LUC_MAX_DIMS], out[LUC_MAX_DIMS], half[LUC_MAX_DIMS];
  bool used[LUC_MAX_DIMS] = {false};
  int count = 0;
  for (int d = 0; d < t->ndim; d++) half[d] = t->sizes[d];
  if (t->kind >= LUC_FFT_REAL) half[t->dims[t->count - 1]] = half[t->dims[t->count - 1]] / 2 + 1;
  luc__contiguous_strides(t->ndim, t->kind == LUC_FFT_BACK ? half : t->sizes, in);
  luc__contiguous_strides(t->ndim, t->kind == LUC_FFT_REAL ? half : t->sizes, out);
  for (int i = 0; i < t->count; i++) {
    int d = t->dims[i];
    used[d] = true;
    dims[i] = (dimension){(ptrdiff_t)t->sizes[d], (ptrdiff_t)in[d], (ptrdiff_t)out[d]};
  }
  for (int d = 0; d < t->ndim; d++)
    if (!used[d])
      loops[count++] = (dimension){(ptrdiff_t)t->sizes[d], (ptrdiff_t)in[d], (ptrdiff_t)out[d]};
  return count;
}

/* Multiplies the n real numbers of the result. */
static void scale(luc_dtype dtype, void *out, int64_t n, double factor) {
  if (dtype == LUC_FLOAT32) {
    for (int64_t i = 0; i < n; i++) ((float *)out)[i] *= (float)factor;
  } else {
    for (int64_t i = 0; i < n; i++) ((double *)out)[i] *= factor;
  }
}

/* How many real numbers the result consists of. */
static int64_t parts(const luc_fft *t) {
  int64_t n = t->kind == LUC_FFT_BACK ? 1 : 2;
  int last = t->kind == LUC_FFT_REAL ? t->dims[t->count - 1] : -1;
  for (int d = 0; d < t->ndim; d++) n *= d == last ? t->sizes[d] / 2 + 1 : t->sizes[d];
  return n;
}

luc_status luc__fft(luc_context *ctx, const luc_fft *t, const void *in, void *out) {
  fftw f = {0};
  dimension dims[LUC_MAX_DIMS], loops[LUC_MAX_DIMS];
  int64_t n = parts(t);
  if (n == 0) return LUC_OK;
  LUC_TRY(load(ctx, t, &f));
  LUC_TRY(reserve(ctx, t));
  int looped = lay_out(t, dims, loops);
  f.thread_safe();
  void *plan, *from = (void *)(uintptr_t)in; /* which these flags have it not write */
  if (t->kind >= LUC_FFT_REAL) {
    plan = f.plan_real(t->count, dims, looped, loops, from, out, ESTIMATE | PRESERVE_INPUT);
  } else {
    int sign = t->kind == LUC_FFT_FORWARD ? -1 : 1;
    plan =
        f.plan_complex(t->count, dims, looped, loops, from, out, sign, ESTIMATE | PRESERVE_INPUT);
  }
  LUC_CHECK(ctx, plan, LUC_ERR_SUPPORT, "FFTW has no plan for this transform");
  f.execute(plan);
  f.destroy(plan);
  if (t->scale != 1) scale(t->dtype, out, n, t->scale);
  return LUC_OK;
}
