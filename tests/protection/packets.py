"""Packets to a switch itself that a design means to happen, and packets of servers that nobody means."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, replace

from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network

NEIGHBOR, SERVER, HERE = "fe80::aa", "fe80::bb", "fe80::1"
"""Link-local addresses: of a neighboring switch, of a server, of the switch that is asked."""

EPHEMERAL = 50000


@dataclass(frozen=True)
class Packet:
    """What a rule may look at. ``begins``: the first packet of a TCP connection."""

    what: str
    interface: str
    protocol: str
    source: str
    destination: str
    sent_from: int = 0
    sent_to: int = 0
    begins: bool = False
    icmp_type: int = -1
    hop_limit: int = 64
    vrf: str = ""
    management: bool = False

    @property
    def six(self) -> bool:
        return ":" in self.source


def within(address: str, prefix: str) -> bool:
    """Whether an address is in a prefix; ``any`` holds all."""
    return prefix == "any" or ipaddress.ip_address(address) in ipaddress.ip_network(prefix)


def _session(what: str, port: str, far: str, here: str, vrf: str = "") -> Iterator[Packet]:
    """BGP begun by the other end, and the answer to what this end begins."""
    yield Packet(f"{what}: begun there", port, "tcp", far, here, EPHEMERAL, 179, begins=True, hop_limit=1, vrf=vrf)
    yield Packet(f"{what}: begun here", port, "tcp", far, here, 179, EPHEMERAL, hop_limit=1, vrf=vrf)


def _one_hop(what: str, port: str, far: str, here: str) -> Packet:
    return Packet(f"{what}: BFD", port, "udp", far, here, 49152, 3784, hop_limit=255)


def designed(network: Network, config: DeviceConfig) -> list[Packet]:
    """What neighbors send to a switch, by the design: addresses are those of the ``Network``, not of the switch's rules."""
    fabric = network.fabric(network.switch(config.name).fabric)
    ports = {one.link: one.name for one in config.interfaces}
    found: list[Packet] = []
    for cable in network.cables_of(config.name):
        if cable.kind != "fabric":
            continue
        here, there = (cable.a, cable.b) if cable.a.device == config.name else (cable.b, cable.a)
        port, far, near = ports[cable.name], there.address or NEIGHBOR, here.address or HERE
        if fabric.underlay.protocol == "bgp":
            found += _session(cable.name, port, far, near)
        if fabric.underlay.bfd.enabled:
            found.append(_one_hop(cable.name, port, far, near))
        if not there.address:
            found.append(Packet(f"{cable.name}: RA", port, "icmp", NEIGHBOR, "ff02::1", icmp_type=134, hop_limit=255))
        found += _neighbors(cable.name, port, NEIGHBOR)
    found += [*_overlay(network, config), *_outside(network, config)]
    for gateway in config.gateways:
        found += [replace(one, vrf=gateway.vrf) for one in _neighbors("server", gateway.name, SERVER)]
    return found


def _overlay(network: Network, config: DeviceConfig) -> Iterator[Packet]:
    own = network.switch(config.name)
    overlay = network.fabric(own.fabric).overlay
    if overlay is None:
        return
    tiers = {"leaf": "spine", "spine": "leaf"}
    port = next(one.name for one in config.interfaces if one.kind == "fabric")
    for far in network.switches:
        if far.fabric == own.fabric and far.role == tiers[own.role]:
            yield from _session(f"EVPN {far.name}", port, far.loopback, own.loopback)
            if overlay.bfd.enabled:
                yield Packet(f"EVPN {far.name}: BFD", port, "udp", far.loopback, own.loopback, 49152, 4784)


def _outside(network: Network, config: DeviceConfig) -> Iterator[Packet]:
    for tenant in network.fabric(network.switch(config.name).fabric).tenants:
        for router in tenant.external:
            for link in router.links:
                if link.leaf == config.name:
                    what = f"router {router.name}"
                    yield from _session(what, "", link.peer_address, link.address, tenant.name)


def _neighbors(what: str, port: str, far: str) -> list[Packet]:
    """Neighbor discovery and a ping."""
    kinds = {"RS": 133, "NS": 135, "NA": 136}
    found = [
        Packet(f"{what}: {name}", port, "icmp", far, HERE, icmp_type=kind, hop_limit=255)
        for name, kind in kinds.items()
    ]
    return [*found, Packet(f"{what}: ping", port, "icmp", far, HERE, icmp_type=128)]


def managed(config: DeviceConfig, source: str) -> list[Packet]:
    """What comes in by the management port from a host: services, and answers."""
    here = config.management_address.address
    if (":" in source) != (":" in here):
        return []

    def packet(what: str, protocol: str, sent_from: int, sent_to: int, *, begins: bool = False) -> Packet:
        return Packet(what, "management", protocol, source, here, sent_from, sent_to, begins, management=True)

    eapi = [packet("eAPI", "tcp", EPHEMERAL, 443, begins=True)] if config.nos == "eos" else []
    return [
        *eapi,
        packet("ssh", "tcp", EPHEMERAL, 22, begins=True),
        packet("answer of TACACS+", "tcp", 49, EPHEMERAL),
        packet("answer of NTP", "udp", 123, 123),
        packet("answer of DNS", "udp", 53, EPHEMERAL),
    ]


def of_servers(config: DeviceConfig) -> list[Packet]:
    """What a server has no business with: sessions and services of its gateway, also by link-local addresses."""
    found: list[Packet] = []
    for gateway in config.gateways:
        places: list[tuple[str, str]] = [
            (str(next(_hosts(str(address.prefix)))), address.address) for address in gateway.addresses
        ]
        if gateway.addresses[0].family == "ipv6":
            places.append((SERVER, HERE))
        for source, here in places:
            for port in (22, 179):
                what = f"{source} to {here} port {port}"
                found.append(
                    Packet(what, gateway.name, "tcp", source, here, EPHEMERAL, port, begins=True, vrf=gateway.vrf)
                )
            what = f"{source} to {here}: BFD"
            bfd = Packet(what, gateway.name, "udp", source, here, 49152, 3784, hop_limit=255, vrf=gateway.vrf)
            found.append(bfd)
            what = f"{source} to {here} port 22 from 179"
            found.append(Packet(what, gateway.name, "tcp", source, here, 179, 22, begins=True, vrf=gateway.vrf))
    return found


def _hosts(prefix: str) -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    network = ipaddress.ip_network(prefix)
    yield network.network_address + (network.num_addresses - 2)
