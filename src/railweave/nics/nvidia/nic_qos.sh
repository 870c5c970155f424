
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
