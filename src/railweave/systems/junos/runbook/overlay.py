"""The checks of a tenant's VRFs, its layer-2 networks and its ways out of the fabric, on Junos OS Evolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.systems.runbook import Check, overlay_session_checks, prefixes_from_outside, tenants_check

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.device.expected import ExpectedRouting, SharedPrefix
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


def tenant_checks(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[Check]:
    """Return the overlay's sessions and tenants, by commands of the EVPN test report (Table 9) and those of EVPN type-5 routes."""
    made = overlay_session_checks(config, "show bgp summary group overlay")
    if not config.vrfs:
        return made
    first = config.vrfs[0]
    tables = [f"{first.name}.{'inet6' if family == 'ipv6' else 'inet'}.0" for family in first.families()]
    commands = (
        "show route instance detail",
        f"show evpn ip-prefix-database l3-context {first.name}",
        *(f"show route table {table}" for table in tables),
    )
    shown = f"the table {tables[0]} has" if len(tables) == 1 else f"the tables {' and '.join(tables)} together have"
    more = prefixes_from_outside(config)
    point = f"{shown} the first row's prefixes, and no others" + (f" but {more}" if more else "")
    return [*made, tenants_check(network, config, expected.tenants, commands, points=(point,))]


def overlay_checks(config: DeviceConfig, expected: ExpectedRouting) -> list[Check]:
    """Return the checks of layer-2 networks and of prefixes from outside; none if the switch has neither."""
    return [*_networks(config, expected.bridged), *_outside(config, expected.shared)]


def _networks(config: DeviceConfig, bridged: Mapping[int, tuple[str, ...]]) -> list[Check]:
    found = config.mac_vrf
    if found is None:
        return []
    rows: list[tuple[object, ...]] = []
    for one in found.vlans:
        others = [leaf for leaf in bridged[one.vni] if leaf != config.name]
        ports = sum(1 for port in config.interfaces if port.vlan == one.name)
        rows.append((one.name, one.vlan, one.vni, one.route_target, ports, ", ".join(others) or "none"))
    return [
        Check(
            "Layer-2 networks, as configured",
            (f"show configuration routing-instances {found.name}", "show vlans"),
            (
                "each VLAN below with its VNI and route target; VLAN, VNI and target are the same on the other leaves",
                "once servers are up: their MAC addresses on the ports here, those of the other leaves behind a tunnel",
            ),
            ("VLAN", "Id", "VNI", "Route target", "Ports here", "Other leaves"),
            tuple(rows),
        )
    ]


def _outside(config: DeviceConfig, expected: Iterable[SharedPrefix]) -> list[Check]:
    made: list[Check] = []
    external = {vrf.name: vrf.external for vrf in config.vrfs}
    for one in expected:
        here = one.leaves == (config.name,)
        table = f"{one.vrf}.inet6.0" if one.prefix.family == "ipv6" else f"{one.vrf}.inet.0"
        rows = [
            (peer.router, peer.session.peer_address, peer.session.peer_as, peer.session.interface)
            for peer in external[one.vrf]
        ]
        points = ["the best route is of the router below" if here else f"learned from {', '.join(one.leaves)} by EVPN"]
        points += (
            [f"{counted(len(rows), 'session')} established, with the prefixes of its policy and no others"]
            if rows
            else []
        )
        header = ("Router", "Address", "AS", "Port") if rows else ()
        commands = (f"show route table {table} {one.prefix} exact", *(("show bgp summary",) if rows else ()))
        made.append(Check(f"{one.prefix} of {one.vrf}", commands, tuple(points), header, tuple(rows)))
    return made
