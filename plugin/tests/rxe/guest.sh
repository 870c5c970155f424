#!/bin/bash
# Runs as the only program of a guest: Soft-RoCE with four addresses, the plugin, one address lost in between.
# The kernel's command line says which of the two this is (rxe=0 or rxe=1).
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LD_LIBRARY_PATH=/test
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev 2> /dev/null; mount -t tmpfs tmp /tmp
me=$(sed 's/.*rxe=\([01]\).*/\1/' /proc/cmdline)
for m in virtio_net crc32_generic ib_uverbs rdma_rxe; do modprobe $m; done
sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
ip link set lo up
dev=$(ls /sys/class/net | grep -v lo | head -1)
echo 1 > /proc/sys/net/ipv6/conf/$dev/keep_addr_on_down
echo 0 > /proc/sys/net/ipv6/conf/$dev/accept_dad
ip link set "$dev" up
ip addr add 10.9.9.$((me + 1))/24 dev "$dev"
for c in 1 2 3 4; do ip -6 addr add fd00:9:9:$c::$((me + 1))/64 dev "$dev" nodad; done
rdma link add rxe0 type rxe netdev "$dev"
sleep 2
export NCCL_SOCKET_IFNAME=$dev RAILWEAVE_NET_HOST_FILE=/nonexistent RAILWEAVE_NET_REROUTE_MS=1500 RAILWEAVE_NET_TELEMETRY=/tmp
ulimit -l unlimited
if [ "$me" = 0 ]; then
  # Path 3 loses its address, and gets it back: at another index of the GID table.
  (sleep 12; echo "guest: address of path 3 removed"; ip -6 addr del fd00:9:9:3::1/64 dev "$dev"
   sleep 10; echo "guest: address of path 3 back"; ip -6 addr add fd00:9:9:3::1/64 dev "$dev" nodad) &
  (while sleep 1; do cp /tmp/*.json /tmp/last 2> /dev/null; done) &
  /test/pair /test/libnccl-net-railweave.so 35; result=$?
else
  /test/pair /test/libnccl-net-railweave.so 35 10.9.9.1; result=$?
fi
if [ -x /test/nccl/ranks ]; then
  # NCCL's own core, a rank on each guest (tests/nccl): bytes and sums through its proxies over Soft-RoCE.
  mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm
  for one in /sys/bus/pci/devices/*; do case $(cat "$one/class") in 0x02*) bus=$(basename "$one") ;; esac; done
  [ "$me" = 0 ] && (sleep 15; echo "guest: address of path 2 removed"; ip -6 addr del fd00:9:9:2::1/64 dev "$dev"
    sleep 10; ip -6 addr add fd00:9:9:2::1/64 dev "$dev" nodad) &
  LD_LIBRARY_PATH=/test/nccl:/test STUB_BUSID=$bus NCCL_HOSTID=guest$me NCCL_COMM_ID=10.9.9.1:40001 NCCL_NET_PLUGIN=railweave NCCL_NET=railweave \
    RAILWEAVE_NET_LOG=stderr NCCL_CUMEM_ENABLE=0 NCCL_CUMEM_HOST_ENABLE=0 NCCL_NVLS_ENABLE=0 NCCL_LOCAL_REGISTER=0 NCCL_ALGO=Ring NCCL_PROTO=Simple \
    NCCL_P2P_LL_THRESHOLD=0 NCCL_DEBUG=WARN timeout 200 /test/nccl/ranks 2 40 rank "$me"
  echo "guest $me: NCCL $?"
fi
sleep 1
grep -o '"direction.*' /tmp/last 2> /dev/null | sed 's/^/telemetry: /'
/test/railweave-rdma-ping --help > /dev/null && [ "$me" = 0 ] && { timeout 20 /test/railweave-rdma-ping --server > /dev/null & sleep 16; }
[ "$me" = 1 ] && { sleep 5; /test/railweave-rdma-ping 10.9.9.1 --timeout 500 --count 50 --interval 20; echo "guest: ping $?"; }
echo "guest $me: result $result"
sync; echo o > /proc/sysrq-trigger; sleep 5
