"""A run as a suite asks for it, before anything is predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from railweave.operations.bench.plan import NcclTests, Perftest


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run.

    - ``name``, ``part``, ``why``, ``test``, ``round``, ``links``, ``needs``: as of ``PlannedRun``.
    - ``alike``: runs of the same test with an equal value get the same, so that one prediction does for all of them.
    - ``gbps``: what the NICs of a server take together, 10^9 bit/s: how long a run takes where nothing is predicted.
    - ``places``: of perftest, the place of the two addresses among those of their NICs: the client's, the server's.
    - ``lb``: how switches share, where it is not as designed (``railweave sim --lb``).
    - ``slope``: whether the line through times over sizes is wanted too.
    """

    name: str
    part: str
    why: str
    test: Perftest | NcclTests
    round: int
    alike: Hashable
    gbps: float
    links: tuple[str, ...] = ()
    places: tuple[int, int] = (0, 0)
    lb: str | None = None
    needs: str = ""
    slope: bool = False
