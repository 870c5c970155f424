
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
