"""What every operating system can express, feature by feature: the catalog says how, its renderer says where not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from railweave.catalog import catalog
from railweave.device.model import BridgedVlan, ExternalPeer, Isis, IsisPort, MacVrf, Session, TunnelEndpoint
from railweave.render import renderer
from railweave.spec.interconnect import Macsec
from railweave.spec.management import Services, Snmp, Syslog, User

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from railweave.device.model import DeviceConfig


@dataclass(frozen=True, slots=True)
class Feature:
    """One row. ``gaps`` are the keys of findings ``NOS-no-KEY`` that say it is missing; ``asked`` asks for it.

    ``of`` says which of the example configurations it is asked of.
    """

    id: str
    title: str
    gaps: tuple[str, ...] = ()
    asked: Callable[[DeviceConfig], DeviceConfig] = lambda config: config
    of: Literal["colors", "tenants"] = "colors"


@dataclass(frozen=True, slots=True)
class Cell:
    """How a system has a feature; ``words`` say from which release, by what other means, or why not."""

    kind: Literal["native", "mapped", "not expressible"]
    words: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.words}" if self.words else self.kind


def _balanced(
    mode: Literal["ecmp", "dlb-flowlet", "dlb-per-packet", "spray"],
) -> Callable[[DeviceConfig], DeviceConfig]:
    return lambda config: replace(config, balancing=replace(config.balancing, group_mode=mode))


def _seeded(config: DeviceConfig) -> DeviceConfig:
    intent = config.balancing.intent
    seeded = intent.model_copy(update={"hash": intent.hash.model_copy(update={"seed": 1})})
    return replace(config, balancing=replace(config.balancing, group_mode="ecmp", intent=seeded))


def _managed(config: DeviceConfig) -> DeviceConfig:
    """Everything of the management plane at once."""
    wanted = config.management.model_copy(
        update={
            "dns": ("192.0.2.1",),
            "ntp": ("192.0.2.1",),
            "lldp": True,
            "root_password": "secret:root",
            "users": {"operator": User(password="secret:operator")},  # noqa: S106 - a reference
            "syslog": (Syslog(host="192.0.2.1"),),
            "snmp": Snmp(community="secret:community"),
            "services": Services(netconf=True, grpc_certificate="secret:certificate"),
        }
    )
    return replace(config, management=wanted)


def _two_endpoints(config: DeviceConfig) -> DeviceConfig:
    if config.overlay is None:
        return config
    ends = (TunnelEndpoint("192.0.2.1", "green"), TunnelEndpoint("192.0.2.2", "blue"))
    return replace(config, overlay=replace(config.overlay, endpoints=ends))


def _routes_told(config: DeviceConfig) -> DeviceConfig:
    return replace(
        config,
        gateways=tuple(
            replace(one, advertisements=one.advertisements.model_copy(update={"routes": ("2001:db8::/32",)}))
            if one.advertisements
            else one
            for one in config.gateways
        ),
    )


def _isis(config: DeviceConfig) -> DeviceConfig:
    """IS-IS in place of BGP."""
    ports = tuple(IsisPort(one.name, one.link, one.peer, 10) for one in config.fabric_interfaces())
    own = Isis("49.0001.1920.0000.2001.00", "192.0.2.1", ports, (), ("ipv6",), 64, None, None)
    return replace(config, bgp=None, isis=own)


def _encrypted(config: DeviceConfig) -> DeviceConfig:
    wanted = Macsec(key_name="01", key="secret:cak")
    ports = tuple(replace(one, macsec=wanted if one.kind == "fabric" else None) for one in config.interfaces)
    return replace(config, interfaces=ports)


def _proxy_arp(config: DeviceConfig) -> DeviceConfig:
    """The first server port routed, and answering for the others."""
    port = next((one.name for one in config.interfaces if one.kind == "server"), None)
    if port is None or not config.gateways:
        return config
    added = replace(config.gateways[0], name=port, vlan=None, vlan_name="", port=port, proxy_arp=True)
    return replace(config, gateways=(added, *(one for one in config.gateways if one.port != port)))


def _bridged(config: DeviceConfig) -> DeviceConfig:
    """A layer-2 network with the first gateway's prefix."""
    if not config.gateways:
        return config
    first = config.gateways[0]
    number, name = first.vlan or 3, first.vlan_name or "network"
    vlan = BridgedVlan(number, name, 10001, "target:64512:10001")
    own = MacVrf("evpn-1", "192.0.2.1:65534", "target:100:100", (vlan,), ())
    shared = replace(first, vlan=number, vlan_name=name, port="", mac="00:00:5e:00:01:01")
    return replace(config, gateways=(shared, *config.gateways[1:]), mac_vrf=own)


