"""The checks of a tenant's VRFs, its layer-2 networks and its ways out of the fabric, on Junos OS Evolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.config.addresses import Prefix
from railweave.counting import counted
from railweave.systems.runbook import Check

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig
    from railweave.routing.table import Routes


def overlay_checks(config: DeviceConfig, routes: Routes) -> list[Check]:
    """Nothing where a switch has no layer-2 network and no external router."""
    return [*_networks(config, routes), *_outside(config, routes)]


def _networks(config: DeviceConfig, routes: Routes) -> list[Check]:
    found = config.mac_vrf
    if found is None:
        return []
    rows: list[tuple[object, ...]] = []
    for one in found.vlans:
        others = [leaf for leaf in routes.shared.bridged.get((config.name, one.vni), ()) if leaf != config.name]
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


def _outside(config: DeviceConfig, routes: Routes) -> list[Check]:
    made: list[Check] = []
    for vrf in config.vrfs:
        subnets = {prefix for gateway in config.gateways for prefix in gateway.prefixes}
        for prefix in sorted(routes.shared.exits.get((config.name, vrf.name), {})):
            if prefix in subnets:
                continue
            leaves = routes.shared.leaves(config.name, vrf.name, prefix)
            here = leaves == (config.name,)
            table = f"{vrf.name}.inet6.0" if Prefix(prefix).family == "ipv6" else f"{vrf.name}.inet.0"
            rows = [
                (one.router, one.session.peer_address, one.session.peer_as, one.session.interface)
                for one in vrf.external
            ]
            points = ["the best route is of the router below" if here else f"learned from {', '.join(leaves)} by EVPN"]
            points += (
                [f"{counted(len(rows), 'session')} established, with the prefixes of its policy and no others"]
                if rows
                else []
            )
            header = ("Router", "Address", "AS", "Port") if rows else ()
            commands = (f"show route table {table} {prefix} exact", *(("show bgp summary",) if rows else ()))
            made.append(Check(f"{prefix} of {vrf.name}", commands, tuple(points), header, tuple(rows)))
    return made
