/* Locales of one thread: setlocale is the host's, and every thread's. That of the name "C" is there
 * already in the C libraries we know, so that nothing is allocated. */
#include "base/numerals.h"

luc_numerals luc__numerals_begin(void) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  return (luc_numerals){plain, uselocale(plain)};
}

void luc__numerals_end(luc_numerals numerals) {
  uselocale(numerals.host);
  if (numerals.plain) freelocale(numerals.plain);
}
