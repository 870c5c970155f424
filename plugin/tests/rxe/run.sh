#!/usr/bin/env bash
# The plugin over Soft-RoCE between two QEMU guests: connect, transfer over 4 paths, remove one address meanwhile, put it
# back, transfer on, every byte checked. run.sh BUILD. Says why it cannot where something is missing; needs root once, to
# make the guests' root folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=${RXE_DIR:-$build/rxe}
skip() { echo "test-rxe: skipped: $1"; exit 0; }

command -v qemu-system-x86_64 > /dev/null || skip "qemu-system-x86_64 is not installed (Debian: apt install qemu-system-x86)"
command -v mke2fs > /dev/null || skip "mke2fs is not installed"
root=$work/root
if [ ! -e "$root/boot" ]; then
  [ "$(id -u)" = 0 ] || skip "making the guests' root folder needs root"
  command -v mmdebstrap > /dev/null || skip "mmdebstrap is not installed"
  mkdir -p "$work"
  "$here/../../../src/railweave/live/lab/frr/debian-root.sh" "$root.partial" bookworm \
    linux-image-amd64,rdma-core,ibverbs-providers,libibverbs1,iproute2,kmod,procps || skip "the guests' root folder could not be made"
  mv "$root.partial" "$root"
fi
mkdir -p "$root/test"
cp "$build"/{pair,railweave-rdma-ping,libnccl-net-railweave.so} "$here/guest.sh" "$root/test/"
# NCCL's core as well, where make test-nccl has built it.
rm -rf "$root/test/nccl"
nccl=$(ls -d "$build"/nccl-*/ 2> /dev/null | sort -V | tail -1)
if [ -n "$nccl" ] && [ -x "$nccl/ranks" ]; then
  mkdir "$root/test/nccl"
  cp "$nccl"/{ranks,libnccl.so.2,libnvidia-ml.so.1} "$root/test/nccl/"
fi
rm -f "$work/disk.img"
mke2fs -q -t ext4 -d "$root" "$work/disk.img" 1500M
kernel=$(ls "$root"/boot/vmlinuz-* | tail -1) initrd=$(ls "$root"/boot/initrd.img-* | tail -1)
port=$((20000 + $$ % 20000))

guest() {  # number, its side of the wire between them
  timeout 600 qemu-system-x86_64 -accel tcg -cpu max -smp 1 -m 1024 -nographic -no-reboot -kernel "$kernel" -initrd "$initrd" \
    -append "root=/dev/vda rw console=ttyS0 quiet init=/test/guest.sh rxe=$1" \
    -drive "file=$work/disk.img,format=raw,if=virtio,snapshot=on" \
    -netdev "socket,id=wire,$2=127.0.0.1:$port" -device "virtio-net-pci,netdev=wire,mac=52:54:00:09:09:0$1" \
    < /dev/null > "$work/guest$1.log" 2>&1
}
guest 0 listen & first=$!
sleep 1
guest 1 connect || true
wait $first || true
grep -a -h -E 'telemetry:|guest|RANK|all right|is dead|is back| rate |rxe0' "$work"/guest[01].log | tr -d '\r' | cut -c1-250
for i in 0 1; do grep -a -q "guest $i: result 0" "$work/guest$i.log" || { echo "test-rxe: guest $i fails: $work/guest$i.log"; exit 1; }; done
grep -a -q 'is dead' "$work"/guest[01].log && grep -a -q 'is back' "$work"/guest[01].log || { echo "test-rxe: no path died and came back"; exit 1; }
grep -a -q 'guest: ping 0' "$work/guest1.log" || { echo "test-rxe: railweave-rdma-ping finds dead paths"; exit 1; }
if [ -n "$nccl" ]; then
  for i in 0 1; do grep -a -q "guest $i: NCCL 0" "$work/guest$i.log" || { echo "test-rxe: NCCL fails on guest $i: $work/guest$i.log"; exit 1; }; done
  echo "test-rxe: NCCL's own core, a rank on each guest, every byte and sum right"
fi
echo "test-rxe: 4 paths, one address lost and back, every byte right"
