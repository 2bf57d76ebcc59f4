/* Writing zip archives as torch.save does: entries whose bytes begin at multiples of 64 (an extra
 * field "FB" fills the gap), sizes in 64 bits where they need them, and always the 64-bit end
 * record before the plain one. Deflated entries are packed whole before their header is written.
 */
#include <string.h>
#include <zlib.h>

#include "io/crc.h"
#include "io/zip.h"

enum { ALIGNMENT = 64, LOCAL_SIZE = 30, MOST = 1 << 30 };
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

typedef struct record {
  const char *name;
  bool deflated;
  uint32_t crc;
  uint64_t packed, size;
} record;

static bool is_big(const record *r) {
  return r->packed >= most32 || r->size >= most32;
}

/* What the local header and the directory's record have in common. */
static void put_common(luc_text *text, const record *r, bool version64, size_t extra) {
  put(text, version64 ? 45 : 20, 2); /* version needed */
  put(text, 0x0800, 2);              /* the name is UTF-8 */
  put(text, r->deflated ? 8 : 0, 2);
  put(text, 0, 4); /* no time */
  put(text, r->crc, 4);
  put(text, is_big(r) ? most32 : r->packed, 4);
  put(text, is_big(r) ? most32 : r->size, 4);
  put(text, strlen(r->name), 2);
  put(text, extra, 2);
}

/* Both sizes in 64 bits. */
static void put_sizes(luc_text *text, const record *r) {
  put(text, r->size, 8);
  put(text, r->packed, 8);
}

static luc_status write_text(luc_zip_writer *zip, luc_text *text) {
  luc_status status = text->status;
  if (status == LUC_OK) status = luc__writer_write(zip->writer, text->data, text->length);
  zip->offset += text->length;
  luc__text_drop(text);
  return status;
}

static luc_status write_local(luc_zip_writer *zip, const record *r) {
  luc_text text;
  bool big = is_big(r);
  size_t length = strlen(r->name), fixed = big ? 24 : 4;
  uint64_t end = zip->offset + LOCAL_SIZE + length + fixed;
  size_t pad = (size_t)(-end & (ALIGNMENT - 1));
  luc__text_init(&text, zip->directory.ctx);
  luc__text_append(&text, "PK\3\4", 4);
  put_common(&text, r, big, fixed + pad);
  luc__text_append(&text, r->name, length);
  if (big) {
    put(&text, 1, 2);
    put(&text, 16, 2);
    put_sizes(&text, r);
  }
  luc__text_append(&text, "FB", 2);
  put(&text, pad, 2);
  luc__text_fill(&text, 'Z', (int64_t)pad);
  return write_text(zip, &text);
}

static void put_record(luc_zip_writer *zip, const record *r, uint64_t header) {
  luc_text *text = &zip->directory;
  bool big = is_big(r), far = header >= most32;
  size_t extra = (big ? 16 : 0) + (far ? 8 : 0);
  luc__text_append(text, "PK\1\2", 4);
  put(text, 45, 2); /* version made by */
  put_common(text, r, big || far, extra > 0 ? 4 + extra : 0);
  put(text, 0, 2); /* no comment */
  put(text, 0, 2);
  put(text, 0, 2);
  put(text, 0, 4);
  put(text, clipped(header), 4);
  luc__text_append(text, r->name, strlen(r->name));
  if (extra == 0) return;
  put(text, 1, 2);
  put(text, extra, 2);
  if (big) put_sizes(text, r);
  if (far) put(text, header, 8);
}

/* Deflates one part behind what `packed` holds; with Z_FINISH the end too. */
static luc_status deflate_part(z_stream *stream, const luc_zip_part *part, int flush,
                               luc_text *packed) {
  char piece[1 << 13];
  const unsigned char *at = part->bytes;
  size_t left = part->n;
  int code = Z_OK;
  do {
    if (stream->avail_in == 0) {
      stream->next_in = (unsigned char *)at;
      stream->avail_in = left < MOST ? (uInt)left : MOST;
      at += stream->avail_in;
      left -= stream->avail_in;
    }
    stream->next_out = (unsigned char *)piece;
    stream->avail_out = sizeof piece;
    code = deflate(stream, left > 0 ? Z_NO_FLUSH : flush);
    luc__text_append(packed, piece, sizeof piece - stream->avail_out);
  } while (packed->status == LUC_OK &&
           (left > 0 || stream->avail_out == 0 || (flush == Z_FINISH && code == Z_OK)));
  return packed->status;
}

static luc_status deflate_all(luc_context *ctx, const luc_zip_part *parts, size_t n,
                              luc_text *packed) {
  z_stream stream = {.zalloc = luc__zlib_alloc, .zfree = luc__zlib_free, .opaque = ctx};
  luc_status status = LUC_OK;
  int level = Z_DEFAULT_COMPRESSION;
  if (deflateInit2(&stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return LUC_ERR_MEMORY;
  for (size_t i = 0; i < n && status == LUC_OK; i++)
    status = deflate_part(&stream, &parts[i], i + 1 < n ? Z_NO_FLUSH : Z_FINISH, packed);
  deflateEnd(&stream);
  return status;
}

static luc_status write_entry(luc_zip_writer *zip, const record *r, const luc_zip_part *parts,
                              size_t n) {
  uint64_t header = zip->offset;
  LUC_TRY(write_local(zip, r));
  for (size_t i = 0; i < n; i++)
    LUC_TRY(luc__writer_write(zip->writer, parts[i].bytes, parts[i].n));
  zip->offset += r->packed;
  put_record(zip, r, header);
  zip->n++;
  return zip->directory.status;
}

luc_status luc__zip_add_parts(luc_zip_writer *zip, const char *name, const luc_zip_part *parts,
                              size_t n, bool deflated) {
  luc_text packed;
  record r = {.name = name, .deflated = deflated};
  luc_status status = LUC_OK;
  luc__text_init(&packed, zip->directory.ctx);
  for (size_t i = 0; i < n; i++) {
    if (parts[i].n > 0) r.crc = luc__crc32(r.crc, parts[i].bytes, parts[i].n);
    r.size += parts[i].n;
  }
  if (deflated) LUC_GO(deflate_all(zip->directory.ctx, parts, n, &packed));
  r.packed = deflated ? packed.length : r.size;
  LUC_GO(write_entry(zip, &r, deflated ? &(luc_zip_part){packed.data, packed.length} : parts,
                     deflated ? 1 : n));
done:
  luc__text_drop(&packed);
  return status;
}

luc_status luc__zip_add(luc_zip_writer *zip, const char *name, const void *bytes, size_t n) {
  return luc__zip_add_parts(zip, name, &(luc_zip_part){bytes, n}, 1, false);
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
