#!/usr/bin/env bash
# The plugin's tests over the fake: run.sh BUILD. Every line is one case; the first that fails ends it. The programs
# themselves notice what hangs; the time limit here is for what they do not.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

case_() {
  local name=$1
  shift
  local start=$SECONDS
  timeout -k 5 300 "$@" || { echo "plugin: $name fails: $*"; exit 1; }
  echo "plugin: $name ($((SECONDS - start)) s)"
}

./unit
./fuzz
./weights
if [ -x ./system-verbs ]; then ./system-verbs && echo "plugin: layout as in the system's verbs.h"; else
  echo "plugin: rdma-core's header is not installed; layout checked against recorded numbers only"; fi

export RAILWEAVE_NET_ANY_NAMESPACE=1  # the fake's addresses are of none
fabric=$(mktemp)
trap 'rm -f "$fabric" "$fabric".*' EXIT
./fake-fabric "$fabric" create 1 2 4
RAILWEAVE_FAKE_FABRIC=$fabric RAILWEAVE_FAKE_HOST=0 NCCL_IBVERBS_LIB=$PWD/libfakeverbs.so LD_LIBRARY_PATH=$PWD \
  RAILWEAVE_NET_HOST_FILE=/nonexistent ./loader
RAILWEAVE_FAKE_FABRIC=$fabric RAILWEAVE_FAKE_HOST=0 RAILWEAVE_FAKE_DIRECT=1 NCCL_IBVERBS_LIB=$PWD/libfakeverbs.so ./classes
./fake-fabric "$fabric" create 1 2 1
RAILWEAVE_FAKE_FABRIC=$fabric RAILWEAVE_FAKE_HOST=0 RAILWEAVE_FAKE_DIRECT=1 NCCL_IBVERBS_LIB=$PWD/libfakeverbs.so \
  RAILWEAVE_NET_MLX5_LIB=$PWD/libfakeverbs.so RAILWEAVE_NET_HOST_FILE=/nonexistent ./mlx5

qps=(1 2 3 4 8 16 32)
ranks=(2 3 4 5 6 7 8)
for version in 6 7 8 9 10 11 12; do
  i=$((version - 6))
  case_ "net API $version, ${ranks[i]} ranks, ${qps[i]} queue pairs" \
    ./harness --api "$version" --ranks "${ranks[i]}" --qps "${qps[i]}" --multi --seed "$version" --groups 20
done
case_ "32 queue pairs, messages of up to 4 MB, split" ./harness --qps 32 --split 1 --largest 4000000 --groups 30
case_ "one queue pair per message" ./harness --qps 8 --split 0 --multi
case_ "bulk data apart (adaptive routing)" ./harness --adaptive-routing --multi
case_ "DMA-BUF and flushes" ./harness --dmabuf --multi
case_ "virtual device of two NICs" ./harness --devices 2 --merge --multi
# A death is seen by both ends of both connections; a recovery is logged by the sending end.
faulty=(./harness --rate 40 --groups 500 --recover 30)
case_ "one path dead, then back" "${faulty[@]}" --reroute 60 --fault 30:down:1 --fault 200:up:1 --deaths 4 --recoveries 2
case_ "two paths die at once" "${faulty[@]}" --reroute 60 --fault 30:down:1 --fault 31:down:2 --deaths 8
case_ "a path dies while another is being replaced" \
  "${faulty[@]}" --reroute 60 --fault 30:down:1 --fault 110:down:2 --fault 190:down:0 --fault 200:up:1 --deaths 12 --recoveries 2
case_ "the fabric reroutes in time" "${faulty[@]}" --reroute 600 --fault 30:blink:1:80 --fault 35:blink:2:120 --deaths -1
case_ "a timeout of the NIC's that a user set" env NCCL_IB_TIMEOUT=20 "${faulty[@]}" --fault 30:down:1 --deaths 4
case_ "a list of receives is taken in part" "${faulty[@]}" --reroute 60 --fault 30:refuse --deaths 2 --recoveries 1
case_ "a device refuses to send" "${faulty[@]}" --reroute 60 --fault 30:busy --deaths 2 --recoveries 1
case_ "address change (SLAAC)" "${faulty[@]}" --reroute 60 --fault 30:change:1 --fault 100:change:2 --deaths 8 --recoveries 4
case_ "address gone, flushes in between" "${faulty[@]}" --reroute 60 --dmabuf --fault 30:gone:0 --fault 200:back:0 --deaths 4 --recoveries 2
case_ "port loss, another NIC of the virtual device goes on" \
  "${faulty[@]}" --groups 3000 --devices 2 --merge --reroute 60 --fault 30:port --fault 200:portup --deaths 16 --recoveries 8
