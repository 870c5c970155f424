#!/usr/bin/env bash
# QoS of the NICs: DSCP, priorities, PFC, ETS, congestion control.
# Written by railweave for sonic-mi355x, server ams4-mi355x-08; change the fabric file, not this.
# shellcheck disable=SC2034,SC2329  # vendors' functions are called by name, and take what they need of the values
set -euo pipefail

# interface, RDMA device, its port, vendor, fabric, cable in m (0: not known)
NICS=(
    'gpu0_eth ionic_0 1 AMD backend 5'
    'gpu1_eth ionic_1 1 AMD backend 5'
    'gpu2_eth ionic_2 1 AMD backend 5'
    'gpu3_eth ionic_3 1 AMD backend 5'
    'gpu4_eth ionic_4 1 AMD backend 3'
    'gpu5_eth ionic_5 1 AMD backend 3'
    'gpu6_eth ionic_6 1 AMD backend 3'
    'gpu7_eth ionic_7 1 AMD backend 3'
)

# The design of a fabric, as the variables that follow.
design() {
    case $1 in
    backend)
        # RDMA data: DSCP 26, priority 3, never dropped (PFC)
        PRIORITY=3 LOSSLESS=yes ECN=yes
        # share of the link in percent, where other traffic wants it too; class byte: DSCP 26 x 4 + ECT(0)
        SHARE=85 CLASS=106
        # lossless classes beside RDMA data, priority:share of the link, and the priorities of those that switches mark
        OTHERS='' MARKED=''
        # congestion notification packets
        CNP_DSCP=48 CNP_PRIORITY=6
        # the fabric keeps the packets of a flow in order
        ADAPTIVE=no
        # priority of every DSCP, and those that are designed
        MAP=(0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 2 2 2 2 2 2 2 2 0 0 3 0 0 0 0 0 4 4 4 4 4 4 4 4 5 5 5 5 5 5 5 5 6 0 0 0 0 0 0 0 7 7 7 7 7 7 7 7)
        DESIGNED='26:3 48:6'
        ;;
    esac
}

# What follows is the same on every server.

# No tool that is called here is to read what is meant for another.
exec </dev/null

# Root of what the kernel shows, so that the script can be tried on a copy.
SYSFS=${RAILWEAVE_SYSFS:-/sys}
WHAT=apply
DRY_RUN=no
FAILED=0
# The interface or PCI address of the only NIC to look at; empty: all of them.
ONLY=""

say() { printf '%s\n' "$*"; }
problem() {
    printf 'problem: %s\n' "$*" >&2
    FAILED=1
}
have() { command -v "$1" >/dev/null 2>&1; }

# The PCI address of a network interface, such as 0000:1b:00.0.
pci_of() { basename "$(readlink -f "$SYSFS/class/net/$1/device")"; }

# Whether a NIC is to be looked at. One that is not there has no PCI address, and is looked at unless another was named.
chosen() {
    [[ -z $ONLY || $ONLY == "$1" ]] && return
    [[ $ONLY == *:* ]] && { [[ ! -e $SYSFS/class/net/$1 ]] || [[ $(pci_of "$1") == "$ONLY" ]]; }
}

# Says that no NIC was chosen: udev gave the PCI address of a card that is on no fabric, or a name is wrong.
none_chosen() {
    if [[ $ONLY == *:* ]]; then
        say "no NIC that this script is for has the PCI address $ONLY: nothing to do"
    else
        problem "$ONLY is none of the NICs that this script is for"
    fi
}

there() {
    [[ -e $SYSFS/class/net/$1 ]] && return
    problem "there is no interface $1 (names come from the design or the inventory)"
    return 1
}

arguments() {
    local argument
    for argument in "$@"; do
        case $argument in
        apply | show) WHAT=$argument ;;
        --dry-run) DRY_RUN=yes ;;
        --nic=?*) ONLY=${argument#--nic=} ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            exit 2
            ;;
        esac
    done
}

# On a copy of what the kernel shows, root is not needed.
needs_root() {
    [[ $EUID -ne 0 && -z ${RAILWEAVE_SYSFS:-} ]] || return 0
    printf 'run it as root%s\n' "$1" >&2
    exit 1
}

CONFIGFS=${RAILWEAVE_CONFIGFS:-/sys/kernel/config}
DEBUGFS=${RAILWEAVE_DEBUGFS:-/sys/kernel/debug}
ETC=${RAILWEAVE_ETC:-/etc}
RUN=${RAILWEAVE_RUN:-/run/railweave}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
    cat <<END
