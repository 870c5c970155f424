#!/bin/sh
# A root folder of a Debian suite with Slurm: slurm_root.sh FOLDER SUITE. Needs root and mmdebstrap.
set -eu
root=$1 suite=$2
[ -e "$root/etc/default/slurmctld" ] && exit 0
[ "$(id -u)" = 0 ] || { echo "making the root folder needs root" >&2; exit 1; }
command -v mmdebstrap > /dev/null || { echo "there is no mmdebstrap" >&2; exit 1; }
mkdir -p "$(dirname "$root")"
rm -rf "$root.partial"
"$(dirname "$0")/../../../src/railweave/live/lab/frr/debian-root.sh" "$root.partial" "$suite" \
  slurmctld,slurmd,slurm-client,munge,python3,iproute2
mv "$root.partial" "$root"
