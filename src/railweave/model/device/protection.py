"""The control-plane rules of a device (``control_plane.ControlPlane``), derived from its sessions and services."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import FAMILIES, Family, Prefix
from railweave.model.device.control_plane import ControlPlane, ControlRule, Policer, ServerPortRule, Sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.model.device.model import Bgp, DeviceConfig

_NUMBER: dict[Family, str] = {"ipv4": "v4", "ipv6": "v6"}
LINK_LOCAL = Prefix("fe80::/10")
DISCOVERED = "discovered-v6"
"""The name of the permitted sources (``Sources``) for BGP peers that the device discovers by their router advertisements."""

BGP = (179, 179)
BFD = (3784, 3784)  # RFC 5881
BFD_ECHO = (3785, 3785)
BFD_MULTIHOP = (4784, 4784)  # RFC 5883
VXLAN = (4789, 4789)  # RFC 7348
TRACEROUTE = (33434, 33523)
"""The UDP destination ports of traceroute's probes: 30 hops of 3 probes, starting at 33434."""

ONE_HOP = 255
"""The TTL or hop limit of a packet that no router has forwarded.

BFD (RFC 5881, section 5) and neighbor discovery (RFC 4861, section 6.1) require this value.
"""

DISCOVERY = (133, 135, 136)
"""The ICMPv6 types of router solicitation, neighbor solicitation and neighbor advertisement (RFC 4861)."""
ROUTER_ADVERTISEMENT = 134
ICMP: dict[Family, tuple[int, ...]] = {
    # Echo and its reply, unreachable, time exceeded (RFC 792). Redirects are not for routers.
    "ipv4": (0, 3, 8, 11),
    # The same and packet too big, parameter problem (RFC 4443), and multicast listeners (RFC 2710, RFC 3810).
    "ipv6": (1, 2, 3, 4, 128, 129, 130, 131, 132, 143),
}

POLICERS = (
    # One echo request of 150 bytes a second from each of 8,192 servers is 9.8 Mb/s; at once, 27 of 9,000 bytes.
    Policer("icmp-limit", 10_000_000, 250_000),
    # 2,000 probes of 60 bytes a second; at once, all 90 probes of four runs.
    Policer("traceroute-limit", 1_000_000, 25_000),
)
"""The rate limits (policers) for ICMP and for traceroute.

BGP, BFD and discovery have no policer: all ports would share the policer, so traffic on one port could cut the sessions
of other ports. Management services have no policer either, because software is copied over these connections.
"""

REPLIES = {"dns": (53, 53), "ntp": (123, 123), "radius": (1812, 1813)}
"""The UDP ports from which servers in the management network reply, by service.

TCP services such as TACACS+ need no entry, because every TCP reply is accepted.
"""


@dataclass(frozen=True)
class _Peers:
    """BGP or BFD peers of one address family, and the permitted sources of their packets.

    ``bgp`` is True if these peers have BGP sessions. ``bfd`` is the kind of their BFD sessions, or empty if they have none.
    """

    sources: Sources
    bgp: bool = True
    bfd: Literal["", "one-hop", "multihop"] = ""


def control_plane(
    config: DeviceConfig, management: Sequence[Prefix], *, sees_interfaces: bool, holds_sessions: bool, in_kernel: bool
) -> ControlPlane:
    """Return the control-plane rules of a device.

    - ``management``: the prefixes from which operators manage the device.
    - ``sees_interfaces``: True if the system's rules can match the interface on which a packet arrived.
    - ``holds_sessions``: True if the system's rules can protect routing sessions.
    - ``in_kernel``: True if the rules also see packets of VXLAN tunnels before decapsulation. Separate rules must then
      accept these packets.
    """
    peers = list(_peers(config))
    managers = list(_sources("management", management, ()))
    tunnels = list(_tunnels(config)) if in_kernel else []
    rules = [rule for peer in peers for rule in _sessions(peer)]
    rules += [*_discovery(peers), *_diagnosis("network", "icmp-limit", "traceroute-limit")]
    for tunnel in tunnels:
        name = f"vxlan-{_NUMBER[tunnel.family]}"
        rules.append(ControlRule(name, "network", tunnel.family, "udp", tunnel.name, destination_ports=(VXLAN,)))
    rules += [rule for manager in managers for rule in _services(config, manager)]
    # The management port has no policers: what is behind it is the operator's own.
    rules += [
        replace(discovery, name=f"management-{discovery.name}", plane="management") for discovery in _discovery(())
    ]
    rules += [
        replace(diagnosis, name=f"management-{diagnosis.name}", policer="")
        for diagnosis in _diagnosis("management", "", "")
    ]
    drops = () if sees_interfaces else tuple(_server_ports(config, peers, sessions=not holds_sessions))
    return ControlPlane(tuple(rules), (*(peer.sources for peer in peers), *tunnels, *managers), POLICERS, drops)


