"""Which pluggable or cable assembly an end takes: the one with the shortest reach that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.design.context import Context
    from railweave.spec.document import Key

UNKNOWN = "unlisted"


def choose(
    context: Context,
    location: Iterable[Key],
    asked: str | None,
    cage: str,
    channels: int,
    speed_gbps: int,
    length_m: float,
    *,
    copper: bool = True,
) -> str:
    """The catalog name of the optic for one end; ``asked`` wins where it fits. Notes a problem where it does not.

    ``channels`` is how many links the port carries; copper assemblies join a switch and a NIC, so leaf-spine cables
    leave them out.
    """
    optics = context.catalog.optics
    if asked is not None:
        optic = optics.get(asked)
        if optic is None:
            context.problem(
                location, f"optic {asked!r} is not in the catalog", f"known optics: {', '.join(sorted(optics))}"
            )
        elif optic.reach_m < length_m:
            context.problem(
                location,
                f"optic {asked} reaches {optic.reach_m:g} m, the cable is {length_m:g} m",
                "choose one with more reach",
            )
        elif cage not in optic.cages or optic.channels != channels or optic.speed_gbps != speed_gbps:
            context.problem(
                location,
                f"optic {asked} does not fit a {cage} port of {channels} x {speed_gbps}G",
                "leave it empty to have one chosen",
            )
        return asked
    fits = [
        (optic.reach_m, name)
        for name, optic in optics.items()
        if cage in optic.cages
        and optic.channels == channels
        and optic.speed_gbps == speed_gbps
        and optic.reach_m >= length_m
        and (copper or optic.kind != "dac")
    ]
    if fits:
        return min(fits)[1]
    context.finding(
        "optic-unlisted",
        "warning",
        f"{channels} x {speed_gbps}G in {cage}",
        location,
        f"the catalog lists no optic for a {cage} port of {channels} x {speed_gbps}G over {length_m:g} m",
        "the bill of materials cannot name it",
        "give one with `optic:`, or add it to the catalog",
    )
    return UNKNOWN
