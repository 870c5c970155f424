"""The time that a checkpoint costs while a job trains: the time to write it, and the longer steps meanwhile.

A checkpoint holds the state between two steps. With ``overlap``, steps continue and share links with the checkpoint
until it is written. The first part of the writing is simulated, up to two steps, and the rest is assumed to continue at
the same pace. Without ``overlap``, GPUs wait until the checkpoint is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.json_values import JsonObject
from railweave.prediction.jobs.graph import COMPUTE, Communication, Graph, Op
from railweave.prediction.jobs.run import run
from railweave.prediction.simulation.training.storage import SharedLinks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.intent.job_file import Checkpoint
    from railweave.prediction.simulation.training.loads import CarriedCommunication

MOST_STEPS_RUN = 2
"""The largest number of steps for which the writing of a checkpoint is simulated. The rest is assumed to continue at the same pace."""


@dataclass(frozen=True)
class CheckpointCost(JsonObject):
    """The cost of a checkpoint of ``size_bytes``: the state of a job, written to storage while the job trains.

    - ``alone_ps``: the time to write the checkpoint without other traffic on the network.
    - ``time_ps``: the time to write the checkpoint while the job trains.
    - ``step_ps``: the time of a step while the checkpoint is written.
    - ``steps``: the number of steps that run during the writing.
    - ``every``: the number of steps from one checkpoint to the next.
    - ``cost_ps``: the extra time of all steps between two checkpoints together.
    - ``fabric``: the fabric that carries the checkpoint.
    - ``bound``: the bottleneck of writing.
    """

    JSON = (
        "bytes=size_bytes",
        "fabric",
        "servers",
        "bound_by=bound",
        "alone_s=alone_ps/1e12",
        "time_s=time_ps/1e12",
        "step_ms=step_ps/1e9",
        "steps",
        "every_steps=every",
        "cost_ms_per_step=each_ps/1e9",
        "late",
    )

    size_bytes: int
    servers: int
    fabric: str
    bound: str
    alone_ps: int
    time_ps: int
    step_ps: int
    steps: float
    every: float
    cost_ps: int

    @property
    def each_ps(self) -> float:
        """The cost of the checkpoint per step, in ps: the cost divided by the number of steps from one checkpoint to the next.

        If the next checkpoint is due before this one is written, checkpoints follow each other without a pause.
        """
        return self.cost_ps / max(self.every, self.steps)

    @property
    def late(self) -> bool:
        """Return True if the next checkpoint is due before this one is written."""
        return self.steps > self.every

    @property
    def summary(self) -> str:
        """One or two sentences about the size of the checkpoint, the time to write it, and its effect on steps."""
        return (
            f"A checkpoint of {self.size_bytes / 1e9:,.1f} GB goes over {self.fabric} to {self.servers} storage servers in {self.time_ps / 1e12:,.2f} s, "
            f"{self.alone_ps / 1e12:,.2f} s alone, bound by {self.bound}; a step meanwhile takes {self.step_ps / 1e9:,.1f} ms. "
            + (
                "The next checkpoint is due before this one is written: write fewer checkpoints, or add storage."
                if self.late
                else ""
            )
        )

    def to_text(self, plain_ps: int) -> list[str]:
        """Return lines for people about the checkpoint and its cost. ``plain_ps`` is the time of a step without a checkpoint."""
        to = f"{self.size_bytes / 1e9:,.1f} GB over {self.fabric} to {self.servers} storage servers"
        lines = [
            f"  checkpoint     {to} in {self.time_ps / 1e12:,.2f} s, alone {self.alone_ps / 1e12:,.2f} s: {self.bound}",
            (
                f"                 a step while it is written {self.step_ps / 1e9:,.1f} ms; once in {max(self.every, self.steps):,.0f} steps it costs "
                f"{self.each_ps / 1e9:,.2f} ms a step ({self.each_ps / max(plain_ps, 1):.2%})"
            ),
        ]
        if self.late:
            lines.append(
                "                 the next checkpoint is due before this one is written: write fewer checkpoints, or add storage"
            )
        return lines


def written(
    graph: Graph,
    known: Sequence[CarriedCommunication],
    step_ps: int,
    to: CarriedCommunication,
    wanted: Checkpoint,
    size_bytes: int,
    servers: int,
    fabric: str,
) -> CheckpointCost:
    """Return the cost of a checkpoint of a job.

    - ``graph``, ``known``: the graph of the job's step, and the loads of its communications.
    - ``step_ps``: the time of a step without a checkpoint.
    - ``to``: the load of writing the checkpoint without other traffic on the network.
    - ``wanted``: the checkpoint settings of the job file.
    - ``size_bytes``, ``servers``, ``fabric``: the checkpoint's size, the number of servers that write it, and the fabric that
      carries it.
    """
    every = wanted.steps(step_ps)
    if not wanted.overlap:
        cost, time, during, steps = wanted.snapshot + to.alone_ps, to.alone_ps, step_ps + to.alone_ps, 1.0
    else:
        part = min(1.0, MOST_STEPS_RUN * step_ps / to.alone_ps)
        run_steps = max(2, -(-2 * round(to.alone_ps * part) // max(step_ps, 1)) + 1)
        plain = run(_repeated(graph, run_steps), SharedLinks(known)).step_ps
        sample = replace(to, alone_ps=max(round(to.alone_ps * part), 1))
        both = _repeated(graph, run_steps)
        communication = both.communication(Communication("checkpoint", graph.classes, "send-recv", size_bytes, ()))
        number = both.add(Op(graph.classes, "checkpoint", "checkpoint", 0, (), communication))
        times = run(both, SharedLinks([*known, sample]))
        ends = max(end for place, end in enumerate(times.end_ps) if place != number)
        time = round(times.end_ps[number] / part)
        more = max(ends - plain, 0) / part
        steps = max(time - more, 0) / max(step_ps, 1)
        during = step_ps + round(more / max(steps, 1.0))
        cost = wanted.snapshot + round(more)
    return CheckpointCost(size_bytes, servers, fabric, to.bound, to.alone_ps, time, during, steps, every, cost)


def _repeated(graph: Graph, steps: int) -> Graph:
    """Return the graph of several steps, one after another. It has one more rank class without operations, for the checkpoint."""
    whole = Graph(graph.classes + 1)
    for communication in graph.communications:
        whole.communication(communication)
    before: dict[int, int] = {}
    for _ in range(steps):
        begin, following = len(whole.ops), dict(before)
        for op in graph.ops:
            after = tuple(earlier + begin for earlier in op.after)
            after = after or ((before[op.rank_class],) if op.rank_class in before else ())
            number = whole.add(replace(op, after=after))
            if op.stream == COMPUTE:
                following[op.rank_class] = number
        before = following
    return whole
