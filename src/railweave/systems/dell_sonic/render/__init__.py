"""Enterprise SONiC Distribution by Dell Technologies: commands for its ``sonic-cli``.

``prepare.cli`` has what takes effect in a new session or restarts the switch, and so comes once and first; ``sonic.cli`` has the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS, Addressed
from railweave.model.config.number_ranges import numbers, ranges
from railweave.model.config.sections import Section, flat, line, merge, section
from railweave.systems.dell_sonic.meaning.bgp import routing_of
from railweave.systems.dell_sonic.meaning.management import system_of
from railweave.systems.dell_sonic.render import system
from railweave.systems.dell_sonic.render.gaps import gaps
from railweave.systems.dell_sonic.render.qos import NAME, adaptive, balancing, bound, qos
from railweave.systems.dell_sonic.statements.bgp import ROUTING
from railweave.systems.dell_sonic.statements.management import SYSTEM
from railweave.systems.dell_sonic.tree import LOSSLESS_BUFFERS, parse, quoted, to_text
from railweave.systems.frr.render import advertisements, discovery
from railweave.systems.frr.render.overlay import FROM_SPINE, TO_NEIGHBORS, external_maps
from railweave.systems.frr.render.routing import bfd
from railweave.systems.sonic.render.names import ETHERNET_HEADER, transit_vlan, vrf_names
from railweave.systems.sonic.render.qos import lossless

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device import model


FAMILIES = {"ipv4": "ip", "ipv6": "ipv6"}
"""The system's words for address families."""

PROXY_ARP = "ip proxy-arp enable remote-only"
"""Answers for addresses that the switch has a route to by another interface."""


def breakouts(config: model.DeviceConfig) -> Iterator[Section]:
    """How ports are split, before their channels are configured. One that only runs slower is told so by ``speed``."""
    for split in config.splits:
        if split.channels == 1:
            continue
        port = split.port.removeprefix("Eth")
        yield line(f"interface breakout port {port} mode {split.channels}x{split.speed_gbps}G")


def interfaces(config: model.DeviceConfig) -> Iterator[Section]:
    """Loopback, VLANs with their gateways, and every cabled port."""
    loopbacks = [
        f"{address(one)}{' secondary' if place and one.family == 'ipv4' else ''}" for place, one in _numbered(config)
    ]
    yield section("interface Loopback 0", loopbacks)
    names = vrf_names(config)
    for vrf in config.vrfs:
        if vrf.unit is not None:
            own = [address(one) for one in vrf.loopbacks]
            yield section(f"interface Loopback {vrf.unit}", f"ip vrf forwarding {names[vrf.name]}", own)
    for gateway in config.gateways:
        if gateway.vlan:
            vrf = [f"ip vrf forwarding {names[gateway.vrf]}"] if gateway.vrf else []
            head = [f"description {quoted(gateway.description)}", f"mtu {gateway.mtu}"]
            proxy = [PROXY_ARP] if gateway.proxy_arp else []
            yield section(
                f"interface Vlan {gateway.vlan}",
                head,
                vrf,
                _addressed(gateway),
                proxy,
                system.on_gateway(config, gateway),
            )
    for number in config.bare_vlans():
        yield section(f"interface Vlan {number}")
    for vrf in config.vrfs:
        yield section(f"interface Vlan {transit_vlan(config, vrf.name)}", f"ip vrf forwarding {names[vrf.name]}")
    routed = {one.port: one for one in config.gateways if one.port}
    for port in sorted(config.interfaces, key=lambda one: numbers(one.name)):
        yield _port(config, port, routed.get(port.name))
        for part in port.parts() if port.kind == "external" and port.unit_vlan is not None else ():
            yield section(
                f"interface {part.name}.{part.unit_vlan}",
                f"description {quoted(part.description)}",
                f"encapsulation dot1q vlan-id {part.unit_vlan}",
                _external(config, part),
            )


