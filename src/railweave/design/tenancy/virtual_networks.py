"""Layer-2 networks of tenants: VLAN, VNI, subnet and gateway address of each."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.design.addresses.server_prefixes import is_host
from railweave.model.config.naming import named
from railweave.model.network.overlay import VirtualNetwork

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.networks import VirtualNetwork as Intent
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.tenants import Overlay


def virtual_networks(context: Context, layout: Layout, overlay: Overlay) -> dict[str, tuple[VirtualNetwork, ...]]:
    """The layer-2 networks of each tenant that has some, by slot.

    Notes problems where two share a name, a VLAN, a VNI or addresses, or numbers run out.
    """
    intents: dict[str, tuple[str, Intent]] = {}
    for tenant, intent in layout.spec.tenants.items():
        for name, network in intent.networks.items():
            at: Location = ("fabrics", layout.name, "tenants", tenant, "networks", name)
            other = intents.setdefault(name, (tenant, network))
            if other[0] != tenant:
                context.problem(at, f"tenants {other[0]!r} and {tenant!r} both have a network {name!r}", "rename one")
    if not intents:
        return {}
    if layout.spec.load_balancing.mode == "rlb":
        what = "layer-2 networks need a fabric without path colors: a leaf's tunnels have one address for all of them"
        context.problem(
            ("fabrics", layout.name, "load_balancing"), what, "use mode ecmp, dlb-flowlet or dlb-per-packet"
        )
    slots = context.lock.allot(f"{layout.name}/networks", intents)
    found: dict[str, list[VirtualNetwork]] = {}
    vlans = _rail_vlans(context, layout)
    vnis: dict[int, str] = {}
    for name, slot in sorted(slots.items(), key=lambda item: item[1]):
        tenant, intent = intents[name]
        at = ("fabrics", layout.name, "tenants", tenant, "networks", name)
        vlan, vni = _numbers(context, layout, overlay, name, slot, intent)
        for label, number, taken in (("VLAN", vlan, vlans), ("VNI", vni, vnis)):
            other = taken.setdefault(number, name)
            if other != name:
                context.problem(at, f"duplicate {label} {number}: {other} and {name}", "give each its own")
        subnet = ipaddress.ip_network(intent.prefix)
        if not is_host(subnet, intent.gateway_host):
            what = f"gateway_host {intent.gateway_host} is no host of {subnet}"
            context.problem((*at, "gateway_host"), what, "use 1 to the last but one")
        label = named(layout.spec.naming.vlan, fabric=layout.name, stripe="", rail=0, vlan=vlan)
        target = f"target:{overlay.route_target_as}:{vni}"
        gateway = str(subnet.network_address + intent.gateway_host)
        made = VirtualNetwork(name, slot, vlan, label, vni, target, intent.prefix, gateway)
        found.setdefault(tenant, []).append(made)
    context.check()
    return {tenant: tuple(own) for tenant, own in found.items()}


def _numbers(
    context: Context, layout: Layout, overlay: Overlay, name: str, slot: int, intent: Intent
) -> tuple[int, int]:
    """VLAN and VNI: as given, else VLANs from the end of the pool, which rails take from its beginning, and VNIs in order."""
    low, high = layout.spec.pools.vlan
    first, last = overlay.network_vni
    vlan, vni = intent.vlan or high - slot + 1, intent.vni or first + slot - 1
    if vlan < low and intent.vlan is None:
        what = f"pool too small: VLANs {low}-{high} do not hold network number {slot}, {name}"
        context.problem(("fabrics", layout.name, "pools", "vlan"), what, "widen it, or give the network a `vlan:`")
    if vni > last and intent.vni is None:
        what = f"pool too small: VNIs {first}-{last} do not hold network number {slot}, {name}"
        context.problem(("fabrics", layout.name, "overlay", "network_vni"), what, f"widen it to at least {first}-{vni}")
    return vlan, vni


def _rail_vlans(context: Context, layout: Layout) -> dict[int, str]:
    """VLANs that the tenants' rails have, where NICs share them."""
    if layout.spec.addressing.server_link == "routed":
        return {}
    first, _ = layout.spec.pools.vlan
    slots = context.lock.allot(f"{layout.name}/tenants", layout.spec.tenants)
    return {
        first + (slot - 1) * layout.rails + rail: f"rail {rail + 1} of tenant {tenant}"
        for tenant, slot in slots.items()
        if layout.spec.tenants[tenant].members
        for rail in range(layout.rails)
    }