def _outside(config: DeviceConfig) -> DeviceConfig:
    """A router outside on the first server port, in the first VRF."""
    port = next((one for one in config.interfaces if one.kind == "server"), None)
    if port is None or not config.vrfs:
        return config
    vrf = config.vrfs[0]
    session = Session(f"{port.name}.0", port.link, "wan", 65000, "192.0.2.0", "192.0.2.1")
    outside = replace(
        port, kind="external", vlan=None, native_vlan=None, addresses=("192.0.2.0/31",), pauses=False, vrf=vrf.name
    )
    peer = ExternalPeer("wan", session, ("0.0.0.0/0",), ("198.51.100.0/24",))
    return replace(
        config,
        interfaces=tuple(outside if one is port else one for one in config.interfaces),
        gateways=tuple(one for one in config.gateways if one.port != port.name),
        vrfs=(replace(vrf, external=(peer,)), *config.vrfs[1:]),
    )


FEATURES = (
    Feature("ports", "Ports, breakouts, speeds, MTUs", ("ports",)),
    Feature("vlans", "VLANs with their gateways", ("vlans", "ports")),
    Feature("slaac", "Router advertisements: prefixes, lifetimes, flags", ("slaac",)),
    Feature("ra-interval", "Router advertisements: longest and shortest interval", ("ra-interval",)),
    Feature("ra-routes", "Router advertisements: routes", ("ra-routes",), _routes_told),
    Feature("proxy-arp", "Proxy ARP on server ports", ("proxy-arp", "ports"), _proxy_arp),
    Feature("macsec", "MACsec between sites", ("macsec",), _encrypted),
    Feature("unnumbered-bgp", "BGP neighbors found on a link (RFC 8950)", ("unnumbered-bgp",)),
    Feature("peer-as-list", "A list of AS numbers that found neighbors may have", ("peer-as-list",)),
    Feature("path-color", "Path colors", ("path-color",)),
    Feature("isis", "IS-IS in place of BGP", ("isis",), _isis),
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
    Feature(
        "evpn-type-2",
        "Tenants: layer-2 networks, shared gateways",
        ("evpn-type-2", "anycast", "tunnels"),
        _bridged,
        "tenants",
    ),
    Feature("external", "Tenants: BGP with routers outside", ("external",), _outside, "tenants"),
    Feature("color-endpoints", "A tunnel endpoint per path color", ("color-endpoints",), _two_endpoints, "tenants"),
    Feature("lldp", "LLDP", ("lldp", "management"), _managed),
    Feature("logins", "Logins and keys", ("logins", "management"), _managed),
    Feature("ntp", "Time and name servers", ("ntp", "management"), _managed),
    Feature("syslog", "Syslog", ("syslog", "management"), _managed),
    Feature("snmp", "SNMP", ("snmp", "management"), _managed),
    Feature("netconf", "NETCONF", ("netconf", "management"), _managed),
    Feature("grpc", "gNMI telemetry", ("grpc", "management"), _managed),
    Feature("extra", "The operator's own statements, merged", ("extra",)),
)
"""The rows, in the order in which a switch is brought up."""


def cell(nos: str, feature: Feature, configs: Iterable[DeviceConfig]) -> Cell:
    """How a system has a feature that ``configs``, lowered for it, are made to ask for."""
    wanted = {f"{nos}-no-{key}" for key in feature.gaps}
    for config in configs:
        missing = next((one for one in renderer(nos).gaps(feature.asked(config)) if one.id in wanted), None)
        if missing is not None:
            return Cell("not expressible", missing.why)
    entry = catalog().systems[nos].capabilities.get(feature.id)
    if entry is not None and entry.mapped:
        return Cell("mapped", entry.mapped)
    return Cell("native", f"from {entry.since}" if entry is not None and entry.since else "")


def matrix(nos: str, colors: Iterable[DeviceConfig], tenants: Iterable[DeviceConfig]) -> dict[str, Cell]:
    """Every feature of a system, by its id. ``colors`` and ``tenants`` are configurations lowered for it."""
    of = {"colors": list(colors), "tenants": list(tenants)}
    return {one.id: cell(nos, one, of[one.of]) for one in FEATURES}
