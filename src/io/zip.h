/* Zip archives as PyTorch's checkpoints and NumPy's .npz are: read from a source with every offset
 * and size checked, written with stored or deflated entries. Names of entries are keys here, never
 * paths. */
#ifndef LUC_ZIP_H
#define LUC_ZIP_H

#include "io/file.h"
#include "tensor/text.h"

typedef struct luc_zip_entry {
  const char *name; /* NUL-terminated, without a NUL inside */
  size_t name_length;
  uint16_t method; /* 0 stored, 8 deflated */
  uint32_t crc;
  uint64_t packed, size; /* bytes in the file, bytes they stand for */
  uint64_t header;       /* offset of the local header */
} luc_zip_entry;

typedef struct luc_zip {
  luc_context *ctx;
  const char *who;
  const luc_input *source;
  char *directory; /* the central directory, which the names point into */
  size_t directory_size;
  uint64_t directory_offset;
  luc_zip_entry *entries; /* sorted by name */
  size_t n, capacity;
  const char *first; /* name of the first entry in the file's order */
} luc_zip;

/* Reads the directory. All entries together are no larger than the file, so that what can be
 * unpacked has a bound too. The source must stay where it is. Close it in any case. */
luc_status luc__zip_open(const luc_input *source, luc_zip *zip);
void luc__zip_close(luc_zip *zip);
/* NULL if there is none. */
const luc_zip_entry *luc__zip_find(const luc_zip *zip, const char *name);
/* Unpacks an entry: exactly entry->size bytes, whose CRC is right. */
luc_status luc__zip_read(const luc_zip *zip, const luc_zip_entry *entry, void *to);

typedef struct luc_zip_writer {
  luc_writer *writer;
  luc_text directory;
  uint64_t offset, n;
} luc_zip_writer;

void luc__zip_writer_init(luc_zip_writer *zip, luc_context *ctx, luc_writer *writer);
typedef struct luc_zip_part {
  const void *bytes;
  size_t n;
} luc_zip_part;

/* Adds an entry of several parts: stored, its bytes beginning at a multiple of 64 of the file, or
 * deflated. */
luc_status luc__zip_add_parts(luc_zip_writer *zip, const char *name, const luc_zip_part *parts,
                              size_t n, bool deflated);
/* The same of one part, stored. */
luc_status luc__zip_add(luc_zip_writer *zip, const char *name, const void *bytes, size_t n);
/* Writes the directory; the writer is still to be committed. */
luc_status luc__zip_finish(luc_zip_writer *zip);
void luc__zip_writer_drop(luc_zip_writer *zip);

#endif
