
# NVIDIA ConnectX: mlxconfig of package mft, or mstconfig of package mstflint, which distributions carry.
nvidia_tool() {
    local tool
    for tool in mlxconfig mstconfig; do
        if have "$tool"; then
            say "$tool"
            return
        fi
    done
    return 1
}

# The number that a value such as "ETH(2)", "False(0)", "0x8" or "48" stands for.
nvidia_number() {
    local value=$1
    if [[ $value =~ \(([0-9]+)\)$ ]]; then
        say "${BASH_REMATCH[1]}"
    elif [[ $value =~ ^(0x[0-9a-fA-F]+|[0-9]+)$ ]]; then
        say "$((value))"
    else
        say "$value"
    fi
}

nvidia() {
    local what=$1 dev=$2 pci tool all name want why now
    local -n options=$3
    local changes=()
    pci=$(pci_of "$dev")
    if ! tool=$(nvidia_tool); then
        problem "neither mlxconfig nor mstconfig is there (packages mft, mstflint): $dev not looked at"
        return
    fi
    if ! all=$("$tool" -d "$pci" query 2>&1); then
        problem "$tool -d $pci query failed: ${all##*$'\n'}"
        return
    fi
    say "$dev ($pci)"
    while read -r name want _ why; do
        # The last column is what holds from the next restart on, so a second run finds nothing to do.
        now=$(awk -v name="$name" '{ i = ($1 == "*") ? 2 : 1 } $i == name { print $NF }' <<<"$all")
        if [[ -z $now ]]; then
            say "  $name: not in this firmware"
            continue
        fi
        if [[ $want == - ]]; then
            [[ $what == apply ]] || say "  $name: $now, left as it is: $why"
        elif [[ $(nvidia_number "$now") == "$want" ]]; then
            [[ $what == apply ]] || say "  $name: $now, as wanted: $why"
        else
            say "  $name: $now, wanted $want: $why"
            changes+=("$name=$want")
        fi
    done < <(printf '%s\n' "${options[@]}")
    if [[ $what == apply && ${#changes[@]} -gt 0 ]]; then
        change "$tool" -d "$pci" --yes set "${changes[@]}"
        say "  in force after a reboot, or after a firmware reset with mlxfwreset or mstfwreset"
    fi
}
