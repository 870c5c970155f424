"""NICs with several ports: what the planes of a fabric ask of its servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.model.catalog.hardware import NicGroup
    from railweave.model.intent.fabric import Fabric, ServerGroup


def check_ports(
    context: Context, name: str, fabric: Fabric, groups: Sequence[tuple[int, ServerGroup, NicGroup]]
) -> None:
    """Note a problem where NICs do not have a port for each plane, or differ in their ports.

    ``groups`` are those that the fabric connects, each with its place in the file.
    """
    if not groups:
        return
    line, planes = context.source.document.line, fabric.topology.port_planes
    first_index, first, nics = groups[0]
    for index, group, other in groups[1:]:
        if other.ports != nics.ports:
            context.problem(
                ("servers", index, "model"),
                f"uneven ports: NICs of {group.model} have {_ports(other)} on fabric {name!r}, those of {first.model} (line "
                f"{line(('servers', first_index))}) have {_ports(nics)}",
                "servers of one fabric need NICs with the same number of ports; put them on fabrics of their own",
            )
    if fabric.topology.planes == "rail" and nics.ports > 1:
        context.problem(
            ("fabrics", name, "topology", "planes"),
            f"planes: rail is for NICs of one port, and those of {first.model} (line {line(('servers', first_index))}) have {_ports(nics)}",
            f"use `planes: {nics.ports}`, a plane for each port, or leave planes out",
        )
    if planes > 1 and nics.ports != planes:
        by_ports = f"a plane is for one port of every NIC: use `planes: {nics.ports}`"
        other_server = f"take servers whose NICs have {planes} ports (`ports:`, docs/hardware.md), or leave planes out"
        context.problem(
            ("fabrics", name, "topology", "planes"),
            f"{planes} planes, and the NICs of {first.model} (line {line(('servers', first_index))}) have {_ports(nics)}",
            by_ports if nics.ports > 1 else other_server,
        )


def _ports(nics: NicGroup) -> str:
    return "one port" if nics.ports == 1 else f"{nics.ports} ports"
