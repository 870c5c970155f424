#!/usr/bin/env bash
# NCCL's own core on 2 to 4 ranks over the plugin and fake verbs: loader, set-up, send and receive, all-to-all and ring all-reduce through NCCL's
# proxy with every byte checked, a path that dies and returns meanwhile, the end, and a rank that is killed.
#   run.sh BUILD NCCL_SOURCE...      checkouts of NVIDIA/nccl; each is built once, in BUILD/nccl-VERSION
# Before, the search and the cost model of NCCL 2.30 on 180 jobs against railweave's (choices.py).
# CUDA_WHEELS: the headers (build.sh); where unset, pip fetches them into BUILD/cuda. PYTHON: with railweave installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
skip() { echo "test-nccl: skipped: $1"; exit 0; }
[ $# -gt 0 ] || skip "no checkout of NVIDIA/nccl given: make test-nccl NCCL_SOURCE=DIRECTORY"
command -v g++ > /dev/null || skip "g++ is not installed"
wheels=${CUDA_WHEELS:-$build/cuda}
if [ ! -d "$wheels/nvidia/cuda_runtime" ]; then
  python3 -m pip install --quiet --require-hashes -r "$here/../../../requirements/cuda.lock" --target "$wheels" ||
    skip "the CUDA headers could not be had"
fi

# The GPU stands where some real PCI device is: NCCL looks its place up. Of a class that it knows, network or display.
device=
for one in /sys/bus/pci/devices/*; do
  case $(cat "$one/class" 2> /dev/null) in 0x02* | 0x03*) device=$(basename "$one") ;; esac
done
[ -n "$device" ] || skip "this machine has no PCI network or display device, in whose place the GPU could be"

fail() { echo "test-nccl: $1: $log"; tail -n 5 $log; exit 1; }  # $log: one for each rank
kernels='NCCL_ALGO=Ring NCCL_PROTO=Simple'  # those that kernel.cc knows
number() { sed -n "s/^NCCL_$1 *:= *//p" "$source/makefiles/version.mk"; }

ranks() {  # name, ranks, seconds, more
  local name=$1
  shift
  fabric=$(mktemp) log="$nccl/$name.*.log"
  rm -f $log
  "$build/fake-fabric" "$fabric" create 4 1 4
  env LD_LIBRARY_PATH="$nccl:$build" RAILWEAVE_FAKE_FABRIC="$fabric" NCCL_IBVERBS_LIB="$build/libfakeverbs.so" NCCL_SOCKET_IFNAME=lo \
    RAILWEAVE_NET_ANY_NAMESPACE=1 RAILWEAVE_NET_LOG=stderr RAILWEAVE_NET_HOST_FILE=/nonexistent NCCL_NET_PLUGIN=railweave NCCL_NET=railweave NCCL_DEBUG=INFO \
    NCCL_CUMEM_ENABLE=0 NCCL_CUMEM_HOST_ENABLE=0 NCCL_NVLS_ENABLE=0 NCCL_LOCAL_REGISTER=0 $kernels NCCL_P2P_LL_THRESHOLD=0 \
    STUB_BUSID="$device" RANK_LOGS="$nccl/$name" \
    timeout -k 5 180 "$nccl/ranks" "$@" &
  job=$!
}
said() { cat $log 2> /dev/null | grep -a -c "$1" || true; }  # pattern: in how many lines of all ranks
wait_for() {  # pattern, how often, seconds
  for _ in $(seq $(($3 * 10))); do [ "$(said "$1")" -ge "$2" ] && return; sleep 0.1; done
  fail "no $2 lines '$1'"
}
done_well() {  # what
  wait $job || fail "$1 fails"
  rm -f "$fabric" "$fabric".*
  echo "test-nccl: NCCL $version: $1"
}

for source in "$@"; do
  version=$(number MAJOR).$(number MINOR).$(number PATCH)
  case $version in 2.28.* | 2.29.* | 2.30.*) ;; *) echo "test-nccl: NCCL $version: skipped: its sources are not known to build without a GPU"; continue ;; esac
  nccl=$build/nccl-$version
  "$here/build.sh" "$source" "$wheels" "$nccl" > "$build/nccl-$version.log" 2>&1 || { log=$build/nccl-$version.log; fail "NCCL does not build"; }
  case $version in 2.28.*) ;; *)  # whose constants railweave has
    "${PYTHON:-python3}" "$here/choices.py" "$nccl/tuning" "$version" > "$nccl/choices.log" || { log=$nccl/choices.log; fail "railweave chooses otherwise"; }
    tail -n 1 "$nccl/choices.log" ;;
  esac
  ranks two 2 3
  done_well "2 ranks send, receive and add up, every byte right"
  for line in 'Loaded net plugin railweave' 'via NET/railweave/0' 'Connected all rings'; do
    grep -a -q "$line" $log || fail "no line '$line'"
  done
  ranks four 4 9
  wait_for 'first rounds right' 4 90
  "$build/fake-fabric" "$fabric" path 0:0 1:0 1 down
  wait_for 'is dead' 2 20
  "$build/fake-fabric" "$fabric" path 0:0 1:0 1 up
  wait_for 'is back' 1 20
  done_well "4 ranks, a path dies and returns, every byte right"
  ranks killed 3 60 abort
  done_well "a rank is killed, the others hear of it and abort"
  for n in 0 1; do
    grep -a -q 'rank 2) is gone' "$nccl/killed.$n.log" || fail "rank $n does not name the one that was killed"
    ! grep -a -q 'cables' "$nccl/killed.$n.log" || fail "rank $n is told to look at cables"
  done
  cat > "$nccl/tuner.json" << 'END'
{"schema": 1, "paths": 2, "rows": [
  {"collective": "all_reduce", "max_bytes": 100000, "algorithm": "ring", "protocol": "simple", "channels": 2},
  {"collective": "all_reduce", "max_bytes": 1e12, "algorithm": "tree", "protocol": "simple", "channels": 2}]}
