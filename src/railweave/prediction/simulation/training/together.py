"""Several jobs at the same time on one network: each repeats its step, and they share the links that they meet on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.prediction.jobs.graph import COMPUTE, Graph, Op
from railweave.prediction.jobs.run import Times, run
from railweave.prediction.simulation.training.sharing import Shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from railweave.prediction.simulation.training.loads import Carried

MOST_STEPS = 40
"""Of a job that runs beside a longer one."""


@dataclass(frozen=True)
class Beside:
    """A job: the graph of its step, and when its first one begins."""

    graph: Graph
    start_ps: int


def together(
    jobs: Sequence[Beside],
    known: Sequence[Sequence[Carried]],
    load: NDArray[np.float64] | None,
    alone_ps: Sequence[int],
) -> list[tuple[Times, int]]:
    """Steps of all jobs at the same time: of each the times of its last one, and how long one takes.

    ``known``: what each communication of each job carries; ``load``: the part of ports that traffic of others asks for; ``alone_ps``: steps by themselves.
    Jobs repeat their steps until the longest has made two, so that the others meet every part of it.
    """
    until = 2 * max(alone_ps) + max(job.start_ps for job in jobs)
    whole = Graph(sum(job.graph.classes for job in jobs))
    begins: list[list[int]] = []
    classes = communications = 0
    for job, alone in zip(jobs, alone_ps, strict=True):
        steps = min(MOST_STEPS, max(2, -(-(until - job.start_ps) // max(alone, 1))))
        own: list[int] = []
        before: dict[int, int] = {}
        if job.start_ps:
            for number in range(job.graph.classes):
                before[number] = whole.add(Op(number + classes, COMPUTE, "start", job.start_ps, ()))
        for _ in range(steps):
            own.append(len(whole.ops))
            begin, following = len(whole.ops), dict(before)
            for op in job.graph.ops:
                after = tuple(one + begin for one in op.after)
                after = after or ((before[op.rank_class],) if op.rank_class in before else ())
                named = None if op.communication is None else op.communication + communications
                number = whole.add(replace(op, rank_class=op.rank_class + classes, after=after, communication=named))
                if op.stream == COMPUTE:
                    following[op.rank_class] = number
            before = following
        begins.append(own)
        whole.communications += job.graph.communications
        classes += job.graph.classes
        communications += len(job.graph.communications)
    times = run(whole, Shared([one for own in known for one in own], load))
    return [_last_step(times, len(job.graph.ops), own) for job, own in zip(jobs, begins, strict=True)]


def _last_step(times: Times, count: int, begins: Sequence[int]) -> tuple[Times, int]:
    """The last step of a job, from its beginning, and the mean of all but the first."""
    ends = [max(times.end_ps[begin : begin + count]) for begin in begins]
    first, last = ends[-2], begins[-1]
    begin = tuple(max(one - first, 0) for one in times.begin_ps[last : last + count])
    end = tuple(max(one - first, 0) for one in times.end_ps[last : last + count])
    return Times(begin, end), (ends[-1] - ends[0]) // (len(begins) - 1)
