#!/usr/bin/env bash
# gpu-01 of two-planes, written by railweave. Goes to /usr/local/sbin/railweave-net-setup
#
# Links, addresses, source routes and rules of the fabric NICs, the same as in netplan.yaml, by iproute2. For servers
# where the kernel handles router advertisements (railweave-net.service runs it at boot), and for trying things out.
# Makes only what is missing, so it can run again. --undo takes back what it made, --dry-run shows what it would do.
set -euo pipefail

# interface, MTU in bytes, who gives it addresses
links=(
  'gpu0_p0 9000 slaac'
  'gpu1_p0 9000 slaac'
  'gpu2_p0 9000 slaac'
  'gpu3_p0 9000 slaac'
  'gpu4_p0 9000 slaac'
  'gpu5_p0 9000 slaac'
  'gpu6_p0 9000 slaac'
  'gpu7_p0 9000 slaac'
  'gpu0_p1 9000 slaac'
  'gpu1_p1 9000 slaac'
  'gpu2_p1 9000 slaac'
  'gpu3_p1 9000 slaac'
  'gpu4_p1 9000 slaac'
  'gpu5_p1 9000 slaac'
  'gpu6_p1 9000 slaac'
  'gpu7_p1 9000 slaac'
)
# family|address/length|interface
addresses=(
)
# family|route as `ip route` shows it|more words for `ip route replace`
routes=(
  '6|fc00:1:1:1::/64 dev gpu0_p0 table 10000|'
  '6|default via fc00:1:1:1::1 dev gpu0_p0 table 10000|onlink'
  '6|fc00:1:1:2::/64 dev gpu0_p0 table 10001|'
  '6|default via fc00:1:1:2::1 dev gpu0_p0 table 10001|onlink'
  '6|fc00:1:1:3::/64 dev gpu0_p0 table 10002|'
  '6|default via fc00:1:1:3::1 dev gpu0_p0 table 10002|onlink'
  '6|fc00:1:1:4::/64 dev gpu0_p0 table 10003|'
  '6|default via fc00:1:1:4::1 dev gpu0_p0 table 10003|onlink'
  '6|fc00:1:2:1::/64 dev gpu1_p0 table 10004|'
  '6|default via fc00:1:2:1::1 dev gpu1_p0 table 10004|onlink'
  '6|fc00:1:2:2::/64 dev gpu1_p0 table 10005|'
  '6|default via fc00:1:2:2::1 dev gpu1_p0 table 10005|onlink'
  '6|fc00:1:2:3::/64 dev gpu1_p0 table 10006|'
  '6|default via fc00:1:2:3::1 dev gpu1_p0 table 10006|onlink'
  '6|fc00:1:2:4::/64 dev gpu1_p0 table 10007|'
  '6|default via fc00:1:2:4::1 dev gpu1_p0 table 10007|onlink'
  '6|fc00:1:3:1::/64 dev gpu2_p0 table 10008|'
  '6|default via fc00:1:3:1::1 dev gpu2_p0 table 10008|onlink'
  '6|fc00:1:3:2::/64 dev gpu2_p0 table 10009|'
  '6|default via fc00:1:3:2::1 dev gpu2_p0 table 10009|onlink'
  '6|fc00:1:3:3::/64 dev gpu2_p0 table 10010|'
  '6|default via fc00:1:3:3::1 dev gpu2_p0 table 10010|onlink'
  '6|fc00:1:3:4::/64 dev gpu2_p0 table 10011|'
  '6|default via fc00:1:3:4::1 dev gpu2_p0 table 10011|onlink'
  '6|fc00:1:4:1::/64 dev gpu3_p0 table 10012|'
  '6|default via fc00:1:4:1::1 dev gpu3_p0 table 10012|onlink'
  '6|fc00:1:4:2::/64 dev gpu3_p0 table 10013|'
  '6|default via fc00:1:4:2::1 dev gpu3_p0 table 10013|onlink'
  '6|fc00:1:4:3::/64 dev gpu3_p0 table 10014|'
  '6|default via fc00:1:4:3::1 dev gpu3_p0 table 10014|onlink'
  '6|fc00:1:4:4::/64 dev gpu3_p0 table 10015|'
  '6|default via fc00:1:4:4::1 dev gpu3_p0 table 10015|onlink'
  '6|fc00:1:5:1::/64 dev gpu4_p0 table 10016|'
  '6|default via fc00:1:5:1::1 dev gpu4_p0 table 10016|onlink'
  '6|fc00:1:5:2::/64 dev gpu4_p0 table 10017|'
  '6|default via fc00:1:5:2::1 dev gpu4_p0 table 10017|onlink'
  '6|fc00:1:5:3::/64 dev gpu4_p0 table 10018|'
  '6|default via fc00:1:5:3::1 dev gpu4_p0 table 10018|onlink'
  '6|fc00:1:5:4::/64 dev gpu4_p0 table 10019|'
  '6|default via fc00:1:5:4::1 dev gpu4_p0 table 10019|onlink'
  '6|fc00:1:6:1::/64 dev gpu5_p0 table 10020|'
  '6|default via fc00:1:6:1::1 dev gpu5_p0 table 10020|onlink'
  '6|fc00:1:6:2::/64 dev gpu5_p0 table 10021|'
  '6|default via fc00:1:6:2::1 dev gpu5_p0 table 10021|onlink'
  '6|fc00:1:6:3::/64 dev gpu5_p0 table 10022|'
  '6|default via fc00:1:6:3::1 dev gpu5_p0 table 10022|onlink'
  '6|fc00:1:6:4::/64 dev gpu5_p0 table 10023|'
  '6|default via fc00:1:6:4::1 dev gpu5_p0 table 10023|onlink'
  '6|fc00:1:7:1::/64 dev gpu6_p0 table 10024|'
  '6|default via fc00:1:7:1::1 dev gpu6_p0 table 10024|onlink'
  '6|fc00:1:7:2::/64 dev gpu6_p0 table 10025|'
  '6|default via fc00:1:7:2::1 dev gpu6_p0 table 10025|onlink'
  '6|fc00:1:7:3::/64 dev gpu6_p0 table 10026|'
  '6|default via fc00:1:7:3::1 dev gpu6_p0 table 10026|onlink'
  '6|fc00:1:7:4::/64 dev gpu6_p0 table 10027|'
  '6|default via fc00:1:7:4::1 dev gpu6_p0 table 10027|onlink'
  '6|fc00:1:8:1::/64 dev gpu7_p0 table 10028|'
  '6|default via fc00:1:8:1::1 dev gpu7_p0 table 10028|onlink'
  '6|fc00:1:8:2::/64 dev gpu7_p0 table 10029|'
  '6|default via fc00:1:8:2::1 dev gpu7_p0 table 10029|onlink'
  '6|fc00:1:8:3::/64 dev gpu7_p0 table 10030|'
  '6|default via fc00:1:8:3::1 dev gpu7_p0 table 10030|onlink'
  '6|fc00:1:8:4::/64 dev gpu7_p0 table 10031|'
  '6|default via fc00:1:8:4::1 dev gpu7_p0 table 10031|onlink'
  '6|fc00:1:9:1::/64 dev gpu0_p1 table 10032|'
  '6|default via fc00:1:9:1::1 dev gpu0_p1 table 10032|onlink'
  '6|fc00:1:9:2::/64 dev gpu0_p1 table 10033|'
  '6|default via fc00:1:9:2::1 dev gpu0_p1 table 10033|onlink'
  '6|fc00:1:9:3::/64 dev gpu0_p1 table 10034|'
  '6|default via fc00:1:9:3::1 dev gpu0_p1 table 10034|onlink'
  '6|fc00:1:9:4::/64 dev gpu0_p1 table 10035|'
  '6|default via fc00:1:9:4::1 dev gpu0_p1 table 10035|onlink'
  '6|fc00:1:a:1::/64 dev gpu1_p1 table 10036|'
  '6|default via fc00:1:a:1::1 dev gpu1_p1 table 10036|onlink'
  '6|fc00:1:a:2::/64 dev gpu1_p1 table 10037|'
  '6|default via fc00:1:a:2::1 dev gpu1_p1 table 10037|onlink'
  '6|fc00:1:a:3::/64 dev gpu1_p1 table 10038|'
  '6|default via fc00:1:a:3::1 dev gpu1_p1 table 10038|onlink'
  '6|fc00:1:a:4::/64 dev gpu1_p1 table 10039|'
  '6|default via fc00:1:a:4::1 dev gpu1_p1 table 10039|onlink'
  '6|fc00:1:b:1::/64 dev gpu2_p1 table 10040|'
  '6|default via fc00:1:b:1::1 dev gpu2_p1 table 10040|onlink'
  '6|fc00:1:b:2::/64 dev gpu2_p1 table 10041|'
  '6|default via fc00:1:b:2::1 dev gpu2_p1 table 10041|onlink'
  '6|fc00:1:b:3::/64 dev gpu2_p1 table 10042|'
  '6|default via fc00:1:b:3::1 dev gpu2_p1 table 10042|onlink'
  '6|fc00:1:b:4::/64 dev gpu2_p1 table 10043|'
  '6|default via fc00:1:b:4::1 dev gpu2_p1 table 10043|onlink'
  '6|fc00:1:c:1::/64 dev gpu3_p1 table 10044|'
  '6|default via fc00:1:c:1::1 dev gpu3_p1 table 10044|onlink'
  '6|fc00:1:c:2::/64 dev gpu3_p1 table 10045|'
  '6|default via fc00:1:c:2::1 dev gpu3_p1 table 10045|onlink'
  '6|fc00:1:c:3::/64 dev gpu3_p1 table 10046|'
  '6|default via fc00:1:c:3::1 dev gpu3_p1 table 10046|onlink'
  '6|fc00:1:c:4::/64 dev gpu3_p1 table 10047|'
  '6|default via fc00:1:c:4::1 dev gpu3_p1 table 10047|onlink'
  '6|fc00:1:d:1::/64 dev gpu4_p1 table 10048|'
  '6|default via fc00:1:d:1::1 dev gpu4_p1 table 10048|onlink'
  '6|fc00:1:d:2::/64 dev gpu4_p1 table 10049|'
  '6|default via fc00:1:d:2::1 dev gpu4_p1 table 10049|onlink'
  '6|fc00:1:d:3::/64 dev gpu4_p1 table 10050|'
  '6|default via fc00:1:d:3::1 dev gpu4_p1 table 10050|onlink'
  '6|fc00:1:d:4::/64 dev gpu4_p1 table 10051|'
  '6|default via fc00:1:d:4::1 dev gpu4_p1 table 10051|onlink'
  '6|fc00:1:e:1::/64 dev gpu5_p1 table 10052|'
  '6|default via fc00:1:e:1::1 dev gpu5_p1 table 10052|onlink'
  '6|fc00:1:e:2::/64 dev gpu5_p1 table 10053|'
  '6|default via fc00:1:e:2::1 dev gpu5_p1 table 10053|onlink'
  '6|fc00:1:e:3::/64 dev gpu5_p1 table 10054|'
  '6|default via fc00:1:e:3::1 dev gpu5_p1 table 10054|onlink'
  '6|fc00:1:e:4::/64 dev gpu5_p1 table 10055|'
  '6|default via fc00:1:e:4::1 dev gpu5_p1 table 10055|onlink'
  '6|fc00:1:f:1::/64 dev gpu6_p1 table 10056|'
  '6|default via fc00:1:f:1::1 dev gpu6_p1 table 10056|onlink'
  '6|fc00:1:f:2::/64 dev gpu6_p1 table 10057|'
  '6|default via fc00:1:f:2::1 dev gpu6_p1 table 10057|onlink'
  '6|fc00:1:f:3::/64 dev gpu6_p1 table 10058|'
  '6|default via fc00:1:f:3::1 dev gpu6_p1 table 10058|onlink'
  '6|fc00:1:f:4::/64 dev gpu6_p1 table 10059|'
  '6|default via fc00:1:f:4::1 dev gpu6_p1 table 10059|onlink'
  '6|fc00:1:10:1::/64 dev gpu7_p1 table 10060|'
  '6|default via fc00:1:10:1::1 dev gpu7_p1 table 10060|onlink'
  '6|fc00:1:10:2::/64 dev gpu7_p1 table 10061|'
  '6|default via fc00:1:10:2::1 dev gpu7_p1 table 10061|onlink'
  '6|fc00:1:10:3::/64 dev gpu7_p1 table 10062|'
  '6|default via fc00:1:10:3::1 dev gpu7_p1 table 10062|onlink'
  '6|fc00:1:10:4::/64 dev gpu7_p1 table 10063|'
  '6|default via fc00:1:10:4::1 dev gpu7_p1 table 10063|onlink'
)
# family|rule as `ip rule` shows it|priority (empty: the kernel's choice)
rules=(
  '6|from fc00:1:1:1::/64 lookup 10000|10000'
  '6|from fc00:1:1:2::/64 lookup 10001|10000'
  '6|from fc00:1:1:3::/64 lookup 10002|10000'
  '6|from fc00:1:1:4::/64 lookup 10003|10000'
  '6|from fc00:1:2:1::/64 lookup 10004|10000'
  '6|from fc00:1:2:2::/64 lookup 10005|10000'
  '6|from fc00:1:2:3::/64 lookup 10006|10000'
  '6|from fc00:1:2:4::/64 lookup 10007|10000'
  '6|from fc00:1:3:1::/64 lookup 10008|10000'
  '6|from fc00:1:3:2::/64 lookup 10009|10000'
  '6|from fc00:1:3:3::/64 lookup 10010|10000'
  '6|from fc00:1:3:4::/64 lookup 10011|10000'
  '6|from fc00:1:4:1::/64 lookup 10012|10000'
  '6|from fc00:1:4:2::/64 lookup 10013|10000'
  '6|from fc00:1:4:3::/64 lookup 10014|10000'
  '6|from fc00:1:4:4::/64 lookup 10015|10000'
  '6|from fc00:1:5:1::/64 lookup 10016|10000'
  '6|from fc00:1:5:2::/64 lookup 10017|10000'
  '6|from fc00:1:5:3::/64 lookup 10018|10000'
  '6|from fc00:1:5:4::/64 lookup 10019|10000'
  '6|from fc00:1:6:1::/64 lookup 10020|10000'
  '6|from fc00:1:6:2::/64 lookup 10021|10000'
  '6|from fc00:1:6:3::/64 lookup 10022|10000'
  '6|from fc00:1:6:4::/64 lookup 10023|10000'
  '6|from fc00:1:7:1::/64 lookup 10024|10000'
  '6|from fc00:1:7:2::/64 lookup 10025|10000'
  '6|from fc00:1:7:3::/64 lookup 10026|10000'
  '6|from fc00:1:7:4::/64 lookup 10027|10000'
  '6|from fc00:1:8:1::/64 lookup 10028|10000'
  '6|from fc00:1:8:2::/64 lookup 10029|10000'
  '6|from fc00:1:8:3::/64 lookup 10030|10000'
  '6|from fc00:1:8:4::/64 lookup 10031|10000'
  '6|from fc00:1:9:1::/64 lookup 10032|10000'
  '6|from fc00:1:9:2::/64 lookup 10033|10000'
  '6|from fc00:1:9:3::/64 lookup 10034|10000'
  '6|from fc00:1:9:4::/64 lookup 10035|10000'
  '6|from fc00:1:a:1::/64 lookup 10036|10000'
  '6|from fc00:1:a:2::/64 lookup 10037|10000'
  '6|from fc00:1:a:3::/64 lookup 10038|10000'
  '6|from fc00:1:a:4::/64 lookup 10039|10000'
  '6|from fc00:1:b:1::/64 lookup 10040|10000'
  '6|from fc00:1:b:2::/64 lookup 10041|10000'
  '6|from fc00:1:b:3::/64 lookup 10042|10000'
  '6|from fc00:1:b:4::/64 lookup 10043|10000'
  '6|from fc00:1:c:1::/64 lookup 10044|10000'
  '6|from fc00:1:c:2::/64 lookup 10045|10000'
  '6|from fc00:1:c:3::/64 lookup 10046|10000'
  '6|from fc00:1:c:4::/64 lookup 10047|10000'
  '6|from fc00:1:d:1::/64 lookup 10048|10000'
  '6|from fc00:1:d:2::/64 lookup 10049|10000'
  '6|from fc00:1:d:3::/64 lookup 10050|10000'
  '6|from fc00:1:d:4::/64 lookup 10051|10000'
  '6|from fc00:1:e:1::/64 lookup 10052|10000'
  '6|from fc00:1:e:2::/64 lookup 10053|10000'
  '6|from fc00:1:e:3::/64 lookup 10054|10000'
  '6|from fc00:1:e:4::/64 lookup 10055|10000'
  '6|from fc00:1:f:1::/64 lookup 10056|10000'
  '6|from fc00:1:f:2::/64 lookup 10057|10000'
  '6|from fc00:1:f:3::/64 lookup 10058|10000'
  '6|from fc00:1:f:4::/64 lookup 10059|10000'
  '6|from fc00:1:10:1::/64 lookup 10060|10000'
  '6|from fc00:1:10:2::/64 lookup 10061|10000'
  '6|from fc00:1:10:3::/64 lookup 10062|10000'
  '6|from fc00:1:10:4::/64 lookup 10063|10000'
)

