#!/bin/bash
# The only program of a virtual machine: a GPU server as its design has it, with Soft-RoCE in the place of its NICs, and OpenSSH.
# A second disk is a tar file: nics (MAC, interface, RDMA device, address with prefix, network), hosts, keys.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev 2> /dev/null
mkdir -p /dev/pts /dev/shm /run; mount -t devpts pts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t tmpfs run /run; mount -t tmpfs tmp /tmp
for m in virtio_net crc32_generic ib_uverbs rdma_rxe; do modprobe $m; done
mkdir -p /run/own /run/sshd; tar -C /run/own -xf /dev/vdb
sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
hostname "$(cat /run/own/name)"
ip link set lo up
dev_of() { for d in /sys/class/net/*; do [ "$(cat "$d/address")" = "$1" ] && basename "$d"; done; }
while read -r mac name rdma address network; do
  dev=$(dev_of "$mac")
  if [ -n "$dev" ] && [ "$dev" != "$name" ]; then ip link set "$dev" down; ip link set "$dev" name "$name"; fi
  echo 0 > "/proc/sys/net/ipv6/conf/$name/accept_dad"; echo 0 > "/proc/sys/net/ipv6/conf/$name/autoconf"
  [ "$rdma" = - ] || ip link set "$name" mtu 9000
  ip link set "$name" up
  case $address in *:*) ip -6 addr add "$address" dev "$name" nodad ;; *) ip addr add "$address" dev "$name" ;; esac
  [ "$network" = - ] || ip route replace "$network" dev "$name" metric "$(cat "/sys/class/net/$name/ifindex")"
  [ "$rdma" = - ] || rdma link show "$rdma/1" > /dev/null 2>&1 || rdma link add "$rdma" type rxe netdev "$name"
done < /run/own/nics
cat /run/own/hosts >> /etc/hosts
mkdir -p /root/.ssh; cp /run/own/key.pub /root/.ssh/authorized_keys; chmod 700 /root /root/.ssh; chmod 600 /root/.ssh/authorized_keys /run/own/host_key
rdma link
ulimit -l unlimited
echo "guest: ready"
/usr/sbin/sshd -D -e -o HostKey=/run/own/host_key -o UsePAM=no -o PermitRootLogin=yes -o PidFile=none
echo o > /proc/sysrq-trigger; sleep 5
