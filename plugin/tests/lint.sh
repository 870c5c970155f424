#!/usr/bin/env bash
# Compiles everything without output under each compiler that is there, warnings as errors; checks the format where
# clang-format is there.
set -euo pipefail
cd "$(dirname "$0")/.."
flags=(-std=gnu11 -fsyntax-only -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wno-format-truncation
  -Iinclude -Isrc -Ifake -Itests)
for compiler in gcc clang; do
  if ! command -v "$compiler" > /dev/null; then echo "plugin lint: $compiler is not installed: skipped"; continue; fi
  extra=()
  [ "$compiler" = clang ] && extra=(-Wno-unknown-warning-option)
  find src fake tests ping bench man -name '*.c' ! -name system_verbs.c -print0 |
    xargs -0 -n 4 -P 2 "$compiler" "${flags[@]}" "${extra[@]}"
  echo "plugin lint: $compiler finds nothing"
done
# Releases differ in what they call formatted: the check is of one.
if clang-format --version 2> /dev/null | grep -q 'version 14\.'; then
  find . -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run --Werror
  echo "plugin lint: formatted"
else
  echo "plugin lint: clang-format 14 is not installed: format not checked"
fi