# What undoes each change that was made here, oldest first; gone with the configuration at the next boot.
journal=${RAILWEAVE_RUN:-/run/railweave}/net-setup.undo

say() { echo "net-setup: $*" >&2; }
usage() { echo "usage: ${0##*/} [--dry-run | --undo]"; }

mode=apply
case "$#:${1-}" in
  0:) ;;
  1:--dry-run) mode=dry-run ;;
  1:--undo) mode=undo ;;
  1:--help | 1:-h) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
command -v ip >/dev/null || { say "there is no ip command: install iproute2"; exit 1; }
if [ "$mode" != dry-run ] && [ "$(id -u)" != 0 ]; then
  say "changing the network needs root: sudo $0 $*"
  exit 1
fi

if [ "$mode" = undo ]; then
  if [ ! -s "$journal" ]; then
    say "nothing to undo: nothing was changed here since the last boot"
    exit 0
  fi
  undone=0
  for family in 6 4 0; do
    tac "$journal" | sed -n "s/^$family //p" >"$journal.batch"
    # What is gone already, or was never made, is no failure.
    failed=$(ip "-$family" -force -batch "$journal.batch" 2>&1 | grep -c '^Command failed') || true
    undone=$((undone + $(grep -c . "$journal.batch" || true) - failed))
  done
  say "undid $undone changes"
  rm -f "$journal" "$journal.batch"
  exit 0
