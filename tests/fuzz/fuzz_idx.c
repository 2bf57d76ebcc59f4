/* libFuzzer's harness for IDX files, gzipped or not. */
#include "fuzz.h"
#include "io/readers.h"

FUZZ_READER("idx_load", luc__idx_read(input, &t))
