/* Files for the readers and writers: plain and gzipped input with a known upper bound of what can
 * come out, input at any offset, and output that replaces the old file only when complete. */
#ifndef LUC_FILE_H
#define LUC_FILE_H

#include <stdio.h>
#include <sys/types.h>

#include "base/context.h"
#include "tensor/dtype.h"
#include "lucerna/io.h"
#include "tensor/text.h"

/* Keeps a message with names from a file, or a path, to one line. */
void luc__io_one_line(luc_context *ctx);
/* Says which file it was in the message of a failure, if it is one; returns status. */
luc_status luc__name_path(luc_context *ctx, luc_status status, const char *who, const char *path);

/* For the zalloc and zfree of a z_stream whose opaque is the context: zlib's memory is counted too.
 */
void *luc__zlib_alloc(void *ctx, unsigned items, unsigned size);
void luc__zlib_free(void *ctx, void *ptr);
/* No deflated byte becomes more bytes than this. */
enum { LUC_DEFLATE_RATIO = 1032 };

/* Bytes at any offset, of a file or (fd < 0) of memory, which is borrowed. Every reader takes one.
 * */
typedef struct luc_input {
  luc_context *ctx;
  const char *who; /* begins the messages */
  int fd;
  const unsigned char *bytes;
  uint64_t size;
} luc_input;

luc_status luc__input_open(luc_context *ctx, const char *who, const char *path, luc_input *out);
luc_input luc__input_memory(luc_context *ctx, const char *who, const void *bytes, size_t n);
/* Exactly n bytes; fewer are LUC_ERR_IO. Many are read by all threads. */
luc_status luc__input_read(const luc_input *source, uint64_t offset, void *to, size_t n);
/* The same inside a parallel loop: whether it was possible, without a message. */
bool luc__input_try(const luc_input *source, uint64_t offset, void *to, size_t n);
void luc__input_close(luc_input *source);
/* Maps n bytes of a file, private and writable: a page is copied when it is written to. NULL where
 * that cannot be. Unmapped by luc__input_unmap((void *)n, data). Whoever shortens the file takes
 * the pages away, and touching them then ends the process: map only what the user asked for. */
void *luc__input_map(const luc_input *source, uint64_t offset, size_t n);
void luc__input_unmap(void *n, void *data);

typedef struct luc_reader luc_reader;

/* Reads an input, which it takes over, from its beginning on. Gzipped bytes are recognized by the
 * first two. */
luc_status luc__reader_open(luc_input input, luc_reader **out);
/* The next n bytes; an early end is LUC_ERR_IO. */
luc_status luc__reader_read(luc_reader *reader, void *to, size_t n);
/* Fails unless everything has been read (a gzip checksum is verified here). */
luc_status luc__reader_finish(luc_reader *reader);
/* No more bytes than this can follow: exact for plain files, deflate's best ratio for others. */
uint64_t luc__reader_bound(const luc_reader *reader);
void luc__reader_close(luc_context *ctx, luc_reader *reader);

/* Turns the bytes of each number round; a complex element is two. */
void luc__swap_elements(char *data, size_t count, luc_dtype dtype);
bool luc__is_little_endian(void);

typedef struct luc_writer {
  luc_context *ctx;
  const char *who;
  luc_target to;   /* borrowed */
  FILE *file;      /* of a path; bytes for a function are gathered in `text` */
  char *path;      /* of the file to be replaced, where a link leads to */
  char *temporary; /* of the one beside it; both in one block */
  size_t names_size;
  mode_t mode;     /* of the old file, or 0 */
  size_t unsynced; /* bytes the disk has not been told of */
  luc_text text;
} luc_writer;

luc_status luc__writer_open(luc_context *ctx, const char *who, const luc_target *to,
                            luc_writer *writer);
luc_status luc__writer_write(luc_writer *writer, const void *from, size_t n);
/* Flushes to the disk and renames over the old file; a function has then got everything. */
luc_status luc__writer_commit(luc_writer *writer);
/* Removes what an uncommitted writer left; fine after a commit. */
void luc__writer_close(luc_writer *writer);
/* All of it at once. */
luc_status luc__write_bytes(luc_context *ctx, const char *who, const luc_target *to,
                            const void *bytes, size_t n);

#endif
