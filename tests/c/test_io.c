/* Files: what is written reads back, byte for byte what the reference library writes; hostile,
 * truncated and unwritable files are refused with one line and leave nothing behind.
 * The recorded files come from tests/parity/gen_safetensors.py. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "io_files.h"

enum { ROOM = 1 << 16 };

/* A contiguous tensor holding start, start + 1, … (bool: zero or not). */
static luc_tensor *range(luc_context *ctx, luc_dtype dtype, int start, int ndim,
                         const int64_t *sizes) {
  luc_tensor *t = NULL;
  if (luc_tensor_new(ctx, dtype, ndim, sizes, &t) != LUC_OK) return NULL;
  for (int64_t i = 0; i < t->numel; i++) {
    luc_scalar s = {LUC_SCALAR_INT, {.i = start + i}};
    luc__store_scalar(t->data + (size_t)i * luc__dtype_size(dtype), dtype, s);
  }
  return t;
}

static void check_same_bytes(const char *a, const char *b) {
  static unsigned char x[ROOM], y[ROOM];
  long n = io_read(a, x, ROOM), m = io_read(b, y, ROOM);
  CHECK(n > 0);
  CHECK_EQ(n, m);
  CHECK(n == m && memcmp(x, y, (size_t)n) == 0);
}

static luc_tensor *named(const luc_tensor_file *file, const char *name) {
  for (int i = 0; file && i < file->ntensors; i++)
    if (!strcmp(file->tensors[i].name, name)) return file->tensors[i].tensor;
  return NULL;
}

/* ---- writing as the reference does ---- */

/* The recorded file has the real dtypes. */
enum { REAL_DTYPES = LUC_COMPLEX64 };
static const char *const dtype_names[] = {"f32", "f64", "f16", "bf16", "i8",
                                          "u8",  "i16", "i32", "i64",  "bool"};

TEST("a file of every dtype is the reference library's, byte for byte") {
  char path[512], recorded[512];
  luc_named_tensor items[REAL_DTYPES];
  for (int d = 0; d < REAL_DTYPES; d++) {
    int64_t sizes[] = {2, 3};
    items[d] = (luc_named_tensor){dtype_names[d], range(ctx, (luc_dtype)d, 0, 2, sizes)};
  }
  io_path(path, "dtypes");
  CHECK_OK(luc_safetensors_save(ctx, path, items, REAL_DTYPES, NULL, 0));
  check_same_bytes(path, io_recorded(recorded, "dtypes.safetensors"));
  for (int d = 0; d < REAL_DTYPES; d++) luc_tensor_release(ctx, items[d].tensor);
}

TEST("0-d and empty tensors, escapes in names and metadata are the reference library's too") {
  char path[512], recorded[512];
  int64_t one[] = {1}, two[] = {2}, empty[] = {0, 3};
  luc_named_tensor items[] = {{"scalar", range(ctx, LUC_FLOAT32, 0, 0, NULL)},
                              {"empty", range(ctx, LUC_FLOAT32, 0, 2, empty)},
                              {"a \"quoted\" \\ name", range(ctx, LUC_INT64, 1, 1, one)},
                              {"line\n tab\t bell\a del\x7f /", range(ctx, LUC_INT64, 2, 1, one)},
                              {"größe 大", range(ctx, LUC_UINT8, 3, 1, two)}};
  *(float *)(void *)items[0].tensor->data = 2.5f;
  luc_named_text metadata[] = {{"format", "pt"}};
  io_path(path, "odd");
  CHECK_OK(luc_safetensors_save(ctx, path, items, 5, metadata, 1));
  check_same_bytes(path, io_recorded(recorded, "odd.safetensors"));
  CHECK_OK(luc_safetensors_save(ctx, path, NULL, 0, NULL, 0));
  check_same_bytes(path, io_recorded(recorded, "none.safetensors"));
  for (int i = 0; i < 5; i++) luc_tensor_release(ctx, items[i].tensor);
}

/* ---- reading ---- */

