"""Assembly of a ``DeviceConfig`` from the parts of an EOS configuration, and derivation of IS-IS and OSPF."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from railweave.model.catalog import catalog
from railweave.model.config.addresses import Address, Family, InterfaceAddress, Prefix
from railweave.model.config.number_ranges import numbers
from railweave.model.config.secret_words import reference
from railweave.model.device.model import (
    DeviceConfig,
    Gateway,
    Interface,
    Isis,
    IsisPort,
    Ospf,
    OspfPort,
    Split,
    loopback_among,
)
from railweave.model.device.port_model import with_parts
from railweave.systems.eos.meaning.policy import read_policies
from railweave.systems.eos.read import overlay
from railweave.systems.eos.read.bgp import NO_ADDRESS, Process, bgp, process
from railweave.systems.eos.read.management import control_plane, management
from railweave.systems.eos.read.overlay import gateway, vlans
from railweave.systems.eos.read.ports import PORT, Port, ports, vlans_of
from railweave.systems.eos.read.qos import QosProfiles, balancing, profiles, qos
from railweave.systems.eos.read.values import Stanzas, address, bfd_of, number, peer_of, prefix
from railweave.systems.eos.statements.bgp import EOS_BFD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.model.device.timers import Bfd


METRIC = 10
"""The IS-IS metric of an interface for which no statement sets one (ISO 10589, and EOS)."""


def running(stanzas: Stanzas) -> tuple[set[str], set[str]]:
    """Return (interfaces on which IS-IS looks for neighbors, passive interfaces). IS-IS advertises the prefixes of both.

    ``stanzas`` are the lines of all ``interface`` sections.
    """
    there = set(stanzas.word("isis enable <value>"))
    quiet = {name for name, is_set in stanzas.flag("isis passive").items() if is_set} & there
    return there - quiet, quiet


def isis(
    reader: SectionReader,
    stanzas: Stanzas,
    ports: Mapping[str, Port],
    loopback: Address,
    order: Sequence[str],
    gateways: Mapping[str, Gateway],
) -> Isis | None:
    """Return the IS-IS configuration, or None if the device has none.

    - ``reader``: the lines of the configuration.
    - ``stanzas``: the lines of all ``interface`` sections.
    - ``loopback``: the router id that EOS uses if none is set.
    - ``order``: the port names, in the order that the result must have.
    - ``gateways``: the gateways for servers, by interface.
    """
    header = reader.last("router isis <name>")
    if header is None:
        return None
    net = reader.last("net <value>", below=header)
    named = reader.last("router-id ipv4 <value>", below=header)
    level = reader.last("is-type <level>", below=header)
    if level is not None and level["level"] != "level-2":
        reader.mark_unknown(level)
    there, quiet = running(stanzas)
    metrics = stanzas.number("isis metric <value>", 1, 2**24 - 1)
    families: list[Family] = []
    width = 1
    for family in ("ipv4", "ipv6"):
        for section in reader.each(f"address-family {family} unicast", below=header):
            families.append("ipv4" if family == "ipv4" else "ipv6")
            for line in reader.each("maximum-paths <value>", below=section):
                width = number(line["value"], 1, 4096) or width
    key = reader.last("authentication key 0|7|8a <secret>", below=header)
    stanzas.word("isis authentication key 0|7|8a <value>")
    return Isis(
        net=net["value"] if net else "",
        router_id=(address(named["value"]) if named else None) or loopback,
        ports=tuple(
            IsisPort(name, "", peer_of(ports[name].description)[0], metrics.get(name, METRIC))
            for name in order
            if name in there
        ),
        passive=tuple(gateway.port or gateway.name for name, gateway in gateways.items() if name in quiet),
        families=tuple(dict.fromkeys(families)),
        maximum_ecmp=width,
        key=reference(key["secret"]) if key else None,
        bfd=_bfd(stanzas, there),
    )


def _bfd(stanzas: Stanzas, there: set[str]) -> Bfd | None:
    """Return the BFD settings of IS-IS, or None if an interface in ``there`` does not use BFD.

    ``there`` are the interfaces with IS-IS neighbors. ``stanzas`` are the lines of all ``interface`` sections.
    """
    listening = {name for name, is_set in stanzas.flag("isis bfd").items() if is_set}
    bfd = EOS_BFD
    for name, line in stanzas.each("bfd interval <interval> min-rx <receive> multiplier <times>"):
        timers = bfd_of(line)
        if timers is None:
            stanzas.reader.mark_unknown(line)
        elif name in there:
            bfd = timers
    return bfd if there and there <= listening else None


MOST_METRIC = 65535
MOST_LSAS = 12_000
"""The largest number of OSPF LSAs that EOS allows by default (EOS user manual, "max-lsa")."""


def ospf(stanzas: Stanzas, ports: Mapping[str, Port], loopback: Address) -> tuple[Ospf | None, list[SelectedLine]]:
    """Return (the OSPF configuration or None, all lines about OSPF). OSPF on VLAN interfaces is marked as not understood.

    ``loopback`` is the router id that EOS uses if none is set. ``stanzas`` are the lines of all ``interface`` sections.
    """
    reader = stanzas.reader
    header = reader.last("router ospf <id>")
    if header is None:
        return None, []
    lines = [header]
    areas, costs = _areas(stanzas, ports, header, lines), dict[str, "int | None"]()
    for name, line in stanzas.each("ip ospf cost <value>"):
        lines.append(line)
        costs[name] = number(line["value"], 1, MOST_METRIC)
        if costs[name] is None:
            reader.mark_unknown(line)
    lines += [line for _, line in stanzas.each("ip ospf network point-to-point")]
    quiet = _quiet(stanzas, areas, header, lines)
    settings = {form: reader.last(form, below=header) for form in ("router-id <value>", "maximum-paths <value>")}
    lines += [line for line in settings.values() if line is not None]
    lines += [line for form in ("max-lsa **", "log-adjacency-changes **") for line in reader.each(form, below=header)]
    for line in reader.each("max-lsa <value> **", below=header):
        if 0 < (number(line["value"]) or 0) < MOST_LSAS and not line.line.endswith("warning-only"):
            reader.mark_unknown(line)  # with more LSAs, OSPF shuts down
    named, wide = settings["router-id <value>"], settings["maximum-paths <value>"]
    defaults = catalog().systems["eos"].reads.defaults
    usual = int(defaults["ospf.ports.metric"].value or 0)
    width = number(wide["value"], 1, 4096) if wide else None
    underlay = Ospf(
        router_id=(address(named["value"]) if named else None) or loopback,
        ports=tuple(
            OspfPort(name, "", peer_of(ports[name].description)[0], area, costs.get(name) or usual)
            for name, area in areas.items()
            if name not in quiet and PORT.match(name)
        ),
        passive=tuple(name for name in areas if name in quiet),
        maximum_ecmp=width or int(defaults["bgp.maximum_ecmp"].value or 1),
    )
    return underlay, lines


def _areas(
    stanzas: Stanzas, ports: Mapping[str, Port], header: SelectedLine, lines: list[SelectedLine]
) -> dict[str, str]:
    """Return the OSPF area of each interface, such as ``0.0.0.0``.

    - ``stanzas``: the lines of all ``interface`` sections.
    - ``header``: the line ``router ospf``.
    - ``lines``: a list to which the lines that set areas are appended.
    """
    reader, areas = stanzas.reader, dict[str, str]()
    for line in reader.each("network <prefix> area <area>", below=header):
        inside = prefix(line["prefix"])
        if inside is None:
            reader.mark_unknown(line)
            continue
        lines.append(line)
        for name, port in ports.items():
            if not port.vrf and any(inside.holds(each.address) for each in port.addresses):
                areas[name] = area_id(line["area"])
    for name, line in stanzas.each("ip ospf area <area>"):
        lines.append(line)
        if ports[name].vrf or not (PORT.match(name) or name.startswith("Loopback")):
            reader.mark_unknown(line)
        else:
            areas[name] = area_id(line["area"])
    return {name: areas[name] for name in ports if name in areas}


def _quiet(stanzas: Stanzas, areas: Mapping[str, str], header: SelectedLine, lines: list[SelectedLine]) -> set[str]:
    """Return the interfaces on which OSPF does not look for neighbors: loopbacks and passive interfaces.

    - ``stanzas``: the lines of all ``interface`` sections.
    - ``areas``: the area of each OSPF interface.
    - ``header``: the line ``router ospf``.
    - ``lines``: a list to which the lines that were read are appended.
    """
    reader = stanzas.reader
    everywhere = reader.last("passive-interface default", below=header)
    lines += [everywhere] if everywhere else []
    quiet = {name for name in areas if everywhere or name.startswith("Loopback")}
    for line in reader.each("passive-interface <name>", below=header):
        lines.append(line)
        quiet.add(line["name"])
    for line in reader.each("no passive-interface <name>", below=header):
        lines.append(line)
        quiet.discard(line["name"])
    return quiet


def area_id(text: str) -> str:
    """Return an OSPF area number in dotted form, for example ``0.0.0.0`` for ``0``. Other texts are returned unchanged."""
    value = number(text, 0, 2**32 - 1)
    return text if value is None else ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


LANES = 8
"""The number of electrical lanes of a port."""

_SWITCHED_MTU = "interfaces.mtu"
_NUMBERED = re.compile(r"Ethernet(\d+)/(\d+)")

Kind = Literal["server", "fabric", "external"]
_KINDS: tuple[Kind, ...] = ("server", "fabric", "external")


def device(reader: SectionReader, model: str, release: str) -> DeviceConfig:
    """Return the configuration of a device. ``model`` and ``release`` are from the line ``! device:`` of the text (``device_line``).

    ``reader`` has the lines of the configuration.
    """
    stanzas = Stanzas(reader)
    interfaces = ports(stanzas)
    _channels(interfaces)
    named = reader.last("hostname <value>")
    port, way_out = _management_port(reader, interfaces)
    lists = read_policies(reader)
    ends = overlay.tunnels(stanzas)
    names = vlans(reader)
    under, lines = ospf(stanzas, interfaces, _router_id(interfaces))
    _pair(reader, interfaces)
    speaker = process(reader, interfaces, lists, _router_id(interfaces))
    fabric = _fabric(stanzas, interfaces, speaker) | {port.interface for port in (under.ports if under else ())}
    known = profiles(reader)
    tenants, maps, outside = (
        overlay.vrfs(reader, speaker, ends, lists) if speaker else ((), set[str](), dict[str, str]())
    )
    gateways = _gateways(reader, stanzas, interfaces, fabric, outside, names)
    routes = _enabled(reader, {vrf.name for vrf in tenants})
    by_vrf = [
        overlay.with_loopback(
            replace(
                vrf,
                prefixes=overlay.advertised_prefixes(
                    reader, speaker, vrf.name, lists, _prefixes(gateways, vrf.name, routes)
                ),
            ),
            interfaces,
        )
        for vrf in tenants
        if speaker
    ]
    cabled = _interfaces(interfaces, fabric, outside, known, names)
    routed = isis(reader, stanzas, interfaces, _router_id(interfaces), [port.name for port in cabled], gateways)
    maps |= overlay.maps_of(speaker) if speaker else set()
    speaks = bgp(reader, speaker, lists, maps) if speaker else None
    if speaks and speaks.groups:  # `DeviceConfig` cannot represent BGP and OSPF together
        for line in lines:
            reader.mark_unknown(line)
        under = None
    router_id = speaker.router_id if speaker else routed.router_id if routed else _router_id(interfaces)
    rules = control_plane(reader, stanzas, port.vrf if port else "", fabric | outside.keys())
    families = routed.families if routed and not (speaks and speaks.groups) else speaks.families if speaks else ()
    members = [(port.name, vlan) for port in cabled for vlan in vlans_of(interfaces[port.name], names)]
    _silent(stanzas, speaker)
    return DeviceConfig(
        name=named["value"] if named else "",
        role="leaf" if any(port.kind != "fabric" for port in cabled) or gateways or ends.source else "spine",
        model=model,
        nos="eos",
        release=release,
        management=management(reader, stanzas, protected=rules is not None),
        management_address=port.addresses[0] if port else InterfaceAddress(f"{NO_ADDRESS}/0"),
        management_gateway=way_out,
        loopback=loopback_among((each.prefix for each in _loopbacks(interfaces)), router_id),
        splits=_splits(cabled),
        interfaces=cabled,
        gateways=tuple(gateways.values()),
        bgp=speaks,
        qos=qos(
            reader,
            known,
            {port.name: interfaces[port.name].profile for port in cabled if interfaces[port.name].profile},
        ),
        balancing=balancing(reader, _used(families, gateways.values())),
        extra="",
        overlay=overlay.overlay(reader, speaker, interfaces, ends, lists) if speaker else None,
        vrfs=tuple(by_vrf),
        mac_vrf=overlay.mac_vrf(reader, speaker, ends, names, members) if speaker else None,
        isis=routed,
        ospf=under,
        protection=rules,
    )


def _used(families: Iterable[Family], gateways: Iterable[Gateway]) -> tuple[Family, ...]:
    of_gateways: set[Family] = {address.family for gateway in gateways for address in gateway.addresses}
    return tuple(sorted({*families, *of_gateways}))


def _prefixes(gateways: Mapping[str, Gateway], vrf: str, routes: Mapping[str, set[Family]]) -> tuple[Prefix, ...]:
    prefixes = (prefix for gateway in gateways.values() if gateway.vrf == vrf for prefix in gateway.prefixes)
    return tuple(prefix for prefix in prefixes if prefix.family in routes.get(vrf, ()))


_ROUTING: dict[str, Family] = {
    "ip routing vrf <name>": "ipv4",
    "ip routing ipv6 interfaces vrf <name>": "ipv4",
    "ipv6 unicast-routing vrf <name>": "ipv6",
}
"""The address family that each statement enables in a VRF. Without these statements, a VRF does not route (EOS user manual, "ip routing")."""


def _enabled(reader: SectionReader, tenants: set[str]) -> dict[str, set[Family]]:
    """Return the address families that each VRF in ``tenants`` routes.

    Lines that enable routing are marked as understood. A ``no`` line that contradicts such a line is not. ``reader`` has the lines of the
    configuration.
    """
    families: dict[str, set[Family]] = {}
    for form, family in _ROUTING.items():
        for line in reader.each(form):
            families.setdefault(line["name"], set()).add(family)
    for line in reader.each("no ip routing vrf <name>"):
        defined = any(section.line == f"vrf instance {line['name']}" for section in reader.sections)
        if not defined or (line["name"] in tenants and "ipv4" in families.get(line["name"], ())):
            reader.mark_unknown(line)
    on = [reader.last(form) for form in ("ip routing", "ip routing ipv6 interfaces")]
    for line in reader.each("no ip routing"):
        if any(on):
            reader.mark_unknown(line)
    for form in ("vrf instance *", "ipv6 unicast-routing", "service routing protocols model multi-agent"):
        reader.last(form)
    return families


def _silent(stanzas: Stanzas, routing: Process | None) -> None:
    """Mark lines as not understood if they disable router advertisements on an interface where BGP discovers neighbors.

    ``stanzas`` are the lines of all ``interface`` sections. ``routing`` is the BGP configuration, or None if BGP does not run.
    """
    names = routing.found_on if routing else set[str]()
    for form in ("ipv6 nd ra disabled", "ipv6 nd ra disabled all"):
        for name, line in stanzas.each(form):
            if name in names:
                stanzas.reader.mark_unknown(line)


def _channels(interfaces: dict[str, Port]) -> None:
    """Copy the settings of each link aggregation to its member ports. Only the first member gets the addresses."""
    taken: set[int] = set()
    for port in interfaces.values():
        channel = interfaces.get(f"Port-Channel{port.group}") if port.group else None
        if channel is None or port.group is None:
            if port.group:  # addresses on a member port have no effect
                port.addresses, port.six = [], False
            continue
        port.access, port.native, port.allowed = channel.access, channel.native, channel.allowed
        port.trunk, port.bridged, port.vrf, port.mtu = channel.trunk, channel.bridged, channel.vrf, channel.mtu
        port.shutdown = port.shutdown or channel.shutdown
        port.description = port.description or channel.description
        port.profile = port.profile or channel.profile
        if port.group not in taken:
            port.addresses, channel.addresses = channel.addresses, []
        taken.add(port.group)


_DEFAULT_ROUTES = {"0.0.0.0/0", "::/0"}
_MANAGEMENT_VRFS = {"MGMT", "mgmt", "MANAGEMENT", "management"}
"""Common names for the VRF of the management port."""
_MARKS = re.compile(r"\b(?:tag|name|metric) \S+")
"""A pattern of those attributes of a static route that do not affect the path of packets."""


def _management_port(reader: SectionReader, interfaces: Mapping[str, Port]) -> tuple[Port | None, Address]:
    """Return (the management port or None, its gateway).

    The gateway is the next hop of a default route in the VRF of the port. In the default VRF, this next hop must be in a prefix of the
    port. If no management port has an address, the VRF is one with a usual name, such as ``MGMT``, to which no interface belongs. All other
    static routes are marked as not understood. ``reader`` has the lines of the configuration.
    """
    port = next((port for port in interfaces.values() if port.name.startswith("Management") and port.addresses), None)
    used = {each.vrf for each in interfaces.values()}
    gateway = NO_ADDRESS
    for line in reader.each("ip|ipv6 route <words...>"):
        vrf, words = _of_vrf(_MARKS.sub("", line["words"]).split())
        hop = address(words[1]) if words[0] in _DEFAULT_ROUTES and words[2:] in ([], ["1"]) else None
        of_family = hop is not None and line.line.startswith("ipv6 ") is (hop.family == "ipv6") is (words[0] == "::/0")
        at_port = (
            port and vrf == port.vrf and (vrf or any(subnet.prefix.holds(hop) for subnet in port.addresses if hop))
        )
        if hop and of_family and (at_port if port else vrf in _MANAGEMENT_VRFS and vrf not in used):
            gateway = hop
        else:
            reader.mark_unknown(line)
    return port, gateway


def _of_vrf(words: list[str]) -> tuple[str, list[str]]:
    """Return (the VRF of a static route, the words after the VRF). The second is padded with empty words to at least two words."""
    vrf, rest = (words[1], words[2:]) if words[0] == "vrf" and len(words) > 1 else ("", words)
    return vrf, [*rest, "", ""] if len(rest) < 2 else rest


def _router_id(interfaces: Mapping[str, Port]) -> Address:
    """Return the router id that the switch uses if none is set: the first IPv4 address of a loopback."""
    return next((each.address for each in _loopbacks(interfaces) if each.family == "ipv4"), NO_ADDRESS)


def _loopbacks(interfaces: Mapping[str, Port]) -> list[InterfaceAddress]:
    """Return the addresses of loopbacks outside VRFs."""
    ports = [port for port in interfaces.values() if port.name.startswith("Loopback") and not port.vrf]
    return [address for port in ports for address in port.addresses]


def _pair(reader: SectionReader, interfaces: dict[str, Port]) -> None:
    """Remove the ports between the two switches of an MLAG pair from ``interfaces``, because they lead to no server.

    ``reader`` has the lines of the configuration.
    """
    for line in reader.each("mlag configuration", "local-interface <name>"):
        interfaces.pop(line["name"], None)
    for line in reader.each("mlag configuration", "peer-link <name>"):
        group = line["name"].removeprefix("Port-Channel")
        for name in [port.name for port in interfaces.values() if str(port.group) == group]:
            del interfaces[name]


def _fabric(stanzas: Stanzas, interfaces: Mapping[str, Port], speaker: Process | None) -> set[str]:
    """Return the interfaces to other switches: those on which IS-IS or BGP of the underlay runs.

    ``stanzas`` are the lines of all ``interface`` sections. ``speaker`` is the BGP configuration.
    """
    names = {name for name in running(stanzas)[0] if name in interfaces}
    return names | speaker.found_on | {*speaker.sessions.fabric_ports()} if speaker else names


def _gateways(
    reader: SectionReader,
    stanzas: Stanzas,
    interfaces: Mapping[str, Port],
    fabric: set[str],
    outside: Mapping[str, str],
    names: Mapping[int, str],
) -> dict[str, Gateway]:
    """Return the gateways for servers, by interface.

    - ``reader``: the lines of the configuration.
    - ``stanzas``: the lines of all ``interface`` sections.
    - ``fabric``: the interfaces to other switches.
    - ``outside``: the external router at each interface that leads to one.
    - ``names``: the name of each VLAN.
    """
    mac, sent = overlay.shared_mac(reader), overlay.advertisements(stanzas)
    named = catalog().systems["eos"].vlan_interface
    result: dict[str, Gateway] = {}
    for port in sorted(
        interfaces.values(), key=lambda port: (not port.name.startswith(overlay.VLAN), numbers(port.name))
    ):
        taken = port.name in fabric or port.name in outside or not port.addresses
        vlan = port.name.removeprefix(overlay.VLAN)
        if taken or not (PORT.fullmatch(port.name) or (vlan != port.name and vlan.isdecimal())):
            continue
        if vlan == port.name:
            result[port.name] = gateway(port, port.name, None, names, sent(port), mac)
        else:
            number = int(vlan)
            result[port.name] = gateway(port, named.format(vlan=number), number, names, sent(port), mac)
    return result


def _interfaces(
    interfaces: Mapping[str, Port],
    fabric: set[str],
    outside: Mapping[str, str],
    known: QosProfiles,
    names: Mapping[int, str],
) -> tuple[Interface, ...]:
    """Return the cabled ports: first the ports to servers, then those to switches, then those to external routers.

    - ``fabric``: the interfaces to other switches.
    - ``outside``: the external router at each interface that leads to one.
    - ``known``: the QoS profiles of the switch.
    - ``names``: the name of each VLAN.
    """
    kinds: dict[str, Kind] = {}
    tagged: dict[str, list[Port]] = {}
    for port in interfaces.values():
        if port.name in outside and port.name != port.parent:
            tagged.setdefault(port.parent, []).append(port)
            kinds[port.parent] = "external"
        elif port.name in outside:
            kinds[port.name] = "external"
        elif port.name in fabric:
            kinds[port.parent] = "fabric"
    there = [port for port in interfaces.values() if PORT.fullmatch(port.name) and (port.used or port.name in kinds)]
    there.sort(key=lambda port: (_KINDS.index(kinds.get(port.name, "server")), numbers(port.name)))
    return with_parts(
        _interface(port, kinds.get(port.name, "server"), unit, outside, known, names)
        for port in there
        for unit in tagged.get(port.name, [port])
    )


def _interface(
    port: Port, kind: Kind, unit: Port, outside: Mapping[str, str], known: QosProfiles, names: Mapping[int, str]
) -> Interface:
    peer, peer_port = peer_of(port.description)
    if kind == "external":
        peer, peer_port = outside[unit.name], ""
    vlans = vlans_of(port, names) if kind == "server" else ()
    named = names.get(vlans[0], f"VLAN{vlans[0]:04d}") if vlans else None
    mtu = catalog().systems["eos"].reads.defaults[_SWITCHED_MTU].value
    return Interface(
        name=port.name,
        link="",
        kind=kind,
        description=port.description,
        peer=peer,
        peer_port=peer_port,
        speed_gbps=port.speed_gbps,
        lanes=port.lanes,
        mtu=int(mtu or 0) if kind == "server" else port.frame,
        length_m=0,
        vlan=named,
        native_vlan=port.native if port.trunk and port.native in vlans else None,
        addresses=tuple(unit.addresses) if kind != "server" else (),
        macsec=port.macsec,
        pauses=known.pauses(port.profile, otherwise=kind != "external"),
        vrf=unit.vrf if kind == "external" else "",
        unit_vlan=unit.tag if kind == "external" else None,
        enabled=not (port.shutdown or unit.shutdown),
        tagged=tuple(vlan for vlan in vlans if vlan != port.native) if port.trunk else (),
        fec=port.fec,
    )


def _splits(cabled: Iterable[Interface]) -> tuple[Split, ...]:
    """Return the breakouts of the ports ``cabled``. A port with fewer than eight lanes is a part of a split port."""
    splits: dict[int, Split] = {}
    for port in cabled:
        named = _NUMBERED.fullmatch(port.name)
        if named and 0 < port.lanes < LANES:
            place = int(named[1])
            splits.setdefault(place, Split(f"Ethernet{place}/1", place, LANES // port.lanes, port.speed_gbps))
    return tuple(splits[place] for place in sorted(splits))
