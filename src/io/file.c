/* Reading plain and gzipped bytes through zlib, and writing files atomically: a temporary file in
 * the same folder, fsync, rename. zlib's memory comes from the context, so limits hold for it too.
 */
#define _GNU_SOURCE /* sync_file_range */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/pool.h"

enum { CHUNK = 1 << 16, PIECE = 1 << 20, WRITEBACK = 8 << 20, MOST = 1 << 30 };

struct luc_reader {
  luc_input input;
  uint64_t at; /* of the next byte in the input */
  bool gzipped, ended;
  z_stream stream;
  unsigned char chunk[CHUNK];
};

/* zlib frees without sizes: each block carries its own. */
void *luc__zlib_alloc(void *ctx, unsigned items, unsigned size) {
  size_t total = luc__mul_size(items, size) + 64;
  size_t *block = total < 64 ? NULL : luc__alloc(ctx, total);
  if (!block) return NULL;
  *block = total;
  return (char *)block + 64;
}

void luc__zlib_free(void *ctx, void *ptr) {
  char *block = (char *)ptr - 64;
  luc__free(ctx, block, *(size_t *)(void *)block);
}

void luc__io_one_line(luc_context *ctx) {
  for (char *p = ctx->message; *p; p++)
    if ((unsigned char)*p < 0x20) *p = '?';
}

luc_status luc__name_path(luc_context *ctx, luc_status status, const char *who, const char *path) {
  char text[512];
  size_t skip = strlen(who) + 2; /* "load: " */
  if (status == LUC_OK) return LUC_OK;
  snprintf(text, sizeof text, "%s", luc_message(ctx));
  bool ours = status != LUC_ERR_MEMORY && strlen(text) > skip && !strncmp(text, who, skip - 2);
  if (ours && !strstr(text, path))
    luc__fail(ctx, status, "%s: '%.200s': %s", who, path, text + skip);
  luc__io_one_line(ctx);
  return status;
}

static luc_status fail_errno(luc_context *ctx, const char *who, const char *verb,
                             const char *path) {
  luc__fail(ctx, LUC_ERR_IO, "%s: cannot %s '%.500s': %s", who, verb, path, strerror(errno));
  luc__io_one_line(ctx);
  return LUC_ERR_IO;
}

/* Opens an ordinary file for reading. */
static luc_status open_regular(luc_context *ctx, const char *who, const char *path, int *fd,
                               uint64_t *size) {
  struct stat info;
  luc_status status = LUC_OK;
  LUC_CHECK(ctx, path, LUC_ERR_VALUE, "%s: path must be given (got NULL)", who);
  *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO must not hold us up */
  if (*fd < 0) return fail_errno(ctx, who, "open", path);
  if (fstat(*fd, &info) != 0)
    status = fail_errno(ctx, who, "read", path);
  else if (!S_ISREG(info.st_mode))
    status = luc__fail(ctx, LUC_ERR_IO, "%s: '%.500s' is not a file", who, path);
  else
    *size = (uint64_t)info.st_size;
  if (status != LUC_OK) close(*fd);
  return status;
}

/* ---- bytes at any offset ---- */

luc_status luc__input_open(luc_context *ctx, const char *who, const char *path, luc_input *out) {
  *out = (luc_input){.ctx = ctx, .who = who, .fd = -1};
  luc_status status = open_regular(ctx, who, path, &out->fd, &out->size);
  if (status == LUC_OK) return LUC_OK;
  out->fd = -1;
  luc__io_one_line(ctx);
  return status;
}

luc_input luc__input_memory(luc_context *ctx, const char *who, const void *bytes, size_t n) {
  return (luc_input){.ctx = ctx, .who = who, .fd = -1, .bytes = bytes, .size = n};
}

