/* IDX, the format of MNIST: two zero bytes, a type, a rank, big-endian sizes, big-endian data.
 * Everything is checked against what the file can hold before memory is asked for. */
#include "io/readers.h"
#include "tensor/tensor.h"

static bool idx_dtype(unsigned char code, luc_dtype *dtype) {
  static const struct {
    unsigned char code;
    luc_dtype dtype;
  } types[] = {{0x08, LUC_UINT8}, {0x09, LUC_INT8},    {0x0b, LUC_INT16},
               {0x0c, LUC_INT32}, {0x0d, LUC_FLOAT32}, {0x0e, LUC_FLOAT64}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].code == code) {
      *dtype = types[i].dtype;
      return true;
    }
  return false;
}

static uint32_t big_endian(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static luc_status read_header(luc_context *ctx, luc_reader *reader, luc_dtype *dtype, int *ndim,
                              int64_t *sizes) {
  unsigned char head[4], size[4];
  LUC_TRY(luc__reader_read(reader, head, 4));
  LUC_CHECK(ctx, !head[0] && !head[1] && idx_dtype(head[2], dtype), LUC_ERR_IO,
            "idx: not an IDX file (it begins with %02x %02x %02x %02x)", head[0], head[1], head[2],
            head[3]);
  LUC_CHECK(ctx, head[3] <= LUC_MAX_DIMS, LUC_ERR_IO, "idx: %d dimensions, at most %d are possible",
            head[3], LUC_MAX_DIMS);
  *ndim = head[3];
  uint64_t bound = luc__reader_bound(reader), numel = 1, header = 4 * (uint64_t)head[3];
  bound = bound < header ? 0 : (bound - header) / luc__dtype_size(*dtype);
  for (int d = 0; d < *ndim; d++) {
    LUC_TRY(luc__reader_read(reader, size, 4));
    sizes[d] = big_endian(size);
    LUC_CHECK(ctx, !sizes[d] || numel <= bound / (uint64_t)sizes[d], LUC_ERR_IO,
              "idx: the file declares more data than it can hold");
    numel *= (uint64_t)sizes[d];
  }
  return LUC_OK;
}

luc_status luc__idx_read(luc_input input, luc_tensor **out) {
  luc_context *ctx = input.ctx;
  luc_reader *reader;
  luc_tensor *t = NULL;
  luc_dtype dtype = LUC_UINT8;
  int ndim = 0;
  int64_t sizes[LUC_MAX_DIMS];
  luc_status status;
  *out = NULL;
  LUC_TRY(luc__reader_open(input, &reader));
  LUC_GO(read_header(ctx, reader, &dtype, &ndim, sizes));
  LUC_GO(luc__tensor_empty(ctx, dtype, ndim, sizes, &t));
  LUC_GO(luc__reader_read(reader, t->data, (size_t)t->numel * luc__dtype_size(dtype)));
  LUC_GO(luc__reader_finish(reader));
  if (luc__is_little_endian()) luc__swap_elements(t->data, (size_t)t->numel, dtype);
  *out = t;
  t = NULL;
done:
  luc_tensor_release(ctx, t);
  luc__reader_close(ctx, reader);
  return status;
}

luc_status luc_idx_load(luc_context *ctx, const char *path, luc_tensor **out) {
  luc_input input;
  LUC_PLACE(ctx, out);
  LUC_TRY(luc__input_open(ctx, "idx", path, &input));
  return luc__idx_read(input, out);
}
