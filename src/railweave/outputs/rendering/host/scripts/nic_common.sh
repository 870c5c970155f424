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