def _sources(name: str, prefixes: Iterable[Prefix], interfaces: tuple[str, ...]) -> Iterator[Sources]:
    """Yield ``prefixes`` as permitted sources, one ``Sources`` for each address family.

    Each ``Sources`` is called ``name``, followed by the number of its family. ``interfaces`` are the permitted ingress interfaces.
    """
    every = tuple(dict.fromkeys(prefixes))
    for family in FAMILIES:
        if matching := tuple(prefix for prefix in every if prefix.family == family):
            yield Sources(f"{name}-{_NUMBER[family]}", family, matching, interfaces)


def _tunnels(config: DeviceConfig) -> Iterator[Sources]:
    """Yield the permitted sources of VXLAN packets, one for each address family of the tunnels: any address, on the fabric interfaces."""
    fabric = tuple(fabric_interface.name for fabric_interface in config.fabric_interfaces())
    ends = config.overlay.endpoints if config.overlay else ()
    families: dict[Family, None] = dict.fromkeys(end.address.family for end in ends)
    for family in families:
        yield Sources(f"fabric-{_NUMBER[family]}", family, (), fabric)


def _peers(config: DeviceConfig) -> Iterator[_Peers]:
    """Yield the peers that have BGP or BFD sessions with a device."""
    if config.bgp is not None:
        yield from _neighbors(config.bgp)
    if config.isis is not None and config.isis.bfd is not None:
        ports = {port.interface for port in config.isis.ports}
        links = [interface for interface in config.interfaces if interface.name in ports]
        sources = [address.prefix for link in links for address in link.addresses]
        # Over IPv6, neighbors of IS-IS are known by their link-local addresses (RFC 5308, section 2).
        sources += [LINK_LOCAL] if any(source.family == "ipv6" for source in sources) else []
        for origin in _sources("isis", sources, tuple(link.name for link in links)):
            yield _Peers(origin, bgp=False, bfd="one-hop")
    if config.overlay is not None:
        fabric = tuple(fabric_interface.name for fabric_interface in config.fabric_interfaces())
        for origin in _sources(
            "overlay", (neighbor.peer_address.prefix for neighbor in config.overlay.neighbors), fabric
        ):
            yield _Peers(origin, bfd="multihop" if config.overlay.bfd else "")
    # Without their interface: in a VRF, Linux may name that of the VRF in its place.
    outside = (peer.session.peer_address.prefix for vrf in config.vrfs for peer in vrf.external)
    for origin in _sources("external", outside, ()):
        yield _Peers(origin)


def _neighbors(bgp: Bgp) -> Iterator[_Peers]:
    """Yield the BGP peers at the far ends of links. Discovered peers are matched by the link-local prefix."""
    sessions = [session for group in bgp.groups for session in group.sessions]
    bfd: Literal["", "one-hop"] = "one-hop" if bgp.bfd else ""
    discovered = tuple(session.interface for session in sessions if session.peer_address is None)
    if discovered:
        yield _Peers(Sources(DISCOVERED, "ipv6", (LINK_LOCAL,), discovered), bfd=bfd)
    numbered = [
        (session.peer_address.prefix, session.interface) for session in sessions if session.peer_address is not None
    ]
    ports = tuple(dict.fromkeys(port for _, port in numbered))
    for source in _sources("links", (prefix for prefix, _ in numbered), ports):
        yield _Peers(source, bfd=bfd)


