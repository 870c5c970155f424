
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
