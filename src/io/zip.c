/* Reading zip archives: the end record (with its 64-bit forms), the central directory, stored and
 * deflated entries. Sizes come from the directory, so that entries followed by a data descriptor
 * need nothing special. Nothing is allocated before it is known to fit into the file. */
#include "io/zip.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/pool.h"
#include "io/crc.h"

enum {
  END_SIZE = 22,
  END64_SIZE = 56,
  LOCATOR_SIZE = 20,
  RECORD_SIZE = 46,
  LOCAL_SIZE = 30,
  MAX_COMMENT = 65535,
  PIECE = 1 << 16,
  STORED_PIECE = 1 << 18
};

static uint64_t little(const unsigned char *p, int n) {
  uint64_t v = 0;
  for (int i = n - 1; i >= 0; i--) v = v << 8 | p[i];
  return v;
}

static bool is_signature(const unsigned char *p, char a, char b) {
  return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

static luc_status damaged(const luc_zip *zip, const char *what) {
  return luc__fail(zip->ctx, LUC_ERR_IO, "%s: the zip archive is damaged (%s)", zip->who, what);
}

/* ---- finding the directory ---- */

typedef struct directory {
  uint64_t n, size, offset, end; /* end: where the records behind it begin */
} directory;

/* The 64-bit end record, if a locator stands before the end record at `end`. */
static luc_status read_end64(const luc_zip *zip, uint64_t end, directory *d) {
  unsigned char locator[LOCATOR_SIZE], record[END64_SIZE];
  if (end < LOCATOR_SIZE) return LUC_OK;
  LUC_TRY(luc__input_read(zip->source, end - LOCATOR_SIZE, locator, LOCATOR_SIZE));
  if (!is_signature(locator, 6, 7)) return LUC_OK;
  uint64_t at = little(locator + 8, 8);
  if (end < LOCATOR_SIZE + END64_SIZE || at > end - LOCATOR_SIZE - END64_SIZE)
    return damaged(zip, "its 64-bit end record is outside");
  LUC_TRY(luc__input_read(zip->source, at, record, END64_SIZE));
  if (!is_signature(record, 6, 6)) return damaged(zip, "no 64-bit end record");
  d->n = little(record + 32, 8);
  d->size = little(record + 40, 8);
  d->offset = little(record + 48, 8);
  d->end = at;
  return LUC_OK;
}

/* The end record, behind which a comment may stand. */
static luc_status find_end(const luc_zip *zip, unsigned char *tail, size_t n, directory *d) {
  uint64_t start = zip->source->size - n;
  LUC_TRY(luc__input_read(zip->source, start, tail, n));
  for (size_t i = n - END_SIZE + 1; i-- > 0;) {
    const unsigned char *p = tail + i;
    if (!is_signature(p, 5, 6) || little(p + 20, 2) != n - i - END_SIZE) continue;
    *d = (directory){little(p + 10, 2), little(p + 12, 4), little(p + 16, 4), start + i};
    return read_end64(zip, start + i, d);
  }
  return damaged(zip, "it has no end");
}

static luc_status find_directory(const luc_zip *zip, directory *d) {
  uint64_t size = zip->source->size;
  if (size < END_SIZE) return damaged(zip, "it has no end");
  size_t n = size < END_SIZE + MAX_COMMENT ? (size_t)size : END_SIZE + MAX_COMMENT;
  unsigned char *tail = luc__alloc(zip->ctx, n);
  if (!tail) return LUC_ERR_MEMORY;
  luc_status status = find_end(zip, tail, n, d);
  luc__free(zip->ctx, tail, n);
  if (status != LUC_OK) return status;
  bool inside = d->offset <= d->end && d->size <= d->end - d->offset;
  if (!inside || d->n > d->size / RECORD_SIZE) return damaged(zip, "its directory is outside");
  return LUC_OK;
}

/* ---- its records ---- */

/* Sizes and offset that did not fit into 32 bits stand in the extra field 1, in this order. */
static luc_status read_extra64(const luc_zip *zip, const unsigned char *p, size_t n,
                               luc_zip_entry *e) {
  uint64_t *fields[] = {&e->size, &e->packed, &e->header};
  while (n >= 4) {
    size_t length = (size_t)little(p + 2, 2);
    if (length > n - 4) return damaged(zip, "an extra field is too long");
    const unsigned char *at = p + 4, *end = at + length;
    for (int f = 0; f < 3 && little(p, 2) == 1; f++) {
      if (*fields[f] != 0xffffffff) continue;
      if (end - at < 8) return damaged(zip, "a 64-bit size is missing");
      *fields[f] = little(at, 8);
      at += 8;
    }
    p += 4 + length;
    n -= 4 + length;
  }
  return LUC_OK;
}

/* What can be read: stored or deflated, not encrypted, no larger than its bytes allow. */
static luc_status check_entry(const luc_zip *zip, const luc_zip_entry *e, unsigned flags) {
  LUC_CHECK(zip->ctx, !(flags & 0x2041), LUC_ERR_SUPPORT, "%s: the zip archive is encrypted",
            zip->who);
  LUC_CHECK(zip->ctx, e->method == 0 || e->method == 8, LUC_ERR_SUPPORT,
            "%s: a zip entry has compression method %d; only stored and deflated ones can be read",
            zip->who, e->method);
  bool fits = e->method == 0 ? e->size == e->packed : e->size / LUC_DEFLATE_RATIO <= e->packed;
  if (!fits || memchr(e->name, 0, e->name_length)) return damaged(zip, "an entry is impossible");
  return LUC_OK;
}

static luc_status read_record(const luc_zip *zip, size_t *at, luc_zip_entry *e) {
  const unsigned char *p = (const unsigned char *)zip->directory + *at;
  size_t left = zip->directory_size - *at;
  if (left < RECORD_SIZE || !is_signature(p, 1, 2)) return damaged(zip, "its directory ends early");
  size_t name = (size_t)little(p + 28, 2), extra = (size_t)little(p + 30, 2);
  size_t whole = RECORD_SIZE + name + extra + (size_t)little(p + 32, 2);
  if (whole > left) return damaged(zip, "its directory ends early");
  *e = (luc_zip_entry){.name = (const char *)p + RECORD_SIZE,
                       .name_length = name,
                       .method = (uint16_t)little(p + 10, 2),
                       .crc = (uint32_t)little(p + 16, 4),
                       .packed = little(p + 20, 4),
                       .size = little(p + 24, 4),
                       .header = little(p + 42, 4)};
  LUC_TRY(read_extra64(zip, p + RECORD_SIZE + name, extra, e));
  *at += whole;
  return check_entry(zip, e, (unsigned)little(p + 8, 2));
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const luc_zip_entry *)a)->name, ((const luc_zip_entry *)b)->name);
}

