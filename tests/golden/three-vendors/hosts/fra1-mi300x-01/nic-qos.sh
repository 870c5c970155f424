#!/usr/bin/env bash
# QoS of the NICs: DSCP, priorities, PFC, ETS, congestion control.
# Written by railweave for three-vendors, server fra1-mi300x-01; change the fabric file, not this.
# shellcheck disable=SC2034,SC2329  # vendors' functions are called by name, and take what they need of the values
set -euo pipefail

# interface, RDMA device, its port, vendor, fabric, cable in m (0: not known)
NICS=(
    'eth1 bnxt_re0 1 Broadcom backend 4'
    'eth2 bnxt_re1 1 Broadcom backend 4'
    'eth3 bnxt_re2 1 Broadcom backend 4'
    'eth4 bnxt_re3 1 Broadcom backend 4'
    'eth5 bnxt_re4 1 Broadcom backend 4'
    'eth6 bnxt_re5 1 Broadcom backend 4'
    'eth7 bnxt_re6 1 Broadcom backend 4'
    'eth8 bnxt_re7 1 Broadcom backend 4'
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
        CNP_DSCP=48 CNP_PRIORITY=7
        # the fabric keeps the packets of a flow in order
        ADAPTIVE=no
        # priority of every DSCP, and those that are designed
        MAP=(0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 2 2 2 2 2 2 2 2 0 0 3 0 0 0 0 0 4 4 4 4 4 4 4 4 5 5 5 5 5 5 5 5 7 6 6 6 6 6 6 6 0 0 0 0 0 0 0 0)
        DESIGNED='26:3 48:7'
        # bnxt_re.conf, of which a server has one, holds this
        IN_FILE=yes
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

# Broadcom BCM576xx (drivers bnxt_en, bnxt_re).

# The driver reads its QoS from a file when it is loaded; the file lies beside this script.
BROADCOM_FILE=unknown
broadcom_file() {
    local file="$ETC/bnxt_re/bnxt_re.conf"
    [[ $BROADCOM_FILE == unknown ]] || return 0
    BROADCOM_FILE=known
    if [[ ! -f $HERE/bnxt_re.conf ]]; then
        problem "$HERE/bnxt_re.conf is missing: copy it here from the folder this script came from"
    elif ! cmp -s "$HERE/bnxt_re.conf" "$file"; then
        run install -D -m 644 "$HERE/bnxt_re.conf" "$file" || return 0
        say "$file is new: the driver reads it when it is loaded, so reboot once (package bnxt_re_conf must be installed)"
    fi
}

# The priorities that a text names: "3 4" of "4, 3", and "none".
priorities() {
    local i found=""
    for i in {0..7}; do
        [[ $1 != *"$i"* ]] || found+="${found:+ }$i"
    done
    say "${found:-none}"
}

# Whether firmware has a service type, and with it a traffic class, for congestion notification. Broadcom's own bnxt_setupcc.sh
# (release 236) reads it from the driver, and takes an absent answer for no.
broadcom_has_notification() {
    local rdma=$1 pci=$2 file has=""
    for file in "$DEBUGFS/bnxt_re/$rdma/info" "$DEBUGFS/bnxt_re/$pci/info"; do
        [[ -n $has ]] || has=$(sed -n 's/.*fw_service_prof_type_sup[^0-9]*\([0-9]\).*/\1/p' "$file" 2>/dev/null) || true
    done
    case $has in
    "") say unknown ;;
    0) say no ;;
    *) say yes ;;
    esac
}

# What the NIC itself says. Where it is not what was set, firmware DCBX or LLDP is in charge.
broadcom_check() {
    local dev=$1 notification=$2 now one tc=3 pfc="" want="$CNP_PRIORITY:$2"
    [[ $notification != 0 ]] || tc=2
    if ! have niccli; then
        say "$dev: not checked, niccli is missing (Broadcom's package)"
        return
    fi
    if [[ $LOSSLESS == yes ]]; then
        pfc=$PRIORITY want="$PRIORITY:1 $want"
    fi
    for one in $OTHERS; do
        pfc+=" ${one%:*}" want+=" ${one%:*}:$tc" tc=$((tc + 1))
    done
    pfc=$(priorities "$pfc")
    now=$(niccli --dev "$(pci_of "$dev")" qos --ets --show 2>/dev/null) || true
    local pair map enabled
    map=$(sed -n 's/.*PRIO[_ ]MAP: *//p' <<<"$now")
    enabled=$(priorities "$(sed -n 's/.*PFC enabled: *//p' <<<"$now")")
    if [[ -z $map ]]; then
        problem "$dev: niccli says nothing about QoS: ${now##*$'\n'}"
        return
    fi
    for pair in $want; do
        [[ " $map " == *" $pair "* ]] ||
            problem "$dev: priority ${pair%:*} is not in traffic class ${pair#*:}: firmware DCBX or LLDP may be on (nic-nvm.sh)"
    done
    [[ $enabled == "$pfc" ]] ||
        problem "$dev: PFC is on for $enabled, not $pfc: firmware DCBX or LLDP may be on (nic-nvm.sh)"
}

apply_broadcom() {
    local dev=$1 rdma=$2 has notification=0
    broadcom_file
    has=$(broadcom_has_notification "$rdma" "$(pci_of "$dev")")
    if [[ $has == yes ]]; then
        notification=2
    elif [[ $has == no ]]; then
        say "$dev: firmware has no service type for congestion notification, which shares class 0 with other traffic"
    elif [[ $ECN == yes || -n $MARKED ]]; then
        problem "$dev: $DEBUGFS/bnxt_re/$rdma/info does not show fw_service_prof_type_sup, so congestion notification is left in class 0 with other traffic: mount debugfs and load Broadcom's own bnxt_re"
    fi
    if [[ $IN_FILE == no ]]; then
        problem "$dev: bnxt_re.conf, one file for all Broadcom NICs, holds the QoS of another fabric: whenever the driver is loaded $dev gets that, until this script runs again"
    fi
    if [[ -n $OTHERS ]]; then
        say "$dev: bnxt_re.conf has words for one RoCE class: the driver, when it is loaded, leaves out the others, until this script runs again"
    fi
    pause_off "$dev"
    dcb_qos "$dev" "$DESIGNED" "$notification"
    if have dcb && [[ $LOSSLESS == yes || -n $OTHERS ]]; then
        # RoCE v2 by its UDP port too, as the driver's own defaults have it.
        run dcb app replace dev "$dev" dgram-port-prio "4791:$PRIORITY" || true
    fi
    if [[ $DRY_RUN == no ]]; then
        broadcom_check "$dev" "$notification"
    fi
}

show_broadcom() {
    local dev=$1 rdma=$2
    if [[ -f $ETC/bnxt_re/bnxt_re.conf ]]; then
        sed 's/^/  bnxt_re.conf: /' "$ETC/bnxt_re/bnxt_re.conf"
    else
        say "  bnxt_re.conf: missing"
    fi
    if have niccli; then
        niccli --dev "$(pci_of "$dev")" qos --ets --show 2>/dev/null | sed 's/^/  niccli: /' || true
    fi
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
