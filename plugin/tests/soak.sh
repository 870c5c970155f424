#!/usr/bin/env bash
# Random faults, fixed seeds: 1,000 runs plain, 100 under AddressSanitizer with UBSan, 100 under ThreadSanitizer; every
# second job without weights.
# soak.sh SOURCE BUILD: builds beside BUILD. JOBS runs at once; short reroute times need some air between them.
set -euo pipefail
source=$1 build=$2 jobs=${JOBS:-4} cmake=${CMAKE:-cmake}
start=$SECONDS

variant() {  # name, sanitizers, first seed, runs, factor of times
  local dir=$build$1 failed=0 each=$((($4 + jobs - 1) / jobs)) pids=()
  "$cmake" -S "$source" -B "$dir" ${GENERATOR:+-G "$GENERATOR"} -DRAILWEAVE_SANITIZE="$2" > /dev/null
  "$cmake" --build "$dir" --parallel 2 --target harness nccl-net-railweave fakeverbs > /dev/null
  for ((j = 0; j < jobs; j++)); do
    (cd "$dir" && RAILWEAVE_NET_WEIGHTS=$((j % 2)) exec ./harness --soak $(($3 + j * each)),$each --slow "$5") & pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  [ $failed = 0 ] || { echo "soak: ${1:-plain} fails"; exit 1; }
  echo "soak: $((each * jobs)) runs ${2:-plain} pass ($((SECONDS - start)) s)"
}

export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1 TSAN_OPTIONS=halt_on_error=1
variant "" "" 0 1000 1
variant -asan address,undefined 0 100 3
variant -tsan thread 0 100 5