def _sessions(peers: _Peers) -> Iterator[ControlRule]:
    """Yield the rules that accept BFD and BGP packets from peers. Either end may open the BGP connection."""
    name, family = peers.sources.name, peers.sources.family
    if peers.bgp:
        yield ControlRule(f"bgp-{name}", "network", family, "tcp", name, destination_ports=(BGP,))
        yield ControlRule(f"bgp-replies-{name}", "network", family, "tcp", name, source_ports=(BGP,), established=True)
    if peers.bfd == "one-hop":
        here = ControlRule(f"bfd-{name}", "network", family, "udp", name, destination_ports=(BFD,), hop_limit=ONE_HOP)
        yield here
        yield replace(here, name=f"bfd-echo-{name}", destination_ports=(BFD_ECHO,), hop_limit=None)
    if peers.bfd == "multihop":
        yield ControlRule(f"bfd-{name}", "network", family, "udp", name, destination_ports=(BFD_MULTIHOP,))


def _discovery(peers: Sequence[_Peers]) -> Iterator[ControlRule]:
    """Yield the rules for neighbor discovery.

    Neighbor discovery is accepted from any address. Router advertisements are accepted only from peers that BGP
    discovers by router advertisements.
    """
    here = ControlRule("discovery-v6", "network", "ipv6", "icmp", icmp_types=DISCOVERY, hop_limit=ONE_HOP)
    yield here
    for peer in peers:
        if peer.sources.name == DISCOVERED:
            types = (ROUTER_ADVERTISEMENT,)
            yield replace(here, name="advertisements-v6", sources=DISCOVERED, icmp_types=types)


def _diagnosis(plane: Literal["network", "management"], icmp: str, traceroute: str) -> Iterator[ControlRule]:
    """Yield the rules that accept ICMP and traceroute from any address. ``icmp`` and ``traceroute`` are the names of their policers."""
    for family in FAMILIES:
        name, types = _NUMBER[family], ICMP[family]
        yield ControlRule(f"icmp-{name}", plane, family, "icmp", icmp_types=types, policer=icmp)
        ports = (TRACEROUTE,)
        yield ControlRule(f"traceroute-{name}", plane, family, "udp", destination_ports=ports, policer=traceroute)


def _services(config: DeviceConfig, managers: Sources) -> Iterator[ControlRule]:
    """Yield the rules for the enabled management services, and for replies to the device's own requests.

    ``managers`` are the permitted sources of management traffic.
    """
    wanted = config.management
    services: dict[str, int] = {"ssh": 22}
    services |= {"netconf": 830} if wanted.services.netconf else {}
    services |= {"eapi": 443} if wanted.services.eapi else {}
    services |= {"grpc": wanted.services.grpc_port} if wanted.services.grpc_certificate else {}
    family, number = managers.family, _NUMBER[managers.family]
    for name, port in services.items():
        here = ControlRule(f"{name}-{number}", "management", family, "tcp", managers.name)
        yield replace(here, destination_ports=((port, port),))
    if wanted.snmp:
        here = ControlRule(f"snmp-{number}", "management", family, "udp", managers.name)
        yield replace(here, destination_ports=((161, 161),))
    aaa = config.management.aaa()
    given = tuple((server.port, server.port) for server in (aaa.radius if aaa else ()) if server.port)
    for name, ports in REPLIES.items():
        here = ControlRule(f"{name}-replies-{number}", "management", family, "udp", managers.name)
        yield replace(here, source_ports=(ports, *given) if name == "radius" else (ports,))
    yield ControlRule(f"tcp-replies-{number}", "management", family, "tcp", managers.name, established=True)


def _server_ports(config: DeviceConfig, peers: Sequence[_Peers], *, sessions: bool) -> Iterator[ServerPortRule]:
    """Yield rules that drop BGP and BFD packets from servers.

    ``sessions`` is True if the rules must also protect the gateway and loopback addresses. The rules protect link-local
    addresses if peers use them, or if ``sessions`` is True and a gateway has an IPv6 address.
    """
    if not config.gateways:
        return
    prefixes: list[Prefix] = []
    six = any(address.family == "ipv6" for gateway in config.gateways for address in gateway.addresses)
    if (sessions and six) or any(LINK_LOCAL in peer.sources.prefixes for peer in peers):
        prefixes.append(LINK_LOCAL)
    if sessions:
        prefixes += [address.address.prefix for gateway in config.gateways for address in gateway.addresses]
        prefixes += config.loopbacks()
    for source in _sources("", prefixes, ()):
        number = _NUMBER[source.family]
        yield ServerPortRule(f"bgp-{number}", source.family, "tcp", source.prefixes, (BGP,))
        yield ServerPortRule(f"bfd-{number}", source.family, "udp", source.prefixes, ((BFD[0], BFD_ECHO[1]),))
