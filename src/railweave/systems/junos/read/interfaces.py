"""Derivation of port purposes (links to servers, to other switches or to external routers), and of breakouts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.config.secret_words import reference
from railweave.model.device.model import Interface, Macsec, Split
from railweave.model.device.port_model import far_end, router_of, with_parts
from railweave.systems.junos.read.ports import PORT, Port, Unit
from railweave.systems.junos.render.interfaces import port_order
from railweave.systems.junos.words import Word, gbps, unprinted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


Kind = Literal["server", "fabric", "external"]
_RANK: dict[Kind, int] = {"server": 0, "fabric": 1, "external": 2}
Suite = Literal["gcm-aes-128", "gcm-aes-256", "gcm-aes-xpn-128", "gcm-aes-xpn-256"]
_SUITES: dict[str, Suite] = {
    "gcm-aes-128": "gcm-aes-128",
    "gcm-aes-256": "gcm-aes-256",
    "gcm-aes-xpn-128": "gcm-aes-xpn-128",
    "gcm-aes-xpn-256": "gcm-aes-xpn-256",
}
_CHANNELS = {10: 4, 25: 4, 50: 2, 100: 4}
"""The number of channels of a split port, by the speed of a channel in Gb/s (Juniper documentation, channel-speed)."""
_NUMBER = re.compile(r"\w+-\d+/\d+/(\d+)")
_RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")
_LINK = 3
"""The maximum number of host bits in the prefix of a link between switches. Prefixes with more host bits can contain servers."""


def splits(top: Word, ports: Mapping[str, Port]) -> tuple[Split, ...]:
    """Return the ports whose speed or number of channels is configured. In older releases, these statements are below ``chassis``.

    ``top`` is the root of the configuration.
    """
    by_port: dict[str, Split] = {}
    for port in ports.values():
        number = _NUMBER.match(port.name)
        if port.speed is not None and number is not None and ":" not in port.name:
            by_port[port.name] = Split(port.name, int(number[1]), port.channels or 1, port.speed)
    for fpc in top.entries("chassis", "fpc"):
        for pic in fpc.entries("pic"):
            for port_entry in pic.entries("port"):
                number = port_entry.text
                speed, channels = (
                    port_entry.read(gbps, "speed") or port_entry.read(gbps, "channel-speed"),
                    port_entry.number("number-of-sub-ports"),
                )
                if speed is None or not number.isascii() or not number.isdigit():
                    continue
                usual = _CHANNELS.get(speed, 1) if "channel-speed" in port_entry.below else 1
                name = f"et-{fpc.text}/{pic.text}/{number}"
                by_port.setdefault(name, Split(name, int(number), channels or usual, speed))
    return tuple(sorted(by_port.values(), key=lambda split: port_order(split.port)))


def kinds(
    ports: Mapping[str, Port],
    *,
    fabric: Collection[str],
    external: Collection[str],
    served: Collection[str],
    fabric_known: bool,
) -> dict[str, Kind]:
    """Return the purpose of each port: server, fabric or external.

    - ``fabric``: the ports with a BGP session or IS-IS to a switch.
    - ``external``: the ports with a session of a VRF.
    - ``served``: the logical interfaces with router advertisements or in a VRF.
    - ``fabric_known``: True if sessions show the links of the fabric. Any other routed port then leads to a server. If False,
      as with OSPF, a routed port with a small prefix is a link of the fabric.
    """
    by_port: dict[str, Kind] = {}
    for name, port in ports.items():
        if not PORT.fullmatch(name):
            continue
        if name in external:
            by_port[name] = "external"
        elif name in fabric:
            by_port[name] = "fabric"
        elif port.units:
            units = list(port.units.values())
            bridged = any(unit.bridged for unit in units)
            routed = any(unit.every_address() for unit in units)
            serves = (
                bridged
                or (routed and fabric_known)
                or any(unit.name in served or unit.proxy_arp or _wide(unit) for unit in units)
            )
            by_port[name] = "server" if serves else "fabric"
        elif port.disabled and port.description:
            by_port[name] = "server"  # a port that is reserved for a tenant
    return by_port


def _wide(unit: Unit) -> bool:
    return any(address.length < (128 if address.family == "ipv6" else 32) - _LINK for address in unit.every_address())


def in_order(kind: Mapping[str, Kind]) -> list[str]:
    """Return the names of ports in the order of a configuration: ports to servers first, and by number within each purpose.

    ``kind`` has the purpose of each port.
    """
    return sorted(kind, key=lambda name: (_RANK[kind[name]], port_order(name)))


def interfaces(
    ports: Mapping[str, Port],
    kind: Mapping[str, Kind],
    made: Iterable[Split],
    *,
    routed: Collection[str],
    vrfs: Mapping[str, str],
    pausing: Collection[str] | None,
    encrypted: Mapping[str, Macsec],
    vlans: Mapping[str, int],
) -> tuple[Interface, ...]:
    """Return the ports in use, those to servers first.

    - ``kind``: the purpose of each port.
    - ``made``: the breakouts.
    - ``routed``: the names of ports that are gateways themselves.
    - ``vrfs``: the VRF of each logical interface.
    - ``pausing``: the ports with a PFC profile; None means that the configuration has no profiles.
    - ``encrypted``: the MACsec settings of each port.
    - ``vlans``: the number of each VLAN, by name.
    """
    speeds = {split.port: split.speed_gbps for split in made}
    cabled: list[Interface] = []
    used = [(port, unit) for port in in_order(kind) for unit in _used(ports[port], kind[port])]
    for name in kind:
        _mark_unrepresented(ports[name], kind[name], gateway=name in routed)
    for name, unit in used:
        port, port_kind = ports[name], kind[name]
        outside = port_kind == "external"
        peer, peer_port = (router_of(port.description), "") if outside else far_end(port.description)
        vlan, tagged = _carried(port, unit, vlans) if unit is not None else (None, ())
        cabled.append(
            Interface(
                name=name,
                link="",
                kind=port_kind,
                description=port.description,
                peer=peer,
                peer_port=peer_port,
                speed_gbps=speeds.get(name) or speeds.get(name.partition(":")[0]) or port.usual_speed,
                lanes=0,
                mtu=_frame(port, unit, gateway=name in routed),
                length_m=0,
                vlan=vlan,
                native_vlan=port.native if unit is not None and unit.trunk else None,
                addresses=() if name in routed else (unit.every_address() if unit is not None else ()),
                between_sites=name in encrypted,
                macsec=encrypted.get(name),
                pauses=name in pausing if pausing is not None else not outside,
                vrf=vrfs.get(unit.name, "") if outside and unit is not None else "",
                unit_vlan=unit.tag if outside and unit is not None else None,
                enabled=not (port.disabled or (unit is not None and unit.disabled)),
                tagged=tagged,
                fec=port.fec,
            )
        )
    return with_parts(cabled)


def _mark_unrepresented(port: Port, kind: Kind, *, gateway: bool) -> None:
    """Mark settings of a port that ``Interface`` cannot represent as not understood. ``kind`` is the purpose of the port.

    These settings are additional units, VLAN tags on a port that is not a trunk, and different packet MTUs of the address families. But a
    port to an external router may have a unit for each tag, and the port of a gateway (``gateway`` is True) its own MTU.
    """
    if kind == "external":
        return
    first, *others = port.units.values() or [None]
    for unit in others:
        if unit is not None:
            unit.word.mark_unknown()
    if first is None or first.trunk:
        return
    for word in (
        ("vlan-tagging", "flexible-vlan-tagging", "native-vlan-id") if not first.bridged else ("native-vlan-id",)
    ):
        if word in port.word.below:
            port.word.block(word).mark_unknown()
    if kind == "fabric" and first.tag is not None:
        first.word.block("vlan-id").mark_unknown()
    sizes = [(family, size) for family in first.word.entries("family") if (size := family.number("mtu")) is not None]
    for family, size in sizes if not gateway else ():
        if size != min(least for _, least in sizes):  # the smaller MTU of the other family applies
            family.block("mtu").mark_unknown()


def _frame(port: Port, unit: Unit | None, *, gateway: bool) -> int:
    """Return the MTU of frames in bytes.

    This is the MTU of the port or, if it is smaller, the packet MTU of an address family of ``unit`` plus the Ethernet header. If
    ``gateway``
    is True, packet MTUs are ignored.
    """
    size = unprinted("interfaces.mtu") if port.mtu is None else port.mtu
    sizes = [] if gateway or unit is None else [family.number("mtu") for family in unit.word.entries("family")]
    least = min((each + ETHERNET_HEADER for each in sizes if each is not None), default=size)
    if least < size and port.mtu is not None:
        port.word.block("mtu").mark_all("irrelevant")
    return min(least, size)


def _used(port: Port, kind: Kind) -> list[Unit | None]:
    """Return the units (logical interfaces) of a port that ``DeviceConfig`` represents; ``[None]`` if there are none.

    If ``kind`` is ``external``, these are all units with addresses; otherwise, the first unit.
    """
    units = list(port.units.values())
    if kind == "external":
        return [unit for unit in units if unit.addresses] or [None]
    return [units[0] if units else None]


def _carried(port: Port, unit: Unit, vlans: Mapping[str, int]) -> tuple[str | None, tuple[int, ...]]:
    """Return (name of the VLAN of a port's untagged packets or None, numbers of the tagged VLANs of a trunk).

    If a trunk has no untagged VLAN, the name is that of its first VLAN. ``unit`` is the port's unit with the VLANs. ``vlans`` has the
    number
    of each VLAN, by name.
    """
    if not unit.vlans:
        return None, ()
    if not unit.trunk:
        return unit.vlans[0].mark().text, ()
    names = {number: name for name, number in vlans.items()}
    carried: dict[int, str] = {}
    for vlan in unit.vlans:
        numbers = _numbers(vlan.text, vlans)
        carried |= {number: names.get(number, vlan.text) for number in numbers}
        if numbers:
            vlan.mark()
    if not carried:  # the VLANs are not defined
        return unit.vlans[0].mark().text, ()
    if port.native not in carried:  # no VLAN is untagged
        port.native = None
    return carried[next(iter(carried)) if port.native is None else port.native], tuple(
        number for number in carried if number != port.native
    )


def _numbers(member: str, vlans: Mapping[str, int]) -> tuple[int, ...]:
    """Return the numbers of the VLANs that ``member``, a word of a ``members`` statement, selects.

    The word is a name, a number, a range, or ``all`` for every VLAN of the device. ``vlans`` has the number of each VLAN.
    """
    if member in vlans:
        return (vlans[member],)
    if member == "all":
        return tuple(sorted(set(vlans.values())))
    match = _RANGE.fullmatch(member)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    return tuple(range(low, high + 1)) if high < 1 << 12 else ()


def macsec(top: Word) -> dict[str, Macsec]:
    """Return the MACsec settings by port, from ``security macsec``. ``top`` is the root of the configuration."""
    here = top.at_path("security", "macsec")
    if here is None:
        return {}
    known: dict[str, Macsec] = {}
    for association in here.entries("connectivity-association"):
        name, key, suite = (
            association.value("pre-shared-key", "ckn"),
            association.read(reference, "pre-shared-key", "cak"),
            association.value("cipher-suite"),
        )
        association.value("security-mode")
        if name is not None and key is not None:
            known[association.text] = Macsec(name, key, _SUITES.get(suite or "", "gcm-aes-128"))
    by_port: dict[str, Macsec] = {}
    for port in here.block("interfaces").below.values():
        chosen = known.get(port.value("connectivity-association") or "")
        if chosen is not None:
            by_port[port.mark().text] = chosen
    return by_port
