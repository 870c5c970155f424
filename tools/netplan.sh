#!/usr/bin/env bash
# Unpack netplan's generator for the netplan validator: tools/netplan.sh DIR
#
# From the package mirror that this machine already uses; nothing is installed or started, and root is not needed. Says
# why where it cannot.
set -euo pipefail

target=${1:?usage: tools/netplan.sh DIR}
skip() { echo "netplan: skipped: $1" >&2; exit 0; }

for generator in /usr/libexec/netplan/generate /usr/lib/netplan/generate /lib/netplan/generate; do
  [ -x "$generator" ] && { echo "netplan: $generator is there already"; exit 0; }
done
compgen -G "$target/usr/lib*/netplan/generate" >/dev/null && { echo "netplan: $target is there already"; exit 0; }
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  skip "this system has no apt; install netplan.io"
fi

staging="$target.partial"
rm -rf "$staging"
mkdir -p "$staging/packages"
printf '# Debian packages of this machine'"'"'s release, unpacked\npackage\tversion\tarchitecture\tsource\n' > "$staging/packages.tsv"
trap 'rm -rf "$staging"' EXIT
# Its library is named libnetplan0 or libnetplan1, by the release.
library=$(apt-cache depends netplan.io 2>/dev/null | sed -n 's/^ *Depends: \(libnetplan[0-9]*\)$/\1/p' | head -1)
if [ -z "$library" ] && [ "$(id -u)" = 0 ]; then
  apt-get update -qq || skip "the package lists could not be had"
  library=$(apt-cache depends netplan.io 2>/dev/null | sed -n 's/^ *Depends: \(libnetplan[0-9]*\)$/\1/p' | head -1)
fi
[ -n "$library" ] || skip "apt knows no netplan.io (apt-get update?)"
unpack() {
  (cd "$staging/packages" && rm -f ./*.deb && apt-get download -qq "$@" 2>/dev/null) || skip "the packages could not be had"
  for package in "$staging"/packages/*.deb; do
    dpkg-deb -x "$package" "$staging"
    dpkg-deb --show --showformat='${Package}\t${Version}\t${Architecture}\t${source:Package}\n' "$package" >> "$staging/packages.tsv"
  done
}
unpack netplan.io "$library"
generator=$(compgen -G "$staging/usr/lib*/netplan/generate" | head -1)
if LD_LIBRARY_PATH=$(echo "$staging"/usr/lib/*-linux-*) ldd "$generator" | grep -q "not found"; then
  # A bare machine: the libraries of its libraries too, but not the C library, which is there.
  mapfile -t needed < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances "$library" | grep '^[a-z]' | grep -v -x -e libc6 -e "$library" -e 'libgcc.*' -e 'gcc-.*')
  unpack "${needed[@]}"
fi
rm -rf "$staging/packages" "$target"
mv "$staging" "$target"
echo "netplan: unpacked into $target"
