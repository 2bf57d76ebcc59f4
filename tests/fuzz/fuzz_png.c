/* libFuzzer's harness for PNG files; the last byte chooses the mode. */
#include "fuzz.h"
#include "io/readers.h"

static luc_image_mode mode_of(const uint8_t *data, size_t size) {
  return (luc_image_mode)(size > 0 ? data[size - 1] % 5 : 0);
}

FUZZ_READER("read_image", luc__png_read(input, mode_of(data, size), 0, &t))
