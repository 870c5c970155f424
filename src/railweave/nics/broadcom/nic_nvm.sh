
# Broadcom: niccli.

# The number that niccli means by "True", "1", "0x1", "1 - Enabled", "1 (True)" or "Enabled (1)"; fails at anything else,
# for what is not understood must not be written over.
broadcom_number() {
    local text=${1,,} number='(0x[0-9a-f]+|0|[1-9][0-9]*)'
    if [[ $text =~ ^${number}([[:space:]\(].*)?$ || $text =~ \(${number}\)$ ]]; then
        say "$((BASH_REMATCH[1]))"
        return
    fi
    case $text in
    true | enabled | enable | on | roce) say 1 ;;
    false | disabled | disable | off | none | default) say 0 ;;
    *) return 1 ;;
    esac
}

broadcom() {
    local what=$1 dev=$2 pci option name want per why now number scope
    local -n options=$3
    pci=$(pci_of "$dev")
    if ! have niccli; then
        problem "niccli is missing (Broadcom's package): $dev not looked at"
        return
    fi
    say "$dev ($pci)"
    for option in "${options[@]}"; do
        read -r name want per why <<<"$option"
        scope=()
        if [[ $per == function ]]; then
            scope=(--scope "${pci##*.}")
        fi
        now=$(niccli --dev "$pci" nvm --getoption "$name" "${scope[@]}" 2>/dev/null |
            sed -n "s/^[[:space:]]*${name}[^=:]*[=:][[:space:]]*\(.*[^[:space:]]\)[[:space:]]*$/\1/p" | tail -n 1) || true
        if [[ -z $now ]]; then
            problem "$dev: niccli does not say what $name is: is it older than release 231?"
        elif [[ $want == - ]]; then
            [[ $what == apply ]] || say "  $name: $now, left as it is: $why"
        elif ! number=$(broadcom_number "$now"); then
            problem "$dev: niccli says \"$now\" of $name, which is not understood: left as it is (wanted $want: $why)"
        elif [[ $number == "$want" ]]; then
            [[ $what == apply ]] || say "  $name: $now, as wanted: $why"
        else
            say "  $name: $now, wanted $want: $why"
            if [[ $what == apply ]]; then
                change niccli --dev "$pci" nvm --setoption "$name" "${scope[@]}" --value "$want"
            fi
        fi
    done
}
