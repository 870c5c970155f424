
# Broadcom: niccli.

# 1 or 0 for what niccli prints, such as "support_rdma = True"; other text as it is.
broadcom_number() {
    case ${1,,} in
    1 | true | enabled | enable | on | roce*) say 1 ;;
    0 | false | disabled | disable | off | none | default*) say 0 ;;
    *) say "$1" ;;
    esac
}

broadcom() {
    local what=$1 dev=$2 pci name want per why now scope
    local -n options=$3
    pci=$(pci_of "$dev")
    if ! have niccli; then
        problem "niccli is missing (Broadcom's package): $dev not looked at"
        return
    fi
    say "$dev ($pci)"
    while read -r name want per why; do
        scope=()
        if [[ $per == function ]]; then
            scope=(--scope "${pci##*.}")
        fi
        now=$(niccli --dev "$pci" nvm --getoption "$name" "${scope[@]}" 2>/dev/null </dev/null |
            sed -n "s/^[[:space:]]*${name}[^=:]*[=:][[:space:]]*\(.*[^[:space:]]\)[[:space:]]*$/\1/p" | tail -n 1) || true
        if [[ -z $now ]]; then
            problem "$dev: niccli does not say what $name is: is it older than release 231?"
        elif [[ $want == - ]]; then
            [[ $what == apply ]] || say "  $name: $now, left as it is: $why"
        elif [[ $(broadcom_number "$now") == "$want" ]]; then
            [[ $what == apply ]] || say "  $name: $now, as wanted: $why"
        else
            say "  $name: $now, wanted $want: $why"
            if [[ $what == apply ]]; then
                change niccli --dev "$pci" nvm --setoption "$name" "${scope[@]}" --value "$want"
            fi
        fi
    done < <(printf '%s\n' "${options[@]}")
}
