"""Pairs of NICs with what was measured between them, from runs of perftest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.operations.store.records import Run, Sample

QUANTITY = "bandwidth_gbps"
FEWEST = 3
"""Pairs alike that have a median worth the name, where nothing was predicted."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What was measured between two NICs (``SERVER:NIC``), the client first.

    - ``like``: what was run; only pairs of the same are compared.
    - ``color``, ``links``, ``leaves``: the way that packets take, as far as it is known. A link without ports (``leaf1--spine1``) stands for
      parallel cables, of which a hash takes one.
    - ``round``: pairs with the same ran at once; empty where that is not known.
    - ``gbps``: 0 where the run failed; ``expected_gbps``: what was predicted; ``relative``: to what it should be, None where nothing says what.
    """

    src: str
    dst: str
    like: str
    gbps: float
    color: str = ""
    links: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    round: str = ""
    expected_gbps: float | None = None
    relative: float | None = None
    run: str = ""


def pairs_of(runs: Iterable[Run], more: Mapping[str, Mapping[str, str]] | None = None) -> list[Pair]:
    """Runs of perftest that say between which NICs they were (``server`` and ``client`` among their settings).

    ``more``: settings by the id of a run, as ``located`` gives them.
    """
    found = (_pair(run, {**(more or {}).get(run.id, {}), **dict(run.settings)}) for run in runs)
    return compared([one for one in found if one is not None])


def _pair(run: Run, told: Mapping[str, str]) -> Pair | None:
    server, client = told.get("server", ""), told.get("client", "")
    if run.tool != "perftest" or ":" not in server or ":" not in client or server == client:
        return None
    sample = largest(run.samples)
    if sample is None and not run.failures:
        return None
    operation = sample.operation if sample else next((one.operation for one in run.predictions), "")
    size = sample.size_bytes if sample else next((one.size_bytes for one in run.predictions), None)
    expected = next(
        (
            one.value
            for one in run.predictions
            if (one.operation, one.size_bytes, one.quantity) == (operation, size, QUANTITY) and one.value > 0
        ),
        None,
    )
    like = ", ".join(filter(None, (operation, "" if size is None else f"{size} bytes", told.get("memory", ""))))
    return Pair(
        src=client,
        dst=server,
        like=like,
        gbps=sample.value if sample else 0.0,
        color=told.get("color", ""),
        links=tuple(told.get("links", "").split()),
        leaves=tuple(told.get("leaves", "").split()),
        round=f"{told.get('part', '')}/{told['round']}" if "round" in told else "",
        expected_gbps=expected,
        run=run.id,
    )


def largest(samples: Iterable[Sample]) -> Sample | None:
    """The average bandwidth of the largest message: small ones say how quick a NIC posts, not what a way carries."""
    found = [one for one in samples if one.quantity == QUANTITY and isfinite(one.value) and one.value >= 0]
    return max(found, key=lambda one: one.size_bytes or 0, default=None)


def compared(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs beside what they should have: what was predicted where that is known of all alike; else the median of those alike, of as many links."""
    groups: dict[tuple[str, int], list[Pair]] = {}
    predicted: dict[str, bool] = {}
    for one in pairs:
        known = one.expected_gbps is not None and one.expected_gbps > 0
        predicted[one.like] = predicted.get(one.like, True) and known
        groups.setdefault((one.like, len(one.links)), []).append(one)
    usual = {
        key: median(one.gbps for one in several) if len(several) >= FEWEST else 0.0 for key, several in groups.items()
    }

    def beside(one: Pair) -> Pair:
        least = one.expected_gbps if predicted[one.like] else usual[one.like, len(one.links)]
        return replace(one, relative=one.gbps / least if least else None)

    return [beside(one) for one in pairs]