END
  kernels=  # none runs from here on: all-reduces are only planned
  for force in 0 1; do
    export RAILWEAVE_NET_TUNER=$force RAILWEAVE_NET_TUNER_FILE=$nccl/tuner.json NCCL_DEBUG_SUBSYS=INIT,NET,TUNING
    ranks tuner 2 1 tune
    done_well "the tuner's table $([ $force = 1 ] && echo is followed || echo is only logged)"
    verb=$([ $force = 1 ] && echo chooses || echo 'would choose')
    [ "$(said "TUNER/railweave: $verb all_reduce")" = 4 ] || fail "not each rank says what the tuner $verb"
    # NCCL takes the entry that costs nothing.
    [ "$(said 'estimated at 0.0 us')" = $((force * 20)) ] || fail "the core does not follow the table as it should"
    unset RAILWEAVE_NET_TUNER RAILWEAVE_NET_TUNER_FILE NCCL_DEBUG_SUBSYS
  done
  # The table as a build writes it (tests/prediction/collectives/test_tuner_table.py), by the rows of as many ranks: every rank says the
  # same, and what the core then plans is what they say.
  for n in 2 4; do
    export RAILWEAVE_NET_TUNER=1 RAILWEAVE_NET_TUNER_FILE=$here/tuner.json NCCL_DEBUG_SUBSYS=INIT,NET,TUNING
    ranks table "$n" 1 tune
    done_well "$n ranks follow the table that a build writes"
    unset RAILWEAVE_NET_TUNER RAILWEAVE_NET_TUNER_FILE NCCL_DEBUG_SUBSYS
    said=$(grep -a -h -o 'TUNER/railweave: chooses all_reduce.*' $log | sort | uniq -c | awk '{print $1}' | sort -u)
    [ "$said" = "$n" ] || fail "ranks do not say the same"
    [ "$(said 'estimated at 0.0 us')" -gt 0 ] || fail "the core does not follow the table"
  done
  kernels='NCCL_ALGO=Ring NCCL_PROTO=Simple'
done