static luc_status read_records(luc_zip *zip) {
  uint64_t left = zip->directory_offset;
  size_t at = 0;
  for (size_t i = 0; i < zip->capacity; i++) {
    luc_zip_entry *e = &zip->entries[i];
    LUC_TRY(read_record(zip, &at, e));
    uint64_t whole = LOCAL_SIZE + e->name_length;
    if (e->packed > left || whole > left - e->packed)
      return damaged(zip, "its entries are larger than the file");
    left -= whole + e->packed;
    zip->n++;
  }
  for (size_t i = 0; i < zip->n; i++)
    zip->directory[zip->entries[i].name - zip->directory + (ptrdiff_t)zip->entries[i].name_length] =
        '\0';
  zip->first = zip->n > 0 ? zip->entries[0].name : "";
  if (zip->n > 0) qsort(zip->entries, zip->n, sizeof *zip->entries, by_name);
  for (size_t i = 1; i < zip->n; i++)
    if (by_name(&zip->entries[i - 1], &zip->entries[i]) == 0)
      return damaged(zip, "an entry appears twice");
  return LUC_OK;
}

luc_status luc__zip_open(const luc_input *source, luc_zip *zip) {
  directory d = {0};
  *zip = (luc_zip){.ctx = source->ctx, .who = source->who, .source = source};
  LUC_TRY(find_directory(zip, &d));
  zip->directory = luc__alloc(zip->ctx, (size_t)d.size + 1);
  if (!zip->directory) return LUC_ERR_MEMORY;
  zip->directory_size = (size_t)d.size;
  zip->directory_offset = d.offset;
  zip->entries = luc__alloc(zip->ctx, (size_t)d.n * sizeof *zip->entries);
  if (!zip->entries) return LUC_ERR_MEMORY;
  zip->capacity = (size_t)d.n;
  LUC_TRY(luc__input_read(source, d.offset, zip->directory, zip->directory_size));
  return read_records(zip);
}

void luc__zip_close(luc_zip *zip) {
  if (zip->directory) luc__free(zip->ctx, zip->directory, zip->directory_size + 1);
  if (zip->entries) luc__free(zip->ctx, zip->entries, zip->capacity * sizeof *zip->entries);
  *zip = (luc_zip){0};
}

const luc_zip_entry *luc__zip_find(const luc_zip *zip, const char *name) {
  luc_zip_entry key = {.name = name};
  return zip->n ? bsearch(&key, zip->entries, zip->n, sizeof key, by_name) : NULL;
}

/* ---- unpacking ---- */

/* Where an entry's bytes begin. */
static luc_status find_data(const luc_zip *zip, const luc_zip_entry *e, uint64_t *at) {
  unsigned char local[LOCAL_SIZE];
  if (e->header > zip->directory_offset || zip->directory_offset - e->header < LOCAL_SIZE)
    return damaged(zip, "an entry is outside");
  LUC_TRY(luc__input_read(zip->source, e->header, local, LOCAL_SIZE));
  uint64_t room = zip->directory_offset - e->header - LOCAL_SIZE;
  uint64_t names = little(local + 26, 2) + little(local + 28, 2);
  if (!is_signature(local, 3, 4) || little(local + 26, 2) != e->name_length)
    return damaged(zip, "an entry is not where it should be");
  if (names > room || e->packed > room - names) return damaged(zip, "an entry is outside");
  *at = e->header + LOCAL_SIZE + names;
  return LUC_OK;
}

