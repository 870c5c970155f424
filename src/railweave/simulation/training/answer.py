"""What training jobs get: time of a step, what part of it GPUs compute, and what they wait for; as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from railweave.jobs.graph import COMPUTE
from railweave.jobs.run import exposed

if TYPE_CHECKING:
    from railweave.jobs.graph import Communication, Graph
    from railweave.jobs.plan import Planned
    from railweave.jobs.run import Times
    from railweave.jobs.traces.traced import Traced
    from railweave.simulation.model.fabric import PacketFabric
    from railweave.simulation.training.checkpoint import Written
    from railweave.simulation.training.loads import Carried

KINDS = {
    "TP": "tensor parallel",
    "CP": "context parallel",
    "EP": "experts",
    "PP": "pipeline",
    "DP": "replicas",
    "EDP": "replicas of experts",
    "read": "data from storage",
    "bubble": "waiting for other stages",
}
OF_TRACES = KINDS | {"bubble": "processors and other ranks"}
"""The same of traces, which have no stages."""


@dataclass(frozen=True)
class JobResult:
    """What a job gets. ``carried``: by communication of the graph."""

    plan: Planned | Traced
    graph: Graph
    times: Times
    carried: tuple[Carried, ...]
    step_ps: int
    """A step, while the other jobs run; ``times`` has the operations of one."""
    alone_ps: int
    """A step with nobody else on the network."""
    checkpoint: Written | None = None
    """Its state while it is written to storage."""

    @property
    def mfu(self) -> float | None:
        """What part of the GPUs' peak the model's own operations take, without recomputing, attention counted whole. None of a trace, which does not say."""
        if self.plan.flops is None:
            return None
        return self.plan.flops / (self.step_ps / 1e12) / self.plan.peak

    @property
    def tokens_per_second(self) -> float | None:
        """Of the whole job; None of a trace."""
        if self.plan.tokens is None:
            return None
        return self.plan.tokens / (self.step_ps / 1e12)

    @cached_property
    def parts(self) -> dict[str, float]:
        """What GPUs do in a step, by kind, ps: mean over pipeline stages. Sums to the step."""
        by_class = exposed(self.graph, self.times)
        kinds = dict.fromkeys([COMPUTE, *KINDS, *(kind for one in by_class for kind in one)])
        scale = self.step_ps / max(self.times.step_ps, 1)
        return {kind: sum(one.get(kind, 0) for one in by_class) / len(by_class) * scale for kind in kinds}

    def name_of(self, kind: str) -> str:
        """A part of a step for people; ranks of a trace wait for processors too."""
        return OF_TRACES.get(kind, kind) if self.plan.flops is None else KINDS.get(kind, kind)

    @property
    def exposed_ps(self) -> float:
        """How long GPUs wait for communication: what a network without limits would save at most, but for bubbles that it lengthens."""
        return sum(time for kind, time in self.parts.items() if kind not in {COMPUTE, "bubble"})

    @property
    def wasted_gpus(self) -> float:
        """GPUs that wait for communication, of all that the job has."""
        return self.plan.ranks * self.exposed_ps / self.step_ps

    def slowest(self) -> list[tuple[Communication, Carried]]:
        """What is sent between servers, each kind, collective and size once: of the stage where it takes longest."""
        found: dict[tuple[str, str, int], tuple[Communication, Carried]] = {}
        for one, carried in zip(self.graph.communications, self.carried, strict=True):
            key = one.kind, one.collective, one.size_bytes
            if key not in found or carried.alone_ps > found[key][1].alone_ps:
                found[key] = one, carried
        return list(found.values())

    def to_text(self) -> str:
        """Lines for people."""
        step = max(self.step_ps, 1)
        tokens, mfu = self.tokens_per_second, self.mfu
        lines = [
            f"{self.plan.job.name or 'job'}: {self.plan.about}",
            f"  step           {_shown(step)}" + self._slower(),
            *([] if tokens is None else [f"  tokens         {tokens:,.0f} a second"]),
            *([] if mfu is None else [f"  MFU            {mfu:.1%}"]),
            f"  computing      {self.parts[COMPUTE] / step:.1%} of the step",
        ]
        lines += [
            f"  {('waiting: ' + self.name_of(kind)):<34} {_shown(time):>12}  {time / step:.1%}"
            for kind, time in self.parts.items()
            if kind != COMPUTE and time
        ]
        if self.exposed_ps:
            lines.append(f"  GPUs that wait for communication: {self.wasted_gpus:.1f} of {self.plan.ranks}")
        lines += [] if self.checkpoint is None else self.checkpoint.to_text(self.alone_ps)
        lines += [f"  {text}" for text in self._table()]
        lines += [f"  note: {note}" for note in self.plan.notes]
        return "\n".join(lines)

    def _slower(self) -> str:
        more = self.step_ps / self.alone_ps - 1
        return "" if self.step_ps == self.alone_ps else f", alone {_shown(self.alone_ps)} ({more:+.1%})"

    def _table(self) -> list[str]:
        rows = [
            (
                one.kind,
                one.collective,
                f"{one.size_bytes:,}",
                str(len(one.groups)),
                str(len(one.groups[0])),
                f"{found.alone_ps / 1e6:,.1f} us",
                found.bound,
            )
            for one, found in self.slowest()
        ]
        if not rows:
            return []
        head = ("kind", "collective", "bytes", "groups", "ranks", "alone", "bound by")
        widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
        return [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in [head, *rows]
        ]

    def to_json(self) -> dict[str, Any]:
        """The documented object (docs/jobs.md)."""
        return {
            "name": self.plan.job.name,
            **self.plan.described(),
            "step_ms": self.step_ps / 1e9,
            "alone_ms": self.alone_ps / 1e9,
            "tokens_per_second": self.tokens_per_second,
            "mfu": self.mfu,
            "parts_ms": {kind: time / 1e9 for kind, time in self.parts.items()},
            "gpus_waiting_for_communication": self.wasted_gpus,
            **({} if self.checkpoint is None else {"checkpoint": self.checkpoint.to_json()}),
            "communications": [
                {
                    "kind": one.kind,
                    "stage": one.rank_class,
                    "collective": one.collective,
                    "size_bytes": one.size_bytes,
                    "groups": len(one.groups),
                    "ranks": len(one.groups[0]),
                    "alone_us": found.alone_ps / 1e6,
                    "bound_by": found.bound,
                    "algorithm": found.algorithm,
                }
                for one, found in zip(self.graph.communications, self.carried, strict=True)
            ],
        }


def _shown(time_ps: float) -> str:
    """A time for people: of traces of single collectives, which take less than a millisecond, in microseconds."""
    return f"{time_ps / 1e6:.1f} us" if time_ps < 1e9 else f"{time_ps / 1e9:.1f} ms"


@dataclass(frozen=True)
class TrainingPrediction:
    """What the jobs of a file get on a network."""

    network: str
    jobs: tuple[JobResult, ...]
    fabric: PacketFabric
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether everything that was sent arrives."""
        return all(one.complete for job in self.jobs for one in job.carried)

    def to_text(self) -> str:
        """Lines for people."""
        return "\n\n".join(job.to_text() for job in self.jobs)

    def to_json(self) -> dict[str, Any]:
        """The documented object (docs/jobs.md)."""
        return {
            "network": self.network,
            "complete": self.complete,
            "jobs": [job.to_json() for job in self.jobs],
            "notes": list(self.notes),
        }
