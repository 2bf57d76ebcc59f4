/* Checkpoints as files: PyTorch's zip archives and the format before them, read and written, and
 * the C API over state dicts. Sources: torch/serialization.py and its zip reader. */
#include <stdio.h>
#include <string.h>

#include "io/document.h"
#include "io/json.h"
#include "lucerna/io.h"
#include "nn/module.h"

/* What the objects of a file may take beyond what its size explains: repeated small ones. */
static const uint64_t base_limit = (uint64_t)64 << 20;
enum { LIMIT_PER_BYTE = 32, SMALL = 64, LEGACY_PROTOCOL = 1001 };

/* ---- zip archives ---- */

static const luc_zip_entry *find_record(luc_document *doc, const char *name) {
  char path[sizeof doc->root_name + 32];
  snprintf(path, sizeof path, "%s/%s", doc->root_name, name);
  return luc__zip_find(&doc->zip, path);
}

/* A small record as a text; *there is false if the archive lacks it. */
static luc_status read_small(luc_document *doc, const char *name, char *out, bool *there) {
  const luc_zip_entry *e = find_record(doc, name);
  *there = e != NULL;
  if (!e) return LUC_OK;
  LUC_CHECK(doc->ctx, e->size < SMALL, LUC_ERR_IO, "%s: its record '%s' is too long", doc->who,
            name);
  out[e->size] = '\0';
  return luc__zip_read(&doc->zip, e, out);
}

static luc_status check_records(luc_document *doc) {
  char text[SMALL];
  bool there;
  int version;
  LUC_CHECK(doc->ctx, !find_record(doc, "constants.pkl"), LUC_ERR_SUPPORT,
            "%s: the file is a TorchScript program, which is never executed; save "
            "model.state_dict() in PyTorch and load that",
            doc->who);
  LUC_TRY(read_small(doc, "version", text, &there));
  if (!there) LUC_TRY(read_small(doc, ".data/version", text, &there));
  bool known = there && sscanf(text, "%d", &version) == 1 && version >= 1 && version <= 10;
  LUC_CHECK(doc->ctx, known, LUC_ERR_IO, "%s: its version is missing or not known", doc->who);
  LUC_TRY(read_small(doc, "byteorder", text, &there));
  bool big = there && !strcmp(text, "big");
  LUC_CHECK(doc->ctx, big || !there || !strcmp(text, "little"), LUC_ERR_IO,
            "%s: its byte order is not known", doc->who);
  doc->swapped = big == luc__is_little_endian();
  return LUC_OK;
}

static luc_status read_zip(luc_document *doc) {
  LUC_TRY(luc__zip_open(&doc->input, &doc->zip));
  doc->zipped = true;
  size_t n = strcspn(doc->zip.first, "/");
  LUC_CHECK(doc->ctx, n < sizeof doc->root_name, LUC_ERR_IO, "%s: its folder's name is too long",
            doc->who);
  memcpy(doc->root_name, doc->zip.first, n);
  const luc_zip_entry *e = find_record(doc, "data.pkl");
  LUC_CHECK(doc->ctx, e, LUC_ERR_IO, "%s: the zip archive is no checkpoint (it has no data.pkl)",
            doc->who);
  LUC_TRY(check_records(doc));
  void *bytes;
  uint64_t offset = 0;
  LUC_TRY(luc__document_alloc(doc, (size_t)e->size, &bytes));
  LUC_TRY(luc__zip_read(&doc->zip, e, bytes));
  luc_input pickle = luc__input_memory(doc->ctx, doc->who, bytes, (size_t)e->size);
  return luc__pickle_read(doc, &pickle, &offset, false, &doc->root);
}

/* ---- the format before it: pickles one after another, then the storages' bytes ---- */

static bool is_magic(const luc_item *item) {
  static const char magic[] = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  return item->kind == LUC_ITEM_BIG && item->as.blob->n == 10 &&
         !memcmp(item->as.blob->bytes, magic, 10);
}

