/* Writing safetensors: ordered and padded as the reference implementation does, so that equal
 * content gives equal bytes. */
#include <stdlib.h>
#include <string.h>

#include "cpu/copy.h"
#include "io/json.h"
#include "io/safetensors.h"

static const char who[] = "safetensors";

const char *const luc__safetensors_codes[LUC_NUM_DTYPES] = {
    "F32",     "F64",     "F16",         "BF16",        "I8",      "U8",  "I16", "I32",
    "I64",     "BOOL",    "C64",         NULL, /* the format has no complex128 */
    "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0", "U16", "U32", "U64"};

static int text_by_name(const void *a, const void *b) {
  return strcmp(((const luc_named_text *)a)->name, ((const luc_named_text *)b)->name);
}

luc_status luc__sort_texts(luc_context *ctx, luc_named_text *texts, size_t n, luc_status failure,
                           const char *what) {
  if (n > 0) qsort(texts, n, sizeof *texts, text_by_name);
  for (size_t i = 1; i < n; i++)
    LUC_CHECK(ctx, text_by_name(&texts[i - 1], &texts[i]) != 0, failure,
              "%s '%.200s' appears twice", what, texts[i].name);
  return LUC_OK;
}

/* The reference order of dtypes by alignment: what it writes first has the largest. ORDER DTYPE */
static const uint8_t rank_of[] = {14, 16, 10, 11, 2, 1, 8, 12, 17, 0,
                                  15, 19, 4,  3,  6, 7, 5, 9,  13, 18};
_Static_assert(sizeof rank_of == LUC_NUM_DTYPES, "ORDER DTYPE");

static int by_alignment(const void *a, const void *b) {
  const luc_named_tensor *x = a, *y = b;
  int difference = rank_of[y->tensor->dtype] - rank_of[x->tensor->dtype];
  return difference ? difference : strcmp(x->name, y->name);
}

static void put_string(luc_text *text, const char *s) {
  static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";
  luc__text_puts(text, "\"");
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    const char *known = strchr(from, c);
    if (known) {
      luc__text_printf(text, "\\%c", into[known - from]);
    } else if (c < 0x20) {
      luc__text_printf(text, "\\u%04x", c);
    } else {
      luc__text_append(text, s, 1);
    }
  }
  luc__text_puts(text, "\"");
}

static void put_entry(luc_text *text, const luc_named_tensor *item, int64_t *at) {
  const luc_tensor *t = item->tensor;
  int64_t end = *at + t->numel * (int64_t)luc__dtype_size(t->dtype);
  put_string(text, item->name);
  luc__text_printf(text, ":{\"dtype\":\"%s\",\"shape\":[", luc__safetensors_codes[t->dtype]);
  for (int d = 0; d < t->ndim; d++)
    luc__text_printf(text, d ? ",%lld" : "%lld", (long long)t->sizes[d]);
  luc__text_printf(text, "],\"data_offsets\":[%lld,%lld]}", (long long)*at, (long long)end);
  *at = end;
}

static void put_header(luc_text *text, const luc_named_tensor *items, int n,
                       const luc_named_text *metadata, int nmetadata) {
  int64_t at = 0;
  luc__text_puts(text, "{");
  if (nmetadata) {
    luc__text_puts(text, "\"__metadata__\":{");
    for (int i = 0; i < nmetadata; i++) {
      if (i) luc__text_puts(text, ",");
      put_string(text, metadata[i].name);
      luc__text_puts(text, ":");
      put_string(text, metadata[i].text);
    }
    luc__text_puts(text, n ? "}," : "}");
  }
  for (int i = 0; i < n; i++) {
    if (i) luc__text_puts(text, ",");
    put_entry(text, &items[i], &at);
  }
  luc__text_puts(text, "}");
  luc__text_fill(text, ' ', (int64_t)(-(int64_t)text->length & 7));
}

static int tensor_by_name(const void *a, const void *b) {
  return strcmp(((const luc_named_tensor *)a)->name, ((const luc_named_tensor *)b)->name);
}

static int by_storage(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const luc_named_tensor *)a)->tensor->storage;
  uintptr_t y = (uintptr_t)((const luc_named_tensor *)b)->tensor->storage;
  return x != y ? (x < y ? -1 : 1) : tensor_by_name(a, b);
}

/* Reorders items: names are good and stand once, tensors share no memory. */
static luc_status check_items(luc_context *ctx, luc_named_tensor *items, int n) {
  if (n > 0) qsort(items, (size_t)n, sizeof *items, tensor_by_name);
  for (int i = 0; i < n; i++) {
    const char *name = items[i].name;
    LUC_CHECK(ctx, strcmp(name, "__metadata__") != 0, LUC_ERR_VALUE,
              "%s: a tensor cannot be named '__metadata__'", who);
    LUC_CHECK(ctx, luc__utf8_valid(name), LUC_ERR_VALUE, "%s: a tensor's name is not UTF-8", who);
    LUC_CHECK(ctx, luc__safetensors_codes[items[i].tensor->dtype], LUC_ERR_SUPPORT,
              "%s: tensor '%.200s' is %s, which the format does not have", who, name,
              luc__dtype_name(items[i].tensor->dtype));
    LUC_CHECK(ctx, i == 0 || strcmp(items[i - 1].name, name) != 0, LUC_ERR_VALUE,
              "%s: tensor '%.200s' appears twice", who, name);
  }
  if (n > 0) qsort(items, (size_t)n, sizeof *items, by_storage);
  for (int i = 1; i < n; i++)
    for (int k = i - 1; k >= 0 && items[k].tensor->storage == items[i].tensor->storage; k--)
      LUC_CHECK(ctx, !luc__may_overlap(items[i].tensor, items[k].tensor), LUC_ERR_VALUE,
                "%s: tensors '%.200s' and '%.200s' share memory; clone() one of them first", who,
                items[k].name, items[i].name);
  return LUC_OK;
}

