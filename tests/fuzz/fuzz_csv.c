/* libFuzzer's harness for CSV files; the first byte chooses the options. */
#include "fuzz.h"
#include "io/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  luc_context *ctx = fuzz_begin();
  static const luc_dtype dtypes[] = {LUC_FLOAT32, LUC_FLOAT64, LUC_INT64, LUC_UINT8};
  static const int64_t columns[] = {1, 0};
  const luc_scalar fill = {.kind = LUC_SCALAR_FLOAT, .as = {.f = 0}};
  luc_csv_options options = {.delimiter = data[0] & 1 ? ',' : ';',
                             .header = data[0] & 2,
                             .only_header = (data[0] & 6) == 6,
                             .dtype = dtypes[data[0] >> 3 & 3],
                             .fill = data[0] & 32 ? &fill : NULL,
                             .columns = data[0] & 64 ? columns : NULL,
                             .ncolumns = data[0] & 64 ? 2 : 0};
  luc_text names = {.ctx = ctx};
  luc_tensor *t = NULL;
  luc_input input = luc__input_memory(ctx, "load_csv", data + 1, size - 1);
  if (luc__csv_read(input, &options, &names, &t) == LUC_OK) luc_tensor_release(ctx, t);
  luc__text_drop(&names);
  return fuzz_end();
}
