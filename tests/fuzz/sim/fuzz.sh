#!/bin/sh
# Fuzzes the ELF reader and the chip: fuzz.sh [SECONDS] [WORKDIR]. Needs clang-19 (its libstdc++ 12 has std::expected there).
set -e
seconds=${1:-600}
work=${2:-/tmp/tessera-fuzz}
root=$(cd "$(dirname "$0")/../../.." && pwd)
mkdir -p "$work/corpus"
for name in mips dma hyper sync micro; do
  riscv64-unknown-elf-gcc -march=rv32imfc -mabi=ilp32f -O2 -g -ffreestanding -nostdlib -mno-relax -DNC=2 -DITER=5 \
    "$root"/tests/platform/src/crt0.S "$root"/tests/platform/src/fc_main.c "$root"/tests/platform/src/$name.c \
    -T "$root"/tests/platform/src/link.ld -o "$work/corpus/$name.elf" 2>/dev/null
done
clang++-19 -std=c++23 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DTESSERA_ROOT="\"$root\"" \
  -I"$root/src" -I"$root/tests" "$root"/src/base/units.cpp "$root"/src/target/*.cpp "$root"/src/memory/*.cpp "$root"/src/sim/*.cpp \
  "$root"/tests/fuzz/sim/fuzz_elf.cpp "$root"/tests/fuzz/sim/libfuzzer.cc -lfmt -lyaml-cpp -o "$work/fuzz_elf"
cd "$work"
exec "$work/fuzz_elf" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=4096 "$work/corpus"
