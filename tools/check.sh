#!/usr/bin/env bash
# `make check`: ruff over the Python files that differ from main (new ones too), pyright over those in src, and the tests
# that are quick. check.sh PROGRAMS, the folder of the virtual environment's programs.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$1

base=$(git merge-base HEAD main 2> /dev/null || git merge-base HEAD origin/main 2> /dev/null || git rev-parse HEAD)
mapfile -t changed < <({
  git diff --name-only --diff-filter=d "$base" -- '*.py'
  git ls-files --others --exclude-standard -- '*.py'
} | sort -u)
if [ ${#changed[@]} -gt 0 ]; then
  "$bin/ruff" check "${changed[@]}"
  "$bin/ruff" format --check "${changed[@]}"
  mapfile -t source < <(printf '%s\n' "${changed[@]}" | grep '^src/' || true)
  [ ${#source[@]} -eq 0 ] || "$bin/pyright" "${source[@]}"
fi
"$bin/python" -m pytest -n auto -m "not (lab or validator or browser or scale or slow)"
