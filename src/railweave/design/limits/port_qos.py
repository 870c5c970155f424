"""Exceptions of quality of service: of ports that are there, and alike on both ends of a link between switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.network.devices import Cable, Switch


def check_port_qos(context: Context, layout: Layout, switches: Sequence[Switch], cables: Sequence[Cable]) -> None:
    """Note exceptions of ports that nothing is on, and of one end only of a link between switches."""
    own = {(one.name, each.port): each for one in switches for each in one.port_qos}
    if not own:
        return
    ends = {(end.device, end.port) for cable in cables for end in (cable.a, cable.b)}
    ends |= {(one.leaf, one.port) for one in layout.spec.edge_ports.values()}
    ends |= {
        (link.leaf, link.port)
        for tenant in layout.spec.tenants.values()
        for router in tenant.external.values()
        for link in router.links
    }
    for device, port in own:
        if (device, port) not in ends:
            key, _ = context.source.spec.overrides.of_device(device)
            at = ("overrides", "devices", key, "ports", port)
            context.problem(at, f"nothing is on port {port!r} of {device}", "name a port of its cables (cabling.csv)")
    for cable in cables:
        pair = [(end.device, end.port) for end in (cable.a, cable.b)]
        found = [own.get(one) for one in pair]
        if cable.kind == "fabric" and (found[0] is None) != (found[1] is None):
            here, far = pair if found[0] else reversed(pair)
            key, _ = context.source.spec.overrides.of_device(here[0])
            at = ("overrides", "devices", key, "ports", here[1])
            what = f"{here[0]} {here[1]} has other quality of service than its far end, {far[0]} {far[1]}"
            context.problem(at, what, "give both ends the same exception: both pause, or neither")
    context.check()
