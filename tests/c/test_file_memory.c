/* Files without a file system: what is written to a host's function is read back from memory; a
 * function that fails ends the saving with its status; refused allocations leave nothing. */
#include "io/csv.h"
#include "io/readers.h"
#include "lucerna/module.h"
#include "tensor/tensor.h"
#include "test.h"

/* Bytes a host's function has got; `room` is what it takes. */
typedef struct sink {
  char bytes[1 << 15];
  size_t n, room;
} sink;

static luc_status take(void *ud, const void *bytes, size_t n) {
  sink *s = ud;
  if (n > s->room - s->n) return LUC_ERR_CALLBACK;
  memcpy(s->bytes + s->n, bytes, n);
  s->n += n;
  return LUC_OK;
}

static luc_target into(sink *s, size_t room) {
  s->n = 0;
  s->room = room;
  return (luc_target){.write = take, .ud = s};
}

/* [rows, 3] of numbers. */
static luc_status make(luc_context *ctx, luc_dtype dtype, int64_t rows, luc_tensor **out) {
  int64_t sizes[] = {rows, 3};
  LUC_TRY(luc__tensor_empty(ctx, dtype, 2, sizes, out));
  for (int64_t i = 0; i < (*out)->numel; i++)
    luc__store_scalar((*out)->data + (size_t)i * luc__dtype_size(dtype), dtype,
                      (luc_scalar){LUC_SCALAR_INT, {.i = i}});
  return LUC_OK;
}

static bool same(const luc_tensor *a, const luc_tensor *b) {
  size_t n = (size_t)a->numel * luc__dtype_size((luc_dtype)a->dtype);
  return a->dtype == b->dtype && luc__same_sizes(a, b) && memcmp(a->data, b->data, n) == 0;
}

/* Writes a tensor and reads it back, in one format each. */
typedef luc_status (*round_fn)(luc_context *ctx, const luc_target *to, sink *s, luc_tensor *t,
                               luc_tensor **out);

static luc_status round_npy(luc_context *ctx, const luc_target *to, sink *s, luc_tensor *t,
                            luc_tensor **out) {
  LUC_TRY(luc__npy_write(ctx, to, t));
  return luc__npy_read(luc__input_memory(ctx, "npy", s->bytes, s->n), out);
}

static luc_status round_npz(luc_context *ctx, const luc_target *to, sink *s, luc_tensor *t,
                            luc_tensor **out) {
  luc_npz *npz;
  LUC_TRY(luc__npz_write(ctx, to, &(luc_named_tensor){"t", t}, 1, true));
  LUC_TRY(luc__npz_open(luc__input_memory(ctx, "npz", s->bytes, s->n), 0, &npz));
  luc_status status = luc__npz_read(npz, 0, out);
  luc__npz_close(npz);
  return status;
}

static luc_status round_csv(luc_context *ctx, const luc_target *to, sink *s, luc_tensor *t,
                            luc_tensor **out) {
  static const char *const names[] = {"a", "b", "c"};
  luc_csv_options options = {.delimiter = ';', .header = true, .dtype = (luc_dtype)t->dtype};
  luc_text text;
  luc__text_init(&text, ctx);
  luc_status status = luc__csv_write(ctx, to, ';', names, t);
  if (status == LUC_OK)
    status = luc__csv_read(luc__input_memory(ctx, "csv", s->bytes, s->n), &options, &text, out);
  luc__text_drop(&text);
  return status;
}

static luc_status round_checkpoint(luc_context *ctx, const luc_target *to, sink *s, luc_tensor *t,
                                   luc_tensor **out) {
  luc_state_dict *sd = NULL, *back = NULL;
  luc_status status;
  LUC_GO(luc_state_dict_new(ctx, &sd));
  LUC_GO(luc_state_dict_set(ctx, sd, "t", t));
  LUC_GO(luc_save_to(ctx, to, sd));
  LUC_GO(luc_load_bytes(ctx, s->bytes, s->n, &back));
  *out = luc_tensor_retain(luc_state_dict_get(back, "t"));
done:
  luc_state_dict_free(ctx, sd);
  luc_state_dict_free(ctx, back);
  return status;
}

static luc_status round_safetensors(luc_context *ctx, const luc_target *to, sink *s, luc_tensor *t,
                                    luc_tensor **out) {
  luc_tensor_file *file;
  LUC_TRY(luc_safetensors_save_to(ctx, to, &(luc_named_tensor){"t", t}, 1, NULL, 0));
  LUC_TRY(luc_safetensors_load_bytes(ctx, s->bytes, s->n, &file));
  *out = luc_tensor_retain(file->tensors[0].tensor);
  luc_tensor_file_free(ctx, file);
  return LUC_OK;
}

static const struct {
  const char *name;
  round_fn run;
} rounds[] = {{"npy", round_npy},
              {"npz", round_npz},
              {"csv", round_csv},
              {"checkpoint", round_checkpoint},
              {"safetensors", round_safetensors}};
enum { ROUNDS = sizeof rounds / sizeof *rounds };

TEST("what a host's function got is read back from memory, in every format") {
  static sink s;
  for (int i = 0; i < ROUNDS; i++)
    for (int64_t rows = 0; rows < 300; rows = 3 * rows + 1) {
      luc_tensor *t = NULL, *back = NULL;
      luc_target to = into(&s, sizeof s.bytes);
      CHECK_OK(make(ctx, LUC_FLOAT64, rows, &t));
      luc_status status = rounds[i].run(ctx, &to, &s, t, &back);
      if (status != LUC_OK) fprintf(stderr, "  %s: %s\n", rounds[i].name, luc_message(ctx));
      CHECK(status == LUC_OK && same(t, back));
      LUC_RELEASE(ctx, t, back);
    }
}

TEST("a function that takes no more ends the saving") {
  static sink s;
  luc_tensor *t = NULL;
  CHECK_OK(make(ctx, LUC_INT32, 100, &t));
  size_t live = luc_memory_stats(ctx).live;
  for (int i = 0; i < ROUNDS; i++) {
    luc_tensor *back = NULL;
    luc_target to = into(&s, 50);
    CHECK_EQ(rounds[i].run(ctx, &to, &s, t, &back), LUC_ERR_CALLBACK);
    CHECK_EQ((long long)luc_memory_stats(ctx).live, (long long)live);
  }
  luc_tensor_release(ctx, t);
}

static luc_status run_round(luc_context *ctx, void *arg) {
  static sink s;
  luc_tensor *t = NULL, *back = NULL;
  luc_target to = into(&s, sizeof s.bytes);
  LUC_TRY(make(ctx, LUC_FLOAT32, 20, &t));
  luc_status status = rounds[*(int *)arg].run(ctx, &to, &s, t, &back);
  LUC_RELEASE(ctx, t, back);
  return status;
}

TEST("every refused allocation is survived, in every format") {
  for (int i = 0; i < ROUNDS; i++) CHECK(test_sweep(run_round, &i, 1) > 3);
}
