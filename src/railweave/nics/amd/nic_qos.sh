
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
