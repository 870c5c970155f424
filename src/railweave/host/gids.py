"""The GIDs of RDMA devices and the path of each GID. GIDs are matched by value, because their indexes change when addresses come and go."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .host_file import Address, HostFile, Nic, PathAddress
    from .machine import Machine

DEVICES = "/sys/class/infiniband"
V2 = "RoCE v2"


@dataclass(frozen=True)
class Gid:
    """An entry of a port's GID table.

    - ``index``: the index in the table. ``type``: the RoCE version, as the kernel prints it.
    - ``netdev``: the interface that has the address.
    - ``path``: the path whose planned prefix contains the address; None if no path does.
    """

    device: str
    port: int
    index: int
    address: Address
    type: str
    netdev: str
    path: PathAddress | None

    @property
    def link_local(self) -> bool:
        """True if the GID is valid on its own link only."""
        return self.address.is_link_local

    def described(self) -> dict[str, object]:
        """Return the entry as a JSON object for output, without its path."""
        return {
            "device": self.device,
            "port": self.port,
            "index": self.index,
            "gid": str(self.address),
            "type": self.type,
            "netdev": self.netdev,
        }


def devices(machine: Machine) -> list[str]:
    """Return the names of the RDMA devices on this machine."""
    return machine.names(DEVICES)


def ports(machine: Machine) -> list[tuple[str, int]]:
    """Return every port of every RDMA device, as a pair of device and port number."""
    return [(device, port) for device in devices(machine) for port in _numbers(machine, f"{DEVICES}/{device}/ports")]


def read(machine: Machine, plan: HostFile | None) -> list[Gid]:
    """Return all nonzero GIDs, sorted by device, port and index; empty if there is no RDMA device.

    The GIDs get their paths from ``plan``; without a plan, they have no path.
    """
    nics = {(nic.rdma, nic.rdma_port): nic for nic in (plan.nics if plan else ())}
    return [gid for port in ports(machine) for gid in of_port(machine, *port, nics.get(port))]


def of_port(machine: Machine, device: str, port: int, nic: Nic | None) -> list[Gid]:
    """Return a port's nonzero GIDs, sorted by index.

    ``nic`` is the planned NIC of the port, whose paths are assigned to the GIDs; None if the port is not planned.
    """
    gids: list[Gid] = []
    folder = f"{DEVICES}/{device}/ports/{port}"
    for index in _numbers(machine, f"{folder}/gids"):
        address = as_address(machine.readable(f"{folder}/gids/{index}") or "::")
        if address is None:
            continue
        # The kernel refuses (EINVAL) for the type and device of an empty slot, and for those of another network namespace.
        kind, netdev = (
            machine.readable(f"{folder}/gid_attrs/{attribute}/{index}") or "" for attribute in ("types", "ndevs")
        )
        gids.append(Gid(device, port, index, address, kind, netdev, path_of(nic, address) if nic else None))
    return gids


def missing(plan: HostFile, gids: Iterable[Gid]) -> list[tuple[Nic, PathAddress]]:
    """Return (NIC, path) for each planned path whose address is not a RoCE v2 GID of the path's NIC."""
    have = {(gid.device, gid.port, gid.path) for gid in gids if gid.type == V2}
    return [(nic, path) for nic in plan.nics for path in nic.paths if (nic.rdma, nic.rdma_port, path) not in have]


def path_of(nic: Nic, address: Address) -> PathAddress | None:
    """Return the path, among the NIC's paths, whose prefix contains ``address``; None if no prefix does.

    If several prefixes contain the address, the longest prefix applies. A path with a planned address matches only this address.
    """
    holding = [path for path in nic.paths if address in path.prefix and (path.slaac or path.address in {None, address})]
    return max(holding, key=lambda path: path.prefix.prefixlen, default=None)


def _numbers(machine: Machine, folder: str) -> list[int]:
    return sorted(int(name) for name in machine.names(folder) if name.isdecimal())


def as_address(gid: str) -> Address | None:
    """Return a GID as an IP address, or None for an unused index of the GID table (all zeros). An IPv4-mapped GID becomes an IPv4 address."""
    try:
        address = ipaddress.IPv6Address(gid)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if int(address) else None
