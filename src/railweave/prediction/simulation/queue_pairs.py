"""The choice of the number of queue pairs per connection, by predictions of some collectives with each possible number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from railweave.model.catalog import in_force
from railweave.prediction.collectives.channels import FITTED_QPS
from railweave.prediction.collectives.program import written
from railweave.prediction.simulation.agreement import small_case
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import bed_of

if TYPE_CHECKING:
    from railweave.model.network.model import Network

QUESTIONS = (("all-gather", 64 << 20, 6 << 20), ("all-reduce", 1 << 30, 96 << 20), ("all-to-all", 256 << 20, 24 << 20))
"""The collectives to predict, as (name, size in bytes for the whole job, largest size in bytes that is simulated).

The time of the first is limited by posting, of the second by links, and of the third by queueing.
"""

SERVERS = 6
"""The largest number of servers for these predictions. With this number, all predictions together take a second.

With eight servers they take twice as long and give the same choice.
"""


MOST = 8
"""The largest number of queue pairs that is tried if load balancing has no path colors (classes of uplinks)."""


@dataclass(frozen=True)
class QueuePairs:
    """The chosen number of queue pairs (``count``), and a line of text for each number that was tried, with its predicted times."""

    count: int
    lines: tuple[str, ...]


def queue_pairs(network: Network) -> QueuePairs:
    """Return the number of queue pairs for which the product of the predicted times of all collectives is the lowest.

    The numbers tried are 1, 2, 4, … up to one per path color (class of uplinks), or 8 without path colors. The predictions use up to six
    servers, with at most as many bytes per peer as in the whole job. If there are tenants, they use servers of the first tenant. Raises the
    errors of ``predict``.
    """
    with in_force(network.catalog):
        return _chosen(network)


def _chosen(network: Network) -> QueuePairs:
    tenants = [tenant.name for fabric in network.fabrics for tenant in fabric.tenants]
    bed = bed_of(network, tenant=tenants[0] if tenants else None)
    colors = bed.fabric.addresses.paths
    most = colors if colors > 1 else MOST
    counts = [1 << power for power in range(most.bit_length()) if 1 << power < most] + [most]
    times: dict[int, list[float]] = {count: [] for count in counts}
    cases = [(name, small_case(bed, size, 0, SERVERS), most) for name, size, most in QUESTIONS]
    cases = [(name, replace(case, size_bytes=min(case.size_bytes, most))) for name, case, most in cases]
    for name, case in cases:
        for count in counts:
            prediction = predict(network, name, case.size_bytes, qps=count, bed=case.bed)
            times[count].append(prediction.time_ps / 1e6)
    best = min(counts, key=lambda count: prod(times[count]))
    servers = len(cases[0][1].bed.job.servers)
    asked = ", ".join(f"{name} of {written(case.size_bytes)}" for name, case in cases)
    lines = [f"queue pairs: {best} per connection, predicted on {servers} of {len(bed.job.servers)} servers ({asked})"]
    lines += [f"  {count}: {', '.join(f'{time:,.0f} us' for time in times[count])}" for count in counts]
    lines.append(
        "  small sizes depend on the time per post: a constant that was fitted to two published results, and compared up to "
        f"{FITTED_QPS} queue pairs (docs/validation.md)"
    )
    if best < colors:
        lines.append(
            f"  fewer than path colors ({colors}), so the design reports job-queue-pairs: one long connection leaves uplinks unused"
        )
    return QueuePairs(best, tuple(lines))