TEST("a recorded file of every dtype reads back") {
  char recorded[512];
  luc_tensor_file *file;
  CHECK_OK(luc_safetensors_load(ctx, io_recorded(recorded, "dtypes.safetensors"), &file));
  CHECK(file && file->ntensors == REAL_DTYPES && file->nmetadata == 0);
  for (int d = 0; d < REAL_DTYPES; d++) {
    int64_t sizes[] = {2, 3};
    luc_tensor *want = range(ctx, (luc_dtype)d, 0, 2, sizes), *got = named(file, dtype_names[d]);
    CHECK(got && got->dtype == d && luc__same_sizes(got, want) && luc__is_contiguous(got));
    CHECK(got && !memcmp(got->data, want->data, 6 * luc__dtype_size((luc_dtype)d)));
    luc_tensor_release(ctx, want);
  }
  luc_tensor_file_free(ctx, file);
}

TEST("0-d and empty tensors, names with escapes and metadata read back") {
  char recorded[512];
  luc_tensor_file *file;
  CHECK_OK(luc_safetensors_load(ctx, io_recorded(recorded, "odd.safetensors"), &file));
  luc_tensor *scalar = named(file, "scalar"), *empty = named(file, "empty");
  CHECK(scalar && scalar->ndim == 0 && *(float *)(void *)scalar->data == 2.5f);
  CHECK(empty && empty->ndim == 2 && empty->sizes[0] == 0 && empty->sizes[1] == 3);
  CHECK(named(file, "a \"quoted\" \\ name") && named(file, "größe 大"));
  CHECK(named(file, "line\n tab\t bell\a del\x7f /"));
  CHECK(file && file->nmetadata == 1);
  CHECK_STR(file->metadata[0].name, "format");
  CHECK_STR(file->metadata[0].text, "pt");
  luc_tensor_file_free(ctx, file);
  CHECK_OK(luc_safetensors_load(ctx, io_recorded(recorded, "none.safetensors"), &file));
  CHECK(file && file->ntensors == 0);
  luc_tensor_file_free(ctx, file);
  luc_tensor_file_free(ctx, NULL);
}

TEST("tensors stay when the file they came from is freed") {
  char recorded[512];
  luc_tensor_file *file;
  CHECK_OK(luc_safetensors_load(ctx, io_recorded(recorded, "dtypes.safetensors"), &file));
  luc_tensor *t = luc_tensor_retain(named(file, "i64"));
  luc_tensor_file_free(ctx, file);
  CHECK_EQ(((int64_t *)(void *)t->data)[5], 5);
  luc_tensor_release(ctx, t);
}

TEST("views are written as the elements they show") {
  char path[512];
  int64_t sizes[] = {2, 3}, turned[] = {3, 2}, turned_strides[] = {1, 3}, wide[] = {4},
          still[] = {0};
  luc_tensor *base = range(ctx, LUC_FLOAT32, 0, 2, sizes), *t, *e;
  luc_tensor *other = range(ctx, LUC_INT16, 7, 0, NULL);
  CHECK_OK(luc__tensor_view(ctx, base, 2, turned, turned_strides, 0, &t));
  CHECK_OK(luc__tensor_view(ctx, other, 1, wide, still, 0, &e));
  luc_named_tensor items[] = {{"t", t}, {"e", e}};
  luc_tensor_file *file;
  CHECK_OK(luc_safetensors_save(ctx, io_path(path, "views"), items, 2, NULL, 0));
  CHECK_OK(luc_safetensors_load(ctx, path, &file));
  const float want[] = {0, 3, 1, 4, 2, 5};
  const int16_t sevens[] = {7, 7, 7, 7};
  CHECK(named(file, "t") && !memcmp(named(file, "t")->data, want, sizeof want));
  CHECK(named(file, "e") && !memcmp(named(file, "e")->data, sevens, sizeof sevens));
  luc_tensor_file_free(ctx, file);
  luc_tensor *all[] = {base, other, t, e};
  for (int i = 0; i < 4; i++) luc_tensor_release(ctx, all[i]);
}

/* ---- hostile files ---- */

#define U8(shape, offsets) "{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

typedef struct hostile {
  const char *header;
  size_t ndata;
  const char *message;
  luc_status status; /* 0: LUC_ERR_IO */
} hostile;

