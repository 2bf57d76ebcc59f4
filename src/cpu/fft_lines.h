/* Transforms of lines that lie one after another, some at a time: FFTW's transforms of complex
 * numbers, and what makes real ones of them, or other lengths. */
#ifndef LUC_FFT_LINES_H
#define LUC_FFT_LINES_H

#include "cpu/fft_kernels.h"

typedef void (*luc_fftw_execute)(void *plan, void *in, void *out);

/* How lines are transformed. The first four are what for. */
typedef struct luc_fft_lines {
  int64_t n, count; /* real numbers, or complex ones, of a line; lines at a time */
  int kind, single; /* of luc_fft_kind, but for WHOLE */
  int64_t length;   /* numbers that are transformed: n, or the n / 2 made of real ones */
  int64_t padded;   /* of the convolution that does it (Bluestein 1970), or 0 */
  void *plan;
  luc_fftw_execute execute;
  char *filter, *chirp, *halves; /* factors in one block: of the convolution, of real numbers */
  size_t table_bytes;
} luc_fft_lines;

/* Numbers of a line before and after, and the bytes of one. */
typedef struct luc_fft_line {
  int64_t from, to;
  size_t from_item, to_item;
} luc_fft_line;

luc_fft_line luc__fft_line(luc_fft_kind kind, luc_dtype dtype, int64_t n);

/* Makes them, or finds them in the context. */
luc_status luc__fft_lines_take(luc_context *ctx, luc_fft_kind kind, luc_dtype dtype, int64_t n,
                               int64_t count, luc_fft_lines *out);
void luc__fft_lines_put(luc_context *ctx, luc_fft_lines *lines);
/* Bytes of scratch that a run takes, which are aligned to 64 bytes, as from and to are. */
size_t luc__fft_lines_scratch(const luc_fft_lines *lines);
/* from [count, n] to [count, n], both in the kind's numbers; all lines are read and written. The
 * result is multiplied by `factor`. May run in several threads at once. */
void luc__fft_lines_run(const luc_fft_kernels *kernels, const luc_fft_lines *lines,
                        const void *from, void *to, void *scratch, double factor);

#endif
