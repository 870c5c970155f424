#!/usr/bin/env bash
# QoS of the NICs: DSCP, priorities, PFC, ETS, congestion control.
# Written by railweave for three-vendors, server fra1-h100-01; change the fabric file, not this.
# shellcheck disable=SC2034,SC2329  # vendors' functions are called by name, and take what they need of the values
set -euo pipefail

# interface, RDMA device, its port, vendor, fabric, cable in m (0: not known)
NICS=(
    'gpu0_eth mlx5_0 1 NVIDIA backend 4'
    'gpu1_eth mlx5_3 1 NVIDIA backend 4'
    'gpu2_eth mlx5_4 1 NVIDIA backend 4'
    'gpu3_eth mlx5_5 1 NVIDIA backend 4'
    'gpu4_eth mlx5_6 1 NVIDIA backend 4'
    'gpu5_eth mlx5_9 1 NVIDIA backend 4'
    'gpu6_eth mlx5_10 1 NVIDIA backend 4'
    'gpu7_eth mlx5_11 1 NVIDIA backend 4'
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

# NVIDIA ConnectX (driver mlx5_core).

# Sets the QoS by mlnx_qos, which comes with the vendor's packages. It takes one DSCP a call: only what differs is set.
mlnx_qos_qos() {
    local dev=$1 now pair i tc=3 classes=(0 0 0 0 0 0 0 0) pause=(0 0 0 0 0 0 0 0)
    if ! now=$(mlnx_qos -i "$dev" 2>&1); then
        problem "mlnx_qos -i $dev failed, nothing set there: ${now##*$'\n'}"
        return
    fi
    grep -q 'DCBX mode: OS' <<<"$now" || run mlnx_qos -i "$dev" --dcbx os || true
    grep -q 'trust state: dscp' <<<"$now" || run mlnx_qos -i "$dev" --trust dscp || true
    local -A has=()
    while read -r pair; do
        has[${pair%:*}]=${pair#*:}
    done < <(awk '/prio:[0-7] dscp:/ {
        split($0, half, "dscp:"); sub(/.*prio:/, "", half[1]); prio = half[1] + 0
        count = split(half[2], part, ",")
        for (i = 1; i <= count; i++) if (part[i] ~ /[0-9]/) print part[i] + 0 ":" prio
    }' <<<"$now")
    for i in "${!MAP[@]}"; do
        [[ ${has[$i]:-} == "${MAP[i]}" ]] || run mlnx_qos -i "$dev" --dscp2prio "set,$i,${MAP[i]}" || true
    done
    classes[CNP_PRIORITY]=2
    local kinds=(ets strict strict strict strict strict strict strict) shares=(100 0 0 0 0 0 0 0)
    if [[ $LOSSLESS == yes ]]; then
        classes[PRIORITY]=1 pause[PRIORITY]=1 kinds[1]=ets shares[0]=$((100 - SHARE)) shares[1]=$SHARE
    fi
    for pair in $OTHERS; do
        i=${pair%:*}
        classes[i]=$tc pause[i]=1 kinds[tc]=ets shares[tc]=${pair#*:} shares[0]=$((shares[0] - ${pair#*:})) tc=$((tc + 1))
    done
    cable_length "$dev" "$(sed -n 's/^Cable len: *//p' <<<"$now")"
    [[ -z $CABLE ]] || run mlnx_qos -i "$dev" --cable_len "$CABLE" || true
    run mlnx_qos -i "$dev" --prio_tc "$(commas "${classes[@]}")" --tcbw "$(commas "${shares[@]}")" \
        --tsa "$(commas "${kinds[@]}")" || true
    run mlnx_qos -i "$dev" --pfc "$(commas "${pause[@]}")" || true
}

# CABLE becomes the length of cable, m, that the driver is to be told; empty: it goes by that already. What arrives after a pause was sent has
# to fit into the NIC's buffer, for which the driver takes a cable of 7 m, or what it is told, less than 1,000 m (mlx5 en/port_buffer.h,
# en_dcbnl.c).
cable_length() {
    local dev=$1 now=$2 want=$CABLE_M
    CABLE=""
    [[ $LOSSLESS == yes || -n $OTHERS ]] || return 0
    if ((want >= 1000)); then
        problem "$dev: its cable is $want m long, and the driver takes 999 m at most: the NIC loses what arrives while it pauses"
        want=999
    elif ((want < 7)); then
        want=7
    fi
    [[ ${now:-7} == "$want" ]] || CABLE=$want
}

commas() {
    local IFS=,
    printf '%s' "$*"
}

# DCQCN: this NIC answers marked packets (np) and slows down on answers (rp); the answers' DSCP and priority.
# The vendor's driver has it in sysfs. The kernel's own has it in debugfs, where the priorities are those of the firmware's
# mask (nic-nvm.sh).
congestion_control() {
    local dev=$1 pci=$2 on=0 side one mark folder="$SYSFS/class/net/$1/ecn" parameters="$DEBUGFS/mlx5/$2/cc_params"
    if [[ $ECN == yes ]]; then
        on=1
    fi
    if [[ -d $folder ]]; then
        for side in roce_np roce_rp; do
            put "$on" "$folder/$side/enable/$PRIORITY"
            for one in $OTHERS; do
                mark=0
                if [[ " $MARKED " == *" ${one%:*} "* ]]; then
                    mark=1
                fi
                put "$mark" "$folder/$side/enable/${one%:*}"
            done
        done
        put "$CNP_DSCP" "$folder/roce_np/cnp_dscp"
        put "$CNP_PRIORITY" "$folder/roce_np/cnp_802p_prio"
    elif [[ -d $parameters ]]; then
        put "$CNP_DSCP" "$parameters/np_cnp_dscp"
        put "$CNP_PRIORITY" "$parameters/np_cnp_prio"
    else
        problem "neither $folder nor $parameters is there: DSCP and priority of congestion notification not set on $dev"
    fi
}

# The tool that reads and writes registers: the vendor's, or that of package mstflint.
register_tool() {
    local tool
    for tool in mlxreg mstreg; do
        if have "$tool"; then
            say "$tool"
            return
        fi
    done
    return 1
}

# Adaptive routing makes RDMA writes carry their address in every packet, so that packets may take any path. It needs a
# fabric that sprays, and helps no other.
adaptive_routing() {
    local dev=$1 pci=$2 tool now want=0x0
    if [[ $ADAPTIVE == yes ]]; then
        want=0x1
    fi
    if ! tool=$(register_tool); then
        if [[ $ADAPTIVE == yes ]]; then
            problem "neither mlxreg nor mstreg is there (packages mft, mstflint): adaptive routing not set on $dev"
        else
            say "$dev: adaptive routing not looked at (no mlxreg or mstreg); it is off unless it was turned on"
        fi
        return
    fi
    now=$("$tool" -d "$pci" --reg_name ROCE_ACCL --get 2>/dev/null |
        awk -F'|' '$1 ~ /^adaptive_routing_forced_en[[:space:]]*$/ { gsub(/[[:space:]]/, "", $2); print $2 }') || true
    if [[ -z $now ]]; then
        if [[ $ADAPTIVE == yes ]]; then
            problem "$dev: the firmware has no adaptive_routing_forced_en (28.39.3560 is known to have it)"
        fi
    elif ((now != want)); then
        run "$tool" -d "$pci" --reg_name ROCE_ACCL --set "adaptive_routing_forced_en=$want" --yes || true
    fi
}

apply_nvidia() {
    local dev=$1 rdma=$2 port=$3 pci i dcbx pairs=()
    pci=$(pci_of "$dev")
    pause_off "$dev"
    if have mlnx_qos; then
        mlnx_qos_qos "$dev"
    else
        say "$dev: no mlnx_qos, so by dcb"
        if have dcb; then
            dcbx=$(dcb dcbx show dev "$dev" 2>/dev/null) || true
            grep -qw host <<<"$dcbx" || run dcb dcbx set dev "$dev" host ieee || true
        fi
        for i in "${!MAP[@]}"; do
            pairs+=("$i:${MAP[i]}")
        done
        # PFC's delay is the length of cable to this driver (mlx5 en_dcbnl.c, ieee_setpfc).
        if have dcb; then
            cable_length "$dev" "$(dcb pfc show dev "$dev" 2>/dev/null | sed -n 's/.*delay \([1-9][0-9]*\).*/\1/p' || true)"
            [[ -z $CABLE ]] || run dcb pfc set dev "$dev" delay "$CABLE" || true
        fi
        dcb_qos "$dev" "${pairs[*]}"
    fi
    congestion_control "$dev" "$pci"
    # The class of every queue pair, whatever its application asks for. Only the vendor's driver has it. With several lossless
    # classes applications ask for theirs, and a class that is forced on all (a number of 0 or more is) goes.
    local class="$SYSFS/class/infiniband/$rdma/tc/$port/traffic_class"
    if [[ -e $class && -z $OTHERS ]]; then
        put "$CLASS" "$class"
    elif grep -qs '^Global tclass=' "$class"; then
        put -1 "$class"
    fi
    adaptive_routing "$dev" "$pci"
}

show_nvidia() {
    local dev=$1 rdma=$2 port=$3 pci tool file
    pci=$(pci_of "$dev")
    if have mlnx_qos; then
        mlnx_qos -i "$dev" 2>/dev/null | sed 's/^/  mlnx_qos: /' || true
    fi
    for file in "$SYSFS/class/net/$dev/ecn/"roce_[nr]p/enable/* "$SYSFS/class/net/$dev/ecn/roce_np/"cnp_* \
        "$DEBUGFS/mlx5/$pci/cc_params/"np_cnp_* "$SYSFS/class/infiniband/$rdma/tc/$port/traffic_class"; do
        if [[ -f $file ]]; then
            say "  ${file#"$SYSFS"/class/}: $(cat "$file" 2>/dev/null || echo unreadable)"
        fi
    done
    if tool=$(register_tool); then
        "$tool" -d "$pci" --reg_name ROCE_ACCL --get 2>/dev/null | grep '^adaptive_routing' | sed 's/^/  /' || true
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
