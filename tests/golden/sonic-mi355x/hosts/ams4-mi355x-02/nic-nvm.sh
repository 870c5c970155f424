#!/usr/bin/env bash
# Settings in the NICs' flash.
# Written by railweave for sonic-mi355x, server ams4-mi355x-02; change the fabric file, not this.
# shellcheck disable=SC2034,SC2329  # vendors' functions are called by name, and take what they need of the values
set -euo pipefail

# interface, vendor, its list of settings
NICS=(
)

# setting, wanted value (- is only shown), whether each PCI function has its own, why

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
