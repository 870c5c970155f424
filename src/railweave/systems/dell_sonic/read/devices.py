"""Ports, gateways and splits out of the lines of interfaces, with what each is for; and the management plane."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from railweave.model.catalog import catalog
from railweave.model.config.addresses import BITS
from railweave.model.device.model import Gateway, Interface, Split
from railweave.model.device.port_model import far_end, router_of, with_parts
from railweave.model.device.timers import RouterAdvertisements
from railweave.systems.dell_sonic.read.routing import tenant
from railweave.systems.dell_sonic.statements.ports import Lines
from railweave.systems.frr.meaning.ports import sent
from railweave.systems.frr.statements.ports import Advertised
from railweave.systems.sonic.names import ETHERNET_HEADER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.systems.dell_sonic.statements.ports import Interfaces, Shared, Splits


PORT_MTU = 9216
"""Bytes of a frame on a port whose ``mtu`` is that of the gateway on it (system.yaml, ``interfaces.mtu``)."""
ROUNDED = 0.01
"""Percent of the packet buffer that rounding to cells may take away, and more."""
POINT_TO_POINT = 2
"""A network of so few bits for hosts joins two routers."""
_SWITCH_PORTS = ("Eth", "et-")
"""Beginnings of the names of ports on all operating systems of switches."""
WHOLE_PORT = 2
"""Numbers in the name of a port that is not split: ``Eth1/1``."""


class Sessions(NamedTuple):
    """Interfaces that sessions run on: on the links of the fabric, and to routers outside."""

    fabric: Collection[str]
    outside: Collection[str]


def is_port(name: str) -> bool:
    """Whether a name is a port's, not that of a part of it."""
    return name.startswith("Eth") and "." not in name


def breakouts(splits: Splits) -> dict[str, Split]:
    """Ports that are split, by name."""
    return {
        name: Split(name, int(name.rpartition("/")[2]) - 1, one.channels, one.speed)
        for name, one in splits.ports.items()
    }


def model(split: Iterable[Split], ports: Iterable[Lines], headroom: int | None) -> str:
    """A model that has such ports, as fast, and as many; and whose buffer has the headroom pool as a whole percentage."""
    ports = list(ports)
    speeds = [one.channels * one.speed_gbps for one in split] + [one.speed or 0 for one in ports]
    most = max(speeds, default=0)
    last = max((one.number[1] for one in ports if len(one.number) > 1), default=0)
    models = {name: one for name, one in catalog().switches.items() if "dell_sonic" in one.systems}
    fits = [name for name, one in models.items() if _holds(one, most, last)] or sorted(models)
    shares = {name: 100 * (headroom or 0) / (models[name].buffer.shared_mb * 1e6) for name in fits}
    whole = {name: abs(share - round(share)) < ROUNDED for name, share in shares.items()}
    return min(fits, key=lambda name: (not whole[name], models[name].ports[0].speed_gbps, models[name].ports[0].count))


def _holds(one: SwitchModel, speed: int, ports: int) -> bool:
    group = one.ports[0]
    return group.speed_gbps >= speed and group.count >= ports


def splits(found: Mapping[str, Split], ports: Iterable[Lines], model_name: str) -> tuple[Split, ...]:
    """Ports that are split, and whole ones that run slower than they can."""
    group = catalog().switches[model_name].ports[0]
    slower = {
        one.name: Split(one.name, one.number[1] - 1, 1, one.speed)
        for one in ports
        if one.speed and len(one.number) == WHOLE_PORT and one.speed < group.speed_gbps
    }
    every = {**{name: one for name, one in slower.items() if name not in found}, **found}
    return tuple(sorted(every.values(), key=lambda one: one.physical))


def interface(one: Lines, parts: Iterable[Lines], sessions: Sessions, pauses: bool) -> Interface:
    """A port with its parts that are tagged, if it has some."""
    tagged: list[Lines | None] = [sub for sub in parts if sub.name in sessions.outside or sub.vrf]
    return with_parts(_part(one, part, sessions, pauses) for part in tagged or [None])[0]


