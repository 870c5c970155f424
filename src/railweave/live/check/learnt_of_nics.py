"""What leaves and servers say of NICs: MAC addresses, and the names of their Linux interfaces and RDMA devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.live.check.interfaces import of_port, short, without_unit
from railweave.live.check.port_names import end_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.live.check.port_names import Ends
    from railweave.model.network.devices import Nic, Server
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState
    from railweave.model.state.protocols import LldpNeighbor

Said = tuple[str, str, str]
"""A column of the inventory, what it would have, and who says so."""
_MAC = re.compile(r"[0-9a-f]{2}([:.-]?[0-9a-f]{2}){5}")
_NETDEV = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}")
"""Names of interfaces as Linux has them (``IFNAMSIZ``), without those that would need quoting."""
_RDMA = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}")
"""Names of RDMA devices (``IB_DEVICE_NAME_MAX``)."""


def by_leaf(server: Server, nic: Nic, state: DeviceState, notes: list[str]) -> Iterable[Said]:
    """What the leaf tells of the NIC on its port: by LLDP of the server or of the NIC itself, and by its neighbor cache."""
    said = of_port(state.neighbors or {}, nic.leaf_port) or ()
    own = [one for one in said if one.system is not None and short(one.system) == short(server.name)]
    others = [one for one in said if one.system is not None and one not in own]
    if others:
        notes.append(_elsewhere(f"{nic.leaf} {nic.leaf_port}", str(others[0].system), f"{server.name} {nic.name}"))
        return
    names = [_netdev(one) for one in own]
    crossed = next((one for one in names if _of_another(server, nic, one)), None)
    if crossed is not None:
        notes.append(_elsewhere(f"{nic.leaf} {nic.leaf_port}", f"{server.name} {crossed}", f"{server.name} {nic.name}"))
        return
    for mac in (mac for one in own or said if (mac := _mac(one.port))):
        yield "mac", mac, "LLDP"
    for name in names:
        if name and name != nic.netdev:
            yield "netdev", name, "LLDP"
    yield from _by_neighbors(nic, state)


def by_server(server: Server, nic: Nic, state: HostState, ends: Ends, notes: list[str]) -> Iterable[Said]:
    """What the server itself tells: the interface that hears the NIC's leaf and port, else that of the designed name, and its RDMA device."""
    interfaces = state.interfaces or {}
    heard = [name for name in interfaces if _hears(state, name, nic, ends)]
    if not heard and nic.netdev in interfaces and state.neighbors and nic.netdev in state.neighbors:
        first = state.neighbors[nic.netdev][0]
        there = f"{first.system or first.chassis or 'an unnamed device'} {first.port or ''}".rstrip()
        notes.append(_elsewhere(f"{server.name} {nic.netdev}", there, f"{nic.leaf} {nic.leaf_port}"))
        return
    crossed = next((name for name in heard if _of_another(server, nic, name)), None)
    if crossed is not None:
        notes.append(_elsewhere(f"{nic.leaf} {nic.leaf_port}", f"{server.name} {crossed}", f"{server.name} {nic.name}"))
        return
    for name in heard or [one for one in interfaces if one == nic.netdev]:
        if name != nic.netdev and _NETDEV.fullmatch(name):
            yield "netdev", name, "the server"
        mac = _mac(interfaces[name].mac)
        if mac:
            yield "mac", mac, "the server"
        for rdma in sorted({one.device for one in state.gids or () if one.interface == name}):
            if rdma != nic.rdma and _RDMA.fullmatch(rdma):
                yield "rdma", rdma, "the server"


def _hears(state: HostState, name: str, nic: Nic, ends: Ends) -> bool:
    """Whether an interface of a server has the leaf and the port at its other end that the design gives the NIC."""
    heard = (state.neighbors or {}).get(name, ())
    return any(end_of(ends, one)[1] == (nic.leaf, nic.leaf_port) for one in heard if one.system is not None)


def _of_another(server: Server, nic: Nic, name: str) -> bool:
    """Whether a name is that of another NIC of the server: its cables may be in each other's ports."""
    return any(name in {one.name, one.netdev} for one in server.nics if one.name != nic.name)


def _elsewhere(here: str, there: str, wanted: str) -> str:
    return f"{here} hears {there} in place of {wanted}: nothing was taken; `railweave check` says which cable to move"


def _netdev(said: LldpNeighbor) -> str:
    """The Linux name of a server's port, as its own daemon has it; empty where that is none."""
    name = said.port_description if _mac(said.port) else said.port
    return name if name and _NETDEV.fullmatch(name) and not name.isdigit() else ""


def _by_neighbors(nic: Nic, state: DeviceState) -> Iterable[tuple[str, str, str]]:
    """MAC address from the leaf's neighbor cache: by a static address, or as the only one on a routed port."""
    static = {one.address for one in nic.addresses if one.origin != "slaac"}
    entries = [one for one in state.ipv6_neighbors or () if one.mac is not None]
    alone = {
        _mac(one.mac) for one in entries if one.interface is not None and without_unit(one.interface) == nic.leaf_port
    }
    found = {_mac(one.mac) for one in entries if one.address in static} or (alone if len(alone) == 1 else set[str]())
    for mac in sorted(found - {""}):
        yield "mac", mac, "its neighbor cache entry"


def _mac(said: str | None) -> str:
    """A MAC address in the inventory's form; empty for what is none, or a group's (IEEE 802)."""
    if said is None or not _MAC.fullmatch(said.lower()):
        return ""
    digits = re.sub("[:.-]", "", said.lower())
    if int(digits[:2], 16) & 1 or not int(digits, 16):
        return ""
    return ":".join(digits[place : place + 2] for place in range(0, 12, 2))
