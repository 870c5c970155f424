"""How long cables may become: before their optics no longer reach, and before headroom no longer holds what is in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.design.limits.headroom_terms import headroom
from railweave.model.catalog import catalog
from railweave.outputs.report.decisions.statement import Decision, Grid
from railweave.outputs.report.figures import roles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.limits.headroom_terms import Headroom
    from railweave.model.network.devices import Cable
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network

FAR_M = 1000
"""Length beyond which a limit inside a hall is of no interest."""

KINDS = {"server": "server to leaf", "fabric": "switch to switch"}


def cable_lengths_decision(network: Network, fabric: Fabric) -> Decision | None:
    """The margins of each kind of cable inside a site; None where a fabric has none."""
    cables = [one for one in network.cables if one.fabric == fabric.name and not network.between_sites(one)]
    fullest = [one for one in (headroom(network, fabric, role) for role in roles(network, fabric)) if one is not None]
    rows: list[tuple[str, ...]] = []
    tight: list[int] = []
    at_reach: list[str] = []
    for kind, words in KINDS.items():
        mine = [one for one in cables if one.kind == kind]
        if not mine:
            continue
        longest = max(one.length_m for one in mine)
        measured = sum(one.measured for one in mine)
        reach, optic = _reach(mine)
        term = "server" if kind == "server" else "leaf-spine"
        edge = reach is not None and any(not one.measured and one.length_m >= reach for one in mine)
        if edge:
            tight.append(len(rows))
            at_reach.append(words)
        rows.append(
            (
                f"{len(mine):,} x {words}",
                f"{longest:g} m",
                f"{measured:,} of {len(mine):,}",
                f"{reach:g} m ({optic})" if reach is not None else "not known",
                _limit([(one, one.partition_bytes) for one in fullest], term),
                _limit([(one, one.published_bytes) for one in fullest if one.published_bytes is not None], term),
            )
        )
    if not rows:
        return None
    chosen = "optics and headroom fit the lengths of the fabric file or inventory"
    if at_reach:
        chosen = f"{' and '.join(at_reach)}: the planned length is all that the optic reaches. Measure before ordering"
    return Decision(
        "Cable lengths",
        chosen,
        "Beyond its reach a link needs another optic; beyond the other limit the headroom of the fullest switch no longer holds "
        "what arrives after a pause, if all cables of the kind are so long: if the whole packet buffer is shared, and less the dedicated buffers that are published.",
        (("Slack", "lengths are taken as given: patch panels and slack count, and are not added here"),),
        (
            Grid(
                ("Cables", "Longest", "Measured", "Optic reaches", "Headroom holds up to", "Less dedicated buffers"),
                tuple(rows),
                tuple(tight),
                noted=True,
            ),
        ),
    )


def _reach(cables: Sequence[Cable]) -> tuple[float | None, str]:
    """The shortest reach of the optics at the cables' ends, and whose it is."""
    names = {end.optic for one in cables for end in (one.a, one.b)}
    known = [(one.reach_m, name) for name in names if (one := catalog().optics.get(name)) is not None]
    return min(known, default=(None, ""))


def _limit(have: Sequence[tuple[Headroom, int]], kind: str) -> str:
    """The least of what each role's fullest switch allows cables of a kind with so many bytes, and which switch that is."""
    found = [(limit, one.device) for one, size in have if (limit := one.longest_m(kind, size)) is not None]
    if not found:
        return "–"
    metres, device = min(found)
    if metres <= 0:
        return f"no length ({device} is short already)"
    return f"over {FAR_M:,} m" if metres > FAR_M else f"{metres:.0f} m ({device})"
