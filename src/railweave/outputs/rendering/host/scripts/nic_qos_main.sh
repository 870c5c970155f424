
each_nic() {
    local what=$1 line dev name port vendor fabric rdma seen=no
    for line in "${NICS[@]}"; do
        read -r dev name port vendor fabric CABLE_M <<<"$line"
        chosen "$dev" || continue
        seen=yes
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
    [[ -z $ONLY || $seen == yes ]] || none_chosen
}

arguments "$@"
if [[ $WHAT == apply && $DRY_RUN == no ]]; then
    needs_root ", or with --dry-run"
    one_at_a_time
fi
if [[ $WHAT == apply ]]; then
    connection_manager_first
fi
each_nic "$WHAT"
exit "$FAILED"
