/* The index of a model in several safetensors files (model.safetensors.index.json): which tensor is
 * in which file. Files are named by plain names, which stand beside the index and nowhere else. */
#include <string.h>

#include "base/array.h"
#include "io/json.h"
#include "io/safetensors.h"

static const char who[] = "safetensors index";

/* No folder, no drive, nothing hidden: only letters that stay where they are. */
static bool is_plain(const char *name) {
  bool plain = *name && *name != '.' && strlen(name) < 256;
  for (const char *c = name; *c; c++)
    plain = plain && *c != '/' && *c != '\\' && *c != ':' && (unsigned char)*c >= 0x20;
  return plain;
}

static luc_status add(luc_shards *s, const char *name, const char *file) {
  LUC_CHECK(s->ctx, is_plain(file), LUC_ERR_IO,
            "%s: '%.200s' is no plain name of a file (of tensor '%.200s')", who, file, name);
  void *items = luc__with_room(s->ctx, s->items, s->n, &s->capacity, sizeof *s->items);
  if (!items) return LUC_ERR_MEMORY;
  s->items = items;
  s->items[s->n++] = (luc_named_text){name, file};
  return LUC_OK;
}

static luc_status parse_map(luc_shards *s, luc_json *json) {
  LUC_TRY(luc__json_expect(json, '{'));
  if (luc__json_accept(json, '}')) return LUC_OK;
  do {
    const char *name, *file;
    LUC_TRY(luc__json_string(json, &name));
    LUC_TRY(luc__json_expect(json, ':'));
    LUC_TRY(luc__json_string(json, &file));
    LUC_TRY(add(s, name, file));
  } while (luc__json_accept(json, ','));
  return luc__json_expect(json, '}');
}

static luc_status parse(luc_shards *s) {
  luc_json json = {s->ctx, who, s->text, s->text, s->text + s->size};
  bool seen = false;
  LUC_TRY(luc__json_expect(&json, '{'));
  do {
    const char *key;
    LUC_TRY(luc__json_string(&json, &key));
    LUC_TRY(luc__json_expect(&json, ':'));
    bool map = !strcmp(key, "weight_map");
    if (map && seen) return luc__json_fail(&json, "weight_map only once");
    seen |= map;
    LUC_TRY(map ? parse_map(s, &json) : luc__json_skip(&json));
  } while (luc__json_accept(&json, ','));
  LUC_TRY(luc__json_expect(&json, '}'));
  luc__json_accept(&json, '\0'); /* skips spaces */
  if (json.at < json.end) return luc__json_fail(&json, "the end");
  return seen ? LUC_OK : luc__json_fail(&json, "a weight_map");
}

luc_status luc__shards_read(const luc_input *input, luc_shards *s) {
  *s = (luc_shards){.ctx = input->ctx};
  LUC_CHECK(s->ctx, input->size <= LUC_SAFETENSORS_HEADER, LUC_ERR_IO, "%s: it is too large", who);
  s->text = luc__alloc(s->ctx, (size_t)input->size + 1);
  if (!s->text) return LUC_ERR_MEMORY;
  s->size = (size_t)input->size;
  LUC_TRY(luc__input_read(input, 0, s->text, s->size));
  LUC_TRY(parse(s));
  return luc__sort_texts(s->ctx, s->items, s->n, LUC_ERR_IO, "safetensors index: tensor");
}

void luc__shards_free(luc_shards *s) {
  luc__free(s->ctx, s->items, s->capacity * sizeof *s->items);
  if (s->text) luc__free(s->ctx, s->text, s->size + 1);
}
