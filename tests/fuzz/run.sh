#!/bin/sh
# Fuzzes readers for so many seconds each: run.sh SECONDS [READER ...], four at once for each core.
# tests/fuzz/fuzz_*.c and src/io, by clang with libFuzzer, ASan and UBSan, over the core as
# `make build` made it. What is found stays in build/fuzz, where the next
# run begins, besides seeds. An input of some seconds (of a busy machine; by itself none takes one)
# or of 256 MB, or one that leaks, is a failure.
# FUZZ_RUNS=n: so many inputs each, however long it takes.
set -e
seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- checkpoint safetensors npy npz png csv idx
limit="-max_total_time=$seconds"
[ -z "$FUZZ_RUNS" ] || limit="-runs=$FUZZ_RUNS"
folder=build/fuzz
mkdir -p $folder/objects
${LUA:-lua5.4} tests/fuzz/seeds.lua $folder

flags="-g -O1 -fno-sanitize-recover=undefined -Isrc -Isrc/include"
flags="$flags -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -DLUCERNA_PNG=1"
(cd $folder/objects && ls ../../../src/io/*.c | xargs -n 1 -P "$(nproc)" \
  clang $flags -I../../../src -I../../../src/include -fsanitize=fuzzer-no-link,address,undefined -c)

one() {
  mkdir -p "$folder/$1"
  clang $flags -fsanitize=fuzzer,address,undefined "tests/fuzz/fuzz_$1.c" $folder/objects/*.o \
    build/liblucerna.a -lpng -lz -lm -lpthread -ldl -o "$folder/$1.run"
  log="$folder/$1.log"
  "$folder/$1.run" "$limit" -timeout=5 -rss_limit_mb=600 -malloc_limit_mb=256 -max_len=2048 \
    -dict="tests/fuzz/$1.dict" -artifact_prefix="$folder/$1-" -print_final_stats=1 \
    "$folder/$1" "$folder/$1.seeds" >"$log" 2>&1 || { tail -40 "$log"; return 1; }
  echo "$1: $(sed -n 's/^Done \([0-9]* runs\).*/\1/p' "$log"), no finding"
}

failed=0
while [ $# -gt 0 ]; do
  running=
  for _ in $(seq "$(($(nproc) * 4))"); do
    [ $# -gt 0 ] || break
    one "$1" &
    running="$running $!"
    shift
  done
  for pid in $running; do wait "$pid" || failed=1; done
done
exit $failed
