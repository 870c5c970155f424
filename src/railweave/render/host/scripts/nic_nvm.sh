# What follows is the same on every server.

SYSFS=${RAILWEAVE_SYSFS:-/sys}
DRY_RUN=no
FAILED=0
CHANGED=0

usage() {
    cat <<END
usage: ${0##*/} [apply|show] [--dry-run]
  apply      set what differs in the NICs' flash (the default); safe to repeat; takes effect after a restart
  show       print what is set, what is wanted and why
  --dry-run  print what apply would do, change nothing
END
}

say() { printf '%s\n' "$*"; }
problem() {
    printf 'problem: %s\n' "$*" >&2
    FAILED=1
}
have() { command -v "$1" >/dev/null 2>&1; }

# The PCI address of a network interface, such as 0000:1b:00.0.
pci_of() { basename "$(readlink -f "$SYSFS/class/net/$1/device")"; }

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
