"""Choose the number of queue pairs per connection by predicting some collectives with each number."""

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
"""One that posting decides, one that links decide, one that meets in queues: the size of the whole job, and the most that is run."""

SERVERS = 6
"""Number of servers whose predictions take a second in all; with eight they take twice as long, for the same choice."""


@dataclass(frozen=True)
class QueuePairs:
    """The number that was chosen, and lines that say what each number gets."""

    count: int
    lines: tuple[str, ...]


def queue_pairs(network: Network) -> QueuePairs:
    """Of 1, 2, 4, … up to one per path color, the number with which the product of the times is least.

    They are predicted on up to six of the servers, with at most as much for each peer as in the whole; of the first tenant's, where there
    are tenants. Raises ``InputError``.
    """
    with in_force(network.catalog):
        return _chosen(network)


def _chosen(network: Network) -> QueuePairs:
    tenants = [tenant.name for fabric in network.fabrics for tenant in fabric.tenants]
    bed = bed_of(network, tenant=tenants[0] if tenants else None)
    colors = bed.fabric.addresses.paths
    counts = [1 << power for power in range(colors.bit_length()) if 1 << power < colors] + [colors]
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
    lines = [
        f"queue pairs: {best} a connection, by prediction on {servers} of {len(bed.job.servers)} servers ({asked})"
    ]
    lines += [f"  {count}: {', '.join(f'{time:,.0f} us' for time in times[count])}" for count in counts]
    lines.append(
        "  what a post costs decides small sizes: a constant that was fitted on two published rows, and compared up to "
        f"{FITTED_QPS} queue pairs (docs/validation.md)"
    )
    if best < colors:
        lines.append(
            f"  fewer than path colors ({colors}), which designs warn of (job-queue-pairs): one long connection then leaves uplinks empty"
        )
    return QueuePairs(best, tuple(lines))
