"""What is asked of the simulator for a plan: each distinct question once, however many runs have its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.operations.bench.plan import NcclTests, Perftest

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping
    from typing import Any

    from railweave.operations.bench.planning.wanted import Wanted

BYTES_A_NUMBER = 4
"""nccl-tests measures ``float`` where nothing else is asked for."""

MOST_PACKET_HOPS = 60_000_000
"""Beyond, by the estimate of ``sim``, flows are run: packets would take more than about ten seconds for a number of a plan, which has hundreds."""


@dataclass(frozen=True, slots=True)
class Question:
    """A number that is asked for: of a run (any of those that are alike), at a size."""

    run: Wanted
    size_bytes: int

    @property
    def key(self) -> Hashable:
        """Equal questions have equal keys."""
        test = self.run.test
        if isinstance(test, Perftest):
            own: Hashable = (test.program, test.qps, test.both_ways)
        else:
            own = (test.collective, test.per_host, test.gpus, test.variables, test.tenant)
        return (own, self.size_bytes, self.run.alike, self.run.lb)


def sizes_of(test: Perftest | NcclTests) -> Iterator[int]:
    """The sizes that a test measures, as it prints them; one that comes to nothing is left out."""
    if isinstance(test, Perftest):
        yield from (test.size_bytes,) if test.size_bytes is not None else (1 << power for power in range(1, 24))
        return
    size = test.first_bytes
    while size <= test.last_bytes:
        if printed := printed_size(test.collective, size, len(test.hosts) * test.per_host * test.gpus):
            yield printed
        size *= test.factor


def printed_size(collective: str, size_bytes: int, ranks: int) -> int:
    """The size that nccl-tests makes of one that is asked for (its ``all_gather.cu``, ``reduce_scatter.cu``, ``alltoall.cu``).

    Where ranks have parts of the data, each has as many whole 16 bytes.
    """
    if collective in {"all-gather", "reduce-scatter", "all-to-all"}:
        return size_bytes // ranks // 16 * 16 * ranks
    return size_bytes // BYTES_A_NUMBER * BYTES_A_NUMBER


def options(question: Question) -> Mapping[str, Any]:
    """The question of a collective as ``railweave sim`` is asked it."""
    run, test = question.run, question.run.test
    if not isinstance(test, NcclTests):
        raise TypeError("perftest is no collective")
    return {
        "collective": test.collective,
        "size": str(question.size_bytes),
        "nccl": dict(test.variables),
        "lb": run.lb,
        "hosts": ",".join(test.hosts),
        "per_host": test.per_host,
        "tenant": test.tenant or None,
        "engine": "auto",
        "most_hops": MOST_PACKET_HOPS,
    }
