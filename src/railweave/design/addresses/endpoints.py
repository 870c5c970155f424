"""Loopbacks and tunnel endpoints of the switches of a fabric that has an overlay."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.design.addresses.identity import listed
from railweave.model.network.overlay import Endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.network.devices import Segment, Switch
    from railweave.model.network.fabric import Color

ENDPOINTS_PER_LEAF = 64
"""Room for the path colors of a leaf, so that one more moves no address (``paths_per_nic`` is at most this)."""


def with_endpoints(
    context: Context, layout: Layout, switches: Sequence[Switch], colors: Sequence[Color]
) -> list[Switch]:
    """The switches with the address their overlay sessions run between; leaves with their tunnel endpoints too.

    Without path colors a leaf's one endpoint is its loopback; with them it has one address per color besides, so that the
    path of a tunnel is the path of its color. Notes problems where a pool is too small.
    """
    overlay = layout.spec.evpn()
    if overlay is None:
        return list(switches)
    slots = context.lock.allot("router-ids", [one.name for one in switches], shared=True)
    loopbacks, endpoints = ipaddress.ip_network(overlay.loopbacks), ipaddress.ip_network(overlay.endpoint_pool())
    at = ("fabrics", layout.name, "overlay")
    if endpoints.version != (4 if overlay.vtep == "ipv4" else 6):
        context.problem(
            (*at, "color_endpoints"), f"{endpoints} is not {overlay.vtep}, which `vtep` asks for", "use a pool of it"
        )
    if loopbacks.version != 6:
        context.problem((*at, "loopbacks"), f"{loopbacks} is not IPv6", "IPv4 loopbacks are the router ids")
    context.check()
    result: list[Switch] = []
    for switch in switches:
        slot = slots[switch.name]
        loopback = switch.router_id
        if overlay.vtep == "ipv6":
            if slot >= loopbacks.num_addresses:
                context.problem((*at, "loopbacks"), f"pool too small: {loopbacks} has no address for {switch.name}", "")
                context.check()
            own_list = listed(
                context,
                layout,
                ("overlay", "loopback_lists"),
                overlay.loopback_lists,
                switch.role,
                switch.number,
                switch.name,
            )
            loopback = own_list or str(loopbacks.network_address + slot)
        own = [Endpoint(loopback, None)] if switch.role == "leaf" and not colors else []
        for color in colors if switch.role == "leaf" else ():
            host = (slot - 1) * ENDPOINTS_PER_LEAF + color.index
            if host >= endpoints.num_addresses:
                what = f"pool too small: {endpoints} has no {ENDPOINTS_PER_LEAF} addresses for {switch.name}"
                context.problem((*at, "color_endpoints"), what, "use a shorter prefix")
                context.check()
            own.append(Endpoint(str(endpoints.network_address + host), color.index))
        result.append(replace(switch, loopback=loopback, endpoints=tuple(own)))
    return result


def with_tunnels(segments: Sequence[Segment], switches: Sequence[Switch]) -> tuple[Segment, ...]:
    """The segments, those of layer-2 networks with the tunnel endpoint that leads to this leaf's servers."""
    endpoint = {one.name: one.endpoints[0].address for one in switches if one.endpoints}
    return tuple(
        replace(one, subnets=tuple(replace(subnet, tunnel=endpoint[one.leaf]) for subnet in one.subnets))
        if one.network
        else one
        for one in segments
    )