static luc_status check_texts(luc_context *ctx, luc_named_text *texts, int n) {
  for (int i = 0; i < n; i++) {
    LUC_CHECK(ctx, texts[i].name && texts[i].text, LUC_ERR_VALUE,
              "%s: metadata %d needs a name and a text (got NULL)", who, i + 1);
    LUC_CHECK(ctx, luc__utf8_valid(texts[i].name) && luc__utf8_valid(texts[i].text), LUC_ERR_VALUE,
              "%s: a metadata text is not UTF-8", who);
  }
  return luc__sort_texts(ctx, texts, (size_t)n, LUC_ERR_VALUE, "safetensors: metadata");
}

static luc_status write_tensor(luc_context *ctx, luc_writer *writer, luc_tensor *t) {
  luc_tensor *plain;
  LUC_TRY(luc__contiguous_as(ctx, t, t->dtype, &plain));
  luc_status status =
      luc__writer_write(writer, plain->data, (size_t)plain->numel * luc__dtype_size(plain->dtype));
  luc_tensor_release(ctx, plain);
  return status;
}

static luc_status write_all(luc_context *ctx, luc_writer *writer, const luc_text *header,
                            const luc_named_tensor *items, int n) {
  unsigned char length[8];
  LUC_CHECK(ctx, header->length <= LUC_SAFETENSORS_HEADER, LUC_ERR_VALUE, "%s: header too large",
            who);
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header->length >> (8 * i));
  LUC_TRY(luc__writer_write(writer, length, 8));
  LUC_TRY(luc__writer_write(writer, header->data, header->length));
  for (int i = 0; i < n; i++) LUC_TRY(write_tensor(ctx, writer, items[i].tensor));
  return luc__writer_commit(writer);
}

/* Copies of the caller's lists; each tensor an alias of its own, since the host's function, which
 * gets the bytes, may change or drop what it was given. */
typedef struct items {
  luc_named_tensor *tensors;
  luc_named_text *texts;
  int ntensors, ntexts;
} items;

static luc_status copy_items(luc_context *ctx, items *list, const luc_named_tensor *tensors,
                             const luc_named_text *texts) {
  list->tensors = luc__alloc_zero(ctx, (size_t)list->ntensors * sizeof *tensors + 1);
  list->texts = luc__alloc(ctx, (size_t)list->ntexts * sizeof *texts + 1);
  if (!list->tensors || !list->texts) return LUC_ERR_MEMORY;
  if (list->ntexts) memcpy(list->texts, texts, (size_t)list->ntexts * sizeof *texts);
  for (int i = 0; i < list->ntensors; i++) {
    LUC_CHECK(ctx, tensors && tensors[i].name && tensors[i].tensor, LUC_ERR_VALUE,
              "%s: tensor %d needs a name and a tensor (got NULL)", who, i + 1);
    list->tensors[i].name = tensors[i].name;
    LUC_CHECK(ctx, !luc_tensor_is_uninitialized(tensors[i].tensor), LUC_ERR_VALUE,
              "%s: tensor '%.200s' is uninitialized: it has no shape yet", who, tensors[i].name);
    LUC_TRY(luc__tensor_alias(ctx, tensors[i].tensor, &list->tensors[i].tensor));
  }
  return LUC_OK;
}

static void drop_items(luc_context *ctx, items *list) {
  for (int i = 0; list->tensors && i < list->ntensors; i++)
    luc_tensor_release(ctx, list->tensors[i].tensor);
  luc__free(ctx, list->tensors, (size_t)list->ntensors * sizeof *list->tensors + 1);
  luc__free(ctx, list->texts, (size_t)list->ntexts * sizeof *list->texts + 1);
}

luc_status luc_safetensors_save_to(luc_context *ctx, const luc_target *to,
                                   const luc_named_tensor *tensors, int n,
                                   const luc_named_text *metadata, int nmetadata) {
  luc_text header;
  luc_writer writer = {.ctx = ctx};
  luc_status status;
  LUC_NEED(ctx, to && (metadata || nmetadata <= 0));
  LUC_CHECK(ctx, n >= 0 && nmetadata >= 0, LUC_ERR_VALUE, "%s: there are no %d tensors, %d texts",
            who, n, nmetadata);
  items list = {.ntensors = n, .ntexts = nmetadata};
  luc__text_init(&header, ctx);
  LUC_GO(copy_items(ctx, &list, tensors, metadata));
  LUC_GO(check_items(ctx, list.tensors, n));
  LUC_GO(check_texts(ctx, list.texts, nmetadata));
  if (n) qsort(list.tensors, (size_t)n, sizeof *list.tensors, by_alignment);
  put_header(&header, list.tensors, n, list.texts, nmetadata);
  LUC_GO(header.status);
  LUC_GO(luc__writer_open(ctx, who, to, &writer));
  LUC_GO(write_all(ctx, &writer, &header, list.tensors, n));
done:
  luc__writer_close(&writer);
  luc__text_drop(&header);
  drop_items(ctx, &list);
  if (status != LUC_OK) luc__io_one_line(ctx);
  return status;
}

luc_status luc_safetensors_save(luc_context *ctx, const char *path, const luc_named_tensor *tensors,
                                int n, const luc_named_text *metadata, int nmetadata) {
  return luc_safetensors_save_to(ctx, &(luc_target){.path = path}, tensors, n, metadata, nmetadata);
}