static const hostile hostile_files[] = {
    /* the text */
    {"{", 0, "invalid header length", 0},
    {"[]", 0, "expected '{' as the first byte", 0},
    {" {}", 0, "expected '{' as the first byte", 0},
    {"{}x", 0, "expected spaces to the header's end", 0},
    {"{}{}", 0, "expected spaces to the header's end", 0},
    {"{,}", 0, "expected a string", 0},
    {"{\"a\" 1}", 0, "expected ':'", 0},
    {"{\"a\":1}", 0, "expected '{'", 0},
    {"{\"a\":" U8("[1]", "[0,1]") ",}", 1, "expected a string", 0},
    {"{\"a\":" U8("[1]", "[0,1]"), 1, "expected '}'", 0},
    {"{\"a\":" U8("[1,]", "[0,1]") "}", 1, "expected a non-negative integer", 0},
    {"{\"a\":" U8("[-1]", "[0,1]") "}", 1, "expected a non-negative integer", 0},
    {"{\"a\":" U8("[01]", "[0,1]") "}", 1, "expected a non-negative integer", 0},
    {"{\"a\":" U8("[1.0]", "[0,1]") "}", 1, "expected ']'", 0},
    {"{\"a\":" U8("[1e0]", "[0,1]") "}", 1, "expected ']'", 0},
    {"{\"a\":" U8("[1", "[0,1]") "}", 1, "expected", 0},
    {"{\"a\":" U8("[1]", "[0]") "}", 1, "expected ','", 0},
    {"{\"a\":" U8("[1]", "[0,1,2]") "}", 1, "expected ']'", 0},
    {"{\"a\":" U8("[9223372036854775808]", "[0,1]") "}", 1, "expected a smaller number", 0},
    {"{\"a\":" U8("[99999999999999999999999]", "[0,1]") "}", 1, "expected a smaller number", 0},
    /* strings */
    {"{\"\xff\":" U8("[1]", "[0,1]") "}", 1, "expected UTF-8 text", 0},
    {"{\"\xc0\x80\":" U8("[1]", "[0,1]") "}", 1, "expected UTF-8 text", 0},
    {"{\"\xed\xa0\x80\":" U8("[1]", "[0,1]") "}", 1, "expected UTF-8 text", 0},
    {"{\"\xf4\x90\x80\x80\":" U8("[1]", "[0,1]") "}", 1, "expected UTF-8 text", 0},
    {"{\"\xe5\xa4\":" U8("[1]", "[0,1]") "}", 1, "expected UTF-8 text", 0},
    {"{\"a\nb\":" U8("[1]", "[0,1]") "}", 1, "expected UTF-8 text", 0},
    {"{\"\\x\":" U8("[1]", "[0,1]") "}", 1, "expected an escape sequence", 0},
    {"{\"\\u12\":" U8("[1]", "[0,1]") "}", 1, "expected an escape sequence", 0},
    {"{\"\\u0000\":" U8("[1]", "[0,1]") "}", 1, "expected an escape sequence", 0},
    {"{\"\\ud800\":" U8("[1]", "[0,1]") "}", 1, "expected an escape sequence", 0},
    {"{\"\\udc00\":" U8("[1]", "[0,1]") "}", 1, "expected an escape sequence", 0},
    {"{\"\\ud800\\u0041\":" U8("[1]", "[0,1]") "}", 1, "expected an escape sequence", 0},
    {"{\"unclosed", 0, "expected '\"'", 0},
    {"{\"unclosed\\", 0, "expected an escape sequence", 0},
    {"{\"unclosed\\ud8", 0, "expected an escape sequence", 0},
    /* fields */
    {"{\"a\":{}}", 0, "expected a string", 0},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "lacks dtype, shape or data_offsets", 0},
    {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 1, "repeated field 'dtype'", 0},
    {"{\"a\":{\"size\":[1]}}", 1, "wrong or repeated field 'size'", 0},
    {"{\"a\":{\"dtype\":8}}", 1, "expected a string", 0},
    {"{\"a\":{\"dtype\":\"u8\"}}", 1, "unknown dtype 'u8'", 0},
    {"{\"a\":{\"dtype\":\"F6_E2M3\"}}", 1, "unsupported dtype 'F6_E2M3'", LUC_ERR_SUPPORT},
    {"{\"a\":" U8("[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "more than 8 dim", LUC_ERR_SUPPORT},
    {"{\"__metadata__\":{\"n\":1}}", 0, "expected a string", 0},
    {"{\"__metadata__\":{\"n\":\"1\",\"n\":\"2\"}}", 0, "metadata 'n' appears twice", 0},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "expected __metadata__ only once", 0},
    /* places */
    {"{\"a\":" U8("[1]", "[0,1]") ",\"a\":" U8("[1]", "[1,2]") "}", 2, "'a' appears twice", 0},
    {"{\"a\":" U8("[2]", "[0,2]") ",\"b\":" U8("[2]", "[1,3]") "}", 3,
     "invalid offset for tensor 'b'", 0},
    {"{\"a\":" U8("[1]", "[0,1]") ",\"b\":" U8("[1]", "[2,3]") "}", 3,
     "invalid offset for tensor 'b'", 0},
    {"{\"a\":" U8("[1]", "[1,2]") "}", 2, "invalid offset for tensor 'a'", 0},
    {"{\"a\":" U8("[2]", "[0,1]") "}", 1, "invalid shape, data type, or offset", 0},
    {"{\"a\":" U8("[1]", "[0,2]") "}", 2, "invalid shape, data type, or offset", 0},
    {"{\"a\":" U8("[0]", "[0,1]") "}", 1, "invalid shape, data type, or offset", 0},
    {"{\"a\":" U8("[1]", "[1,0]") "}", 1, "invalid offset", 0},
    {"{\"a\":" U8("[4294967296,4294967296]", "[0,0]") "}", 0, "invalid shape, data type", 0},
    {"{\"a\":" U8("[4611686018427387904,4,0]", "[0,0]") "}", 0, "invalid shape, data type", 0},
    {"{\"a\":" U8("[1]", "[0,1]") "}", 0, "not fully covered", 0},
    {"{\"a\":" U8("[1]", "[0,1]") "}", 2, "not fully covered", 0},
    {"{\"a\":" U8("[1000000000000]", "[0,1000000000000]") "}", 8, "not fully covered", 0},
    {"{}", 1, "not fully covered", 0},
    {"{\"a\\nb\":" U8("[1]", "[0,2]") "}", 2, "tensor 'a?b' has an invalid shape", 0},
};

