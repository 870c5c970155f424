"""Descriptions, in words, of a sized fabric and its growth, for the output of `init` and for findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.design.sizing.size import RefusedShape, Shape, Size

if TYPE_CHECKING:
    from railweave.design.sizing.shapes import Step

TITLES: dict[Shape, str] = {
    "port-planes": "planes of NIC ports",
    "one-leaf": "one leaf",
    "two-tier": "two tiers",
    "rail-planes": "rail planes",
    "super-spine": "super-spines",
}


def reason(size: Size) -> str:
    """Return a sentence about the paths that a sized fabric's topology provides, and about its limits."""
    if size.shape == "port-planes":
        return _of_port_planes(size)
    if size.shape == "one-leaf":
        return "every NIC reaches every other NIC through one switch; if that switch fails, all jobs stop"
    if size.shape == "super-spine":
        if size.wanted.balancing != "rlb":
            return f"every NIC reaches every other; {_pinned(size)}"
        return "every NIC reaches every other; inside a pod " + _pinned(size) + ", between pods only up to the spine"
    if size.shape == "two-tier":
        return "every NIC reaches every other through at most three switches; " + _pinned(size)
    inside = "through one switch, the only switch of the rail" if not size.spines else "through at most three switches"
    pinned = f"; {_pinned(size)}" if size.spines else ""
    return (
        f"NICs of a rail reach each other {inside}{pinned}; traffic between rails goes through the servers (NCCL: PXN)"
    )


def _of_port_planes(size: Size) -> str:
    planes = size.ports.nic_ports
    through = f"at most three switches of each; {_pinned(size)}" if size.spines else "one switch of each"
    left = "half" if planes == 2 else f"{planes - 1} of {planes} parts"
    return (
        f"{planes} networks without a link between them, one for each port of a NIC: if one fails, jobs with "
        f"port failover continue with {left} of the bandwidth; every NIC reaches every other NIC through "
        f"{through}"
    )


def _pinned(size: Size) -> str:
    if size.wanted.balancing != "rlb":
        return f"traffic is spread over all {size.uplinks} uplinks of its leaf"
    links = size.uplinks // size.colors
    to = "one uplink of its leaf" if links == 1 else f"{links} of the {size.uplinks} uplinks of its leaf"
    return f"a queue pair's path color pins it to {to}"


def switches(leaves: int, spines: int, super_spines: int) -> str:
    """Return the counts of switches in words, without zero counts: ``8 leaves, 4 spines``."""
    counts = ((leaves, "leaf", "leaves"), (spines, "spine", ""), (super_spines, "super-spine", ""))
    return ", ".join(counted(count, *nouns) for count, *nouns in counts if count)


def cost(step: Step) -> str:
    """Return the switches, cables and optics of a growth step as a text for messages, with the cables to move.

    Raises ``TypeError`` if the grown fabric does not fit the step's topology.
    """
    before, after = step.before, step.size
    if isinstance(after, RefusedShape):
        raise TypeError(after.why)
    more = switches(
        after.leaf_switches - before.leaf_switches,
        after.spine_switches - before.spine_switches,
        after.super_spine_switches - before.super_spine_switches,
    )
    text = f"{more or 'no switches'}, {counted(step.server_cables, 'server cable')}, "
    text += f"{counted(step.cables, 'cable')} between switches and {counted(step.modules, 'optic')} more, {_laid(step)}"
    if before.spines and after.spines and before.colors != after.colors:
        text += f", {after.colors} path colors instead of {before.colors} (NICs get different addresses)"
    return text


def _laid(step: Step) -> str:
    if not step.moved:
        return "no cable moves"
    if step.servers_laid:
        return f"{counted(step.servers_laid, 'server cable')} moved to other ports"
    if step.laid.elsewhere == step.before.fabric_cables:
        return f"all {counted(step.laid.elsewhere, 'cable')} between switches laid again"
    moves = ((step.laid.elsewhere, "to another switch"), (step.laid.ports, "to another port of the same switches"))
    between = " and ".join(f"{count:,} {where}" for count, where in moves if count)
    return f"of the {counted(step.before.fabric_cables, 'cable')} between switches that exist, these move: {between}"


def growth_lines(steps: list[Step], factor: float) -> list[str]:
    """Return lines with the cost of growth to ``factor`` times the servers, from ``steps`` (see ``shapes.growth_steps``).

    The present topology comes first, then a change to each other topology.
    """
    first, *others = steps
    head = f"growth {factor:g}x, to {first.gpus:,} GPUs: "
    if isinstance(first.size, Size):
        lines = [head + cost(first)]
    elif others:
        lines = [f"{head}not possible in this shape ({first.size.why})"]
    else:
        return [f"{head}not possible in this shape ({first.size.why}), nor in another shape with these switches"]
    return lines + [f"as {TITLES[other.size.shape]}: {cost(other)}" for other in others]
