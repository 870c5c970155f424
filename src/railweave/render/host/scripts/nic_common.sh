# What follows is the same on every server.

# No tool that is called here is to read what is meant for another.
exec </dev/null

# Root of what the kernel shows, so that the script can be tried on a copy.
SYSFS=${RAILWEAVE_SYSFS:-/sys}
WHAT=apply
DRY_RUN=no
FAILED=0

say() { printf '%s\n' "$*"; }
problem() {
    printf 'problem: %s\n' "$*" >&2
    FAILED=1
}
have() { command -v "$1" >/dev/null 2>&1; }

# The PCI address of a network interface, such as 0000:1b:00.0.
pci_of() { basename "$(readlink -f "$SYSFS/class/net/$1/device")"; }

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
