"""Decisions about tenants: how they are kept apart, and which leaves have which VRF."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.outputs.report.decisions.statement import Decision, Grid
from railweave.outputs.report.figures import span

if TYPE_CHECKING:
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network


def tenant_decisions(network: Network, fabric: Fabric) -> list[Decision]:
    """None where the fabric has no overlay."""
    overlay = fabric.overlay
    if overlay is None:
        return []
    owners = [
        (nic.tenant, nic.leaf, server.name)
        for server in network.servers
        for nic in server.nics
        if nic.fabric == fabric.name
    ]
    nics = Counter(tenant for tenant, _, _ in owners)
    rows = tuple(
        (
            tenant.name,
            str(tenant.vni),
            tenant.route_target,
            str(nics[tenant.name]),
            span(list(dict.fromkeys(server for name, _, server in owners if name == tenant.name))),
            span(list(dict.fromkeys(leaf for name, leaf, _ in owners if name == tenant.name))),
        )
        for tenant in fabric.tenants
    )
    bfd = overlay.bfd
    facts = [
        ("Tunnels", f"VXLAN over {'IPv6' if overlay.vtep == 'ipv6' else 'IPv4'}, from leaf to leaf"),
        (
            "Overlay sessions",
            "EBGP from loopback to loopback; spines pass routes on with the next hop unchanged"
            + (f"; BFD {bfd.minimum_interval} ms x {bfd.multiplier}" if bfd.enabled else ""),
        ),
    ]
    if nics[""]:
        facts.append(("Waiting", f"{counted(nics[''], 'NIC')} in no tenant: ports shut, no addresses"))
    return [
        Decision(
            "Tenants",
            f"{counted(len(fabric.tenants), 'tenant')}, each in a VRF of its own on the leaves that have its NICs",
            "Leaves advertise a VRF's prefixes as EVPN type-5 routes with the tenant's route target and take in "
            f"{_taken_in(fabric)}; spines know loopbacks only.",
            tuple(facts),
            (Grid(("Tenant", "VNI", "Route target", "NICs", "Servers", "Leaves"), rows),),
        )
    ]


def _taken_in(fabric: Fabric) -> str:
    """What VRFs take in beside their own prefixes, as the file's ``leaks`` let them."""
    leaks = [f"{one.name} and {', '.join(one.leaks)}" for one in fabric.tenants if one.leaks]
    if not leaks:
        return "no others, so no tenant has a route to another's NICs"
    return f"no others but where the file lets tenants reach each other (`leaks`): {'; '.join(leaks)}"
