"""The table of a campaign: what was predicted, what the lab measured, what the network did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.operations.deploy.campaign.carrying import Result

HEAD = ("broken", "predicted", "lab", "measured", "whole again")


def rows(results: Sequence[Result], lab: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each turn, under ``HEAD``. ``lab`` are the objects that ``lab fault`` prints, in the same order."""
    return [
        (
            one.planned.turn.name,
            one.planned.predicted.line(),
            _lab(lab[place]) if place < len(lab) else "-",
            one.seen.line() + ("" if one.drops is None else f"; switches dropped {one.drops:,}"),
            "; ".join(
                filter(None, ["; ".join(one.wrong[:2]) if one.back_s is None else f"{one.back_s:.0f} s", one.note])
            ),
        )
        for place, one in enumerate(results)
    ]


def _lab(one: Mapping[str, Any]) -> str:
    """What ``lab fault`` measured, in a cell."""
    switch = one.get("switch_s")
    time = "it did not switch" if switch is None else f"{switch:.2f} s to switch"
    return f"{one['lost']:,} of {one['sent']:,} lost, {time}; {one['kept']:,} of {one['asked']:,} kept a path"
