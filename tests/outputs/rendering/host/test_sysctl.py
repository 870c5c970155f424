"""sysctl.conf: what each mode needs, and what the kernel does with it."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path

import pytest

from railweave.model.catalog import catalog
from railweave.model.config.addresses import Address, Prefix
from railweave.model.device.host import parameter, sysctl
from railweave.model.device.host_model import HostAddress, HostNic
from railweave.model.device.host_scope import host_scope
from railweave.outputs.rendering.host.boot import sysctl_conf
from tests.netns import Server, needs_root, server, until
from tests.outputs.rendering.host.servers import addresses, config, every, network

SYSTEMD_SYSCTL = Path("/lib/systemd/systemd-sysctl")
MAX_ADDRESSES = "net.ipv6.conf.gpu0_eth.max_addresses"


def with_paths(nic: HostNic, count: int) -> HostNic:
    """A NIC with this many SLAAC prefixes."""
    one = nic.addresses[0]
    many: list[HostAddress] = []
    host = int(IPv6Address(one.address)) & (1 << 64) - 1
    for path in range(1, count + 1):
        prefix = IPv6Network(f"fc00:1:{nic.rail}:{path:x}::/64")
        many.append(replace(one, address=Address(prefix[host]), prefix=Prefix(prefix), path=path))
    return replace(nic, addresses=tuple(many))


def test_networkd_is_not_interfered_with() -> None:
    """networkd sets accept_ra to 0 itself; the file says so and leaves it."""
    one = config("h100-rlb", "H100-01")
    assert not [key for key in one.sysctl if "accept_ra" in key or "max_addresses" in key]
    assert "accept_ra is not set" in sysctl_conf(one)


def test_kernel_handles_advertisements() -> None:
    found = config("h100-rlb", "H100-01", "kernel").sysctl
    for gpu in range(8):
        stem = f"net.ipv6.conf.gpu{gpu}_eth."
        values = {key.removeprefix(stem): value for key, value in found.items() if key.startswith(stem)}
        assert values == {"accept_ra": "1", "autoconf": "1", "use_tempaddr": "0", "addr_gen_mode": "0", "max_addresses": "16"}  # fmt: skip


@pytest.mark.parametrize(("paths", "room"), [(4, 16), (7, 16), (8, 32), (15, 32), (16, 64), (64, 256)])
def test_room_for_twice_the_addresses(paths: int, room: int) -> None:
    one = config("h100-rlb", "H100-01", "kernel")
    nic = with_paths(one.nics[0], paths)
    assert sysctl(host_scope(network("h100-rlb", "kernel"), "H100-01"), [nic])[MAX_ADDRESSES] == str(room)


def test_ipv4_nics() -> None:
    """Thor2 guide, section 2.4 (ARP flux) and 2.6 (NUMA balancing)."""
    for name in ("mi300x-leaf-24", "mi300x-leaf-31"):
        found = config(name, "host1").sysctl
        assert found["net.ipv4.conf.all.arp_announce"] == "1"
        assert found["net.ipv4.conf.all.arp_ignore"] == "2"
        assert found["kernel.numa_balancing"] == "0"
        assert {found[f"net.ipv4.conf.eth{nic}.rp_filter"] for nic in range(1, 9)} == {"2"}
        assert not [key for key in found if "ipv6" in key]
    assert not [key for key in config("h100-rlb", "H100-01").sysctl if "ipv4" in key]


def test_static_ipv6_addresses_outlive_their_link() -> None:
    nic = config("h100-rlb", "H100-01").nics[0]
    scope = host_scope(network("h100-rlb"), "H100-01")
    static = replace(nic, slaac=False, addresses=tuple(replace(one, origin="static") for one in nic.addresses))
    assert "net.ipv6.conf.gpu0_eth.keep_addr_on_down" in sysctl(scope, [static])
    assert "net.ipv6.conf.gpu0_eth.keep_addr_on_down" not in sysctl(scope, [nic])


def test_neighbor_table() -> None:
    """Another server and the leaf on a segment, 4 paths and a link-local address each, 8 NICs: 80, well below 1024."""
    one = config("h100-rlb", "H100-01")
    assert not [key for key in one.sysctl if "gc_thresh" in key]
    # With 50 paths: 2 x 51 x 8 = 816, doubled and rounded up 2048; the kernel's own proportion is 1 : 4 : 8.
    assert catalog().kernel.neighbor_gc_thresh == (128, 512, 1024)
    scope = host_scope(network("h100-rlb"), "H100-01")
    found = sysctl(scope, [with_paths(nic, 50) for nic in one.nics])
    values = [found[f"net.ipv6.neigh.default.gc_thresh{number}"] for number in (1, 2, 3)]
    assert values == ["256", "1024", "2048"]


def test_every_parameter_has_its_reason() -> None:
    for one in every():
        lines = sysctl_conf(one).splitlines()
        assert dict(line.split(" = ") for line in lines if line and not line.startswith("#")) == one.sysctl
        for group in "\n".join(lines).split("\n\n"):
            assert group.startswith("#")


def test_interface_names_with_dots() -> None:
    """sysctl.d(5): slashes part where a name holds dots."""
    assert parameter("net", "ipv6", "conf", "eth1.100", "autoconf") == "net/ipv6/conf/eth1.100/autoconf"
    assert parameter("net", "ipv6", "conf", "eth1", "autoconf") == "net.ipv6.conf.eth1.autoconf"


def applied(host: Server, folder: Path, text: str) -> None:
    if not SYSTEMD_SYSCTL.exists():
        pytest.skip(f"there is no {SYSTEMD_SYSCTL}")
    file = folder / "sysctl.conf"
    file.write_text(text)
    # Only what belongs to the namespace: other parameters are the machine's.
    host.run(SYSTEMD_SYSCTL, "--prefix=/net/ipv6/conf", "--prefix=/net/ipv4/conf", file)


@needs_root
def test_the_kernel_forms_more_addresses_than_its_default(tmp_path: Path) -> None:
    one = config("h100-rlb", "H100-01", "kernel")
    nic = with_paths(one.nics[0], 20)
    prefixes = [address.prefix for address in nic.addresses]
    planned = {address.address for address in nic.addresses}
    with server([nic.netdev], macs={nic.netdev: nic.mac}) as host:
        host.advertise(nic.netdev, prefixes, settle=False)
        until(lambda: len(addresses(host)[nic.netdev]) == 15, "the kernel has taken what it takes by default")
        scope = host_scope(network("h100-rlb", "kernel"), "H100-01")
        applied(host, tmp_path, sysctl_conf(replace(one, sysctl=sysctl(scope, [nic]))))
        host.advertise(nic.netdev, prefixes)
        assert addresses(host)[nic.netdev] == planned


@needs_root
def test_no_other_addresses_than_designed(tmp_path: Path) -> None:
    """Where a distribution asks for privacy addresses and random host parts, as Ubuntu does for the former."""
    one = config("h100-rlb", "H100-01", "kernel")
    nic = one.nics[0]
    with server([nic.netdev], macs={nic.netdev: nic.mac}) as host:
        host.sysctl(f"net/ipv6/conf/{nic.netdev}/use_tempaddr", 2)
        host.sysctl(f"net/ipv6/conf/{nic.netdev}/addr_gen_mode", 3)
        scope = host_scope(network("h100-rlb", "kernel"), "H100-01")
        applied(host, tmp_path, sysctl_conf(replace(one, sysctl=sysctl(scope, [nic]))))
        host.advertise(nic.netdev, [address.prefix for address in nic.addresses])
        assert addresses(host)[nic.netdev] == {address.address for address in nic.addresses}
