#!/bin/sh
# A root folder of Debian with what the trial runs: a kernel with Soft-RoCE, perftest, OpenSSH, Slurm. root.sh FOLDER. Needs root and mmdebstrap.
set -eu
root=$1
[ -e "$root/usr/bin/ib_write_bw" ] && exit 0
[ "$(id -u)" = 0 ] || { echo "making the root folder needs root" >&2; exit 1; }
command -v mmdebstrap > /dev/null || { echo "there is no mmdebstrap" >&2; exit 1; }
mkdir -p "$(dirname "$root")"
rm -rf "$root.partial"
packages=linux-image-amd64,rdma-core,ibverbs-providers,ibverbs-utils,libibverbs1,perftest,iproute2,iputils-ping,kmod,procps
packages=$packages,openssh-server,openssh-client,python3,openmpi-bin,slurmctld,slurmd,slurm-client,munge
"$(dirname "$0")/../../../../src/railweave/live/lab/frr/debian-root.sh" "$root.partial" bookworm "$packages"
mv "$root.partial" "$root"
