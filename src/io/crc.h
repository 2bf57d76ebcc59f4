/* The checksum of zip archives (CRC-32), as zlib's crc32_z gives it, at the speed of memory where
 * the processor multiplies without carries. */
#ifndef LUC_CRC_H
#define LUC_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Of n more bytes behind those that gave `crc` (0 to begin with). */
uint32_t luc__crc32(uint32_t crc, const void *bytes, size_t n);

#endif
