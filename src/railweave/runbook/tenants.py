"""The checks of an EVPN overlay: its sessions, and on leaves the VRF of every tenant with what it must hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.expect.prefixes import tenants
from railweave.systems.runbook import Check

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    more = _besides(config)
    points = (
        f"{shown} the first row's prefixes, and no others" + (f" but {more}" if more else ""),
        *_points(network, config),
    )
    sessions = _sessions(config, ("show bgp summary group overlay",))
    return [*sessions, Check("Tenants", commands, points, _HEADER, _rows(network, config, routes))]


def eos_tenants(network: Network, config: DeviceConfig, routes: Routes) -> list[Check]:
    """The same on EOS."""
    sessions = _sessions(config, ("show bgp evpn summary",))
    if not config.vrfs:
        return sessions
    first = config.vrfs[0]
    tables = (f"show {'ipv6' if family == 'ipv6' else 'ip'} route vrf {first.name}" for family in first.families())
    commands = ("show vrf", "show vxlan vni", *tables)
    made = [*sessions, Check("Tenants", commands, _points(network, config), _HEADER, _rows(network, config, routes))]
    return made + _external(config, {}, "show bgp {family} unicast summary vrf {vrf}")


def frr_tenants(
    network: Network, config: DeviceConfig, routes: Routes, names: Mapping[str, str] | None = None
) -> list[Check]:
    """The same in ``vtysh``; ``names`` is what VRFs are called there where that is another name than the tenant's."""
    sessions = _sessions(config, ("show bgp l2vpn evpn summary",))
    if not config.vrfs:
        return sessions
    first = config.vrfs[0]
    called = names or {}
    tables = (f"show bgp vrf {called.get(first.name, first.name)} {family} unicast" for family in first.families())
    commands = ("show vrf vni", "show evpn vni", *tables)
    rows = _rows(network, config, routes, called)
    made = [*sessions, Check("Tenants", commands, _points(network, config), _HEADER, rows)]
    return made + _external(config, called, "show bgp vrf {vrf} {family} unicast summary")


def dell_tenants(
    network: Network, config: DeviceConfig, routes: Routes, names: Mapping[str, str], running: str
) -> list[Check]:
    """The same in Dell's ``sonic-cli``; ``running`` is its command for the configuration, which alone shows VRFs."""
    sessions = _sessions(config, ("show bgp l2vpn evpn summary",))
    if not config.vrfs:
        return sessions
    first = config.vrfs[0]
    words = ("ipv6" if family == "ipv6" else "ip" for family in first.families())
    commands = (*(f"show {word} route vrf {names[first.name]}" for word in words), running)
    rows = _rows(network, config, routes, names)
    made = [*sessions, Check("Tenants", commands, _points(network, config), _HEADER, rows)]
    return made + _external(config, names, "show bgp {family} unicast vrf {vrf} summary")


def _besides(config: DeviceConfig) -> str:
    """What tables of VRFs hold besides prefixes of servers and loopbacks: links to routers outside, and what these announce."""
    outside = any(vrf.external for vrf in config.vrfs)
    return "the prefixes of links to routers outside, and what those announce, as a default route" if outside else ""


def _points(network: Network, config: DeviceConfig) -> tuple[str, ...]:
    fabric = network.fabric(network.switch(config.name).fabric)
    own = "the VRF's gateways" + (" and loopbacks" if any(vrf.loopbacks for vrf in config.vrfs) else "")
    leaks = [f"{one.name} takes in those of {', '.join(one.leaks)}" for one in fabric.tenants if one.leaks]
    told = f", or of one that its tenant takes in by `leaks` ({'; '.join(leaks)})," if leaks else ""
    besides = _besides(config)
    return (
        f"own prefixes are those of {own}; the others come as EVPN type-5 routes with its route target",
        *((f"besides them VRFs with a router outside hold {besides}",) if besides else ()),
        f"a prefix in a VRF that is not its tenant's{told} is a leak: stop, and compare route targets",
    )


def _external(config: DeviceConfig, names: Mapping[str, str], command: str) -> list[Check]:
    """Sessions of VRFs with routers outside; ``command`` shows those of one {vrf} and one address {family}."""
    peers = [(vrf, one) for vrf in config.vrfs for one in vrf.external]
    if not peers:
        return []
    asked = {
        command.format(vrf=names.get(vrf.name, vrf.name), family=one.session.local_address.family): None
        for vrf, one in peers
    }
    rows = tuple(
        (
            names.get(vrf.name, vrf.name),
            one.session.peer_address,
            one.router,
            one.session.peer_as,
            ", ".join(one.accept),
        )
        for vrf, one in peers
    )
    header = ("VRF", "Neighbor", "Router", "AS", "Prefixes taken in")
    points = (f"{counted(len(peers), 'session')} established, once the routers outside are set up",)
    return [Check("External sessions", tuple(asked), points, header, rows)]


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


def _rows(
    network: Network, config: DeviceConfig, routes: Routes, names: Mapping[str, str] | None = None
) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (
            (names or {}).get(one.vrf, one.vrf),
            one.vni,
            one.route_distinguisher,
            ", ".join(dict.fromkeys((*one.import_targets, *one.export_targets))),
            len(one.own),
            len(one.learned),
        )
        for one in tenants(network, config, routes)
    )