static luc_status read_preface(luc_document *doc, uint64_t *at) {
  luc_item magic, protocol, system;
  unsigned char first = 0;
  if (doc->input.size > 0) LUC_TRY(luc__input_read(&doc->input, 0, &first, 1));
  LUC_CHECK(doc->ctx, first == 0x80, LUC_ERR_IO, "%s: not a file that torch.save wrote", doc->who);
  LUC_TRY(luc__pickle_read(doc, &doc->input, at, true, &magic));
  LUC_CHECK(doc->ctx, is_magic(&magic), LUC_ERR_IO,
            "%s: a plain pickle, not a file that torch.save wrote", doc->who);
  LUC_TRY(luc__pickle_read(doc, &doc->input, at, true, &protocol));
  LUC_CHECK(doc->ctx, protocol.kind == LUC_ITEM_INT && protocol.as.i == LEGACY_PROTOCOL, LUC_ERR_IO,
            "%s: its protocol is not known", doc->who);
  LUC_TRY(luc__pickle_read(doc, &doc->input, at, true, &system));
  const luc_item *little = luc__item_is(&system, LUC_OBJECT_DICT)
                               ? luc__object_get(system.as.object, "little_endian")
                               : NULL;
  LUC_CHECK(doc->ctx, little && little->kind == LUC_ITEM_BOOL, LUC_ERR_IO,
            "%s: its byte order is not known", doc->who);
  doc->swapped = (little->as.i == 0) == luc__is_little_endian();
  return LUC_OK;
}

/* A storage's count of elements, then its bytes, which stay where they are. */
static luc_status place(luc_document *doc, const luc_item *key, uint64_t *at) {
  unsigned char raw[8];
  uint64_t count = 0;
  bool text = key->kind == LUC_ITEM_TEXT;
  luc_map_entry *e =
      text ? luc__map_find(&doc->by_key, key->as.blob->bytes, key->as.blob->n) : NULL;
  luc_stored *s = e ? e->value : NULL;
  LUC_TRY(luc__input_read(&doc->input, *at, raw, 8));
  for (int i = 7; i >= 0; i--) count = count << 8 | raw[doc->swapped ? 7 - i : i];
  bool fits = s && !s->placed && count == s->count && s->nbytes <= doc->input.size - *at - 8;
  LUC_CHECK(doc->ctx, fits, LUC_ERR_IO, "%s: the data of a storage are missing or too short",
            doc->who);
  s->placed = true;
  s->offset = *at + 8;
  *at = s->offset + s->nbytes;
  return LUC_OK;
}

static luc_status read_legacy(luc_document *doc) {
  uint64_t at = 0;
  luc_item keys;
  LUC_TRY(read_preface(doc, &at));
  LUC_TRY(luc__pickle_read(doc, &doc->input, &at, true, &doc->root));
  LUC_TRY(luc__pickle_read(doc, &doc->input, &at, true, &keys));
  LUC_CHECK(doc->ctx, luc__item_is(&keys, LUC_OBJECT_LIST), LUC_ERR_IO,
            "%s: it has no list of storages", doc->who);
  for (size_t i = 0; i < keys.as.object->n; i++)
    LUC_TRY(place(doc, &keys.as.object->items[i], &at));
  return LUC_OK;
}

luc_status luc__document_read(luc_document *doc, luc_input source, uint64_t max_bytes) {
  char first[4] = {0};
  doc->input = source;
  doc->limit_given = max_bytes > 0;
  uint64_t most = (UINT64_MAX - base_limit) / LIMIT_PER_BYTE;
  doc->limit = max_bytes > 0
                   ? max_bytes
                   : base_limit + LIMIT_PER_BYTE * (source.size < most ? source.size : most);
  if (source.size >= 4) LUC_TRY(luc__input_read(&doc->input, 0, first, 4));
  return memcmp(first, "PK\3\4", 4) == 0 ? read_zip(doc) : read_legacy(doc);
}

/* ---- writing ---- */

/* The file's name without folders and its last extension: the folder in the archive. */
static void name_root(luc_document *doc, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  size_t n = dot && dot != name ? (size_t)(dot - name) : strlen(name);
  bool fits = n > 0 && n < sizeof doc->root_name;
  if (fits) memcpy(doc->root_name, name, n);
  doc->root_name[fits ? n : 0] = '\0';
  if (!fits || !luc__utf8_valid(doc->root_name))
    snprintf(doc->root_name, sizeof doc->root_name, "archive");
}