fi

# What is there now. -N: tables by number, also where they have names.
declare -A mtu=() up=() have=() others=()
while read -r _ name flags _ size _; do
  name=${name%%[:@]*}
  mtu[$name]=$size
  if [[ $flags == *[\<,]UP[,\>]* ]]; then up[$name]=1; fi
done < <(ip -o link show)
# The metric of a route that is given none.
usual=([4]=0 [6]=1024)
for family in 4 6; do
  while read -r _ name _ address _; do
    have["address $family|$address|$name"]=1
  done < <(ip "-$family" -N -o addr show)
  while read -r line; do
    if [[ $line =~ ^([^ ]+\ .*\ table\ [0-9]+) ]]; then have["route $family|${BASH_REMATCH[1]}"]=1; fi
    if [[ $line =~ ^([^ ]+)\ .*\ table\ ([0-9]+) ]]; then
      to="$family|${BASH_REMATCH[1]}|${BASH_REMATCH[2]}"
      metric=0
      if [[ $line =~ \ metric\ ([0-9]+) ]]; then metric=${BASH_REMATCH[1]}; fi
      have["to $to|$metric"]=${line%%[[:space:]]linkdown*}
      if [ "$metric" -lt "${usual[$family]}" ]; then have["before $to"]=${line%%[[:space:]]linkdown*}; fi
    fi
  done < <(ip "-$family" -N -o route show table all 2>/dev/null)
  while read -r line; do
    if [[ $line =~ ^([0-9]+):[[:space:]]+(from\ .*\ lookup\ [0-9]+) ]]; then
      have["rule $family|${BASH_REMATCH[2]}|"]=1
      have["rule $family|${BASH_REMATCH[2]}|${BASH_REMATCH[1]}"]=1
    fi
    if [[ $line =~ ^([0-9]+):[[:space:]]+(from\ [^ ]+(\ to\ [^ ]+)?)\ lookup\ ([0-9]+)(\ proto\ [^ ]+)?[[:space:]]*$ ]]; then
      others["$family|${BASH_REMATCH[2]}"]+="${BASH_REMATCH[1]} ${BASH_REMATCH[4]} "
    fi
  done < <(ip "-$family" -N -o rule show)
