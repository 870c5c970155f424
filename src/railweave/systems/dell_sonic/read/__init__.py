"""Commands of Enterprise SONiC read back, whether of our files or as a switch prints its running configuration.

Each module reads the lines of one subject, and takes those that it understands; what stands in the text and nobody takes is
not understood. Defaults, and what no line says, are in system.yaml (``reads``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.section_tree import sections as as_sections
from railweave.model.config.taking import Taking
from railweave.model.device.model import DeviceConfig
from railweave.model.device.reading import Reading, Said, said
from railweave.systems.dell_sonic.changes import config_tree
from railweave.systems.dell_sonic.read import balancing, bgp, devices, overlay, policy, ports, qos, qos_maps, routing
from railweave.systems.dell_sonic.read.control_plane import protection
from railweave.systems.dell_sonic.read.management import management, management_port
from railweave.systems.dell_sonic.read.text import sections
from railweave.systems.dell_sonic.tree import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Prefix
    from railweave.model.config.sections import Section
    from railweave.model.config.tree import ConfigTree, Node
    from railweave.model.device.model import Interface

NOS = "dell_sonic"


def read(texts: Mapping[str, str]) -> Reading:
    """The configuration that the texts of one device hold together. Raises ``RenderError`` where one is no such text."""
    of_file = {file: sections(text) for file, text in texts.items()}
    taking = Taking([one for some in of_file.values() for one in some])
    config = _config(taking)
    statements: list[Said] = []
    irrelevant = catalog().systems[NOS].reads.irrelevant
    lines = list(taking.lines())
    place = 0
    for file, some in of_file.items():
        count = _count(some)
        own = ((one.at, hierarchy, path, known) for one, path, known, hierarchy in _named(lines[place : place + count]))
        statements += said(file, own, irrelevant)
        place += count
    return Reading(config, tuple(statements))


def parsed(file: str, text: str) -> ConfigTree:
    """A text as the tree of its commands. Raises ``RenderError`` with the line where it is no such text."""
    del file
    return config_tree(sections(text))


def printed(file: str, nodes: Sequence[Node]) -> str:
    """The commands of a tree as our files have them."""
    del file
    return to_text(as_sections(nodes))


def _count(some: Sequence[Section]) -> int:
    return sum(1 + _count(one.body or ()) for one in some)


_NAMED = {"interface": 1, "hostname": 1, "route-map": 1, "username": 1, "bfd": 1}
"""First words of lines at the top after which names come."""


def _named(lines: Sequence[tuple[Section, str, bool]]) -> Iterator[tuple[Section, str, bool, str]]:
    """Lines with the part of the configuration that they belong to: the first words of the line at the top."""
    for one, path, known in lines:
        words = path.partition(" / ")[0].split()
        yield one, path, known, " ".join(words[: _NAMED.get(words[0], 2)])


def _config(taking: Taking) -> DeviceConfig:
    lines = ports.interfaces(taking)
    routers = bgp.routers(taking)
    listed = policy.lists(taking)
    bfd = routing.profiles(taking)
    tunnelled = overlay.tunnel(taking, lines)
    vrf_names = overlay.vrf_names(taking)
    links = routing.Links.of(lines.values())
    split, maps = devices.breakouts(taking), qos_maps.maps(taking)
    shared = balancing.balancing(taking)
    mac = _anycast(taking)

    cages = [one for name, one in lines.items() if devices.is_port(name)]
    model = devices.model(split.values(), cages, maps.headroom)
    interfaces = _interfaces(lines, routers, links)
    gateways = devices.gateways(lines, interfaces, tunnelled.transit(), mac)
    main = next((one for one in routers if not one.vrf), None)
    loopbacks = _loopbacks(lines)
    address, gateway = management_port(lines)
    name, wanted = management(taking, cages, protected=False)
    vrfs = tuple(
        overlay.with_loopback(
            overlay.vrf(one, next((r for r in routers if r.vrf == one), None), tunnelled, gateways, listed, links),
            one,
            lines,
        )
        for one in vrf_names
    )
    own_maps = {one for router in routers if router.vrf for one in overlay.external_maps(router)}
    own_maps |= overlay.overlay_maps(main) if main else set()
    evpn = main.evpn if main else bgp.Evpn()
    over = overlay.overlay(main, tunnelled, loopbacks, lines, listed, bfd) if main else None
    names = {one.vlan: one.vlan_name for one in gateways if one.vlan}
    router_id = main.router_id if main and main.router_id else routing.NOWHERE
    config = DeviceConfig(
        name=name,
        role="leaf" if gateways or vrfs or any(one.kind == "server" for one in interfaces) else "spine",
        model=model,
        nos=NOS,
        release=catalog().systems[NOS].release,
        management=wanted,
        management_address=address,
        management_gateway=gateway,
        loopback=loopbacks[0] if loopbacks else router_id.prefix,
        splits=devices.splits(split, cages, model),
        interfaces=interfaces,
        gateways=gateways,
        bgp=routing.bgp(main, listed, links, bfd, own_maps) if main else None,
        qos=qos.qos(maps, lines, interfaces, model),
        balancing=shared if _shared(lines, interfaces, main, listed) else replace(shared, group_mode="ecmp"),
        extra="",
        overlay=over,
        vrfs=vrfs,
        mac_vrf=overlay.mac_vrf(evpn, tunnelled, names, interfaces, router_id),
    )
    return protection(taking, config, lines)


def _interfaces(
    lines: Mapping[str, ports.Lines], routers: Sequence[bgp.Router], links: routing.Links
) -> tuple[Interface, ...]:
    """The ports, by number. Where some pause, a port without PFC is one that does not."""
    cages = [one for name, one in lines.items() if devices.is_port(name)]
    sessions = devices.Sessions.of(routers, links)
    parts = devices.parts_of(lines)
    some = any(one.qos.pfc for one in cages)
    return tuple(
        devices.interface(
            one,
            parts.get(one.name, ()),
            sessions,
            pauses=bool(one.qos.pfc) or not (some or one.name in sessions.outside or parts.get(one.name)),
        )
        for one in devices.in_order(cages)
    )


def _shared(
    lines: Mapping[str, ports.Lines], interfaces: Sequence[Interface], main: bgp.Router | None, listed: policy.Lists
) -> bool:
    """Whether every link of the fabric, and every route that is taken by a route-map, is shared adaptively."""
    links = [bool(lines[one.name].qos.ars) for one in interfaces if one.kind == "fabric"]
    families = [one for peer in (main.peers() if main else ()) for name, one in peer.families.items() if name != "evpn"]
    entries = [one.shared for name in {one.imports for one in families} for one in listed.entries(name) if one.permits]
    return all(links) and all(entries)


def _loopbacks(lines: Mapping[str, ports.Lines]) -> tuple[Prefix, ...]:
    """Addresses of loopbacks, the first one's first."""
    own = (one for name, one in lines.items() if name.startswith("Loopback") and not one.vrf)
    named = sorted(own, key=lambda one: one.number)
    return tuple(address.prefix for one in named for address in one.addresses)


def _anycast(taking: Taking) -> str:
    """The MAC address of gateways that every leaf has."""
    found = ""
    for one in taking.sections:
        match one.line.split():
            case ["ip", "anycast-mac-address", mac]:
                found = mac
            case ["ip" | "ipv6", "anycast-address", "enable"]:
                pass
            case _:
                continue
        taking.take(one)
    return found