static luc_status add_record(luc_document *doc, luc_zip_writer *zip, const char *name,
                             const void *bytes, size_t n) {
  char path[sizeof doc->root_name + 64];
  snprintf(path, sizeof path, "%s/%s", doc->root_name, name);
  return luc__zip_add(zip, path, bytes, n);
}

/* The records in the order of torch.save. */
static luc_status write_records(luc_document *doc, luc_zip_writer *zip, const luc_text *pickle) {
  const char *order = luc__is_little_endian() ? "little" : "big";
  LUC_TRY(add_record(doc, zip, "data.pkl", pickle->data, pickle->length));
  LUC_TRY(add_record(doc, zip, ".format_version", "1", 1));
  LUC_TRY(add_record(doc, zip, ".storage_alignment", "64", 2));
  LUC_TRY(add_record(doc, zip, "byteorder", order, strlen(order)));
  for (luc_stored *s = doc->first_stored; s; s = s->next) {
    char name[40];
    snprintf(name, sizeof name, "data/%llu", (unsigned long long)s->number);
    LUC_TRY(add_record(doc, zip, name, s->live->data, s->nbytes));
  }
  LUC_TRY(add_record(doc, zip, "version", "3\n", 2));
  return luc__zip_finish(zip);
}

luc_status luc__document_write(luc_document *doc, const luc_target *to) {
  luc_text pickle;
  luc_writer writer = {.ctx = doc->ctx};
  luc_zip_writer zip;
  luc_status status;
  luc__text_init(&pickle, doc->ctx);
  luc__zip_writer_init(&zip, doc->ctx, &writer);
  name_root(doc, to->path ? to->path : "archive");
  LUC_GO(luc__pickle_write(doc, &pickle));
  LUC_GO(luc__writer_open(doc->ctx, doc->who, to, &writer));
  LUC_GO(write_records(doc, &zip, &pickle));
  LUC_GO(luc__writer_commit(&writer));
done:
  luc__writer_close(&writer);
  luc__zip_writer_drop(&zip);
  luc__text_drop(&pickle);
  if (status != LUC_OK) luc__io_one_line(doc->ctx);
  return status;
}

/* ---- state dicts for C ---- */

/* The versions in an OrderedDict's metadata: {prefix: {"version": n}}. */
static luc_status take_versions(luc_document *doc, const luc_item *metadata, luc_state_dict *sd) {
  if (!luc__item_is(metadata, LUC_OBJECT_DICT)) return LUC_OK;
  const luc_object *node = metadata->as.object;
  for (size_t i = 0; i + 1 < node->n; i += 2) {
    const luc_item *key = &node->items[i], *value = &node->items[i + 1];
    if (key->kind != LUC_ITEM_TEXT || !luc__item_is(value, LUC_OBJECT_DICT)) continue;
    const luc_item *version = luc__object_get(value->as.object, "version");
    bool fits = version && version->kind == LUC_ITEM_INT && version->as.i >= 0 &&
                version->as.i <= INT32_MAX;
    if (fits)
      LUC_TRY(luc_state_dict_set_version(doc->ctx, sd, key->as.blob->bytes, (int)version->as.i));
  }
  return LUC_OK;
}

static luc_status take_entries(luc_document *doc, luc_state_dict *sd) {
  LUC_CHECK(doc->ctx, luc__item_is(&doc->root, LUC_OBJECT_DICT), LUC_ERR_TYPE,
            "%s: expected a state dict (the file holds %s)", doc->who, luc__item_name(&doc->root));
  luc_object *root = doc->root.as.object;
  for (size_t i = 0; i + 1 < root->n; i += 2) {
    const luc_item *key = &root->items[i], *value = &root->items[i + 1];
    luc_tensor *t;
    LUC_CHECK(doc->ctx,
              key->kind == LUC_ITEM_TEXT && strlen(key->as.blob->bytes) == key->as.blob->n,
              LUC_ERR_TYPE, "%s: a state dict's names must be strings (one is %s)", doc->who,
              luc__item_name(key));
    const char *name = key->as.blob->bytes;
    if (value->kind == LUC_ITEM_NONE) continue;
    if (luc__item_is(value, LUC_OBJECT_TENSOR)) {
      LUC_TRY(luc__document_tensor(doc, value->as.object, &t));
      LUC_TRY(luc_state_dict_set(doc->ctx, sd, name, t));
    } else {
      LUC_TRY(luc_state_dict_set_other(doc->ctx, sd, name, luc__item_name(value)));
    }
  }
  return take_versions(doc, &root->metadata, sd);
}