/* Reads from the file descriptor. 0, or why not: EOF, or errno. */
static int read_at(int fd, uint64_t offset, char *to, size_t n) {
  while (n > 0) {
    ssize_t got = pread(fd, to, n < MOST ? n : MOST, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EOF;
    to += got;
    offset += (uint64_t)got;
    n -= (size_t)got;
  }
  return 0;
}

bool luc__input_try(const luc_input *source, uint64_t offset, void *to, size_t n) {
  if (offset > source->size || n > source->size - offset) return false;
  if (source->fd >= 0) return read_at(source->fd, offset, to, n) == 0;
  if (n > 0) memcpy(to, source->bytes + offset, n);
  return true;
}

typedef struct pieces {
  const luc_input *source;
  uint64_t offset;
  char *to;
  atomic_bool failed;
} pieces;

static void read_pieces(void *arg, int64_t begin, int64_t end) {
  pieces *p = arg;
  size_t n = (size_t)(end - begin);
  if (!luc__input_try(p->source, p->offset + (uint64_t)begin, p->to + begin, n)) p->failed = true;
}

luc_status luc__input_read(const luc_input *source, uint64_t offset, void *to, size_t n) {
  pieces p = {source, offset, to, false};
  LUC_CHECK(source->ctx, offset <= source->size && n <= source->size - offset, LUC_ERR_IO,
            "%s: the file ends too early", source->who);
  if (n > PIECE) {
    luc__parallel_for(source->ctx, (int64_t)n, PIECE, read_pieces, &p);
    if (!p.failed) return LUC_OK;
  }
  if (source->fd < 0) return luc__input_try(source, offset, to, n) ? LUC_OK : LUC_ERR_IO;
  int code = read_at(source->fd, offset, to, n);
  LUC_CHECK(source->ctx, code != EOF, LUC_ERR_IO, "%s: the file ends too early", source->who);
  LUC_CHECK(source->ctx, code == 0, LUC_ERR_IO, "%s: cannot read: %s", source->who, strerror(code));
  return LUC_OK;
}

void luc__input_close(luc_input *source) {
  if (source->fd >= 0) close(source->fd);
  source->fd = -1;
}

/* Mappings begin at pages, data where they do. */
static size_t offset_in_page(uint64_t offset) {
  return (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));
}

void *luc__input_map(const luc_input *source, uint64_t offset, size_t n) {
  size_t skip = offset_in_page(offset);
  if (source->fd < 0 || n == 0) return NULL;
  void *page =
      mmap(NULL, n + skip, PROT_READ | PROT_WRITE, MAP_PRIVATE, source->fd, (off_t)(offset - skip));
  return page == MAP_FAILED ? NULL : (char *)page + skip;
}

void luc__input_unmap(void *n, void *data) {
  size_t skip = offset_in_page((uintptr_t)data);
  munmap((char *)data - skip, (uintptr_t)n + skip);
}

/* ---- bytes in order ---- */

static luc_status begin_inflating(luc_reader *r) {
  r->stream.zalloc = luc__zlib_alloc;
  r->stream.zfree = luc__zlib_free;
  r->stream.opaque = r->input.ctx;
  r->gzipped = inflateInit2(&r->stream, 15 + 16) == Z_OK;
  return r->gzipped ? LUC_OK : LUC_ERR_MEMORY;
}

luc_status luc__reader_open(luc_input input, luc_reader **out) {
  luc_context *ctx = input.ctx;
  unsigned char first[2];
  luc_status status = LUC_ERR_MEMORY;
  luc_reader *r = luc__alloc_zero(ctx, sizeof *r);
  *out = r;
  if (!r) {
    luc__input_close(&input);
    return status;
  }
  r->input = input;
  if (input.size < 2) return LUC_OK;
  LUC_GO(luc__input_read(&r->input, 0, first, 2));
  if (first[0] == 0x1f && first[1] == 0x8b) LUC_GO(begin_inflating(r));
  return LUC_OK;
done:
  luc__reader_close(ctx, r);
  *out = NULL;
  return status;
}

static luc_status truncated(const luc_reader *r) {
  return luc__fail(r->input.ctx, LUC_ERR_IO, "%s: the file ends too early", r->input.who);
}

