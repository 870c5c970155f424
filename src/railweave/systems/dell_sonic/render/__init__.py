"""Enterprise SONiC Distribution by Dell Technologies: commands for its ``sonic-cli``.

``prepare.cli`` has what takes effect in a new session or restarts the switch, and so comes once and first; ``sonic.cli`` has the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.number_ranges import numbers, ranges
from railweave.model.config.sections import Section, flat, line, merge, section
from railweave.systems.dell_sonic.meaning.bgp import routing_of
from railweave.systems.dell_sonic.meaning.management import system_of
from railweave.systems.dell_sonic.meaning.policy import policies_of
from railweave.systems.dell_sonic.meaning.qos import NAME, adaptive, balancing_of, port_qos_of, preparation_of, qos_of
from railweave.systems.dell_sonic.render import system
from railweave.systems.dell_sonic.render.gaps import gaps
from railweave.systems.dell_sonic.statements.bgp import ROUTING
from railweave.systems.dell_sonic.statements.management import SYSTEM
from railweave.systems.dell_sonic.statements.policy import POLICIES
from railweave.systems.dell_sonic.statements.qos import BALANCING, PORTS, QOS, Ports
from railweave.systems.dell_sonic.tree import parse, quoted, to_text
from railweave.systems.frr.render import advertisements, discovery
from railweave.systems.sonic.render.names import ETHERNET_HEADER, transit_vlan, vrf_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.addresses import Addressed
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
    (qos,) = PORTS.printed(Ports({port.name: port_qos_of(config, port)}))
    return section(qos.line, body, qos.body)


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
    for policies in policies_of(config, NAME if adaptive(config) else None):
        yield from POLICIES.printed(policies)
    yield from ROUTING.printed(routing_of(config))


__all__ = ["check_extra", "files", "gaps", "lines", "tree"]


def tree(config: model.DeviceConfig) -> list[Section]:
    """The commands of a device, the operator's own merged in. Raises ``RenderError`` where those cannot be read."""
    sections = [
        *SYSTEM.printed(system_of(config)),
        *breakouts(config),
        *QOS.printed(qos_of(config)),
        *BALANCING.printed(balancing_of(config)),
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
    return [line("interface-naming standard"), *QOS.printed(preparation_of(config))]


def files(config: model.DeviceConfig) -> dict[str, str]:
    """``prepare.cli`` and ``sonic.cli``."""
    return {"prepare.cli": to_text(prepare(config)), "sonic.cli": to_text(tree(config))}


def lines(config: model.DeviceConfig) -> list[str]:
    """Every command with the sections above it."""
    return flat([*prepare(config), *tree(config)])


def check_extra(text: str) -> None:
    """Raises ``RenderError`` with the line where the operator's own commands cannot be read."""
    parse(text)
