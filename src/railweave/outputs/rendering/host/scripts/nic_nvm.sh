
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
