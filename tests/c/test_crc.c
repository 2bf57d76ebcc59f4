/* The checksum is zlib's, of every length and beginning, in one piece or several. */
#include <zlib.h>

#include "io/crc.h"
#include "test.h"

TEST("the checksum is zlib's") {
  static unsigned char bytes[4000];
  uint32_t state = 1;
  int wrong = 0;
  for (size_t i = 0; i < sizeof bytes; i++) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = (unsigned char)(state >> 24);
  }
  for (size_t begin = 0; begin < 20; begin++)
    for (size_t n = 0; n < 700; n++)
      wrong += luc__crc32(0, bytes + begin, n) != crc32_z(0, bytes + begin, n);
  for (size_t n = 1000; n < 3900; n++)
    wrong += luc__crc32(5, bytes + n % 32, n) != crc32_z(5, bytes + n % 32, n);
  for (size_t cut = 0; cut <= sizeof bytes; cut += 7) {
    uint32_t crc = luc__crc32(0, bytes, cut);
    wrong += luc__crc32(crc, bytes + cut, sizeof bytes - cut) != crc32_z(0, bytes, sizeof bytes);
  }
  CHECK_EQ(wrong, 0);
  CHECK_EQ((long long)luc__crc32(0, "123456789", 9), 0xcbf43926ll);
}
