
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

# The number that a value such as "ETH(2)", "False(0)", "0x8" or "48" stands for; fails at anything else.
nvidia_number() {
    local number='(0x[0-9a-fA-F]+|0|[1-9][0-9]*)'
    [[ $1 =~ \(${number}\)$ || $1 =~ ^${number}$ ]] && say "$((BASH_REMATCH[1]))"
}

nvidia() {
    local what=$1 dev=$2 pci tool all option name want why now number
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
    for option in "${options[@]}"; do
        read -r name want _ why <<<"$option"
        # The last column is what holds from the next restart on, so a second run finds nothing to do.
        now=$(awk -v name="$name" '{ i = ($1 == "*") ? 2 : 1 } $i == name { print $NF }' <<<"$all")
        if [[ -z $now ]]; then
            say "  $name: not in this firmware"
            continue
        fi
        if [[ $want == - ]]; then
            [[ $what == apply ]] || say "  $name: $now, left as it is: $why"
        elif ! number=$(nvidia_number "$now"); then
            problem "$dev: $tool says \"$now\" of $name, which is not understood: left as it is (wanted $want: $why)"
        elif [[ $number == "$want" ]]; then
            [[ $what == apply ]] || say "  $name: $now, as wanted: $why"
        else
            say "  $name: $now, wanted $want: $why"
            changes+=("$name=$want")
        fi
    done
    if [[ $what == apply && ${#changes[@]} -gt 0 ]]; then
        change "$tool" -d "$pci" --yes set "${changes[@]}"
        say "  in force after a reboot, or after a firmware reset with mlxfwreset or mstfwreset"
    fi
}
