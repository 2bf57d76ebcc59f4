/* NumPy's .npz: a zip archive whose entries are .npy files. An entry is unpacked whole, after its
 * size was checked against the archive's; its name is a key, never a path. */
#include <string.h>

#include "io/readers.h"
#include "io/zip.h"
#include "tensor/tensor.h"

static const char who[] = "npz";

struct luc_npz {
  luc_input input;
  luc_zip zip;
  uint64_t left; /* of max_bytes */
};

luc_status luc__npz_open(luc_input input, uint64_t max_bytes, luc_npz **out) {
  luc_npz *npz = luc__alloc_zero(input.ctx, sizeof *npz);
  *out = NULL;
  if (!npz) {
    luc__input_close(&input);
    return LUC_ERR_MEMORY;
  }
  npz->input = input;
  npz->left = max_bytes ? max_bytes : UINT64_MAX;
  luc_status status = luc__zip_open(&npz->input, &npz->zip);
  if (status == LUC_OK)
    *out = npz;
  else
    luc__npz_close(npz);
  return status;
}

void luc__npz_close(luc_npz *npz) {
  if (!npz) return;
  luc_context *ctx = npz->input.ctx;
  luc__zip_close(&npz->zip);
  luc__input_close(&npz->input);
  luc__free(ctx, npz, sizeof *npz);
}

size_t luc__npz_count(const luc_npz *npz) {
  return npz->zip.n;
}

const char *luc__npz_name(const luc_npz *npz, size_t i, size_t *n) {
  const luc_zip_entry *e = &npz->zip.entries[i];
  bool suffix = e->name_length > 4 && !strcmp(e->name + e->name_length - 4, ".npy");
  *n = e->name_length - (suffix ? 4 : 0);
  return suffix ? e->name : NULL;
}

static luc_status unpack(luc_npz *npz, const luc_zip_entry *e, void *bytes, luc_tensor **out) {
  LUC_TRY(luc__zip_read(&npz->zip, e, bytes));
  return luc__npy_read(luc__input_memory(npz->input.ctx, npz->input.who, bytes, (size_t)e->size),
                       out);
}

luc_status luc__npz_read(luc_npz *npz, size_t i, luc_tensor **out) {
  luc_context *ctx = npz->input.ctx;
  const luc_zip_entry *e = &npz->zip.entries[i];
  *out = NULL;
  LUC_CHECK(ctx, e->size <= npz->left && e->size < SIZE_MAX, LUC_ERR_MEMORY,
            "%s: the file needs more memory than max_bytes", npz->input.who);
  char *bytes = luc__alloc(ctx, (size_t)e->size + 1);
  if (!bytes) return LUC_ERR_MEMORY;
  luc_status status = unpack(npz, e, bytes, out);
  luc__free(ctx, bytes, (size_t)e->size + 1);
  if (status == LUC_OK) npz->left -= e->size;
  return status;
}

/* ---- writing ---- */

static luc_status add(luc_context *ctx, luc_zip_writer *zip, const luc_named_tensor *item,
                      bool deflated) {
  luc_text name, header;
  luc_tensor *plain = NULL;
  luc_status status;
  luc__text_init(&name, ctx);
  luc__text_init(&header, ctx);
  luc__text_printf(&name, "%s.npy", item->name);
  LUC_GO(name.status);
  LUC_GO(luc__plain_copy(ctx, who, item->tensor, &plain));
  LUC_GO(luc__npy_header(who, plain, &header));
  const luc_zip_part parts[] = {
      {header.data, header.length},
      {plain->data, (size_t)plain->numel * luc__dtype_size(plain->dtype)}};
  LUC_GO(luc__zip_add_parts(zip, name.data, parts, 2, deflated));
done:
  luc_tensor_release(ctx, plain);
  luc__text_drop(&header);
  luc__text_drop(&name);
  return status;
}

/* The tensors are held meanwhile: the host's function might drop them. */
static luc_tensor **hold(luc_context *ctx, const luc_named_tensor *items, int n) {
  luc_tensor **held = luc__alloc(ctx, (size_t)n * sizeof *held + 1);
  for (int i = 0; held && i < n; i++) held[i] = luc_tensor_retain(items[i].tensor);
  return held;
}

luc_status luc__npz_write(luc_context *ctx, const luc_target *to, const luc_named_tensor *items,
                          int n, bool deflated) {
  luc_writer writer = {.ctx = ctx};
  luc_zip_writer zip;
  luc_status status = LUC_ERR_MEMORY;
  luc_tensor **held = hold(ctx, items, n);
  luc__zip_writer_init(&zip, ctx, &writer);
  if (!held) goto done;
  LUC_GO(luc__writer_open(ctx, who, to, &writer));
  for (int i = 0; i < n; i++) LUC_GO(add(ctx, &zip, &items[i], deflated));
  LUC_GO(luc__zip_finish(&zip));
  LUC_GO(luc__writer_commit(&writer));
done:
  luc__writer_close(&writer);
  luc__zip_writer_drop(&zip);
  for (int i = 0; held && i < n; i++) luc_tensor_release(ctx, held[i]);
  luc__free(ctx, held, (size_t)n * sizeof *held + 1);
  return status;
}
