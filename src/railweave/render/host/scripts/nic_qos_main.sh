
each_nic() {
    local what=$1 line dev name port vendor fabric rdma
    for line in "${NICS[@]}"; do
        read -r dev name port vendor fabric <<<"$line"
        there "$dev" || continue
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

arguments "$@"
if [[ $WHAT == apply && $DRY_RUN == no ]]; then
    needs_root ", or with --dry-run"
fi
each_nic "$WHAT"
exit "$FAILED"
