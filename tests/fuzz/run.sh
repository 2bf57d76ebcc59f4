#!/bin/sh
# Fuzzes each reader for so many seconds: tests/fuzz/fuzz_*.c and src/io, by clang with libFuzzer,
# ASan and UBSan, over the core as `make build` made it (its kernels are for GCC). What is found
# stays in build/fuzz/NAME, where the next run begins, besides recorded files.
set -e
seconds=${1:-60}
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  folder=build/fuzz/$name
  mkdir -p "$folder"
  clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    -Isrc -Isrc/include -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -DLUCERNA_PNG=1 \
    "$source" src/io/*.c build/liblucerna.a -lpng -lz -lm -lpthread -ldl \
    -o "build/fuzz/$name.run"
  seeds=
  case $name in
    fuzz_checkpoint) seeds=$(ls tests/parity/data/checkpoint_*.pt) ;;
  esac
  mkdir -p "build/fuzz/$name.seeds"
  [ -z "$seeds" ] || cp $seeds "build/fuzz/$name.seeds"
  "build/fuzz/$name.run" -max_total_time="$seconds" -timeout=2 -rss_limit_mb=600 -max_len=16384 \
    -dict="tests/fuzz/$name.dict" -artifact_prefix="build/fuzz/" -print_final_stats=1 \
    "$folder" "build/fuzz/$name.seeds"
done
