"""External routers: the leaf ports and addresses of their links."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.design.addresses.server_pools import tenant_pools
from railweave.design.addresses.server_prefixes import inside
from railweave.design.cabling.panels import Owner, panels_of, port_named
from railweave.model.network.overlay import ExternalLink, ExternalRouter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.cabling.panels import Conflict, Panel
    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.networks import ExternalLink as LinkIntent
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.devices import Cable, Segment, Switch
    from railweave.model.network.overlay import Tenant

Shared = dict[tuple[str, str], list[tuple[str, int, int | None]]]
"""By leaf and port: the router, the speed and the tag of each link that is on it."""

DEFAULT_ROUTES = {4: "0.0.0.0/0", 6: "::/0"}


def with_external(
    context: Context,
    layout: Layout,
    tenants: Sequence[Tenant],
    segments: Sequence[Segment],
    cables: Sequence[Cable],
    switches: Sequence[Switch],
) -> tuple[Tenant, ...]:
    """The tenants with their external routers. Notes problems where a link's port is taken or not there, or an AS number is."""
    if not any(layout.spec.tenants[tenant.name].external for tenant in tenants):
        return tuple(tenants)
    panels = panels_of(layout, cables)
    shared: Shared = {}
    numbers = {one.asn: one.name for one in reversed(switches)}
    result: list[Tenant] = []
    for tenant in tenants:
        prefixes = dict.fromkeys(s.prefix for one in segments if one.tenant == tenant.name for s in one.subnets)
        routers: list[ExternalRouter] = []
        for name, intent in layout.spec.tenants[tenant.name].external.items():
            at: Location = ("fabrics", layout.name, "tenants", tenant.name, "external", name)
            links = [
                _link(context, layout, (*at, "links", place), name, link, panels, shared)
                for place, link in enumerate(intent.links)
            ]
            version = ipaddress.ip_network(intent.links[0].prefix).version
            if intent.asn in numbers:
                what = f"external router {name} has AS number {intent.asn}, which is that of {numbers[intent.asn]}"
                fix = "give it another: a switch takes no route whose path has its own AS number"
                context.problem((*at, "asn"), what, fix)
            advertise = intent.advertise or _summary(layout, tenant.name, tuple(prefixes), version)
            if not advertise:
                what = f"tenant {tenant.name!r} has no IPv{version} prefix to advertise over the IPv{version} links of external router {name}"
                fix = f"give the links IPv{10 - version} prefixes, or list under `advertise:` what the router is sent"
                context.problem((*at, "links", 0, "prefix"), what, fix)
            routers.append(
                ExternalRouter(
                    name=name,
                    asn=intent.asn,
                    links=tuple(link for link in links if link is not None),
                    accept=intent.accept or (DEFAULT_ROUTES[version],),
                    advertise=advertise,
                )
            )
        result.append(replace(tenant, external=tuple(routers)))
    context.check()
    return tuple(result)


def _summary(layout: Layout, tenant: str, prefixes: Sequence[str], version: int) -> tuple[str, ...]:
    """A tenant's prefixes: its networks', and the server pool for all that are cut from it."""
    networks = [one for one in map(ipaddress.ip_network, prefixes) if one.version == version]
    pools = [one.network for one in tenant_pools(layout, tenant)]
    own = [next((pool for pool in pools if inside(one, pool)), one) for one in networks]
    return tuple(dict.fromkeys(map(str, own)))


def _beside(one: tuple[str, int, int | None], router: str, speed: int, vlan: int) -> bool:
    """Whether a tag can stand beside another on a port: to the same router, as fast, and another number."""
    return one[0] == router and one[1] == speed and one[2] not in {None, vlan}


def _link(
    context: Context,
    layout: Layout,
    at: Location,
    router: str,
    link: LinkIntent,
    panels: dict[str, Panel],
    shared: Shared,
) -> ExternalLink | None:
    panel = panels.get(link.leaf)
    if panel is None:
        known = ", ".join(list(panels)[:8]) + (", …" if len(panels) > 8 else "")
        context.problem((*at, "leaf"), f"fabric {layout.name!r} has no leaf {link.leaf!r}", f"its leaves are {known}")
        return None
    own = layout.equipment[link.leaf]
    role, model = own.role, own.model
    system = context.catalog.systems[role.nos]
    speed = link.speed or model.ports[0].speed_gbps
    port = port_named(context, (*at, "port"), role.device, model, system, link.port, speed)
    if port is None:
        return None
    before = shared.setdefault((link.leaf, link.port), [])
    joins = bool(before) and link.vlan is not None and all(_beside(one, router, speed, link.vlan) for one in before)
    before.append((router, speed, link.vlan))
    conflict = None if joins else panel.take(port, Owner(f"external router {router}", at, "server_ports"))
    if conflict is not None:
        what, fix = _refused(link, router, before, conflict)
        context.problem((*at, "port"), what, fix)
    network = ipaddress.ip_network(link.prefix)
    first = network.network_address + (0 if network.num_addresses == 2 else 1)
    return ExternalLink(
        leaf=link.leaf,
        port=link.port,
        physical=port.physical,
        channel=port.channel,
        speed_gbps=speed,
        address=str(first),
        peer_address=str(first + 1),
        prefix_length=network.prefixlen,
        vlan=link.vlan,
    )


def _refused(
    link: LinkIntent, router: str, on_port: Sequence[tuple[str, int, int | None]], conflict: Conflict
) -> tuple[str, str]:
    """What is wrong with a link whose port is taken, the last of those that are ``on_port``; and the remedy."""
    what = f"{link.leaf} {link.port} for external router {router} {conflict.text}"
    others = on_port[:-1]
    if not others:
        return what, "choose another port, or end the server or uplink ports before it"
    if any(one[0] != router for one in others):
        return what, "choose another port: links to two routers are on two ports"
    if link.vlan is not None and link.vlan in {one[2] for one in others}:
        return (
            f"{link.leaf} {link.port} has two links to external router {router} with VLAN {link.vlan}",
            "give each its own",
        )
    if link.vlan is not None and all(one[2] for one in others):
        return f"{link.leaf} {link.port} has links to external router {router} of two speeds", "give them one speed"
    what = f"{link.leaf} {link.port} has several links to external router {router}, one of them without a VLAN"
    return what, "give each a `vlan:` of its own, or choose another port"
