"""The matrix of the features that each operating system supports, derived from the catalog's capabilities and the renderers' gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.catalog import catalog
from railweave.model.config.addresses import Address, Prefix
from railweave.model.device import model
from railweave.model.device.control_plane import ControlPlane, ControlRule
from railweave.model.device.management import Services, Snmp, Syslog, User
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from railweave.model.device.model import DeviceConfig


@dataclass(frozen=True, slots=True)
class Feature:
    """A row of the feature matrix.

    - ``gaps``: the KEY of each finding ``NOS-no-KEY`` that reports the feature as missing.
    - ``asked``: a function that changes a configuration so that it uses the feature, and returns the result.
    - ``of``: the kind of example configurations to change, ``colors`` (with path colors) or ``tenants``.
    """

    id: str
    title: str
    gaps: tuple[str, ...] = ()
    asked: Callable[[DeviceConfig], DeviceConfig] = lambda config: config
    of: Literal["colors", "tenants"] = "colors"
    without: str = ""
    """The reason to show for a system that lacks this feature in the catalog. The design then leaves out the feature."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The support of a feature by an operating system.

    ``kind`` is ``mapped`` if the system has a substitute. ``words`` has the first release, the substitute, or the reason why
    the feature is not supported.
    """

    kind: Literal["native", "mapped", "not expressible"]
    words: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.words}" if self.words else self.kind


def _balanced(
    mode: Literal["ecmp", "dlb-flowlet", "dlb-per-packet", "spray"],
) -> Callable[[DeviceConfig], DeviceConfig]:
    return lambda config: replace(config, balancing=replace(config.balancing, group_mode=mode))


def _seeded(config: DeviceConfig) -> DeviceConfig:
    seeded = replace(config.balancing.hash, seed=1)
    return replace(config, balancing=replace(config.balancing, group_mode="ecmp", hash=seeded))


def _managed(config: DeviceConfig) -> DeviceConfig:
    """Return a configuration, changed so that it uses all features of management."""
    wanted = replace(
        config.management,
        dns=("192.0.2.1",),
        ntp=("192.0.2.1",),
        lldp=True,
        root_password="secret:root",  # noqa: S106 - a reference, like those below
        users={"operator": User(password="secret:operator")},  # noqa: S106
        syslog=(Syslog(host="192.0.2.1"),),
        snmp=Snmp(community="secret:community"),
        services=Services(netconf=True, grpc_certificate="secret:certificate"),
    )
    return replace(config, management=wanted)


def _guarded(config: DeviceConfig) -> DeviceConfig:
    rules = (ControlRule("ssh-v4", "management", "ipv4", "tcp", destination_ports=((22, 22),)),)
    return replace(config, protection=ControlPlane(rules, (), ()))


def _two_endpoints(config: DeviceConfig) -> DeviceConfig:
    if config.overlay is None:
        return config
    ends = (model.TunnelEndpoint(Address("192.0.2.1"), "green"), model.TunnelEndpoint(Address("192.0.2.2"), "blue"))
    return replace(config, overlay=replace(config.overlay, endpoints=ends))


def _routes_advertised(config: DeviceConfig) -> DeviceConfig:
    return replace(
        config,
        gateways=tuple(
            replace(gateway, advertisements=replace(gateway.advertisements, routes=(Prefix("2001:db8::/32"),)))
            if gateway.advertisements
            else gateway
            for gateway in config.gateways
        ),
    )


def _over_isis(config: DeviceConfig) -> DeviceConfig:
    isis = model.Isis("49.0001.0000.0000.0001.00", Address("192.0.2.1"), (), (), ("ipv4",), 1, None, None)
    return replace(config, bgp=None, isis=isis)


def _proxied(config: DeviceConfig) -> DeviceConfig:
    """Return a configuration, changed so that it has a routed server port with proxy ARP."""
    port = config.interfaces[0].name
    return replace(
        config, gateways=tuple(replace(gateway, port=port, proxy_arp=True) for gateway in config.gateways[:1])
    )


def _encrypted(config: DeviceConfig) -> DeviceConfig:
    wanted = model.Macsec(key_name="50", key="secret:cak")
    return replace(config, interfaces=tuple(replace(interface, macsec=wanted) for interface in config.interfaces))


def _stretched(config: DeviceConfig) -> DeviceConfig:
    """Return a configuration, changed so that the leaf's first tenant has a layer-2 network."""
    if not config.gateways:
        return config
    vlan, name = 2, "stretched"
    gateway = replace(
        config.gateways[0],
        name=catalog().systems[config.nos].vlan_interface.format(vlan=vlan),
        vlan=vlan,
        vlan_name=name,
        port="",
        mac="00:1c:73:00:00:01",
        advertisements=None,
    )
    bridged = model.BridgedVlan(vlan, name, 10001, "target:64512:10001")
    instance = model.MacVrf("bridged", "192.0.2.1:60000", "target:64512:10000", (bridged,), ())
    return replace(config, mac_vrf=instance, gateways=(gateway, *config.gateways[1:]))


def _outside(config: DeviceConfig) -> DeviceConfig:
    """Return a configuration, changed so that the first VRF has an external router."""
    ends = Address("192.0.2.0"), Address("192.0.2.1")
    session = model.NumberedSession(config.interfaces[0].name, "", "wan", 65000, *ends)
    peer = model.ExternalPeer("wan", session, (Prefix("0.0.0.0/0"),), (Prefix("10.0.0.0/8"),))
    return replace(config, vrfs=tuple(replace(vrf, external=(peer,)) for vrf in config.vrfs[:1]))