done

# What is missing, as words for `ip`, with what would undo it. Family 0 is the link itself.
do_0=() do_4=() do_6=() undo=()
change() {
  local -n words=do_$1
  words+=("$2")
  undo+=("$1 $3")
}
run_batch() {
  local -n batch=do_$1
  if [ "${#batch[@]}" = 0 ]; then return; fi
  printf '%s\n' "${batch[@]}" >"$journal.batch"
  ip "-$1" -batch "$journal.batch" && return
  say "the command above was refused, with its line in $journal.batch; --undo takes back what was done"
  return 1
}

missing=()
for one in "${links[@]}"; do
  read -r name size by <<<"$one"
  if [ -z "${mtu[$name]-}" ]; then
    missing+=("$name")
    continue
  fi
  if [ "$by" = slaac ] && [ "$(cat "/proc/sys/net/ipv6/conf/$name/accept_ra" 2>/dev/null)" = 0 ]; then
    say "warning: the kernel ignores router advertisements on $name (accept_ra is 0): either systemd-networkd manages it, or sysctl.conf was not applied"
  fi
  if [ "${mtu[$name]}" != "$size" ]; then
    change 0 "link set dev $name mtu $size" "link set dev $name mtu ${mtu[$name]}"
  fi
  if [ -z "${up[$name]-}" ]; then
    change 0 "link set dev $name up" "link set dev $name down"
  fi
