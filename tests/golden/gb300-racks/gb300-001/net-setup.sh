#!/usr/bin/env bash
# gb300-001 of gb300-racks, written by railweave. Goes to /usr/local/sbin/railweave-net-setup
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
  'gpu0_p1 9000 slaac'
  'gpu1_p1 9000 slaac'
  'gpu2_p1 9000 slaac'
  'gpu3_p1 9000 slaac'
)
# family|address/length|interface
addresses=(
)
# family|route as `ip route` shows it|more words for `ip route replace`
routes=(
  '6|fd01:1:1:1::/64 dev gpu0_p0 table 10000|'
  '6|default via fd01:1:1:1::1 dev gpu0_p0 table 10000|onlink'
  '6|fd01:1:2:1::/64 dev gpu1_p0 table 10001|'
  '6|default via fd01:1:2:1::1 dev gpu1_p0 table 10001|onlink'
  '6|fd01:1:3:1::/64 dev gpu2_p0 table 10002|'
  '6|default via fd01:1:3:1::1 dev gpu2_p0 table 10002|onlink'
  '6|fd01:1:4:1::/64 dev gpu3_p0 table 10003|'
  '6|default via fd01:1:4:1::1 dev gpu3_p0 table 10003|onlink'
  '6|fd01:1:5:1::/64 dev gpu0_p1 table 10004|'
  '6|default via fd01:1:5:1::1 dev gpu0_p1 table 10004|onlink'
  '6|fd01:1:6:1::/64 dev gpu1_p1 table 10005|'
  '6|default via fd01:1:6:1::1 dev gpu1_p1 table 10005|onlink'
  '6|fd01:1:7:1::/64 dev gpu2_p1 table 10006|'
  '6|default via fd01:1:7:1::1 dev gpu2_p1 table 10006|onlink'
  '6|fd01:1:8:1::/64 dev gpu3_p1 table 10007|'
  '6|default via fd01:1:8:1::1 dev gpu3_p1 table 10007|onlink'
)
# family|rule as `ip rule` shows it|priority (empty: the kernel's choice)
rules=(
  '6|from fd01:1:1:1::/64 lookup 10000|10000'
  '6|from fd01:1:2:1::/64 lookup 10001|10000'
  '6|from fd01:1:3:1::/64 lookup 10002|10000'
  '6|from fd01:1:4:1::/64 lookup 10003|10000'
  '6|from fd01:1:5:1::/64 lookup 10004|10000'
  '6|from fd01:1:6:1::/64 lookup 10005|10000'
  '6|from fd01:1:7:1::/64 lookup 10006|10000'
  '6|from fd01:1:8:1::/64 lookup 10007|10000'
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