def anycast(config: model.DeviceConfig) -> Iterator[Section]:
    """The MAC address that gateways of layer-2 networks have on every leaf; a fabric has one."""
    of_networks = [one for one in config.gateways if one.mac]
    if not of_networks:
        return
    yield line(f"ip anycast-mac-address {of_networks[0].mac}")
    for six, word in ((False, "ip"), (True, "ipv6")):
        if any((address.family == "ipv6") is six for one in of_networks for address in one.addresses):
            yield line(f"{word} anycast-address enable")


def _external(config: model.DeviceConfig, port: model.Interface) -> list[str]:
    """What a port to an external router, or the sub-interface of its tag, has: the tenant's VRF, and addresses."""
    vrf = [f"ip vrf forwarding {vrf_names(config)[port.vrf]}"] if port.vrf else []
    return [*vrf, *(address(one) for one in port.addresses)]


def _numbered(config: model.DeviceConfig) -> Iterator[tuple[int, Addressed]]:
    """Loopback addresses, those of each family counted."""
    seen = {"ipv4": 0, "ipv6": 0}
    for one in config.loopbacks():
        yield seen[one.family], one
        seen[one.family] += 1


def address(one: Addressed) -> str:
    """The command that gives an interface an address."""
    return f"{FAMILIES[one.family]} address {one}"


def _port(config: model.DeviceConfig, port: model.Interface, gateway: model.Gateway | None) -> Section:
    carried = config.carried(port)
    body = [
        f"description {quoted(port.description)}",
        f"mtu {gateway.mtu if gateway else port.mtu - ETHERNET_HEADER}",
        f"speed {port.speed_gbps * 1000}",
        "fec RS",
        # The Thor2 guide (section 2.5.2) has it on ports with copper cables. An optical port that waits for training may stay down.
        *(["standalone-link-training"] if port.copper else []),
        "unreliable-los auto",
    ]
    body.append("no shutdown" if port.enabled else "shutdown")
    body += system.edge_port(config, port)
    if gateway is not None:
        body += [f"ip vrf forwarding {vrf_names(config)[gateway.vrf]}"] if gateway.vrf else []
        body += _addressed(gateway)
        body += [PROXY_ARP] if gateway.proxy_arp else []
        body += system.on_gateway(config, gateway)
    elif port.kind == "external":
        body += _external(config, port) if port.unit_vlan is None else []
    elif carried:
        body += [f"switchport access Vlan {one}" for one in carried if one not in port.tagged]
        body += [f"switchport trunk allowed Vlan {ranges(port.tagged)}"] if port.tagged else []
    elif port.kind == "fabric":
        body += [address(one) for one in port.addresses] or ["ipv6 enable"]
        body += discovery(port)
    return section(f"interface {port.name}", body, bound(config, port))


def _addressed(gateway: model.Gateway) -> list[str]:
    if gateway.mac:
        shared = [address(one).replace(" address", " anycast-address", 1) for one in gateway.addresses]
        return shared + advertisements(gateway)
    four = [one for one in gateway.addresses if one.family == "ipv4"]
    found = [f"{address(one)}{' secondary' if one in four[1:] else ''}" for one in gateway.addresses]
    advertised = advertisements(gateway)
    timers = gateway.advertisements
    return found + advertised + ([f"ipv6 nd min-ra-interval {timers.min_interval}"] if timers else [])


def routing(config: model.DeviceConfig) -> Iterator[Section]:
    """Everything about routes."""
    bgp = config.bgp
    if bgp is None:
        return
    found = bfd(config, bgp)
    if found:
        yield found
    yield from _lists(bgp)
    yield from _route_maps(config, bgp)
    yield from _overlay_policy(config)
    for vrf in config.vrfs:
        yield from external_maps(replace(vrf, name=vrf_names(config)[vrf.name]))
    yield from ROUTING.printed(routing_of(config))


