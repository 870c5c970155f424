#!/usr/bin/env bash
# railweave-rdma-ping between two fake hosts: all paths good, measured, then one dead. ping.sh BUILD
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
measure() { RAILWEAVE_FAKE_HOST=0 ./railweave-rdma-ping 127.0.0.1 --port $port --count 20 "$@" > "$fabric.out"; }
measure --latency --sizes 8,4096 --csv || { cat "$fabric.out"; echo "latency is not measured"; exit 1; }
[ "$(grep -c ',good,' "$fabric.out")" = 16 ] && head -1 "$fabric.out" | grep -q ',p50_us,' ||
  { cat "$fabric.out"; echo "16 rows of latency expected"; exit 1; }
measure --bandwidth --sizes 65536 --json || { cat "$fabric.out"; echo "bandwidth is not measured"; exit 1; }
[ "$(grep -c '"gbit_s": [0-9.]*[1-9]' "$fabric.out")" = 8 ] || { cat "$fabric.out"; echo "8 paths with a bandwidth expected"; exit 1; }
! measure --latency --sizes 8,9000000 2> /dev/null || { echo "a size that is too large passes"; exit 1; }
./fake-fabric "$fabric" path 0:1 1:1 2 down
! ping --json > "$fabric.out" 2> "$fabric.err" || { echo "a dead path passes"; exit 1; }
[ "$(grep -c '"dead": true' "$fabric.out")" = 1 ] && grep -q '"local": "fd00:1:2:3::1".*"dead": true' "$fabric.out" ||
  { cat "$fabric.out" "$fabric.err"; echo "one dead path expected, from fd00:1:2:3::1"; exit 1; }
! measure --bandwidth --sizes 4096 --csv 2> /dev/null || { echo "a dead path has a bandwidth"; exit 1; }
[ "$(grep -c ',dead,' "$fabric.out")" = 1 ] || { cat "$fabric.out"; echo "one dead path expected"; exit 1; }
# One address each, four spines: one of them is far, and labels that ECMP puts onto it are told apart.
kill $server; wait $server 2> /dev/null || true
./fake-fabric "$fabric" create 2 1 1
./fake-fabric "$fabric" spines 4
./fake-fabric "$fabric" path 0:0 1:0 2 delay=30000
RAILWEAVE_FAKE_HOST=1 ./railweave-rdma-ping --server --port $port > /dev/null & server=$!
for _ in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2> /dev/null && break || sleep 0.05; done
ping --labels 12 --interval 100 --json > "$fabric.out" || { cat "$fabric.out"; echo "labels are not measured"; exit 1; }
[ "$(grep -c '"udp_port": [456][0-9]*, "group": "[A-Z]"' "$fabric.out")" = 12 ] || { cat "$fabric.out"; echo "12 labels expected"; exit 1; }
[ "$(grep -o '"group": "[A-Z]"' "$fabric.out" | sort -u | wc -l)" -ge 2 ] || { cat "$fabric.out"; echo "two groups of labels expected"; exit 1; }
# A kernel that takes no notice of flow labels: libmlx5 sets the port, and those that the far spine gets are far.
kill $server; wait $server 2> /dev/null || true
export RAILWEAVE_FAKE_NO_LABELS=1 RAILWEAVE_NET_MLX5_LIB=$PWD/libfakeverbs.so
RAILWEAVE_FAKE_HOST=1 ./railweave-rdma-ping --server --port $port > /dev/null & server=$!
for _ in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2> /dev/null && break || sleep 0.05; done
ping --labels 12 --interval 100 --json > "$fabric.out" || { cat "$fabric.out"; echo "labels are not measured"; exit 1; }
sed -n 's/.*"udp_port": \([0-9]*\), "group": "\([A-Z]\)".*/\1 \2/p' "$fabric.out" | while read -r udp group; do
  [ "$(./fake-fabric "$fabric" spine 0:0 1:0 "$udp")" != 2 ] || [ "$group" != A ] ||
    { cat "$fabric.out"; echo "UDP source port $udp goes by the far spine, and is among the quick"; exit 1; }
done
echo "railweave-rdma-ping: finds the dead path, measures the others"
