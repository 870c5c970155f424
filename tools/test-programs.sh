#!/usr/bin/env bash
# Installs the programs that tests run beside railweave, by apt: DHCP servers, sshd, snmpd, a browser and the like.
# .validators/test-programs/packages.tsv lists the installed versions, and those of what other scripts install by apt.
#
# Needs root and apt; says why where it cannot, and the tests that need a program then say that they were skipped. No service
# is started or enabled to start now.
set -euo pipefail

# What proves that a package is there, and the package.
declare -A packages=(
  [/usr/bin/chromium]=chromium
  [/usr/bin/dbus-daemon]=dbus-daemon
  [/usr/bin/ping]=iputils-ping
  [/usr/bin/tcpdump]=tcpdump
  [/usr/bin/udevadm]=udev
  [/usr/bin/promtool]=prometheus
  [/usr/bin/udhcpc]=udhcpc
  [/usr/sbin/dnsmasq]=dnsmasq-base
  [/usr/sbin/kea-dhcp4]=kea-dhcp4-server
  [/usr/sbin/netconfd]=netconfd
  [/usr/sbin/nft]=nftables
  [/usr/sbin/snmpd]=snmpd
  [/usr/sbin/sshd]=openssh-server
)
record() {
  command -v dpkg-query > /dev/null || return 0
  mkdir -p .validators/test-programs
  {
    printf '# Debian %s, this machine\npackage\tversion\tarchitecture\tsource\n' "$(cat /etc/debian_version 2> /dev/null)"
    dpkg-query --show --showformat='${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\n' \
      "${packages[@]}" libyang2-dev mmdebstrap 2> /dev/null | sed -n 's/^ii *\t//p'
  } > .validators/test-programs/packages.tsv
}
trap record EXIT
missing=()
for program in "${!packages[@]}"; do
  command -v "${program##*/}" >/dev/null || [ -x "$program" ] || missing+=("${packages[$program]}")
done
[ ${#missing[@]} -gt 0 ] || { echo "test programs: all there"; exit 0; }
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort)
skip() { echo "test programs: skipped: $1: ${missing[*]}" >&2; exit 0; }
command -v apt-get >/dev/null || skip "this system has no apt; tests go without"
[ "$(id -u)" = 0 ] || skip "installing needs root (sudo make test-programs); tests go without"

# The usual way to install without starting: https://people.debian.org/~hmh/invokerc.d-policyrc.d-specification.txt
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"; record' EXIT
fi
apt-get update -qq || skip "the package lists could not be had"
# One by one: a release that lacks one of them has the others.
for package in "${missing[@]}"; do
  if DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package" >/dev/null 2>&1; then
    echo "test programs: installed $package"
  else
    echo "test programs: skipped: apt has no $package here" >&2
  fi
done
