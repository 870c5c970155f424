"""Edge ports: their segments, and the leaves' ports that they take."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.design.cabling.panels import Owner, panels_of, port_named
from railweave.model.network.devices import Segment, Subnet
from railweave.model.network.overlay import EDGE, EdgePort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.edge import EdgePort as EdgePortIntent
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.devices import Cable


def edge_segments(context: Context, layout: Layout) -> list[Segment]:
    """A segment for each edge port, in which the leaf has the first address. Notes leaves and tenants that are not there."""
    leaves = {leaf.name: leaf for leaf in layout.leaves}
    overlay = layout.spec.evpn() is not None
    found: list[Segment] = []
    for name, intent in layout.spec.edge_ports.items():
        at: Location = ("fabrics", layout.name, "edge_ports", name)
        leaf = leaves.get(intent.leaf)
        if leaf is None:
            known = ", ".join(list(leaves)[:8]) + (", …" if len(leaves) > 8 else "")
            context.problem(
                (*at, "leaf"), f"fabric {layout.name!r} has no leaf {intent.leaf!r}", f"its leaves are {known}"
            )
            continue
        if overlay and intent.tenant is None:
            context.problem(at, f"edge port {name!r} has no tenant", "say whose VRF it is in with `tenant:`")
        elif intent.tenant is not None and intent.tenant not in layout.spec.tenants:
            what = f"there is no tenant {intent.tenant!r}"
            context.problem((*at, "tenant"), what, f"tenants are {', '.join(layout.spec.tenants) or 'none'}")
        subnets = tuple(_subnet(prefix) for prefix in intent.prefixes)
        place = (layout.name, leaf.stripe, 0, leaf.name)
        found.append(Segment(*place, None, "", subnets, f"{name}:{EDGE}", intent.tenant or ""))
    if found and layout.spec.load_balancing.mode == "rlb":
        what = "edge ports need a fabric without path colors: what is behind them has one address"
        context.problem(("fabrics", layout.name, "edge_ports"), what, "use mode ecmp, dlb-flowlet or dlb-per-packet")
    context.check()
    return found


def _subnet(prefix: str) -> Subnet:
    network = ipaddress.ip_network(prefix)
    first = network.network_address + (0 if network.num_addresses == 2 else 1)
    return Subnet(prefix, str(first), None)


def edge_length(layout: Layout, intent: EdgePortIntent) -> float:
    """How long the cable of an edge port is, metres: as the file says, else as cables to servers are planned."""
    return layout.spec.cabling.server.length if intent.length is None else intent.length


def edge_ports(context: Context, layout: Layout, cables: Sequence[Cable]) -> tuple[EdgePort, ...]:
    """The edge ports of a fabric. Notes problems where a port is taken, or not there."""
    if not layout.spec.edge_ports:
        return ()
    panels = panels_of(layout, cables)
    found: list[EdgePort] = []
    for name, intent in layout.spec.edge_ports.items():
        at: Location = ("fabrics", layout.name, "edge_ports", name, "port")
        own = layout.equipment[intent.leaf]
        system = context.catalog.systems[own.role.nos]
        speed = intent.speed or own.model.ports[0].speed_gbps
        port = port_named(context, at, own.role.device, own.model, system, intent.port, speed)
        if port is None:
            continue
        conflict = panels[intent.leaf].take(port, Owner(f"edge port {name}", at, "server_ports"))
        if conflict is not None:
            what = f"{intent.leaf} {intent.port} for edge port {name} {conflict.text}"
            context.problem(at, what, "choose another port, or end the server or uplink ports before it")
        length = edge_length(layout, intent)
        found.append(EdgePort(name, intent.leaf, intent.port, port.physical, port.channel, speed, length))
    context.check()
    return tuple(found)
