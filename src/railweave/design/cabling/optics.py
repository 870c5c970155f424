"""Which pluggable or cable assembly an end takes: the one with the shortest reach that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.optics import fitting
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.model.intent.reading.document import Location

UNKNOWN = "unlisted"


OPTIC_UNLISTED = Rule(
    id="optic-unlisted",
    severity="warning",
    applies="design",
    says="the catalog has no optic for a port, speed and length",
    why="the bill of materials cannot name it",
    fix="give one with `optic:`, or add it to the catalog",
)


def choose(
    context: Context,
    at: Location,
    asked: str | None,
    cage: str,
    channels: int,
    speed_gbps: int,
    length_m: float,
    *,
    measured_on: int,
    copper: bool,
) -> str:
    """The catalog name of the optic for one end; ``asked`` wins where it fits. Notes a problem where it does not.

    ``channels`` is how many links the port carries; ``measured_on`` the inventory's line where the length was measured
    (0: it is planned). Copper assemblies join a switch and a NIC, so leaf-spine cables leave them out.
    """
    fits = fitting(context.catalog, cage, channels, speed_gbps, length_m, copper=copper)
    if asked is not None:
        _check(context, at, asked, f"{cage} of {channels} x {speed_gbps}G", sorted(fits), length_m, measured_on)
        return asked
    if fits:
        return min(fits)[1]
    context.finding(
        OPTIC_UNLISTED,
        f"{channels} x {speed_gbps}G in {cage}",
        at,
        f"the catalog lists no optic for a {cage} port of {channels} x {speed_gbps}G over {length_m:g} m",
    )
    return UNKNOWN


def _check(
    context: Context,
    at: Location,
    asked: str,
    port: str,
    fits: list[tuple[float, str]],
    length_m: float,
    measured_on: int,
) -> None:
    """Note where an optic that was asked for does not reach, or does not go into its port."""
    optics = context.catalog.optics
    optic = optics.get(asked)
    if optic is None:
        context.problem(at, f"optic {asked!r} is not in the catalog", f"known optics: {', '.join(sorted(optics))}")
    elif port not in (own := [f"{cage} of {optic.channels} x {optic.speed_gbps}G" for cage in optic.cages]):
        others = f"use {' or '.join(name for _, name in fits)}, or leave it" if fits else "leave it"
        context.problem(
            at, f"optic {asked} is for {' or '.join(own)}, the port is {port}", f"{others} empty to have one chosen"
        )
    elif optic.reach_m < length_m and measured_on:
        context.inventory_problem(
            measured_on,
            f"optic {asked} reaches {optic.reach_m:g} m, the cable is measured to be {length_m:g} m",
            f"choose one with more reach ({context.source.document.file}:{context.source.document.line(at)}), or one for "
            "this cable alone under overrides.cables",
        )
    elif optic.reach_m < length_m:
        context.problem(
            at, f"optic {asked} reaches {optic.reach_m:g} m, the cable is {length_m:g} m", "choose one with more reach"
        )
