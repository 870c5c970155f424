#!/usr/bin/env bash
# Make a root folder with FRR 10 and lldpd in it, for the lab and the vtysh validator: frr-root.sh DIR [SUITE]
#
# Those of a Debian suite (trixie, whose 10.3 everything was measured with), from the package mirror that this machine already uses. Needs root and a Debian-like system;
# says why where it cannot. Nothing in it is started.
set -euo pipefail

target=${1:?usage: frr-root.sh DIR [SUITE]}
suite=${2:-trixie}
skip() { echo "frr-root: skipped: $1" >&2; exit 0; }

[ -x "$target/usr/bin/vtysh" ] && [ -x "$target/usr/sbin/lldpd" ] && { echo "frr-root: $target is there already"; exit 0; }
[ "$(id -u)" = 0 ] || skip "making a root folder needs root (sudo $0 $target)"
command -v apt-get >/dev/null || skip "this system has no apt; install frr and put vtysh on the PATH"
if ! command -v mmdebstrap >/dev/null; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null \
    || skip "mmdebstrap could not be installed"
fi

staging="$target.partial"
rm -rf "$staging"
mkdir -p "$(dirname "$target")"
if bash "$(dirname "$0")/debian-root.sh" "$staging" "$suite" frr,frr-pythontools,lldpd; then
  chmod 755 "$staging"
  if [ -e "$target" ]; then  # one without lldpd, as they were made before
    mv "$target" "$target.old"
  fi
  mv "$staging" "$target"
  rm -rf "$target.old"
  echo "frr-root: made $target"
else
  rm -rf "$staging"
  skip "no root folder of Debian $suite could be made"
fi