TEST("every broken rule of the format is refused with one line") {
  char path[512];
  size_t live = luc_memory_stats(ctx).live;
  io_path(path, "hostile");
  for (size_t i = 0; i < sizeof hostile_files / sizeof *hostile_files; i++) {
    const hostile *h = &hostile_files[i];
    luc_tensor_file *file;
    io_write_header(path, h->header, h->ndata);
    luc_status status = luc_safetensors_load(ctx, path, &file);
    CHECK(file == NULL);
    io_check_failed(ctx, h->header, status, h->status ? h->status : LUC_ERR_IO, h->message, live);
  }
}

TEST("what the format allows is read") {
  static const char *const good[] = {
      "{}          ",
      "{ \"a\" : { \"shape\" : [ 1 ] ,\n\t\"data_offsets\":[0,1], \"dtype\":\"U8\" } }",
      "{\"b\":" U8("[0]", "[1,1]") ",\"a\":" U8("[1]", "[0,1]") ",\"c\":" U8("[0]", "[0,0]") "}",
      "{\"\\u5927 \\ud83d\\ude00 \\/\\b\":" U8("[]", "[0,1]") "}",
      "{\"\":" U8("[1]", "[0,1]") ",\"__metadata__\":{\"a\":\"\"}}",
      "{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}",
  };
  char path[512];
  luc_tensor_file *file;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    io_write_header(io_path(path, "good"), good[i], i > 0);
    CHECK_OK(luc_safetensors_load(ctx, path, &file));
    if (i == 3) CHECK(named(file, "大 😀 /\b"));
    luc_tensor_file_free(ctx, file);
  }
}