def _lists(bgp: model.Bgp) -> Iterator[Section]:
    used = {(t.match.prefix_list, t.match.orlonger) for p in bgp.policies for t in p.terms if t.match.prefix_list}
    for name, orlonger in sorted((name or "", longer) for name, longer in used):
        for sequence, prefix in enumerate(bgp.prefix_lists.get(name, ()), 1):
            family, most = FAMILIES[prefix.family], BITS[prefix.family]
            tail = f" le {most}" if orlonger else ""
            yield line(f"{family} prefix-list {name} seq {5 * sequence} permit {prefix}{tail}")
    matched = {term.match.community for policy in bgp.policies for term in policy.terms if term.match.community}
    for name, value in bgp.values(sorted(matched)).items():
        yield line(f"bgp community-list standard {name} permit {value} any")


def _route_maps(config: model.DeviceConfig, bgp: model.Bgp) -> Iterator[Section]:
    taken = {group.import_policy for group in bgp.groups}
    for policy in bgp.policies:
        for number, term in enumerate(policy.terms, 1):
            verdict = "permit" if term.action.accept else "deny"
            shared = policy.name in taken and term.action.accept and adaptive(config)
            yield section(
                f"route-map {policy.name} {verdict} {10 * number}",
                _matches(bgp, term),
                _sets(bgp, term),
                [f"set ars-object {NAME}"] if shared else [],
            )


def _matches(bgp: model.Bgp, term: model.Term) -> list[str]:
    found: list[str] = []
    if term.match.prefix_list:
        found.append(f"match {FAMILIES[bgp.family_of(term.match)]} address prefix-list {term.match.prefix_list}")
    if term.match.community:
        found.append(f"match community {term.match.community}")
    return found


def _sets(bgp: model.Bgp, term: model.Term) -> list[str]:
    action = term.action
    found = [] if action.local_preference is None else [f"set local-preference {action.local_preference}"]
    added = bgp.values(action.add_communities).values()
    if added:
        additive = "" if action.replace_communities else " additive"
        found.append(f"set community {' '.join(added)}{additive}")
    if action.prepend:
        # One list with commas between (dellemc.enterprise_sonic, examples of sonic_route_maps).
        found.append(f"set as-path prepend {','.join(map(str, action.prepend))}")
    return found


def _overlay_policy(config: model.DeviceConfig) -> Iterator[Section]:
    found = config.overlay
    if found is None:
        return
    if found.reflects:
        yield section(f"route-map {TO_NEIGHBORS} permit 10", f"set community {found.from_spine} additive")
        return
    yield line(f"bgp community-list standard {FROM_SPINE} permit {found.from_spine} any")
    yield section(f"route-map {TO_NEIGHBORS} deny 10", f"match community {FROM_SPINE}")
    yield section(f"route-map {TO_NEIGHBORS} permit 20", [])


__all__ = ["check_extra", "files", "gaps", "lines", "tree"]


def tree(config: model.DeviceConfig) -> list[Section]:
    """The commands of a device, the operator's own merged in. Raises ``RenderError`` where those cannot be read."""
    sections = [
        *SYSTEM.printed(system_of(config)),
        *breakouts(config),
        *qos(config),
        *balancing(config),
        *anycast(config),
        *system.spanning_tree(config),
        *system.control_plane(config),
        *interfaces(config),
        *system.tunnel(config),
        *routing(config),
    ]
    merge(sections, parse(config.extra))
    return sections


def prepare(config: model.DeviceConfig) -> list[Section]:
    """Commands that come first: names of ports take effect in the next session; lossless buffers restart the switch."""
    wanted = [line("interface-naming standard")]
    if config.qos is not None and lossless(config.qos):
        wanted.append(line(LOSSLESS_BUFFERS))
    return wanted


def files(config: model.DeviceConfig) -> dict[str, str]:
    """``prepare.cli`` and ``sonic.cli``."""
    return {"prepare.cli": to_text(prepare(config)), "sonic.cli": to_text(tree(config))}


def lines(config: model.DeviceConfig) -> list[str]:
    """Every command with the sections above it."""
    return flat([*prepare(config), *tree(config)])


def check_extra(text: str) -> None:
    """Raises ``RenderError`` with the line where the operator's own commands cannot be read."""
    parse(text)
