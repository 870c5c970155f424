#!/bin/sh
# A root folder of a Debian suite with Slurm: slurm_root.sh FOLDER SUITE. Needs root and mmdebstrap.
set -eu
root=$1 suite=$2
[ -e "$root/etc/default/slurmctld" ] && exit 0
[ "$(id -u)" = 0 ] || { echo "making the root folder needs root" >&2; exit 1; }
command -v mmdebstrap > /dev/null || { echo "there is no mmdebstrap" >&2; exit 1; }
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2> /dev/null | grep -v -e security -e updates | grep -m1 debian) ||
  { echo "no Debian mirror in this machine's apt sources" >&2; exit 1; }
mkdir -p "$(dirname "$root")"
rm -rf "$root.partial"
mmdebstrap --quiet --variant=minbase --include=slurmctld,slurmd,slurm-client,munge,python3,iproute2 \
  --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$root.partial" "$mirror" >&2
mv "$root.partial" "$root"