/* Inflates once, refilling the input; sets ended at the end of the gzip stream. */
static luc_status inflate_some(luc_reader *r) {
  if (r->stream.avail_in == 0) {
    uint64_t left = r->input.size - r->at;
    size_t n = left < CHUNK ? (size_t)left : CHUNK;
    if (n == 0) return truncated(r);
    LUC_TRY(luc__input_read(&r->input, r->at, r->chunk, n));
    r->at += n;
    r->stream.next_in = r->chunk;
    r->stream.avail_in = (uInt)n;
  }
  int code = inflate(&r->stream, Z_NO_FLUSH);
  if (code == Z_MEM_ERROR) return LUC_ERR_MEMORY;
  LUC_CHECK(r->input.ctx, code == Z_OK || code == Z_STREAM_END, LUC_ERR_IO,
            "%s: the gzipped data is damaged (%s)", r->input.who,
            r->stream.msg ? r->stream.msg : "unexpected end");
  r->ended = code == Z_STREAM_END;
  return LUC_OK;
}

luc_status luc__reader_read(luc_reader *r, void *to, size_t n) {
  if (!r->gzipped) {
    LUC_TRY(luc__input_read(&r->input, r->at, to, n));
    r->at += n;
    return LUC_OK;
  }
  char *at = to;
  while (n > 0) {
    uInt part = n > CHUNK ? CHUNK : (uInt)n;
    r->stream.next_out = (unsigned char *)at;
    r->stream.avail_out = part;
    if (r->ended) return truncated(r);
    LUC_TRY(inflate_some(r));
    size_t got = part - r->stream.avail_out;
    at += got;
    n -= got;
  }
  return LUC_OK;
}

luc_status luc__reader_finish(luc_reader *r) {
  bool over = true;
  if (r->gzipped) {
    unsigned char extra;
    r->stream.next_out = &extra;
    r->stream.avail_out = 1;
    while (!r->ended && r->stream.avail_out == 1) LUC_TRY(inflate_some(r));
    over = r->ended && r->stream.avail_out == 1 && r->stream.avail_in == 0;
  }
  LUC_CHECK(r->input.ctx, over && r->at == r->input.size, LUC_ERR_IO,
            "%s: the file has more data than it declares", r->input.who);
  return LUC_OK;
}

uint64_t luc__reader_bound(const luc_reader *r) {
  return r->gzipped ? r->input.size * LUC_DEFLATE_RATIO : r->input.size - r->at;
}

void luc__reader_close(luc_context *ctx, luc_reader *r) {
  if (!r) return;
  if (r->gzipped) inflateEnd(&r->stream);
  luc__input_close(&r->input);
  luc__free(ctx, r, sizeof *r);
}

void luc__swap_elements(char *data, size_t count, luc_dtype dtype) {
  size_t size = luc__dtype_size(luc__dtype_to_real(dtype));
  if (luc__dtype_is_complex(dtype)) count *= 2;
  for (size_t i = 0; i < count; i++, data += size)
    for (size_t k = 0; k < size / 2; k++) {
      char swapped = data[k];
      data[k] = data[size - 1 - k];
      data[size - 1 - k] = swapped;
    }
}

bool luc__is_little_endian(void) {
  const uint16_t probe = 1;
  return *(const char *)&probe != 0;
}

/* ---- writing ---- */

/* Finds the file to be replaced, at the end of a link, and makes room for names. What is no file, a
 * device or a folder, is not replaced. */
static luc_status find_file(luc_writer *w, const char *path) {
  char real[PATH_MAX];
  struct stat old;
  w->mode = stat(path, &old) == 0 ? old.st_mode : 0;
  if (w->mode && !S_ISREG(w->mode)) {
    luc__fail(w->ctx, LUC_ERR_IO, "%s: cannot write '%.500s': it is no file", w->who, path);
    luc__io_one_line(w->ctx);
    return LUC_ERR_IO;
  }
  if (realpath(path, real)) path = real;
  size_t n = strlen(path) + 1;
  w->names_size = 2 * n + 64;
  w->path = luc__alloc(w->ctx, w->names_size);
  if (!w->path) return LUC_ERR_MEMORY;
  memcpy(w->path, path, n);
  w->temporary = w->path + n;
  return LUC_OK;
}