def _part(one: Lines, part: Lines | None, sessions: Sessions, pauses: bool) -> Interface:
    kind = _kind(one, part, sessions)
    waits = one.shut and not one.addresses and not one.anycast
    vlan = one.vlan or next(iter(one.tagged), None)
    routed = kind == "server" and vlan is None and not waits
    peer, peer_port = (router_of(one.description), "") if kind == "external" else far_end(one.description)
    said = part or one
    return Interface(
        name=one.name,
        link="",
        kind=kind,
        description=one.description,
        peer=peer,
        peer_port=peer_port,
        speed_gbps=one.speed or 0,
        lanes=8,
        mtu=PORT_MTU if routed or one.mtu is None else one.mtu + ETHERNET_HEADER,
        length_m=0,
        vlan=None if vlan is None else f"vn{vlan}",
        addresses=said.addresses if kind != "server" else (),
        pauses=pauses,
        vrf=tenant(said.vrf) if kind == "external" else "",
        unit_vlan=None if part is None else part.tag,
        enabled=not (one.shut or said.shut),
        tagged=one.tagged,
        copper=one.training,
    )


def _kind(one: Lines, part: Lines | None, sessions: Sessions) -> Literal["server", "fabric", "external"]:
    """What a port is for: what it runs says so, else how it is configured."""
    if part is not None or one.name in sessions.outside:
        return "external"
    if one.name in sessions.fabric:
        return "fabric"
    bridged = one.vlan is not None or bool(one.tagged)
    if one.ipv6 and not one.addresses and not bridged:
        return "fabric"
    if bridged or one.shut or _times(one) or one.anycast or one.vrf:
        return "server"
    # A numbered port without its session: a server may have two addresses, too, but its NIC is not called as a switch's port is.
    narrow = all(BITS[address.family] - address.length <= POINT_TO_POINT for address in one.addresses)
    switch = far_end(one.description)[1].startswith(_SWITCH_PORTS)
    return "fabric" if one.addresses and narrow and switch else "server"


def gateways(
    interfaces: Interfaces, ports: Iterable[Interface], transit: set[int], shared: Shared
) -> tuple[Gateway, ...]:
    """Gateways of VLANs, then of ports. An interface of a VLAN in which nothing stands makes the VLAN, and is no gateway."""
    vlans = {one.number[0]: one for one in interfaces.vlans.values() if not one.shut and one != Lines(one.name)}
    routed = {one.name for one in ports if one.kind == "server" and one.vlan is None}
    at_ports = [one for name, one in interfaces.ports.items() if name in routed and (one.addresses or one.anycast)]
    return (
        *(_gateway(one, vlan, shared) for vlan, one in vlans.items() if vlan not in transit),
        *(_gateway(one, None, shared) for one in at_ports),
    )


def _gateway(one: Lines, vlan: int | None, shared: Shared) -> Gateway:
    addresses = one.anycast or one.addresses
    timers = _advertisements(one)
    answered = {address.family for address in one.anycast} <= {*shared.families}
    own = tuple(address.prefix for address in addresses)
    advertised = (
        *(prefix for prefix in own if prefix.family == "ipv4"),
        *(told.prefix for told in (one.advertised or Advertised()).prefixes if told.prefix),
    )
    return Gateway(
        name=one.name,
        vlan=vlan,
        vlan_name=f"vn{vlan}" if vlan else "",
        description=one.description,
        mtu=9100 if one.mtu is None else one.mtu,
        addresses=addresses,
        prefixes=advertised if timers else own,
        advertisements=timers,
        port="" if vlan else one.name,
        vrf=tenant(one.vrf),
        proxy_arp=one.proxy_arp,
        mac=shared.mac if one.anycast and answered else "",
    )


def _times(one: Lines) -> bool:
    """Return whether the interface has timers or flags of router advertisements."""
    return one.advertised is not None and replace(one.advertised, sends=False, prefixes=()) != Advertised()


def _advertisements(one: Lines) -> RouterAdvertisements | None:
    """Return the contents of router advertisements."""
    given = one.advertised
    if given is None or not given.sends:
        return None
    least = RouterAdvertisements().min_interval if given.min_interval is None else given.min_interval
    return replace(sent(given), link_mtu=given.link_mtu is not None and given.link_mtu == one.mtu, min_interval=least)


def parts_of(interfaces: Mapping[str, Lines]) -> dict[str, list[Lines]]:
    """Sub-interfaces by the port that they are of."""
    found: dict[str, list[Lines]] = {}
    for name, one in interfaces.items():
        port, dot, _ = name.partition(".")
        if dot and port.startswith("Eth"):
            found.setdefault(port, []).append(one)
    return found


def in_order(names: Iterable[Lines]) -> Iterator[Lines]:
    """By number."""
    yield from sorted(names, key=lambda one: (one.name[:4], one.number))
