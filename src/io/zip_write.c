/* Writing zip archives as torch.save does: stored entries whose bytes begin at multiples of 64 (an
 * extra field "FB" fills the gap), sizes in 64 bits where they need them, and always the 64-bit end
 * record before the plain one. */
#include <string.h>
#include <zlib.h>

#include "io/zip.h"

enum { ALIGNMENT = 64, LOCAL_SIZE = 30 };
static const uint64_t most32 = 0xffffffff;

static void put(luc_text *text, uint64_t value, int bytes) {
  char raw[8];
  for (int i = 0; i < bytes; i++) raw[i] = (char)(value >> (8 * i));
  luc__text_append(text, raw, (size_t)bytes);
}

static uint64_t clipped(uint64_t value) {
  return value < most32 ? value : most32;
}

void luc__zip_writer_init(luc_zip_writer *zip, luc_context *ctx, luc_writer *writer) {
  *zip = (luc_zip_writer){.writer = writer};
  luc__text_init(&zip->directory, ctx);
}

void luc__zip_writer_drop(luc_zip_writer *zip) {
  luc__text_drop(&zip->directory);
}

/* What the local header and the directory's record have in common. */
static void put_common(luc_text *text, uint32_t crc, uint64_t size, bool big, size_t name,
                       size_t extra) {
  put(text, big ? 45 : 20, 2); /* version needed */
  put(text, 0x0800, 2);        /* the name is UTF-8 */
  put(text, 0, 2);             /* stored */
  put(text, 0, 4);             /* no time */
  put(text, crc, 4);
  put(text, clipped(size), 4);
  put(text, clipped(size), 4);
  put(text, name, 2);
  put(text, extra, 2);
}

static luc_status write_text(luc_zip_writer *zip, luc_text *text) {
  luc_status status = text->status;
  if (status == LUC_OK) status = luc__writer_write(zip->writer, text->data, text->length);
  zip->offset += text->length;
  luc__text_drop(text);
  return status;
}

static luc_status write_local(luc_zip_writer *zip, const char *name, uint32_t crc, uint64_t size) {
  luc_text text;
  bool big = size >= most32;
  size_t length = strlen(name), fixed = big ? 24 : 4;
  uint64_t end = zip->offset + LOCAL_SIZE + length + fixed;
  size_t pad = (size_t)(-end & (ALIGNMENT - 1));
  luc__text_init(&text, zip->directory.ctx);
  luc__text_append(&text, "PK\3\4", 4);
  put_common(&text, crc, size, big, length, fixed + pad);
  luc__text_append(&text, name, length);
  if (big) {
    put(&text, 1, 2);
    put(&text, 16, 2);
    put(&text, size, 8);
    put(&text, size, 8);
  }
  luc__text_append(&text, "FB", 2);
  put(&text, pad, 2);
  luc__text_fill(&text, 'Z', (int64_t)pad);
  return write_text(zip, &text);
}

static void put_record(luc_zip_writer *zip, const char *name, uint32_t crc, uint64_t size,
                       uint64_t header) {
  luc_text *text = &zip->directory;
  bool big = size >= most32, far = header >= most32;
  size_t length = strlen(name), extra = (big ? 16 : 0) + (far ? 8 : 0);
  luc__text_append(text, "PK\1\2", 4);
  put(text, 45, 2); /* version made by */
  put_common(text, crc, size, big || far, length, extra > 0 ? 4 + extra : 0);
  put(text, 0, 2); /* no comment */
  put(text, 0, 2);
  put(text, 0, 2);
  put(text, 0, 4);
  put(text, clipped(header), 4);
  luc__text_append(text, name, length);
  if (extra == 0) return;
  put(text, 1, 2);
  put(text, extra, 2);
  if (big) {
    put(text, size, 8);
    put(text, size, 8);
  }
  if (far) put(text, header, 8);
}

luc_status luc__zip_add(luc_zip_writer *zip, const char *name, const void *bytes, size_t n) {
  uint32_t crc = (uint32_t)crc32_z(0, bytes, n);
  uint64_t header = zip->offset;
  LUC_TRY(write_local(zip, name, crc, n));
  if (n > 0) LUC_TRY(luc__writer_write(zip->writer, bytes, n));
  zip->offset += n;
  put_record(zip, name, crc, n, header);
  zip->n++;
  return zip->directory.status;
}

luc_status luc__zip_finish(luc_zip_writer *zip) {
  luc_text *text = &zip->directory;
  uint64_t start = zip->offset, size = text->length, n = zip->n < 65535 ? zip->n : 65535;
  luc__text_append(text, "PK\6\6", 4);
  put(text, 44, 8); /* bytes that follow */
  put(text, 45, 2);
  put(text, 45, 2);
  put(text, 0, 8); /* disks */
  put(text, zip->n, 8);
  put(text, zip->n, 8);
  put(text, size, 8);
  put(text, start, 8);
  luc__text_append(text, "PK\6\7", 4);
  put(text, 0, 4);
  put(text, start + size, 8);
  put(text, 1, 4);
  luc__text_append(text, "PK\5\6", 4);
  put(text, 0, 4);
  put(text, n, 2);
  put(text, n, 2);
  put(text, clipped(size), 4);
  put(text, clipped(start), 4);
  put(text, 0, 2);
  return write_text(zip, text);
}