static luc_status load_dict(luc_input source, luc_state_dict **out) {
  luc_context *ctx = source.ctx;
  luc_document doc;
  luc_status status;
  luc_state_dict *sd = NULL;
  luc__document_init(&doc, ctx, "load");
  LUC_GO(luc__document_read(&doc, source, 0));
  LUC_GO(luc_state_dict_new(ctx, &sd));
  LUC_GO(take_entries(&doc, sd));
  *out = sd;
  sd = NULL;
done:
  luc_state_dict_free(ctx, sd);
  luc__document_free(&doc);
  return status;
}

luc_status luc_load(luc_context *ctx, const char *path, luc_state_dict **out) {
  luc_input source;
  LUC_PLACE(ctx, out);
  LUC_TRY(luc__input_open(ctx, "load", path, &source));
  luc_status status = load_dict(source, out);
  return luc__name_path(ctx, status, "load", path);
}

luc_status luc_load_bytes(luc_context *ctx, const void *bytes, size_t n, luc_state_dict **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, bytes || n == 0);
  luc_status status = load_dict(luc__input_memory(ctx, "load", bytes, n), out);
  if (status != LUC_OK) luc__io_one_line(ctx);
  return status;
}

static luc_status push_pair(luc_document *doc, luc_object *dict, const char *name, luc_item value) {
  luc_item key;
  LUC_TRY(luc__item_text(doc, name, strlen(name), &key));
  LUC_TRY(luc__object_push(doc, dict, key));
  return luc__object_push(doc, dict, value);
}

static luc_status give_versions(luc_document *doc, const luc_state_dict *sd, luc_object *root) {
  luc_object *metadata;
  size_t n = luc_state_dict_num_versions(sd);
  if (n == 0) return LUC_OK;
  LUC_TRY(luc__object_new(doc, LUC_OBJECT_DICT, &metadata));
  metadata->ordered = true;
  root->metadata = luc__item_object(metadata);
  for (size_t i = 0; i < n; i++) {
    int version;
    luc_object *inner;
    const char *prefix = luc_state_dict_version_at(sd, i, &version);
    LUC_TRY(luc__object_new(doc, LUC_OBJECT_DICT, &inner));
    LUC_TRY(push_pair(doc, inner, "version", luc__item_int(version)));
    LUC_TRY(push_pair(doc, metadata, prefix, luc__item_object(inner)));
  }
  return LUC_OK;
}

static luc_status give_entries(luc_document *doc, const luc_state_dict *sd) {
  luc_map_entry *e;
  luc_object *root;
  LUC_TRY(luc__object_new(doc, LUC_OBJECT_DICT, &root));
  root->ordered = true;
  doc->root = luc__item_object(root);
  for (uint32_t at = 0; (e = luc__state_next(sd, &at)) != NULL;) {
    luc_object *node;
    LUC_CHECK(doc->ctx, e->value, LUC_ERR_TYPE, "%s: '%.200s' is no tensor", doc->who, e->key);
    LUC_TRY(luc__document_live(doc, e->value, &node));
    LUC_TRY(push_pair(doc, root, e->key, luc__item_object(node)));
  }
  return give_versions(doc, sd, root);
}

luc_status luc_save_to(luc_context *ctx, const luc_target *to, const luc_state_dict *sd) {
  luc_document doc;
  luc_status status;
  LUC_NEED(ctx, to && sd);
  luc__document_init(&doc, ctx, "save");
  LUC_GO(give_entries(&doc, sd));
  LUC_GO(luc__document_write(&doc, to));
done:
  luc__document_free(&doc);
  return status;
}

luc_status luc_save(luc_context *ctx, const char *path, const luc_state_dict *sd) {
  return luc_save_to(ctx, &(luc_target){.path = path}, sd);
}
