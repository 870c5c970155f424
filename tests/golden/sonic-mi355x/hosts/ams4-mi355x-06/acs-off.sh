#!/usr/bin/env bash
# Turns PCIe Access Control Services off, so that GPU and NIC behind one PCIe switch reach each other directly.
#
# With ACS on, a switch sends a peer's request up to the root port to be checked, which costs bandwidth (Thor2 guide,
# section 2.3). The control bits do not survive a restart where the firmware menu cannot turn ACS off; acs-off.service runs
# this after each. ACS is what isolates devices that are given to different virtual machines: not for servers that do so.
#
# usage: acs-off.sh [--check]     --check changes nothing, and exits 1 where ACS is on somewhere
set -euo pipefail
exec </dev/null

SYSFS=${RAILWEAVE_SYSFS:-/sys}
# The control register of the ACS capability, 6 bytes into it (PCI Express Base Specification, ACS extended capability).
CONTROL=ECAP_ACS+0x6.w

CHECK=no
case ${1:-} in
'') ;;
--check) CHECK=yes ;;
*)
    printf 'usage: %s [--check]\n' "${0##*/}" >&2
    exit 2
    ;;
esac
if ! command -v setpci >/dev/null 2>&1; then
    printf 'setpci is missing (package pciutils)\n' >&2
    exit 1
fi
if [[ $EUID -ne 0 && -z ${RAILWEAVE_SYSFS:-} ]]; then
    printf 'run it as root: PCI configuration space beyond 64 bytes is for root only\n' >&2
    exit 1
fi

# The control bits of a bridge as four hexadecimal digits; empty where it has no such capability.
control() { setpci -s "$1" "$CONTROL" 2>/dev/null || true; }

seen=0 off=0 changed=0 failed=0
for folder in "$SYSFS"/bus/pci/devices/*; do
    # Only bridges forward requests: class 0x0604, PCI-to-PCI bridge, which root ports and switch ports are.
    [[ -r $folder/class && $(<"$folder/class") == 0x0604* ]] || continue
    device=${folder##*/}
    before=$(control "$device")
    [[ $before =~ ^[0-9a-fA-F]{4}$ ]] || continue
    seen=$((seen + 1))
    if [[ $before == 0000 ]]; then
        off=$((off + 1))
        continue
    fi
    if [[ $CHECK == yes ]]; then
        printf '%s: ACS is on (%s)\n' "$device" "$before"
        failed=$((failed + 1))
        continue
    fi
    setpci -s "$device" "$CONTROL=0000" || true
    after=$(control "$device")
    if [[ $after == 0000 ]]; then
        printf '%s: ACS turned off (was %s)\n' "$device" "$before"
        changed=$((changed + 1))
    else
        printf '%s: ACS stays on (%s, was %s)\n' "$device" "${after:-unreadable}" "$before" >&2
        failed=$((failed + 1))
    fi
done
printf '%d bridges with ACS: %d were off, %d turned off, %d on\n' "$seen" "$off" "$changed" "$failed"
[[ $failed -eq 0 ]]
