"""The runs that a suite requests, before anything is predicted."""

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
    - ``alike``: a value that is equal for runs that perform the same with the same test. They share a prediction.
    - ``gbps``: the total speed of a server's NICs in 10^9 bit/s. Without a prediction it determines the expected
      duration.
    - ``places``: for perftest, the indexes of the client's and the server's address on their NICs.
    - ``lb``: the load balancing of switches, if it differs from the design (``railweave sim --lb``).
    - ``slope``: True if the slope of times over sizes is to be predicted too.
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
