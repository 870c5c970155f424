
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