UNSAID = "no source names it"
FEATURES = (
    Feature("ports", "Ports, breakouts, speeds, MTUs", ("ports",)),
    Feature("vlans", "VLANs with their gateways", ("vlans", "ports")),
    Feature("slaac", "Router advertisements: prefixes, lifetimes, flags", ("slaac",)),
    Feature("ra-interval", "Router advertisements: longest and shortest interval", ("ra-interval",)),
    Feature("ra-routes", "Router advertisements: routes", ("ra-routes",), _routes_advertised),
    Feature("unnumbered-bgp", "BGP neighbors found on a link (RFC 8950)", ("unnumbered-bgp",)),
    Feature(
        "ipv6-over-ipv4",
        "IPv6 routes over links that have IPv4 addresses alone",
        without="no public document shows next hops that it takes: give links addresses of an IPv6 pool",
    ),
    Feature("peer-as-list", "A list of AS numbers that found neighbors may have", ("peer-as-list",)),
    Feature("path-color", "Path colors", ("path-color",)),
    Feature("path-color-dpf", "Path colors by deterministic path forwarding", without="path colors take another form"),
    Feature("isis", "IS-IS between leaves, spines and sites", ("isis",), _over_isis, without=UNSAID),
    Feature("bfd", "BFD", ("bfd",)),
    Feature("ecmp", "Width of next-hop groups", ("ecmp",)),
    Feature("fast-reroute", "Repair of a group when a member goes down", ("fast-reroute",)),
    Feature(
        "dlb-flowlet", "Dynamic load balancing by flowlet", ("dlb-flowlet", "load-balancing"), _balanced("dlb-flowlet")
    ),
    Feature(
        "dlb-per-packet",
        "Dynamic load balancing by packet",
        ("dlb-per-packet", "load-balancing"),
        _balanced("dlb-per-packet"),
    ),
    Feature("spray", "Random spraying of packets", ("spray", "load-balancing"), _balanced("spray")),
    Feature(
        "selective-dlb",
        "Dynamic load balancing of chosen RDMA packets",
        without="no source names it; a finding says so",
    ),
    Feature(
        "global-load-balancing",
        "Load balancing that knows of remote links",
        without="no source names it; a finding says so",
    ),
    Feature("hash", "Seed and fields of the ECMP hash", ("hash",), _seeded),
    Feature("qos", "Classes by DSCP on queues", ("qos",)),
    Feature("scheduler", "Shares and strict priority of queues", ("scheduler", "qos")),
    Feature("pfc", "PFC", ("pfc", "qos")),
    Feature("pfc-watchdog", "PFC watchdog", ("pfc-watchdog", "qos")),
    Feature("headroom", "Headroom by cable length", ("headroom", "qos")),
    Feature("buffer-partition", "Partition of the shared buffer", ("buffer-partition", "qos")),
    Feature("ecn", "ECN marking", ("ecn", "qos")),
    Feature("buffer-monitor", "Peak buffer occupancy", ("buffer-monitor", "qos")),
    Feature("evpn-type-5", "Tenants: VRFs, type-5 routes, VXLAN", ("evpn-type-5", "tunnels"), of="tenants"),
    Feature("color-endpoints", "A tunnel endpoint per path color", ("color-endpoints",), _two_endpoints, "tenants"),
    Feature(
        "networks", "Layer-2 networks: VLANs over leaves, shared gateways", ("tunnels",), _stretched, "tenants", UNSAID
    ),
    Feature("external", "Routers outside, in a tenant's VRF", ("tunnels",), _outside, "tenants", UNSAID),
    Feature("proxy-arp", "Proxy ARP on routed ports of servers", ("proxy-arp",), _proxied, without=UNSAID),
    Feature("macsec", "MACsec between sites", ("macsec",), _encrypted, without=UNSAID),
    Feature("lldp", "LLDP", ("lldp", "management"), _managed),
    Feature("logins", "Logins and keys", ("logins", "management"), _managed),
    Feature("ntp", "Time and name servers", ("ntp", "management"), _managed),
    Feature("syslog", "Syslog", ("syslog", "management"), _managed),
    Feature("snmp", "SNMP", ("snmp", "management"), _managed),
    Feature("netconf", "NETCONF", ("netconf", "management"), _managed),
    Feature("eapi", "eAPI", without="Arista's own"),
    Feature("grpc", "gNMI telemetry", ("grpc", "management"), _managed),
    Feature("control-plane", "Filter of what may reach the switch itself", ("control-plane",), _guarded),
    Feature("extra", "The operator's own statements, merged", ("extra",)),
)
"""The rows of the feature matrix, in the order in which a switch is brought up."""


def cell(nos: str, feature: Feature, configs: Iterable[DeviceConfig]) -> Cell:
    """Return an operating system's support of a feature.

    ``configs`` are example configurations for the system. Each is changed so that it uses the feature.
    """
    wanted = {f"{nos}-no-{key}" for key in feature.gaps}
    for config in configs:
        missing = next((gap for gap in system(nos).gaps(feature.asked(config)) if gap.id in wanted), None)
        if missing is not None:
            return Cell("not expressible", missing.why)
    entry = catalog().systems[nos].capabilities.get(feature.id)
    if entry is None and feature.without:
        return Cell("not expressible", feature.without)
    if entry is not None and entry.mapped:
        return Cell("mapped", entry.mapped)
    return Cell("native", f"from {entry.since}" if entry is not None and entry.since else "")


def matrix(nos: str, colors: Iterable[DeviceConfig], tenants: Iterable[DeviceConfig]) -> dict[str, Cell]:
    """Return a system's support of every feature, by the feature's id.

    ``colors`` and ``tenants`` are example configurations for the system, with path colors and with tenants.
    """
    of = {"colors": list(colors), "tenants": list(tenants)}
    return {feature.id: cell(nos, feature, of[feature.of]) for feature in FEATURES}
