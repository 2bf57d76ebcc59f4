/* Rows with narrow borders: the first and the last register of a padded row are shuffled from those
 * of the row inside, what lies between is copied. */
#include "cpu/pad.h"
#include "cpu/simd.h"

#if defined(__AVX2__)
typedef int32_t words __attribute__((vector_size(LUC_PAD_BYTES)));
LUC_SHUFFLES(words, words)
typedef words loose __attribute__((aligned(1), may_alias));

static void bordered(char *to, const char *from, int64_t rows, const luc_pad_ends *e) {
  const int64_t inside = e->inside, width = e->width, left = e->left;
  const words first = *(const loose *)e->first, last = *(const loose *)e->last;
  const words value = *(const loose *)e->value;
  for (int64_t i = 0; i < rows; i++, to += width, from += inside) {
    const words head = *(const loose *)from, tail = *(const loose *)(from + inside - LUC_PAD_BYTES);
    *(loose *)to = __builtin_shuffle(head, e->constant ? value : tail, first);
    for (int64_t k = LUC_PAD_BYTES - left; k + LUC_PAD_BYTES < inside; k += LUC_PAD_BYTES)
      *(loose *)(to + left + k) = *(const loose *)(from + k);
    *(loose *)(to + left + inside - LUC_PAD_BYTES) = tail;
    *(loose *)(to + width - LUC_PAD_BYTES) =
        __builtin_shuffle(e->constant ? value : head, tail, last);
  }
}
#else
#define bordered NULL /* without shuffles of two registers */
#endif

const luc_pad_fn LUC_ISA_NAME(luc__pad_rows)[1] = {bordered};
