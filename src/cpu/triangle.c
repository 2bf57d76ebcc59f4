/* One memset per row. */
#include "cpu/triangle.h"

#include <string.h>

void luc__triangle_clear(char *data, size_t width, int64_t count, int64_t rows, int64_t columns,
                         int64_t diagonal, bool lower) {
  if (diagonal < -rows) diagonal = -rows;
  if (diagonal > columns) diagonal = columns;
  for (int64_t m = 0; m < count; m++) {
    for (int64_t r = 0; r < rows; r++) {
      int64_t edge = r + diagonal + (lower ? 1 : 0); /* first column beyond (or not before) it */
      edge = edge < 0 ? 0 : edge > columns ? columns : edge;
      char *row = data + (size_t)((m * rows + r) * columns) * width;
      if (lower)
        memset(row + (size_t)edge * width, 0, (size_t)(columns - edge) * width);
      else
        memset(row, 0, (size_t)edge * width);
    }
  }
}
