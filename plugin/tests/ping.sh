#!/usr/bin/env bash
# railweave-rdma-ping between two fake hosts: all paths good, then one dead. ping.sh BUILD
set -euo pipefail
cd "$1"
fabric=$(mktemp)
port=$((20000 + $$ % 20000))
export RAILWEAVE_NET_ANY_NAMESPACE=1 RAILWEAVE_FAKE_FABRIC=$fabric NCCL_IBVERBS_LIB=$PWD/libfakeverbs.so RAILWEAVE_NET_HOST_FILE=/nonexistent
./fake-fabric "$fabric" create 2 2 4
RAILWEAVE_FAKE_HOST=1 ./railweave-rdma-ping --server --port $port > /dev/null & server=$!
trap 'kill $server; wait $server 2> /dev/null || true; rm -f "$fabric" "$fabric".*' EXIT
ping() { RAILWEAVE_FAKE_HOST=0 ./railweave-rdma-ping 127.0.0.1 --port $port --count 30 --interval 5 "$@"; }
for _ in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2> /dev/null && break || sleep 0.05; done
ping > "$fabric.out" || { cat "$fabric.out"; echo "paths that are good are not"; exit 1; }
[ "$(grep -c good "$fabric.out")" = 8 ] || { cat "$fabric.out"; echo "8 good paths expected"; exit 1; }
./fake-fabric "$fabric" path 0:1 1:1 2 down
! ping --json > "$fabric.out" 2> "$fabric.err" || { echo "a dead path passes"; exit 1; }
[ "$(grep -c '"dead": true' "$fabric.out")" = 1 ] && grep -q '"local": "fd00:1:2:3::1".*"dead": true' "$fabric.out" ||
  { cat "$fabric.out" "$fabric.err"; echo "one dead path expected, from fd00:1:2:3::1"; exit 1; }
echo "railweave-rdma-ping: finds the dead path"
