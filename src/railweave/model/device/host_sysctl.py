"""Kernel parameters of a server's network: what it needs to form, keep and use the designed addresses.

``outputs.rendering.host.sysctl_conf`` prints them with the reason and source of each group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.device.host_model import HostNic
    from railweave.model.device.host_scope import HostScope


def sysctl(scope: HostScope, nics: Sequence[HostNic]) -> dict[str, str]:
    """Value by parameter, as a line of sysctl.d names it.

    Where systemd-networkd handles router advertisements, nothing is said of ``accept_ra``: networkd sets it to 0 on its
    interfaces and takes advertisements all the same; a 1 would only have the kernel handle them a second time.
    """
    found: dict[str, str] = {}
    if scope.hosts.router_advertisements == "kernel":
        for nic in nics:
            found |= _advertisements(nic) if nic.slaac else {}
    for nic in nics:
        # Addresses from router advertisements go when the interface is set down, whatever this says.
        if any(one.address.family == "ipv6" and one.origin == "static" for one in nic.addresses):
            found[parameter("net", "ipv6", "conf", nic.netdev, "keep_addr_on_down")] = "1"
    with_ipv4 = [nic for nic in nics if any(one.address.family == "ipv4" for one in nic.addresses)]
    if with_ipv4:
        found |= {"net.ipv4.conf.all.arp_announce": "1", "net.ipv4.conf.all.arp_ignore": "2"}
    for nic in with_ipv4:
        found[parameter("net", "ipv4", "conf", nic.netdev, "rp_filter")] = "2"
    for family in (4, 6):
        found |= dict(_neighbors(family, _neighbor_count(scope, nics, family)))
    return found | {"kernel.numa_balancing": "0"}


def parameter(*parts: str) -> str:
    """A parameter's name: dots between its parts, or slashes where a part (``eth1.100``) holds a dot itself.

    The first separator says which of the two a name has (sysctl.d(5)).
    """
    return ("/" if any("." in part for part in parts) else ".").join(parts)


def _advertisements(nic: HostNic) -> dict[str, str]:
    # The link-local address takes a place, and a prefix that was renumbered keeps its own until it expires: so twice.
    room = max(catalog().kernel.max_addresses, _power_of_two(2 * (_of_ipv6(nic) + 1)))
    values = {
        "accept_ra": "1",
        "autoconf": "1",
        "use_tempaddr": "0",
        "addr_gen_mode": "0",
        "max_addresses": str(room),
    }
    return {parameter("net", "ipv6", "conf", nic.netdev, name): value for name, value in values.items()}


def _of_ipv6(nic: HostNic) -> int:
    return sum(one.address.family == "ipv6" for one in nic.addresses)


def _neighbors(family: int, count: int) -> Iterator[tuple[str, str]]:
    """The three thresholds in the kernel's own proportion, where double the count exceeds the kernel's limit."""
    first, second, third = catalog().kernel.neighbor_gc_thresh
    wanted = _power_of_two(2 * count)
    if wanted <= third:
        return
    for number, threshold in enumerate((first, second, third), 1):
        yield f"net.ipv{family}.neigh.default.gc_thresh{number}", str(threshold * wanted // third)


def _neighbor_count(scope: HostScope, nics: Sequence[HostNic], family: int) -> int:
    """Neighbors that a server can come to know on all its NICs.

    Every address of every other server on a NIC's segment, every gateway, and the link-local address of each.
    """
    total = 0
    for nic in nics:
        paths = sum((one.address.family == "ipv6") == (family == 6) for one in nic.addresses)
        others = scope.sharing[nic.name]
        total += others * (paths + (family == 6)) if paths else 0
    return total


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()
