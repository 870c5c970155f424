"""The rows of a stripe: a server each, or in a short drawing one row for all servers between the first and the last that are alike."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from railweave.outputs.report.figures import span
from railweave.outputs.report.topology.frame import BAR_GAP, BAR_HEIGHT, LEAF_HEIGHT, PAD, nics_of
from railweave.pages.markup import element, number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.network.devices import Server
    from railweave.model.network.fabric import Fabric
    from railweave.outputs.report.topology.frame import Frame

    Row = tuple[Server, ...]  # the servers that share a row: one, or several that are alike

BESIDE = 3
"""Servers of a run of alike ones that keep a row of their own: the first two and the last."""


def rows_of(servers: Sequence[Server], fabric: Fabric, most: int | None) -> list[Row]:
    """The rows of a stripe's servers; where these are more than ``most``, alike neighbors share one. None: a row each."""
    if most is None or len(servers) <= most:
        return [(server,) for server in servers]
    rows: list[Row] = []
    for _, run in groupby(servers, key=lambda one: _alike(one, fabric)):
        several = list(run)
        if len(several) <= BESIDE + 1:
            rows += [(server,) for server in several]
        else:
            rows += [(several[0],), (several[1],), tuple(several[2:-1]), (several[-1],)]
    return rows


def _alike(server: Server, fabric: Fabric) -> tuple[object, ...]:
    nics = nics_of(server, fabric)
    return (server.model, *((nic.name, nic.leaf, nic.rail, nic.tenant) for nic in nics))


def shared_cables(fabric: Fabric, frame: Frame, left: float, place: tuple[int, int], row: Row) -> str:
    """One cable for each NIC that the servers of a row have; ``place`` as of ``server_bar``."""
    at, rows = place
    cables: list[str] = []
    for nic in nics_of(row[0], fabric):
        x = number(frame.cable_x(left, nic.rail, at, rows))
        path = f"M{x} {number(frame.leaf_top + LEAF_HEIGHT - 2)}V{number(_top(frame, at))}"
        said = f"{len(row)} cables from {nic.leaf} to {nic.name} of {_names(row)}"
        cables.append(
            element("g", element("title", text(said)), element("path", d=path, class_="plain line"), class_="cable")
        )
    return "".join(cables)


def shared_bar(fabric: Fabric, frame: Frame, left: float, place: tuple[int, int], row: Row) -> str:
    """The bar of several servers that are alike: how many there are, and how many cables come from each leaf."""
    top = _top(frame, place[0])
    middles = [frame.rail_x(left, nic.rail) + frame.column / 2 for nic in nics_of(row[0], fabric)]
    return element(
        "g",
        element("title", text(f"{len(row)} servers like the one above: {_names(row)}")),
        element(
            "rect",
            x=left + PAD - 6,
            y=top,
            width=frame.stripe_width - 2 * PAD + 10,
            height=BAR_HEIGHT,
            rx=7.0,
            class_="box",
            stroke_dasharray="4 3",
        ),
        element("text", text(f"{len(row)} more"), x=left + PAD + 4, y=top + 19, class_="name"),
        *(element("text", text(f"x {len(row)}"), x=x, y=top + 18.5, class_="muted small middle") for x in middles),
        class_="device servers",
    )


def _top(frame: Frame, place: int) -> float:
    return frame.bars_top + place * (BAR_HEIGHT + BAR_GAP)


def _names(row: Row) -> str:
    return span([server.name for server in row])
