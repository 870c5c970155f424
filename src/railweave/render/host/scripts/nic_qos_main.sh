
each_nic() {
    local what=$1 line dev name port vendor fabric rdma
    for line in "${NICS[@]}"; do
        read -r dev name port vendor fabric <<<"$line"
        if [[ ! -e $SYSFS/class/net/$dev ]]; then
            problem "there is no interface $dev (names come from the design or the inventory)"
            continue
        fi
        rdma=$(rdma_of "$dev")
        if [[ -z $rdma ]]; then
            problem "$dev has no RDMA device: is the RDMA driver loaded?"
            continue
        fi
        [[ $rdma == "$name" ]] || say "$dev: its RDMA device is $rdma, the design says $name"
        design "$fabric"
        if [[ $what == apply ]]; then
            say "$dev ($rdma)"
            "apply_${vendor,,}" "$dev" "$rdma" "$port"
            connection_manager "$rdma" "$port" "$CLASS"
        else
            say "$dev ($rdma), $vendor"
            show_common "$dev" "$rdma" "$port"
            "show_${vendor,,}" "$dev" "$rdma" "$port"
        fi
    done
}

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
if [[ $WHAT == apply && $DRY_RUN == no && $EUID -ne 0 && -z ${RAILWEAVE_SYSFS:-} ]]; then
    printf 'run it as root, or with --dry-run\n' >&2
    exit 1
fi
each_nic "$WHAT"
exit "$FAILED"
