#!/usr/bin/env bash
# Make a Debian root folder with dkms and rpm in it, in which tests run `railweave host setup`: tools/bare-root.sh DIR [SUITE]
#
# From the package mirror that this machine already uses. Needs root and a Debian-like system; says why where it cannot.
set -euo pipefail

target=${1:?usage: tools/bare-root.sh DIR [SUITE]}
skip() { echo "bare-root: skipped: $1" >&2; exit 0; }

[ -x "$target/usr/sbin/dkms" ] && { echo "bare-root: $target is there already"; exit 0; }
[ "$(id -u)" = 0 ] || skip "making a root folder needs root (sudo $0 $target)"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (frr-root.sh installs it)"

staging="$target.partial"
rm -rf "$staging"
trap 'rm -rf "$staging"' EXIT
src/railweave/live/lab/frr/debian-root.sh "$staging" "${2:-bookworm}" python3,dkms,rpm,pciutils || skip "no root folder could be made"
chmod 755 "$staging"
mv "$staging" "$target"
echo "bare-root: made $target"
