/* What a checkpoint holds, as data: numbers, texts, lists, dictionaries, tensors, which may be
 * shared and form cycles. The pickle reader makes one of a file, the writer a file of one. All of
 * it lives in the document's own memory, counted against a limit, and is freed at once. */
#ifndef LUC_DOCUMENT_H
#define LUC_DOCUMENT_H

#include "base/map.h"
#include "io/zip.h"
#include "tensor/tensor.h"

/* ORDER ITEM */
typedef enum luc_item_kind {
  LUC_ITEM_NONE,
  LUC_ITEM_BOOL,
  LUC_ITEM_INT,
  LUC_ITEM_FLOAT,
  LUC_ITEM_BIG, /* an integer of more than 64 bits: its little-endian bytes */
  LUC_ITEM_TEXT,
  LUC_ITEM_BYTES,
  LUC_ITEM_DTYPE,
  LUC_ITEM_OBJECT,
  /* only while a pickle is read: */
  LUC_ITEM_STORAGE,
  LUC_ITEM_GLOBAL,
  LUC_ITEM_MARK
} luc_item_kind;

typedef enum luc_object_kind {
  LUC_OBJECT_LIST,
  LUC_OBJECT_TUPLE,
  LUC_OBJECT_SET,
  LUC_OBJECT_DICT, /* keys and values in turn */
  LUC_OBJECT_TENSOR
} luc_object_kind;

typedef struct luc_blob {
  size_t n;
  char bytes[]; /* and a NUL */
} luc_blob;

typedef struct luc_object luc_object;
typedef struct luc_stored luc_stored;

typedef struct luc_item {
  uint8_t kind;  /* luc_item_kind */
  uint8_t role;  /* of a global: what it makes */
  int16_t dtype; /* of a dtype, or of a global */
  union {
    int64_t i; /* BOOL, INT */
    double f;
    const luc_blob *blob; /* BIG, TEXT, BYTES */
    luc_object *object;
    luc_stored *stored;
  } as;
} luc_item;

/* The bytes of a storage in a file, or of a live one. */
struct luc_stored {
  const char *key;
  int16_t dtype; /* LUC_NUM_DTYPES: none, it counts bytes */
  uint64_t count, nbytes;
  uint64_t number;   /* writing: its place in the file, which is its name there */
  bool described;    /* reading: a persistent id has named it */
  bool placed;       /* legacy: its place in the file is known */
  uint64_t offset;   /* legacy: … this */
  luc_tensor *base;  /* once read: one dimension over all of it */
  luc_storage *live; /* writing: a reference, since the host's function may drop the tensor */
  luc_stored *next;
};

typedef struct luc_geometry {
  luc_stored *stored;
  uint8_t dtype, ndim;
  bool requires_grad, parameter;
  bool conjugate, negative; /* PyTorch's lazy bits: the storage holds other numbers */
  int64_t offset, sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  luc_tensor *made; /* a reference of the document's */
  luc_object *next; /* the tensor made before */
} luc_geometry;

struct luc_object {
  uint8_t kind; /* luc_object_kind */
  bool ordered; /* a dictionary that is an OrderedDict */
  uint32_t id;  /* for who converts or writes it; 0 to begin with */
  luc_object *queue;
  luc_item *items; /* n of them; a tensor has its geometry instead */
  size_t n, capacity;
  luc_item metadata; /* of an OrderedDict */
  luc_geometry *geometry;
};

typedef struct luc_document {
  luc_context *ctx;
  const char *who; /* begins the messages */
  struct luc_chunk *chunks;
  uint64_t used, limit; /* bytes of items; of the data too if max_bytes was given */
  bool limit_given;
  luc_map by_key; /* storages (reading: by key; writing: by address), tensors (by address) */
  luc_stored *first_stored, *last_stored;
  size_t num_stored;
  luc_object *tensors; /* those that hold a reference */
  luc_input input;     /* where storages are */
  luc_zip zip;         /* unless it is the legacy format */
  char root_name[256];
  bool zipped, swapped;
  luc_item root;
} luc_document;

void luc__document_init(luc_document *doc, luc_context *ctx, const char *who);
void luc__document_free(luc_document *doc);
/* Counts bytes against the limit. */
luc_status luc__document_charge(luc_document *doc, uint64_t bytes);
/* Memory that lives as long as the document. */
luc_status luc__document_alloc(luc_document *doc, size_t size, void **out);
luc_status luc__blob_new(luc_document *doc, const void *bytes, size_t n, luc_blob **out);
/* A text item; of bytes that are not UTF-8, a bytes item. */
luc_status luc__item_text(luc_document *doc, const char *bytes, size_t n, luc_item *out);
luc_status luc__object_new(luc_document *doc, luc_object_kind kind, luc_object **out);
luc_status luc__object_push(luc_document *doc, luc_object *node, luc_item item);
/* A tensor's node, whose geometry is to be filled in. */
luc_status luc__object_tensor(luc_document *doc, luc_object **out);
/* The storage of that key, new if there is none (*out is then zeroed but for the key). */
luc_status luc__document_stored(luc_document *doc, const char *key, size_t n, luc_stored **out);
/* For writing: the node of a live tensor, the same each time. */
luc_status luc__document_live(luc_document *doc, luc_tensor *t, luc_object **out);
/* For reading: the tensor of a node, made when first asked for; borrowed from the document. */
luc_status luc__document_tensor(luc_document *doc, luc_object *node, luc_tensor **out);

static inline luc_item luc__item_object(luc_object *node) {
  return (luc_item){.kind = LUC_ITEM_OBJECT, .as = {.object = node}};
}
static inline luc_item luc__item_int(int64_t i) {
  return (luc_item){.kind = LUC_ITEM_INT, .as = {.i = i}};
}
static inline bool luc__item_is(const luc_item *item, luc_object_kind kind) {
  return item->kind == LUC_ITEM_OBJECT && item->as.object->kind == kind;
}
/* The value of a text key of a dictionary, or NULL. */
const luc_item *luc__object_get(const luc_object *dict, const char *key);
/* "a tuple", for messages. */
const char *luc__item_name(const luc_item *item);

/* Reads a checkpoint's structure: doc->root, storages still in the source, which the document takes
 * over (it must be opened; it is closed with the document). max_bytes 0: no limit given. */
luc_status luc__document_read(luc_document *doc, luc_input source, uint64_t max_bytes);
/* Writes doc->root to a file. */
luc_status luc__document_write(luc_document *doc, const luc_target *to);

/* ---- pickle.c, pickle_write.c ---- */

/* Reads one pickle that begins at *offset of the source, which is moved behind it. legacy: storages
 * have a sixth item. */
luc_status luc__pickle_read(luc_document *doc, const luc_input *source, uint64_t *offset,
                            bool legacy, luc_item *out);
luc_status luc__pickle_write(luc_document *doc, luc_text *out);

#endif
