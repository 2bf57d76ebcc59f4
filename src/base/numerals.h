/* Numbers are read and written with a point, whatever locale the host's process has: from
 * luc__numerals_begin to luc__numerals_end the calling thread has C's. Pairs may nest. */
#ifndef LUC_NUMERALS_H
#define LUC_NUMERALS_H

#include <locale.h>

typedef struct luc_numerals {
  locale_t plain, host;
} luc_numerals;

luc_numerals luc__numerals_begin(void);
void luc__numerals_end(luc_numerals numerals);

#endif
