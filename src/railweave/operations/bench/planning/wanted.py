"""A run that a suite requests, before any prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from railweave.operations.bench.plan import NcclTests, Perftest


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A requested run.

    - ``name``, ``part``, ``why``, ``test``, ``round``, ``links``, ``needs``: see ``PlannedRun``.
    - ``alike``: runs of the same test with equal values perform the same, so they share a prediction.
    - ``gbps``: the total speed of a server's NICs in 10^9 bit/s. Without a prediction it determines the expected duration.
    - ``places``: for perftest, the indices of the client's and the server's address on their NICs.
    - ``lb``: the load balancing of switches, if it differs from the design (``railweave sim --lb``).
    - ``slope``: whether to predict the slope of times over sizes too.
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
