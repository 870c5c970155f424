
WHAT=apply
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
if [[ $DRY_RUN == no && $EUID -ne 0 && -z ${RAILWEAVE_SYSFS:-} ]]; then
    printf 'run it as root: it reads and writes the flash of the NICs\n' >&2
    exit 1
fi
for line in "${NICS[@]}"; do
    read -r dev vendor list <<<"$line"
    if [[ ! -e $SYSFS/class/net/$dev ]]; then
        problem "there is no interface $dev (names come from the design or the inventory)"
        continue
    fi
    "${vendor,,}" "$WHAT" "$dev" "$list"
done
if [[ $CHANGED -eq 1 && $DRY_RUN == no ]]; then
    say "Reboot the server for the new values to take effect."
elif [[ $WHAT == apply && $FAILED -eq 0 && $CHANGED -eq 0 ]]; then
    say "Nothing to change."
fi
exit "$FAILED"
