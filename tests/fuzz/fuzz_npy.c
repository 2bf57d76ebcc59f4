/* libFuzzer's harness for .npy files. */
#include "fuzz.h"
#include "io/readers.h"

FUZZ_READER("load", luc__npy_read(input, &t))
