"""Conversion of interface statements to the ports of a device, with their purpose, and to its gateways and breakouts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from railweave.model.catalog import catalog
from railweave.model.config.addresses import BITS
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.device.model import Gateway, Interface, Split
from railweave.model.device.port_model import far_end, router_of, with_parts
from railweave.model.device.timers import RouterAdvertisements
from railweave.systems.dell_sonic.read.routing import tenant
from railweave.systems.dell_sonic.statements.ports import Lines
from railweave.systems.frr.meaning.ports import sent
from railweave.systems.frr.statements.ports import Advertised

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.systems.dell_sonic.statements.ports import Interfaces, Shared, Splits


PORT_MTU = 9216
"""The frame size in bytes of a port that is a gateway.

The line ``mtu`` of such a port states the MTU of the gateway, not the frame size (system.yaml, ``interfaces.mtu``).
"""
ROUNDED = 0.01
"""A tolerance in percentage points. A share of the packet buffer this close to a whole percentage counts as a rounded whole percentage.

Sizes are rounded because a buffer consists of cells.
"""
POINT_TO_POINT = 2
"""The largest number of host bits in the prefix of a link between two routers."""
_SWITCH_PORTS = ("Eth", "et-")
"""The beginnings of the names of switch ports in all operating systems."""
WHOLE_PORT = 2
"""The number of integers in the name of a port that is not split: two in ``Eth1/1``."""


class Sessions(NamedTuple):
    """The names of the interfaces on which BGP sessions run: links of the fabric (``fabric``), and links to external routers (``outside``)."""

    fabric: Collection[str]
    outside: Collection[str]


def is_port(name: str) -> bool:
    """Return True if a name is the name of a port, such as ``Eth1/1``, and False for subinterfaces and other interfaces."""
    return name.startswith("Eth") and "." not in name


def breakouts(splits: Splits) -> dict[str, Split]:
    """Return the ports that are split into channels, by name."""
    return {
        name: Split(name, int(name.rpartition("/")[2]) - 1, split.channels, split.speed)
        for name, split in splits.ports.items()
    }


def model(split: Iterable[Split], ports: Iterable[Lines], headroom: int | None) -> str:
    """Return the name of the catalog model that a configuration is for, which the configuration itself does not state.

    A model fits if its ports are at least as fast as the fastest port of the configuration, and if it has at least as many ports as the
    highest port number. If several models fit, prefer a model of whose packet buffer ``headroom`` (the bytes of the headroom pool) is a
    whole percentage; then prefer slower ports, then fewer ports. ``split`` are the breakouts, and ``ports`` the settings of ports.
    """
    ports = list(ports)
    speeds = [part.channels * part.speed_gbps for part in split] + [port.speed or 0 for port in ports]
    most = max(speeds, default=0)
    last = max((port.number[1] for port in ports if len(port.number) > 1), default=0)
    models = {name: switch for name, switch in catalog().switches.items() if "dell_sonic" in switch.systems}
    fits = [name for name, switch in models.items() if _holds(switch, most, last)] or sorted(models)
    shares = {name: 100 * (headroom or 0) / (models[name].buffer.shared_mb * 1e6) for name in fits}
    whole = {name: abs(share - round(share)) < ROUNDED for name, share in shares.items()}
    return min(fits, key=lambda name: (not whole[name], models[name].ports[0].speed_gbps, models[name].ports[0].count))


def _holds(switch: SwitchModel, speed: int, ports: int) -> bool:
    group = switch.ports[0]
    return group.speed_gbps >= speed and group.count >= ports


def splits(broken_out: Mapping[str, Split], ports: Iterable[Lines], model_name: str) -> tuple[Split, ...]:
    """Return the breakouts of ports.

    Whole ports below the highest speed of the switch model ``model_name`` count as breakouts with one channel. ``broken_out`` are the ports
    that are split into channels.
    """
    group = catalog().switches[model_name].ports[0]
    slower = {
        port.name: Split(port.name, port.number[1] - 1, 1, port.speed)
        for port in ports
        if port.speed and len(port.number) == WHOLE_PORT and port.speed < group.speed_gbps
    }
    every = {**{name: split for name, split in slower.items() if name not in broken_out}, **broken_out}
    return tuple(sorted(every.values(), key=lambda split: split.physical))


def interface(port: Lines, parts: Iterable[Lines], sessions: Sessions, pauses: bool) -> Interface:
    """Return a port, with its tagged subinterfaces if it has any.

    ``parts`` are the settings of the subinterfaces, and ``sessions`` the interfaces with BGP sessions. ``pauses`` is True if the port uses
    PFC.
    """
    tagged: list[Lines | None] = [sub for sub in parts if sub.name in sessions.outside or sub.vrf]
    return with_parts(_part(port, part, sessions, pauses) for part in tagged or [None])[0]


def _part(port: Lines, part: Lines | None, sessions: Sessions, pauses: bool) -> Interface:
    kind = _kind(port, part, sessions)
    waits = port.shut and not port.addresses and not port.anycast
    vlan = port.vlan or next(iter(port.tagged), None)
    routed = kind == "server" and vlan is None and not waits
    peer, peer_port = (router_of(port.description), "") if kind == "external" else far_end(port.description)
    unit = part or port
    return Interface(
        name=port.name,
        link="",
        kind=kind,
        description=port.description,
        peer=peer,
        peer_port=peer_port,
        speed_gbps=port.speed or 0,
        lanes=8,
        mtu=PORT_MTU if routed or port.mtu is None else port.mtu + ETHERNET_HEADER,
        length_m=0,
        vlan=None if vlan is None else f"vn{vlan}",
        addresses=unit.addresses if kind != "server" else (),
        pauses=pauses,
        vrf=tenant(unit.vrf) if kind == "external" else "",
        unit_vlan=None if part is None else part.tag,
        enabled=not (port.shut or unit.shut),
        tagged=port.tagged,
        copper=port.training,
        fec=port.fec,
    )


def _kind(port: Lines, part: Lines | None, sessions: Sessions) -> Literal["server", "fabric", "external"]:
    """Return the purpose of a port, which follows from the BGP sessions on the port or, without BGP sessions, from the port's settings.

    ``part`` has the settings of a subinterface, or is None.
    """
    if part is not None or port.name in sessions.outside:
        return "external"
    if port.name in sessions.fabric:
        return "fabric"
    bridged = port.vlan is not None or bool(port.tagged)
    if port.ipv6 and not port.addresses and not bridged:
        return "fabric"
    if bridged or port.shut or _times(port) or port.anycast or port.vrf:
        return "server"
    # A numbered port without its session. A server may have two addresses too, but its NIC does not have the name of a switch port.
    narrow = all(BITS[address.family] - address.length <= POINT_TO_POINT for address in port.addresses)
    switch = far_end(port.description)[1].startswith(_SWITCH_PORTS)
    return "fabric" if port.addresses and narrow and switch else "server"


def gateways(
    interfaces: Interfaces, ports: Iterable[Interface], transit: set[int], shared: Shared
) -> tuple[Gateway, ...]:
    """Return the gateways of VLANs, then the gateways of ports. VLANs in ``transit`` exist only for VNIs and are left out.

    ``shared`` has the settings that all interfaces share. A VLAN interface without any settings is not a gateway; it only creates the VLAN.
    """
    vlans = {vlan.number[0]: vlan for vlan in interfaces.vlans.values() if not vlan.shut and vlan != Lines(vlan.name)}
    routed = {port.name for port in ports if port.kind == "server" and port.vlan is None}
    at_ports = [port for name, port in interfaces.ports.items() if name in routed and (port.addresses or port.anycast)]
    return (
        *(_gateway(lines, vlan, shared) for vlan, lines in vlans.items() if vlan not in transit),
        *(_gateway(lines, None, shared) for lines in at_ports),
    )


def _gateway(lines: Lines, vlan: int | None, shared: Shared) -> Gateway:
    addresses = lines.anycast or lines.addresses
    timers = _advertisements(lines)
    answered = {address.family for address in lines.anycast} <= {*shared.families}
    prefixes = tuple(address.prefix for address in addresses)
    advertised = (
        *(prefix for prefix in prefixes if prefix.family == "ipv4"),
        *(entry.prefix for entry in (lines.advertised or Advertised()).prefixes if entry.prefix),
    )
    return Gateway(
        name=lines.name,
        vlan=vlan,
        vlan_name=f"vn{vlan}" if vlan else "",
        description=lines.description,
        mtu=9100 if lines.mtu is None else lines.mtu,
        addresses=addresses,
        prefixes=advertised if timers else prefixes,
        advertisements=timers,
        port="" if vlan else lines.name,
        vrf=tenant(lines.vrf),
        proxy_arp=lines.proxy_arp,
        mac=shared.mac if lines.anycast and answered else "",
    )


def _times(lines: Lines) -> bool:
    """Return True if the interface sets timers or flags of router advertisements."""
    return lines.advertised is not None and replace(lines.advertised, sends=False, prefixes=()) != Advertised()


def _advertisements(lines: Lines) -> RouterAdvertisements | None:
    """Return the router advertisements of an interface, or None if it sends none."""
    given = lines.advertised
    if given is None or not given.sends:
        return None
    least = RouterAdvertisements().min_interval if given.min_interval is None else given.min_interval
    return replace(sent(given), link_mtu=given.link_mtu is not None and given.link_mtu == lines.mtu, min_interval=least)


def parts_of(interfaces: Mapping[str, Lines]) -> dict[str, list[Lines]]:
    """Return the settings of the subinterfaces of each port, by the name of the port."""
    parts: dict[str, list[Lines]] = {}
    for name, lines in interfaces.items():
        port, dot, _ = name.partition(".")
        if dot and port.startswith("Eth"):
            parts.setdefault(port, []).append(lines)
    return parts


def in_order(names: Iterable[Lines]) -> Iterator[Lines]:
    """Yield interfaces in the order of the numbers in their names."""
    yield from sorted(names, key=lambda lines: (lines.name[:4], lines.number))
