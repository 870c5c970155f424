"""The GIDs of RDMA devices, and which path each is: by its value. A GID's index changes when addresses come and go."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .host_file import HostFile, Nic, PathAddress
    from .values import Address

DEFAULT_SYSFS = Path("/sys")
V2 = "RoCE v2"


@dataclass(frozen=True)
class Gid:
    """An entry of a port's GID table. ``path`` is None where no planned prefix holds it."""

    device: str
    port: int
    index: int
    address: Address
    type: str
    netdev: str
    path: PathAddress | None

    @property
    def link_local(self) -> bool:
        """Whether it is good on its own link only."""
        return self.address.is_link_local


def devices(sysfs: Path) -> list[str]:
    """The names of the RDMA devices that are there."""
    return sorted(one.name for one in (sysfs / "class/infiniband").glob("*"))


def read(sysfs: Path, plan: HostFile | None) -> list[Gid]:
    """All GIDs that are not zero, by device, port and index. Empty where there is no RDMA device."""
    found: list[Gid] = []
    for port in ports(sysfs):
        device, number = port.parents[1].name, int(port.name)
        nic = next((one for one in plan.nics if (one.rdma, one.rdma_port) == (device, number)), None) if plan else None
        for slot in _numbered(port / "gids"):
            address = as_address(text(slot) or "::")
            if address is None:
                continue
            kind = text(port / "gid_attrs/types" / slot.name) or ""
            netdev = text(port / "gid_attrs/ndevs" / slot.name) or ""
            path = path_of(nic, address) if nic else None
            found.append(Gid(device, number, int(slot.name), address, kind, netdev, path))
    return found


def ports(sysfs: Path) -> list[Path]:
    """The folder of every port of every RDMA device."""
    folders = (sysfs / "class/infiniband" / name / "ports" for name in devices(sysfs))
    return [port for folder in folders for port in _numbered(folder)]


def missing(plan: HostFile, gids: Iterable[Gid]) -> list[tuple[Nic, PathAddress]]:
    """The planned paths that no RoCE v2 GID of their NIC stands for."""
    have = {(one.device, one.port, one.path) for one in gids if one.type == V2}
    return [(nic, path) for nic in plan.nics for path in nic.paths if (nic.rdma, nic.rdma_port, path) not in have]


def path_of(nic: Nic, address: Address) -> PathAddress | None:
    """The path of the NIC whose prefix holds the address; of several, the longest."""
    holding = [one for one in nic.paths if address in one.prefix and (one.slaac or one.address in {None, address})]
    return max(holding, key=lambda one: one.prefix.prefixlen, default=None)


def _numbered(folder: Path) -> list[Path]:
    return sorted((one for one in folder.glob("*") if one.name.isdecimal()), key=lambda one: int(one.name))


def as_address(gid: str) -> Address | None:
    """A GID as an address, an IPv4-mapped one as IPv4; None for an empty slot."""
    try:
        address = ipaddress.IPv6Address(gid)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if int(address) else None


def text(file: Path) -> str | None:
    """A file's text; None where the kernel refuses, as it does (EINVAL) for the type and device of an empty slot."""
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
