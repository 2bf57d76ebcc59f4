/* Inside safetensors: an open file, whose header was read and checked whole, and what its reader
 * and writer share. */
#ifndef LUC_SAFETENSORS_H
#define LUC_SAFETENSORS_H

#include "io/file.h"
#include "tensor/tensor.h"

enum { LUC_SAFETENSORS_HEADER = 100000000 }; /* bytes of the longest header */

typedef struct luc_safetensors_entry {
  const char *name;
  luc_dtype dtype;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  int64_t begin, end; /* of its bytes, from the data's beginning on */
} luc_safetensors_entry;

typedef struct luc_safetensors {
  luc_context *ctx;
  luc_input input;
  char *header; /* which the names and texts point into */
  size_t header_size;
  luc_safetensors_entry *entries; /* in the order of the data */
  size_t n, capacity;
  luc_named_text *metadata; /* sorted by name */
  int nmetadata;
  size_t metadata_capacity;
  uint64_t data; /* where the data begin */
  int64_t data_size;
} luc_safetensors;

/* Takes the input over, also when it fails. Bytes in memory must stay where they are. */
luc_status luc__safetensors_open(luc_input input, luc_safetensors **out);
void luc__safetensors_close(luc_safetensors *file);
/* A tensor of its own. map: over the file's pages where that can be, see luc__input_map. */
luc_status luc__safetensors_read(const luc_safetensors *file, const luc_safetensors_entry *entry,
                                 bool map, luc_tensor **out);
/* The elements that the offset, sizes and strides of `view` select, which lie inside the entry.
 * Only they are read. */
luc_status luc__safetensors_slice(const luc_safetensors *file, const luc_safetensors_entry *entry,
                                  const luc_tensor *view, luc_tensor **out);

/* Which tensor is in which file, by name; texts point into the text. */
typedef struct luc_shards {
  luc_context *ctx;
  char *text;
  size_t size;
  luc_named_text *items;
  size_t n, capacity;
} luc_shards;

/* Reads an index; free it in any case. */
luc_status luc__shards_read(const luc_input *input, luc_shards *shards);
void luc__shards_free(luc_shards *shards);

/* ORDER DTYPE */
extern const char *const luc__safetensors_codes[LUC_NUM_DTYPES];
/* Sorts texts by name; no name may stand twice: "what 'name' appears twice". */
luc_status luc__sort_texts(luc_context *ctx, luc_named_text *texts, size_t n, luc_status failure,
                           const char *what);

#endif