/* Inflates e->packed bytes from `at` on into e->size bytes, both exactly. */
static luc_status inflate_all(const luc_zip *zip, const luc_zip_entry *e, uint64_t at,
                              z_stream *stream, unsigned char *piece, unsigned char *to) {
  uint64_t left = e->packed, room = e->size;
  unsigned char spare; /* for the end of the stream when all bytes are there */
  int code = Z_OK;
  while (code == Z_OK) {
    if (stream->avail_in == 0 && left > 0) {
      size_t n = left < PIECE ? (size_t)left : PIECE;
      LUC_TRY(luc__input_read(zip->source, at, piece, n));
      stream->next_in = piece;
      stream->avail_in = (uInt)n;
      at += n;
      left -= n;
    }
    uInt part = room < PIECE ? (uInt)room : PIECE;
    stream->next_out = part ? to : &spare;
    stream->avail_out = part ? part : 1;
    code = inflate(stream, Z_NO_FLUSH);
    uInt got = (part ? part : 1) - stream->avail_out;
    if (got > part) return damaged(zip, "an entry is larger than it says");
    to += got;
    room -= got;
  }
  if (code == Z_MEM_ERROR) return LUC_ERR_MEMORY;
  bool good = code == Z_STREAM_END && room == 0 && left == 0 && stream->avail_in == 0;
  return good ? LUC_OK : damaged(zip, "an entry cannot be unpacked");
}

static luc_status read_deflated(const luc_zip *zip, const luc_zip_entry *e, uint64_t at, void *to) {
  z_stream stream = {.zalloc = luc__zlib_alloc, .zfree = luc__zlib_free, .opaque = zip->ctx};
  unsigned char *piece = luc__alloc(zip->ctx, PIECE);
  if (!piece) return LUC_ERR_MEMORY;
  luc_status status = LUC_ERR_MEMORY;
  if (inflateInit2(&stream, -15) == Z_OK) {
    status = inflate_all(zip, e, at, &stream, piece, to);
    inflateEnd(&stream);
  }
  luc__free(zip->ctx, piece, PIECE);
  return status;
}

/* Stored bytes in pieces, by all threads, each piece's checksum while it is still in the cache. */
typedef struct stored {
  const luc_zip *zip;
  uint64_t at;
  char *to;
  uint32_t *crcs;
  atomic_bool failed;
} stored;

static void read_pieces(void *arg, int64_t begin, int64_t end) {
  stored *s = arg;
  for (; begin < end; begin += STORED_PIECE) {
    size_t n = (size_t)(end - begin < STORED_PIECE ? end - begin : STORED_PIECE);
    bool good = luc__input_try(s->zip->source, s->at + (uint64_t)begin, s->to + begin, n);
    if (!good) s->failed = true;
    s->crcs[begin / STORED_PIECE] = good ? luc__crc32(0, s->to + begin, n) : 0;
  }
}

static luc_status read_stored(const luc_zip *zip, const luc_zip_entry *e, uint64_t at, char *to,
                              uint32_t *crc) {
  size_t left = (size_t)e->size, n = left / STORED_PIECE + 1;
  stored s = {.zip = zip, .at = at, .to = to};
  s.crcs = luc__alloc(zip->ctx, n * sizeof *s.crcs);
  if (!s.crcs) return LUC_ERR_MEMORY;
  luc__parallel_for(zip->ctx, (int64_t)left, STORED_PIECE, read_pieces, &s);
  for (size_t i = 0; left > 0; i++) {
    size_t part = left < STORED_PIECE ? left : STORED_PIECE;
    *crc = i ? (uint32_t)crc32_combine(*crc, s.crcs[i], (z_off_t)part) : s.crcs[0];
    left -= part;
  }
  luc__free(zip->ctx, s.crcs, n * sizeof *s.crcs);
  return s.failed ? luc__input_read(zip->source, at, to, (size_t)e->size) : LUC_OK;
}

luc_status luc__zip_read(const luc_zip *zip, const luc_zip_entry *e, void *to) {
  uint64_t at = 0;
  uint32_t crc = 0;
  LUC_TRY(find_data(zip, e, &at));
  if (e->method == 0) {
    LUC_TRY(read_stored(zip, e, at, to, &crc));
  } else {
    LUC_TRY(read_deflated(zip, e, at, to));
    crc = luc__crc32(0, to, (size_t)e->size);
  }
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  crc = e->crc; /* a fuzzer cannot guess checksums */
#endif
  LUC_CHECK(zip->ctx, crc == e->crc, LUC_ERR_IO,
            "%s: the zip archive is damaged (the checksum of '%.100s' is wrong)", zip->who,
            e->name);
  return LUC_OK;
}
