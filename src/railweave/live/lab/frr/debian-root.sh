#!/usr/bin/env bash
# Make a root folder of a Debian suite: debian-root.sh DIR SUITE PACKAGE[,PACKAGE...]
#
# The packages come from the mirror that this machine's apt uses. DIR/packages.tsv lists every package in the folder with its version.
# Needs root and mmdebstrap. Prints the reason and exits with 1 if the folder cannot be made.
#
# A suite whose Release file has expired is refused: whoever controls the mirror or the network could keep later fixes back by serving an old state.
# RAILWEAVE_EXPIRED_SUITES="SUITE ..." accepts the expired Release files of the suites that it names. Signatures are checked all the same.
set -euo pipefail

usage="usage: debian-root.sh DIR SUITE PACKAGE[,PACKAGE...]"
target=${1:?$usage} suite=${2:?$usage} packages=${3:?$usage}
fail() { echo "debian-root: $1" >&2; exit 1; }

mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2> /dev/null | grep -v -e security -e updates | grep -m1 debian) ||
  fail "no Debian mirror in this machine's apt sources"
mkdir -p "$(dirname "$target")"
release=$(mktemp)
trap 'rm -f "$release"' EXIT
/usr/lib/apt/apt-helper -o APT::Sandbox::User=root -qq download-file "${mirror%/}/dists/$suite/InRelease" "$release" > /dev/null 2>&1 ||
  fail "the mirror has no Release file of $suite"
field() { sed -n "s/^$1: //p" "$release" | head -1; }

options=()
until=$(field Valid-Until)
if [ -n "$until" ] && [ "$(date --date="$until" +%s)" -lt "$(date +%s)" ]; then
  case " ${RAILWEAVE_EXPIRED_SUITES:-} " in
    *" $suite "*)
      echo "debian-root: the Release file of $suite expired on $until; RAILWEAVE_EXPIRED_SUITES accepts it" >&2
      options=(--aptopt='Acquire::Check-Valid-Until "false"') ;;
    *) fail "the mirror's Release file of $suite expired on $until: use a current mirror, or accept the old state: RAILWEAVE_EXPIRED_SUITES=$suite" ;;
  esac
fi
mmdebstrap --quiet --variant=minbase --include="$packages" "${options[@]}" "$suite" "$target" "$mirror" >&2 || fail "the packages could not be had"
{
  echo "# $(field Origin) $suite $(field Version), Release file of $(field Date), SHA-256 $(sha256sum "$release" | cut -d' ' -f1)"
  printf 'package\tversion\tarchitecture\tsource\n'
  dpkg-query --admindir="$target/var/lib/dpkg" --show --showformat='${Package}\t${Version}\t${Architecture}\t${source:Package}\n'
} > "$target/packages.tsv"