# What one end notices of the other: within 5 s in every state, and nothing where nothing is wrong. They wait, each on a fabric of its own: several run at once.
cases=()
for state in polls flies waits half; do
  for what in kill stop dark hang slow; do
    case $what-$state in hang-flies | hang-half | slow-flies | slow-half) continue ;; esac
    cases+=("$what $state")
  done
done
for how in once ever; do cases+=("flush $how"); done
for event in 0 1 3; do cases+=("event $event"); done
cases+=(tcp stranger refused tuner fork crowd probes)
export -f case_
printf '%s\n' "${cases[@]}" | xargs -P 3 -I CASE bash -c 'case_ "peer: CASE" ./peer CASE'
case_ "port loss ends the job and says where" ./harness --rate 20 --groups 100000 --all-dead 500 --fault 50:port --must-fail
case_ "leaf loss ends the job and says where" ./harness --rate 20 --groups 100000 --all-dead 500 --fault 50:dark --must-fail
# Plain ECMP: one address, two spines. Queue pairs differ by flow label, and come back with another. Labels are drawn: with
# eight of them none takes the spine that fails in one run of 60,000.
ecmp=(env RAILWEAVE_NET_LABELS=8 ./harness --gids 1 --spines 2 --rate 20 --largest 100000)
case_ "plain ECMP: a spine dies" "${ecmp[@]}" --groups 3000 --fault 50:down:1 --deaths 1 --recoveries 1
case_ "plain ECMP: a spine is slow" "${ecmp[@]}" --groups 4000 --split 1 --fault 50:slow:1:1 --deaths 1 --recoveries 1
# With the times that users have: what NCCL's own transport rides through, this does. A loaded machine may not see a port
# that is down for so short a time, and a job may end before all queue pairs are back.
riding=(./harness --rate 20 --groups 1000 --largest 100000)
case_ "a port is down for 50 ms" "${riding[@]}" --fault 50:port --fault 100:portup
case_ "a port is down for 400 ms, flushes in between" "${riding[@]}" --dmabuf --fault 50:port --fault 450:portup --deaths 4
case_ "no path lives for 3 s" "${riding[@]}" --fault 50:dark:3000 --deaths 4 --recoveries 1
case_ "a killed rank is named at every end" ./harness --ranks 8 --rate 20 --groups 100000 --fault 50:kill:3
telemetry=$(mktemp -d)
touch -d '1 hour ago' "$telemetry/railweave-net-killed-1.prom"
costs=$(mktemp)
echo '{"schema": 1, "costs": [{"rdma": "fake0", "color": 1, "cost": 4}]}' > "$costs"
told() {
  ls /dev/shm/railweave-net-* > /dev/null || return 1
  grep -q '^railweave_net_bytes_total{direction="send", device="fake0".* [1-9]' "$telemetry"/*.prom || return 1
  ! command -v python3 > /dev/null || python3 - "$telemetry" << 'END'
import glob, json, sys

told = [json.load(open(name)) for name in glob.glob(sys.argv[1] + "/*.json")]
assert len(told) == 2, told
for one in told:
    paths = one["paths"]
    assert len(paths) == 8 and len({(p["direction"], p["color"]) for p in paths}) == 8, paths
    assert all(p["live"] == p["queue_pairs"] == 1 and p["peer_leaf"] == "leaf0" for p in paths), paths
    assert all(p["bytes"] and p["latency_us"]["p50"] > 0 for p in paths if p["direction"] == "send"), paths
    sent = {p["color"]: p["bytes"] for p in paths if p["direction"] == "send"}
    assert sent[1] < 0.4 * sent[0], sent  # it costs 4
END
}
RAILWEAVE_NET_COST_FILE=$costs RAILWEAVE_NET_TELEMETRY_MS=100 \
  setsid timeout 300 ./harness --telemetry "$telemetry" --seconds 290 --rate 20 --largest 100000 > /dev/null & busy=$!
for _ in $(seq 400); do
  sleep 0.2
  told 2> /dev/null && break
done
told || { echo "plugin: telemetry is wrong: $telemetry"; ls -l "$telemetry" /dev/shm; kill -- "-$busy"; exit 1; }
kill -- "-$busy"  # it has been seen: its time is over
wait $busy || { echo "plugin: telemetry fails"; exit 1; }
rm -f "$costs"
[ -z "$(ls "$telemetry")" ] || { echo "plugin: telemetry is left behind: $telemetry"; exit 1; }
echo "plugin: telemetry"
case_ "closing 256 connections with telemetry" ./peer close "$telemetry"
rm -rf "$telemetry"
case_ "20 runs with random faults" ./harness --soak 2000,20
"$here/ping.sh" . 2> /dev/null || { echo "plugin: railweave-rdma-ping fails"; "$here/ping.sh" .; exit 1; }