/* A new file beside the old one, with its permissions or those the umask leaves. */
static int create_beside(luc_writer *w) {
  int fd = -1;
  for (int i = 0; i < 100 && fd < 0; i++) {
    snprintf(w->temporary, strlen(w->path) + 64, "%s.%ld-%d.tmp", w->path, (long)getpid(), i);
    fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) return -1;
  }
  if (fd >= 0 && w->mode) (void)!fchmod(fd, w->mode & 0777);
  return fd;
}

luc_status luc__writer_open(luc_context *ctx, const char *who, const luc_target *to,
                            luc_writer *w) {
  *w = (luc_writer){.ctx = ctx, .who = who, .to = *to};
  luc__text_init(&w->text, ctx);
  LUC_CHECK(ctx, to->path || to->write, LUC_ERR_VALUE, "%s: path must be given (got NULL)", who);
  if (!to->path) return LUC_OK;
  LUC_TRY(find_file(w, to->path));
  int fd = create_beside(w);
  if (fd >= 0) w->file = fdopen(fd, "wb");
  if (w->file) return LUC_OK;
  luc_status status = fail_errno(ctx, who, "create a file beside", to->path);
  if (fd >= 0) {
    unlink(w->temporary);
    close(fd);
  }
  luc__writer_close(w);
  return status;
}

/* What was gathered for the host's function. */
static luc_status flush_text(luc_writer *w) {
  luc_status status = w->text.status;
  if (status == LUC_OK && w->text.length > 0)
    status = w->to.write(w->to.ud, w->text.data, w->text.length);
  w->text.length = 0;
  return status;
}

/* Small pieces are gathered, large ones handed on in parts. */
static luc_status write_pieces(luc_writer *w, const char *from, size_t n) {
  if (w->text.length + n > PIECE) LUC_TRY(flush_text(w));
  for (; n > PIECE; from += PIECE, n -= PIECE) LUC_TRY(w->to.write(w->to.ud, from, PIECE));
  luc__text_append(&w->text, from, n);
  return w->text.status;
}

/* The disk may begin while the rest is made; fsync then has less to wait for. */
static void begin_writeback(luc_writer *w) {
#ifdef __linux__
  (void)!sync_file_range(fileno(w->file), 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
  w->unsynced = 0;
}

luc_status luc__writer_write(luc_writer *w, const void *from, size_t n) {
  if (n == 0) return LUC_OK;
  if (!w->to.path) return write_pieces(w, from, n);
  if (fwrite(from, 1, n, w->file) != n) return fail_errno(w->ctx, w->who, "write", w->to.path);
  w->unsynced += n;
  if (w->unsynced > WRITEBACK) begin_writeback(w);
  return LUC_OK;
}

/* The rename itself must reach the disk too. */
static void sync_folder(const char *path) {
  char folder[4096];
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) + 1 : 0;
  if (n >= sizeof folder) return;
  memcpy(folder, path, n);
  memcpy(folder + n, n ? "" : ".", n ? 1 : 2);
  int fd = open(folder, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!fsync(fd);
  close(fd);
}

luc_status luc__writer_commit(luc_writer *w) {
  if (!w->to.path) return flush_text(w);
  bool flushed = fflush(w->file) == 0 && fsync(fileno(w->file)) == 0;
  flushed = fclose(w->file) == 0 && flushed;
  w->file = NULL;
  if (!flushed || rename(w->temporary, w->path) != 0) {
    luc_status status = fail_errno(w->ctx, w->who, "write", w->to.path);
    unlink(w->temporary);
    return status;
  }
  sync_folder(w->path);
  return LUC_OK;
}

void luc__writer_close(luc_writer *w) {
  if (w->file) {
    fclose(w->file);
    unlink(w->temporary);
  }
  luc__free(w->ctx, w->path, w->names_size);
  if (w->ctx) luc__text_drop(&w->text);
  w->path = NULL;
  w->file = NULL;
}

luc_status luc__write_bytes(luc_context *ctx, const char *who, const luc_target *to,
                            const void *bytes, size_t n) {
  luc_writer writer = {.ctx = ctx};
  luc_status status = luc__writer_open(ctx, who, to, &writer);
  if (status == LUC_OK) status = luc__writer_write(&writer, bytes, n);
  if (status == LUC_OK) status = luc__writer_commit(&writer);
  luc__writer_close(&writer);
  return status;
}