usage: ${0##*/} [apply|show] [--dry-run] [--nic=NIC]
  apply      set the QoS of the NICs (the default); safe to repeat
  show       print what the NICs do now
  --dry-run  print what apply would do, change nothing
  --nic=NIC  only the NIC with this interface name or PCI address
END
}

# Runs a command that changes something, or prints it.
run() {
    if [[ $DRY_RUN == yes ]]; then
        say "would run: $*"
    elif ! "$@"; then
        problem "$* failed"
        return 1
    fi
}

# put VALUE FILE: writes a kernel attribute unless it holds the value already. "Global tclass=106" holds 106.
put() {
    local value=$1 file=$2 now
    now=$(cat "$file" 2>/dev/null || true)
    [[ $now == "$value" || ${now##*=} == "$value" ]] && return 0
    if [[ $DRY_RUN == yes ]]; then
        say "would write: $value > $file"
    elif ! printf '%s\n' "$value" >"$file"; then
        problem "cannot write $value to $file"
    fi
}

# The RDMA device of a network interface. Names change with udev rules and kernels: what the kernel says counts.
rdma_of() {
    local device
    for device in "$SYSFS/class/net/$1/device/infiniband/"*; do
        [[ -e $device ]] || continue
        basename "$device"
        return
    done
}

# Global pause would stop all classes where PFC is to stop one, and NICs do not do both.
pause_off() {
    local now
    if ! have ethtool; then
        problem "ethtool is missing (package ethtool): whether global pause is off on $1 is not known"
        return
    fi
    # Taken first: were grep to leave before ethtool has said all, the pipeline would have failed.
    now=$(ethtool -a "$1" 2>/dev/null) || true
    if grep -Eq '^(RX|TX):[[:space:]]+on' <<<"$now"; then
        run ethtool -A "$1" rx off tx off || true
    fi
}

# What connections ask for is a setting of the RDMA connection manager, whose module nothing loads before the first connection.
connection_manager_first() {
    [[ -d $CONFIGFS/rdma_cm ]] || run modprobe rdma_cm || true
}

# One run at a time: udev may start one for each NIC, and some tools set all cards of a server.
one_at_a_time() {
    mkdir -p "$RUN"
    exec 9>"$RUN/nic-qos.lock"
    flock 9
}

# Connections by the RDMA connection manager: RoCE v2, and the designed class where the application asks for none.
connection_manager() {
    local rdma=$1 port=$2 class=$3 folder="$CONFIGFS/rdma_cm/$1"
    if [[ ! -d $CONFIGFS/rdma_cm && $DRY_RUN == no ]]; then
        problem "$CONFIGFS/rdma_cm is missing, though rdma_cm is loaded: mount -t configfs none $CONFIGFS"
        return
    fi
    if [[ $DRY_RUN == no ]]; then
        mkdir -p "$folder"
    fi
    put "RoCE v2" "$folder/ports/$port/default_roce_mode"
    put "$class" "$folder/ports/$port/default_roce_tos"
    # The values stay with the device when the folder goes.
    if [[ $DRY_RUN == no ]]; then
        rmdir "$folder" 2>/dev/null || true
    fi
}

# What the map of DSCPs has beyond the design goes: a DSCP that was designed once would stay in a priority that is paused.
dcb_others_out() {
    local dev=$1 map=$2 one others=()
    for one in $(dcb -N app show dev "$dev" dscp-prio 2>/dev/null || true); do
        if [[ $one =~ ^[0-9]+:[0-7]$ && " $map " != *" ${one%:*}:"* ]]; then
            others+=("$one")
        fi
    done
    if ((${#others[@]})); then
        run dcb app del dev "$dev" dscp-prio "${others[@]}" || true
    fi
}

# The in-kernel interface (iproute2, dcb(8)), which drivers of both vendors speak.
# Traffic class 0 is everything else, 1 is RDMA data that is paused, 2 is congestion notification, served strictly before all; the
# other lossless classes follow. A NIC without a class for congestion notification says so by a third argument, 0: it is in class 0.
dcb_qos() {
    local dev=$1 map=$2 notification=${3:-2} one tc=3 rest=100 kinds=() shares=() data=() classes=() pauses=()
    [[ $notification != 0 ]] || tc=2
    if ! have dcb; then
        problem "dcb is missing (package iproute2, 5.11 or newer): nothing set on $dev"
        return
    fi
    # shellcheck disable=SC2086  # the map is a list of words
    run dcb app replace dev "$dev" dscp-prio $map || true
    dcb_others_out "$dev" "$map"
    if [[ $LOSSLESS == yes ]]; then
        kinds=(1:ets) shares=("1:$SHARE") data=("$PRIORITY:1") pauses=("$PRIORITY:on") rest=$((100 - SHARE))
    fi
    for one in $OTHERS; do
        kinds+=("$tc:ets") shares+=("$tc:${one#*:}") classes+=("${one%:*}:$tc") pauses+=("${one%:*}:on")
        rest=$((rest - ${one#*:})) tc=$((tc + 1))
    done
    run dcb ets set dev "$dev" tc-tsa all:strict 0:ets "${kinds[@]}" tc-bw all:0 "0:$rest" "${shares[@]}" \
        prio-tc all:0 "${data[@]}" "$CNP_PRIORITY:$notification" "${classes[@]}" || true
    run dcb pfc set dev "$dev" prio-pfc all:off "${pauses[@]}" || true
}

show_common() {
    local dev=$1 rdma=$2 port=$3 what
    if have ethtool; then
        ethtool -a "$dev" 2>/dev/null | sed -n 's/^\([RT]X\):[[:space:]]*/  global pause \1: /p' || true
    fi
    if have dcb; then
        for what in dcbx pfc ets app; do
            dcb "$what" show dev "$dev" 2>/dev/null | sed "s/^/  $what: /" || true
        done
    fi
    [[ -n $rdma && -d $CONFIGFS/rdma_cm ]] || return 0
    mkdir -p "$CONFIGFS/rdma_cm/$rdma" 2>/dev/null || return 0
    for what in default_roce_mode default_roce_tos; do
        say "  $what: $(cat "$CONFIGFS/rdma_cm/$rdma/ports/$port/$what" 2>/dev/null || echo unknown)"
    done
    rmdir "$CONFIGFS/rdma_cm/$rdma" 2>/dev/null || true
}

# AMD Pensando Pollara 400: nicctl, which speaks to all cards of a server at once.

AMD_DONE=""

# DSCPs as nicctl takes them: "0-23,25-45" of "0 1 2 ...", ascending.
amd_ranges() {
    local one first="" last="" text=""
    for one in "$@"; do
        if [[ -n $last && $one -eq $((last + 1)) ]]; then
            last=$one
            continue
        fi
        [[ -z $first ]] || text+=",$first$([[ $first == "$last" ]] || say "-$last")"
        first=$one last=$one
    done
    [[ -z $first ]] || text+=",$first$([[ $first == "$last" ]] || say "-$last")"
    say "${text#,}"
}

# The priorities that nicctl says are never dropped now, a line each.
amd_no_drop() {
    nicctl show qos 2>/dev/null | sed -n 's/.*PFC no-drop priorities[[:space:]]*:[[:space:]]*//p' |
        sed -n 1p | tr -cs '0-7' '\n' | sed '/^$/d' || true
}

# DSCPs that may have a purpose, a line each: those that AMD's documents and packages give one (data, xccl-cts, rdma-ack), those of the
# design, and those that nicctl shows. The form in which it shows them is not public: any number in a line about purposes counts.
amd_purposes() {
    local pair
    {
        printf '%s\n' 10 24 46 48
        for pair in $DESIGNED; do
            say "${pair%%:*}"
        done
        nicctl show qos 2>/dev/null | sed -n '/[Pp]urpose/{s/0x[0-9a-fA-F]*//g; s/[^0-9]\{1,\}/\n/gp}' || true
    } | grep -E '^([0-9]|[1-5][0-9]|6[0-3])$' | sort -nu
}

# QoS of the cards. A priority needs a DSCP before it is scheduled, so the map comes first.
amd_cards() {
    local port pair priority dscp
    local -A own=()
    while read -r port; do
        run nicctl update port -p "$port" --pause-type pfc --rx-pause enable --tx-pause enable || true
    done < <(nicctl show port 2>/dev/null | awk '$1 == "Port" { print $3 }')
    # A purpose of an earlier set-up would go before the priority of its DSCP. The design gives none.
    while read -r dscp; do
        run nicctl update qos dscp-to-purpose --dscp "$dscp" --purpose none || true
    done < <(amd_purposes)
    run nicctl update qos --classification-type dscp || true
    for pair in $DESIGNED; do
        own[${pair##*:}]+=" ${pair%%:*}"
    done
    local rest=()
    for dscp in {0..63}; do
        [[ " $DESIGNED " == *" $dscp:"* ]] || rest+=("$dscp")
    done
    run nicctl update qos dscp-to-priority --dscp "$(amd_ranges "${rest[@]}")" --priority 0 || true
    for priority in "${!own[@]}"; do
        # shellcheck disable=SC2086  # a list of numbers
        run nicctl update qos dscp-to-priority --dscp "$(amd_ranges ${own[$priority]})" --priority "$priority" || true
    done
    local paused="" weighted="" weights="" limits="" remaining=100
    if [[ $LOSSLESS == yes ]]; then
        paused=$PRIORITY weighted="$PRIORITY," weights="$SHARE," limits="0," remaining=$((100 - SHARE))
    fi
    for pair in $OTHERS; do
        paused+=" ${pair%:*}" weighted+="${pair%:*}," weights+="${pair#*:}," limits+="0," remaining=$((remaining - ${pair#*:}))
    done
    while read -r priority; do
        [[ " $paused " == *" $priority "* ]] ||
            run nicctl update qos pfc --priority "$priority" --no-drop disable || true
    done < <(amd_no_drop)
    for priority in $paused; do
        run nicctl update qos pfc --priority "$priority" --no-drop enable || true
    done
    # The last is served strictly, up to a tenth of the link: AMD's own value for notification packets.
    run nicctl update qos scheduling --priority "${weighted}0,$CNP_PRIORITY" --dwrr "$weights$remaining,0" \
        --rate-limit "${limits}0,10" || true
}

# Congestion control, as AMD recommends it, with the designed DSCP of notification packets. It is that of the whole NIC, so it is
# on where switches mark any of its classes.
amd_congestion() {
    local rdma=$1
    if [[ $ECN != yes && -z $MARKED ]]; then
        return
    fi
    if [[ -z $rdma ]]; then
        problem "an interface has no RDMA device: its congestion control is not set (is ionic_rdma loaded?)"
        return
    fi
    run nicctl update dcqcn -r "$rdma" -i 1 --token-bucket-size 800000 --ai-rate 160 --alpha-update-interval 1 \
        --alpha-update-g 512 --initial-alpha-value 64 --rate-increase-byte-count 431068 --hai-rate 300 \
        --rate-reduce-monitor-period 1 --rate-increase-threshold 1 --rate-increase-interval 1 \
        --cnp-dscp "$CNP_DSCP" || true
}

apply_amd() {
    local dev=$1 rdma=$2 design
    if ! have nicctl; then
        problem "nicctl is missing (AMD Pensando host software): nothing set on $dev"
        return
    fi
    design="$LOSSLESS $PRIORITY $SHARE $OTHERS $CNP_PRIORITY $DESIGNED"
    if [[ -z $AMD_DONE ]]; then
        amd_cards
        AMD_DONE=$design
    elif [[ $AMD_DONE != "$design" ]]; then
        problem "$dev: nicctl sets the QoS of all cards, and they have that of another fabric already: $dev is not as designed"
    fi
    amd_congestion "$rdma"
}

show_amd() {
    local what
    have nicctl || return 0
    for what in port qos dcqcn; do
        nicctl show "$what" 2>/dev/null | sed "s/^/  nicctl $what: /" || true
    done
}

each_nic() {
    local what=$1 line dev name port vendor fabric rdma seen=no
    for line in "${NICS[@]}"; do
        read -r dev name port vendor fabric CABLE_M <<<"$line"
        chosen "$dev" || continue
        seen=yes
        there "$dev" || continue
        rdma=$(rdma_of "$dev")
        if [[ -z $rdma ]]; then
            problem "$dev has no RDMA device: is the RDMA driver loaded?"
            continue
        fi
        [[ $rdma == "$name" ]] || say "$dev: its RDMA device is $rdma, the design says $name"
        design "$fabric"
        if [[ $what == apply ]]; then
            say "$dev ($rdma)"
            "apply_${vendor,,}" "$dev" "$rdma" "$port"
            connection_manager "$rdma" "$port" "$CLASS"
        else
            say "$dev ($rdma), $vendor"
            show_common "$dev" "$rdma" "$port"
            "show_${vendor,,}" "$dev" "$rdma" "$port"
        fi
    done
    [[ -z $ONLY || $seen == yes ]] || none_chosen
}

arguments "$@"
if [[ $WHAT == apply && $DRY_RUN == no ]]; then
    needs_root ", or with --dry-run"
    one_at_a_time
fi
if [[ $WHAT == apply ]]; then
    connection_manager_first
fi
each_nic "$WHAT"
exit "$FAILED"
