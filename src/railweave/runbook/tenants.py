"""The checks of an EVPN overlay: its sessions, and on leaves the VRF of every tenant with what it must hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.expect.prefixes import tenants
from railweave.runbook.check import Check

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig
    from railweave.network.model import Network
    from railweave.routing.table import Routes

_HEADER = ("VRF", "VNI", "Route distinguisher", "Route targets", "Own prefixes", "Prefixes of other leaves")


def junos_tenants(network: Network, config: DeviceConfig, routes: Routes) -> list[Check]:
    """Commands of the EVPN test report (Table 9), and those of EVPN type-5 routes."""
    if not config.vrfs:
        return _sessions(config, ("show bgp summary group overlay",))
    first = config.vrfs[0]
    tables = [f"{first.name}.{'inet6' if family == 'ipv6' else 'inet'}.0" for family in first.families()]
    commands = (
        "show route instance detail",
        f"show evpn ip-prefix-database l3-context {first.name}",
        *(f"show route table {table}" for table in tables),
    )
    shown = f"the table {tables[0]} has" if len(tables) == 1 else f"the tables {' and '.join(tables)} together have"
    points = (f"{shown} the first row's prefixes, and no others", *_POINTS)
    sessions = _sessions(config, ("show bgp summary group overlay",))
    return [*sessions, Check("Tenants", commands, points, _HEADER, _rows(network, config, routes))]


def frr_tenants(network: Network, config: DeviceConfig, routes: Routes) -> list[Check]:
    """The same in ``vtysh``."""
    sessions = _sessions(config, ("show bgp l2vpn evpn summary",))
    if not config.vrfs:
        return sessions
    first = config.vrfs[0]
    tables = (f"show bgp vrf {first.name} {family} unicast" for family in first.families())
    commands = ("show vrf vni", "show evpn vni", *tables)
    return [*sessions, Check("Tenants", commands, _POINTS, _HEADER, _rows(network, config, routes))]


def dell_tenants(network: Network, config: DeviceConfig, routes: Routes, running: str) -> list[Check]:
    """The same in Dell's ``sonic-cli``; ``running`` is its command for the configuration, which alone shows VRFs."""
    sessions = _sessions(config, ("show bgp l2vpn evpn summary",))
    if not config.vrfs:
        return sessions
    first = config.vrfs[0]
    words = ("ipv6" if family == "ipv6" else "ip" for family in first.families())
    commands = (*(f"show {word} route vrf {first.name}" for word in words), running)
    return [*sessions, Check("Tenants", commands, _POINTS, _HEADER, _rows(network, config, routes))]


_POINTS = (
    "own prefixes are those of the VRF's gateways; the others come as EVPN type-5 routes with its route target",
    "a prefix in a VRF that is not its tenant's is a leak: stop, and compare route targets",
)


def _sessions(config: DeviceConfig, commands: tuple[str, ...]) -> list[Check]:
    overlay = config.overlay
    if overlay is None:
        return []
    points = [f"{counted(len(overlay.neighbors), 'session')} of the group overlay established, from {overlay.loopback}"]
    if overlay.bfd:
        timers = f"{overlay.bfd.minimum_interval} ms x {overlay.bfd.multiplier}"
        points.append(f"BFD up on each, {timers}, down after {overlay.bfd.detection_ms():,} ms")
    if overlay.endpoints:
        ends = ", ".join(one.address for one in overlay.endpoints)
        points.append(f"tunnels end on {ends}")
    rows = tuple((one.peer_address, one.peer, one.peer_as) for one in overlay.neighbors)
    return [Check("Overlay sessions", commands, tuple(points), ("Neighbor", "Switch", "AS"), rows)]


def _rows(network: Network, config: DeviceConfig, routes: Routes) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (
            one.vrf,
            one.vni,
            one.route_distinguisher,
            ", ".join(dict.fromkeys((*one.import_targets, *one.export_targets))),
            len(one.own),
            len(one.learned),
        )
        for one in tenants(network, config, routes)
    )