done
absent() { [[ " ${missing[*]-} " == *" $1 "* ]]; }
device() {
  local rest=${1##*dev }
  echo "${rest%% *}"
}

for one in ${addresses[@]+"${addresses[@]}"}; do
  IFS='|' read -r family address name <<<"$one"
  if ! absent "$name" && [ -z "${have["address $one"]-}" ]; then
    change "$family" "addr add $address dev $name" "addr del $address dev $name"
  fi
done
for one in ${routes[@]+"${routes[@]}"}; do
  IFS='|' read -r family route more <<<"$one"
  if [ -n "${missing[*]-}" ] && absent "$(device "$route")"; then continue; fi
  to="$family|${route%% *}|${route##* }"
  other=${have["before $to"]-}
  if [ -n "$other" ] && [[ $other != "$route"* ]]; then
    say "warning: another route comes before ours by its metric; to remove it: ip -$family route del $other"
  fi
  if [ -n "${have["route $family|$route"]-}" ]; then continue; fi
  # Only one of the same metric makes way for ours; any other stays where it is.
  before=${have["to $to|${usual[$family]}"]-}
  change "$family" "route replace $route${more:+ $more}" "route ${before:+replace }${before:-del $route}"
done
for one in ${rules[@]+"${rules[@]}"}; do
  IFS='|' read -r family rule priority <<<"$one"
  read -r -a there <<<"${others["$family|${rule% lookup *}"]-}"
  # Where the kernel chooses, ours is put before all that are there; where it is there already, it is where it is.
  at=$priority
  for ((i = 0; i < ${#there[@]}; i += 2)); do
    if [ -z "$at" ] && [ "${there[i + 1]}" = "${rule##* }" ]; then at=${there[i]}; fi
  done
  for ((i = 0; i < ${#there[@]}; i += 2)); do
    if [ "${there[i + 1]}" != "${rule##* }" ] && [ "${there[i]}" -le "${at:--1}" ]; then
      say "warning: another rule comes before ours; to remove it: ip -$family rule del ${rule% lookup *} lookup ${there[i + 1]} priority ${there[i]}"
    fi
  done
  if [ -z "${have["rule $one"]-}" ]; then
    change "$family" "rule add $rule${priority:+ priority $priority}" "rule del $rule${priority:+ priority $priority}"
  fi
done

if [ "$mode" = dry-run ]; then
  for one in ${do_0[@]+"${do_0[@]}"}; do echo "ip $one"; done
  for one in ${do_4[@]+"${do_4[@]}"}; do echo "ip -4 $one"; done
  for one in ${do_6[@]+"${do_6[@]}"}; do echo "ip -6 $one"; done
elif [ "${#undo[@]}" != 0 ]; then
  mkdir -p "${journal%/*}"
  # A run that failed has written down what this one is about to do again.
  touch "$journal"
  new=$(printf '%s\n' "${undo[@]}" | grep -Fxv -f "$journal" || true)
  if [ -n "$new" ]; then printf '%s\n' "$new" >>"$journal"; fi
  for family in 0 4 6; do
    run_batch "$family" || exit 1
  done
  rm -f "$journal.batch"
fi
if [ "$mode" = apply ]; then say "made ${#undo[@]} changes"; fi
if [ "${#missing[@]}" != 0 ]; then
  say "not there, so not set up: ${missing[*]} (is its driver loaded, and does 70-railweave-net.rules name it?)"
  exit 1
fi
