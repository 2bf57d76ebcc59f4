/* Helpers of the file tests: a folder of their own that is gone at the end, files written from
 * bytes and from header texts, and loads that must fail without leaving anything behind. */
#ifndef LUC_IO_FILES_H
#define LUC_IO_FILES_H

#include <dirent.h>
#include <unistd.h>

#include "lucerna/io.h"
#include "tensor/tensor.h"
#include "test.h"

static char io_folder[64];

__attribute__((destructor)) static void io_remove_folder(void) {
  char path[512];
  DIR *dir = io_folder[0] ? opendir(io_folder) : NULL;
  if (!dir) return;
  for (struct dirent *item; (item = readdir(dir));) {
    snprintf(path, sizeof path, "%s/%s", io_folder, item->d_name);
    if (item->d_name[0] != '.') remove(path);
  }
  closedir(dir);
  rmdir(io_folder);
}

/* The path of a file of that name in the tests' folder; `path` has 512 bytes. */
static const char *io_path(char *path, const char *name) {
  if (!io_folder[0]) {
    strcpy(io_folder, "/tmp/lucerna-io-XXXXXX");
    CHECK(mkdtemp(io_folder) != NULL);
  }
  snprintf(path, 512, "%s/%s", io_folder, name);
  return path;
}

/* How many files the tests' folder holds. */
__attribute__((unused)) static int io_count_files(void) {
  int n = 0;
  DIR *dir = opendir(io_folder);
  if (!dir) return -1;
  for (struct dirent *item; (item = readdir(dir));) n += item->d_name[0] != '.';
  closedir(dir);
  return n;
}

__attribute__((unused)) static void io_write(const char *path, const void *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  CHECK(f != NULL);
  if (!f) return;
  CHECK_EQ((long long)fwrite(bytes, 1, n, f), (long long)n);
  fclose(f);
}

/* Reads a whole file into `bytes` (of `room`); returns its size, or -1. */
__attribute__((unused)) static long io_read(const char *path, unsigned char *bytes, size_t room) {
  FILE *f = fopen(path, "rb");
  if (!f) return -1;
  size_t n = fread(bytes, 1, room, f);
  fclose(f);
  return (long)n;
}

/* A safetensors file: the header's length, the header, `ndata` zero bytes. */
__attribute__((unused)) static void io_write_header(const char *path, const char *header,
                                                    size_t ndata) {
  unsigned char bytes[4096] = {0};
  size_t n = strlen(header);
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(n >> (8 * i));
  memcpy(bytes + 8, header, n);
  io_write(path, bytes, 8 + n + ndata);
}

/* A recorded file of tests/parity/data. */
__attribute__((unused)) static const char *io_recorded(char *path, const char *name) {
  const char *root = getenv("LUCERNA_ROOT");
  snprintf(path, 512, "%s/tests/parity/data/%s", root ? root : ".", name);
  return path;
}

/* Checks a failed call: its status, one line of message that holds `part`, nothing left. */
__attribute__((unused)) static void io_check_failed(luc_context *ctx, const char *what,
                                                    luc_status status, luc_status want,
                                                    const char *part, size_t live) {
  const char *message = luc_message(ctx);
  bool good = status == want && strstr(message, part) != NULL && !strchr(message, '\n');
  if (!good) fprintf(stderr, "  %s: status %d, message '%s'\n", what, (int)status, message);
  CHECK(good);
  CHECK_EQ((long long)luc_memory_stats(ctx).live, (long long)live);
}

#endif