TEST("a header's length is believed only within the file and 100 MB") {
  static const struct {
    uint64_t length;
    const char *message;
  } cases[] = {{100, "invalid header length"},         {3, "invalid header length"},
               {0, "invalid header length"},           {1, "invalid header length"},
               {100000001, "header too large"},        {UINT64_MAX, "header too large"},
               {UINT64_C(1) << 63, "header too large"}};
  char path[512];
  size_t live = luc_memory_stats(ctx).live;
  luc_tensor_file *file;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned char bytes[10] = {0};
    for (int k = 0; k < 8; k++) bytes[k] = (unsigned char)(cases[i].length >> (8 * k));
    memcpy(bytes + 8, "{}", 2);
    io_write(io_path(path, "length"), bytes, 10);
    luc_status status = luc_safetensors_load(ctx, path, &file);
    io_check_failed(ctx, "length", status, LUC_ERR_IO, cases[i].message, live);
  }
}

TEST("a boolean that is neither 0 nor 1 is refused") {
  static const char header[] = "{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}}";
  char path[512];
  unsigned char bytes[128] = {sizeof header - 1};
  size_t live = luc_memory_stats(ctx).live;
  luc_tensor_file *file;
  memcpy(bytes + 8, header, sizeof header - 1);
  bytes[8 + sizeof header - 1] = 2;
  io_write(io_path(path, "bool"), bytes, 8 + sizeof header);
  luc_status status = luc_safetensors_load(ctx, path, &file);
  io_check_failed(ctx, "bool", status, LUC_ERR_IO, "neither 0 nor 1", live);
}

TEST("a file cut off anywhere is refused") {
  static unsigned char bytes[ROOM];
  char path[512], recorded[512];
  size_t live = luc_memory_stats(ctx).live;
  long n = io_read(io_recorded(recorded, "odd.safetensors"), bytes, ROOM);
  luc_tensor_file *file;
  CHECK(n > 100);
  for (long cut = 0; cut < n; cut++) {
    io_write(io_path(path, "cut"), bytes, (size_t)cut);
    luc_status status = luc_safetensors_load(ctx, path, &file);
    io_check_failed(ctx, "cut", status, LUC_ERR_IO, "safetensors: ", live);
  }
}

TEST("a file with any byte changed is read or refused, and leaves nothing behind") {
  static unsigned char bytes[ROOM];
  char path[512], recorded[512];
  size_t live = luc_memory_stats(ctx).live;
  long n = io_read(io_recorded(recorded, "odd.safetensors"), bytes, ROOM);
  uint32_t random = 1;
  io_path(path, "fuzz");
  for (int i = 0; i < (test_is_short() ? 500 : 20000); i++) {
    random = random * 1664525u + 1013904223u;
    unsigned char *at = &bytes[random / 65536u % (uint32_t)n], old = *at;
    *at = (unsigned char)(random >> 8);
    io_write(path, bytes, (size_t)n);
    *at = old;
    luc_tensor_file *file;
    luc_status status = luc_safetensors_load(ctx, path, &file);
    if (status == LUC_OK) luc_tensor_file_free(ctx, file);
    CHECK(status == LUC_OK || status == LUC_ERR_IO || status == LUC_ERR_SUPPORT);
    CHECK(!strchr(luc_message(ctx), '\n'));
    CHECK_EQ((long long)luc_memory_stats(ctx).live, (long long)live);
  }
}

TEST("what is no regular file is refused") {
  char path[512];
  size_t live = luc_memory_stats(ctx).live;
  luc_tensor_file *file;
  luc_status status = luc_safetensors_load(ctx, "/no\nwhere", &file);
  io_check_failed(ctx, "missing", status, LUC_ERR_IO,
                  "safetensors: cannot open '/no?where': No such file", live);
  status = luc_safetensors_load(ctx, "/tmp", &file);
  io_check_failed(ctx, "folder", status, LUC_ERR_IO, "'/tmp' is not a file", live);
  CHECK_EQ(mkfifo(io_path(path, "fifo"), 0600), 0);
  status = luc_safetensors_load(ctx, path, &file);
  io_check_failed(ctx, "fifo", status, LUC_ERR_IO, "is not a file", live);
}

/* ---- what cannot be saved ---- */

