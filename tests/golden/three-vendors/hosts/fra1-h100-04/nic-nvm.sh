#!/usr/bin/env bash
# Settings in the NICs' flash.
# Written by railweave for three-vendors, server fra1-h100-04; change the fabric file, not this.
# shellcheck disable=SC2034,SC2329  # vendors' functions are called by name, and take what they need of the values
set -euo pipefail

# interface, vendor, its list of settings
NICS=(
    'gpu0_eth NVIDIA OPTIONS_1'
    'gpu1_eth NVIDIA OPTIONS_1'
    'gpu2_eth NVIDIA OPTIONS_1'
    'gpu3_eth NVIDIA OPTIONS_1'
    'gpu4_eth NVIDIA OPTIONS_1'
    'gpu5_eth NVIDIA OPTIONS_1'
    'gpu6_eth NVIDIA OPTIONS_1'
    'gpu7_eth NVIDIA OPTIONS_1'
)

# setting, wanted value (- is only shown), whether each PCI function has its own, why
OPTIONS_1=(
    'LINK_TYPE_P1 2 device Ethernet (2), not InfiniBand (1)'
    'ROCE_CC_PRIO_MASK_P1 255 device congestion control is allowed on every priority; the driver turns it on for the designed one'
    'CNP_DSCP_P1 48 device congestion notification packets carry the DSCP that the switches classify; the operator'"'"'s default is 4'
    'CNP_802P_PRIO_P1 6 device congestion notification packets leave by the strict traffic class'
    'LLDP_NB_DCBX_P1 0 device the firmware takes no QoS from the switch by DCBX; it is set by nic-qos.sh'
    'LLDP_NB_RX_MODE_P1 0 device LLDP reaches the operating system, which checks cabling by it, rather than end in the firmware'
    'LLDP_NB_TX_MODE_P1 0 device the switch sees one LLDP neighbor, the server, not two'
    'PCI_WR_ORDERING - device per_mkey (0) lets NCCL ask for relaxed ordering where it is safe; force_relax (1) imposes it on every application'
)

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

CHANGED=0

usage() {
    cat <<END
usage: ${0##*/} [apply|show] [--dry-run] [--nic=NIC]
  apply      set what differs in the NICs' flash (the default); safe to repeat; takes effect after a restart
  show       print what is set, what is wanted and why
  --dry-run  print what apply would do, change nothing
  --nic=NIC  only the NIC with this interface name or PCI address
END
}

# Runs a command that changes something, or prints it.
change() {
    CHANGED=1
    if [[ $DRY_RUN == yes ]]; then
        say "  would run: $*"
    elif "$@" >/dev/null; then
        say "  ran: $*"
    else
        problem "$* failed"
    fi
}

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

arguments "$@"
if [[ $DRY_RUN == no ]]; then
    needs_root ": it reads and writes the flash of the NICs"
fi
SEEN=no
for line in "${NICS[@]}"; do
    read -r dev vendor list <<<"$line"
    chosen "$dev" || continue
    SEEN=yes
    there "$dev" || continue
    "${vendor,,}" "$WHAT" "$dev" "$list"
done
[[ -z $ONLY || $SEEN == yes ]] || none_chosen
if [[ $CHANGED -eq 1 && $DRY_RUN == no ]]; then
    say "Reboot the server for the new values to take effect."
elif [[ $WHAT == apply && $FAILED -eq 0 && $CHANGED -eq 0 ]]; then
    say "Nothing to change."
fi
exit "$FAILED"
