/* The monotonic clock, for timing programs and for the pool's bounded spins.
 * Seconds since an unspecified start; never goes back. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "lucerna/base.h"

double luc_clock(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