TEST("names and metadata that would make a bad file are refused") {
  char path[512];
  luc_tensor *a = range(ctx, LUC_FLOAT32, 0, 0, NULL), *b = range(ctx, LUC_FLOAT32, 0, 0, NULL);
  size_t live = luc_memory_stats(ctx).live;
  io_path(path, "refused");
  luc_named_tensor twice[] = {{"x", a}, {"x", b}}, reserved[] = {{"__metadata__", a}};
  luc_named_tensor bad[] = {{"\xff", a}}, shared[] = {{"x", a}, {"y", b}, {"z", a}};
  luc_named_text text[] = {{"k", "\xff"}}, same[] = {{"k", "1"}, {"k", "2"}};
  luc_status status = luc_safetensors_save(ctx, path, twice, 2, NULL, 0);
  io_check_failed(ctx, "twice", status, LUC_ERR_VALUE, "tensor 'x' appears twice", live);
  status = luc_safetensors_save(ctx, path, reserved, 1, NULL, 0);
  io_check_failed(ctx, "reserved", status, LUC_ERR_VALUE, "cannot be named", live);
  status = luc_safetensors_save(ctx, path, bad, 1, NULL, 0);
  io_check_failed(ctx, "bad", status, LUC_ERR_VALUE, "not UTF-8", live);
  status = luc_safetensors_save(ctx, path, shared, 3, NULL, 0);
  io_check_failed(ctx, "shared", status, LUC_ERR_VALUE, "'x' and 'z' share memory", live);
  status = luc_safetensors_save(ctx, path, NULL, 0, text, 1);
  io_check_failed(ctx, "text", status, LUC_ERR_VALUE, "not UTF-8", live);
  status = luc_safetensors_save(ctx, path, NULL, 0, same, 2);
  io_check_failed(ctx, "same", status, LUC_ERR_VALUE, "metadata 'k' appears twice", live);
  CHECK(access(path, F_OK) != 0);
  LUC_RELEASE(ctx, a, b);
}

TEST("a save that fails leaves the old file and nothing else") {
  char path[512], folder[512], recorded[512];
  int64_t sizes[] = {100000};
  luc_tensor *t = range(ctx, LUC_FLOAT64, 0, 1, sizes);
  luc_named_tensor items[] = {{"t", t}};
  size_t live = luc_memory_stats(ctx).live;
  CHECK_OK(luc_safetensors_save(ctx, io_path(path, "kept"), NULL, 0, NULL, 0));
  int before = io_count_files();

  struct rlimit old, small = {4096, 4096}; /* a disk that is full after 4 kB */
  getrlimit(RLIMIT_FSIZE, &old);
  small.rlim_max = old.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  luc_status status = luc_safetensors_save(ctx, path, items, 1, NULL, 0);
  setrlimit(RLIMIT_FSIZE, &old);
  io_check_failed(ctx, "full", status, LUC_ERR_IO, "cannot write", live);
  CHECK_EQ(io_count_files(), before);
  check_same_bytes(path, io_recorded(recorded, "none.safetensors"));

  status = luc_safetensors_save(ctx, "/no/such/folder/x", items, 1, NULL, 0);
  io_check_failed(ctx, "no folder", status, LUC_ERR_IO, "cannot create a file beside", live);
  io_path(folder, "folder");
  CHECK_EQ(mkdir(folder, 0700), 0);
  status = luc_safetensors_save(ctx, folder, items, 1, NULL, 0);
  io_check_failed(ctx, "folder", status, LUC_ERR_IO, "cannot write", live);
  rmdir(folder);
  CHECK_EQ(mkfifo(folder, 0600), 0); /* nor is a device replaced */
  status = luc_safetensors_save(ctx, folder, items, 1, NULL, 0);
  io_check_failed(ctx, "FIFO", status, LUC_ERR_IO, "it is no file", live);
  CHECK_EQ(unlink(folder), 0);
  CHECK_EQ(io_count_files(), before);
  luc_tensor_release(ctx, t);
}

TEST("a save through a link replaces the file, not the link") {
  char path[512], link[512], recorded[512];
  struct stat info;
  CHECK_OK(luc_safetensors_save(ctx, io_path(path, "linked"), NULL, 0, NULL, 0));
  CHECK_EQ(chmod(path, 0640), 0);
  CHECK_EQ(symlink("linked", io_path(link, "link")), 0);
  luc_named_tensor item = {"t", range(ctx, LUC_FLOAT64, 0, 0, NULL)};
  CHECK_OK(luc_safetensors_save(ctx, path, &item, 1, NULL, 0));
  CHECK_OK(luc_safetensors_save(ctx, link, NULL, 0, NULL, 0));
  CHECK(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
  CHECK(lstat(path, &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 0777) == 0640);
  check_same_bytes(path, io_recorded(recorded, "none.safetensors"));
  CHECK(unlink(link) == 0 && unlink(path) == 0);
  luc_tensor_release(ctx, item.tensor);
}

TEST("a folder without permission refuses the save") {
  char folder[512], path[600];
  if (geteuid() == 0) return; /* root may write anywhere */
  CHECK_EQ(mkdir(io_path(folder, "closed"), 0500), 0);
  snprintf(path, sizeof path, "%s/x", folder);
  CHECK_EQ(luc_safetensors_save(ctx, path, NULL, 0, NULL, 0), LUC_ERR_IO);
  rmdir(folder);
}

TEST("a save keeps the old file's permissions and obeys the umask for a new one") {
  char path[512];
  struct stat info;
  mode_t mask = umask(027);
  CHECK_OK(luc_safetensors_save(ctx, io_path(path, "mode"), NULL, 0, NULL, 0));
  CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0640);
  CHECK_EQ(chmod(path, 0604), 0);
  CHECK_OK(luc_safetensors_save(ctx, path, NULL, 0, NULL, 0));
  CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0604);
  umask(mask);
}

/* ---- out of memory ---- */

static luc_status load_recorded(luc_context *ctx, void *arg) {
  luc_tensor_file *file;
  luc_status status = luc_safetensors_load(ctx, arg, &file);
  if (status == LUC_OK) luc_tensor_file_free(ctx, file);
  return status;
}

static luc_status load_and_save(luc_context *ctx, void *arg) {
  char path[512], recorded[512];
  luc_tensor_file *file;
  (void)arg;
  LUC_TRY(luc_safetensors_load(ctx, io_recorded(recorded, "odd.safetensors"), &file));
  luc_status status = luc_safetensors_save(ctx, io_path(path, "swept"), file->tensors,
                                           file->ntensors, file->metadata, file->nmetadata);
  luc_tensor_file_free(ctx, file);
  return status;
}

TEST("loading and saving survive every refused allocation") {
  char recorded[512];
  CHECK(test_sweep(load_recorded, (void *)io_recorded(recorded, "dtypes.safetensors"), 1) > 10);
  CHECK(test_sweep(load_and_save, NULL, 1) > 10);
}

static luc_status save_view(luc_context *ctx, void *arg) {
  char path[512];
  int64_t sizes[] = {40, 30}, turned[] = {30, 40}, strides[] = {1, 30};
  luc_tensor *base = NULL, *view = NULL;
  luc_status status;
  (void)arg;
  LUC_GO(luc_tensor_new(ctx, LUC_FLOAT32, 2, sizes, &base));
  LUC_GO(luc__tensor_view(ctx, base, 2, turned, strides, 0, &view));
  luc_named_tensor items[] = {{"view", view}};
  LUC_GO(luc_safetensors_save(ctx, io_path(path, "swept"), items, 1, NULL, 0));
done:
  LUC_RELEASE(ctx, view, base);
  return status;
}

TEST("saving a view survives every refused allocation and leaves no temporary file") {
  char path[512];
  io_path(path, "swept");
  remove(path);
  int before = io_count_files();
  CHECK(test_sweep(save_view, NULL, 1) > 4);
  CHECK_EQ(io_count_files(), before + 1);
}

TEST("a file without a path is an error") {
  luc_state_dict *sd, *loaded;
  CHECK_OK(luc_state_dict_new(ctx, &sd));
  CHECK_EQ(luc_save(ctx, NULL, sd), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "save: path must be given (got NULL)");
  CHECK_EQ(luc_load(ctx, NULL, &loaded), LUC_ERR_VALUE);
  luc_state_dict_free(ctx, sd);
}
