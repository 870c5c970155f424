"""A job that is a trace, as it is run: beside ``prediction.jobs.plan``, whose jobs follow from a model by formula."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from railweave.prediction.jobs.kernels import gpus
from railweave.prediction.jobs.traces.graph import trace_graph
from railweave.prediction.jobs.traces.read import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.errors import Problem
    from railweave.model.intent.job_file import ReadJobs, TrainingJob
    from railweave.prediction.jobs.graph import Communication, Graph
    from railweave.prediction.jobs.kernels import Gpu
    from railweave.prediction.jobs.traces.trace import Trace


@dataclass(frozen=True)
class Traced:
    """A trace on the GPUs of a job. ``places``: which GPU of the job each of its ranks is on."""

    job: TrainingJob
    trace: Trace
    gpu: Gpu
    places: tuple[int, ...]
    source: str

    @property
    def ranks(self) -> int:
        """GPUs that take part."""
        return len(self.trace.ranks)

    @property
    def flops(self) -> float | None:
        """A trace does not say what its model takes."""
        return None

    @property
    def tokens(self) -> int | None:
        """Nor what it is trained on."""
        return None

    @property
    def peak(self) -> float:
        """What all its GPUs can do in 16 bits, operations a second."""
        return self.gpu.bf16_tflops * 1e12 * self.ranks

    @property
    def about(self) -> str:
        """What it is, for people."""
        return f"{self.trace.nodes:,} nodes of {self.ranks:,} ranks, {self.source}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed of this trace."""
        return self.trace.notes

    def described(self) -> dict[str, Any]:
        """The same for machines."""
        return {"trace": self.source, "gpus": self.ranks, "nodes": self.trace.nodes, "notes": [*self.notes]}

    def graph(self, inside_ps: Callable[[Communication], int | None]) -> Graph:
        """Its operations; ``inside_ps`` as of ``prediction.jobs.build``. Raises ``SpecError``."""
        return trace_graph(self.trace, self.gpu, self.places, inside_ps)


def traced(
    read: ReadJobs, number: int, gpu_name: str, gpu_count: int, servers: Sequence[str]
) -> Traced | list[Problem]:
    """A job of a file that is a trace, on so many GPUs of some servers; or what is wrong with it, with its lines. Raises ``SpecError``, ``OutputError``."""
    job = read.jobs[number]

    def problem(place: str, what: str, fix: str = "") -> Problem:
        return read.document.problem(read.location(number, place), what, fix)

    path, groups = read.beside(job.trace or ""), read.beside(job.trace_groups) if job.trace_groups else None
    if not path.parent.is_dir():
        return [problem("trace", f"there is no folder {path.parent}", "paths count from the job file")]
    trace = read_trace(path, groups)
    each = job.ranks_per_host or gpu_count // len(servers)
    if each > gpu_count // len(servers):
        return [problem("ranks_per_host", f"the job's servers have {gpu_count // len(servers)} GPUs each")]
    if len(trace.ranks) > each * len(servers):
        what = f"the trace has {len(trace.ranks):,} ranks; the job's servers have {each * len(servers):,} GPUs" + (
            " for it" if job.ranks_per_host else ""
        )
        return [problem("trace", what, "name more `hosts`")]
    known = gpus().get(gpu_name)
    if known is None:
        return [problem("gpu", f"nothing is known of the GPU {gpu_name!r}", f"known are {', '.join(gpus())}")]
    given = {one.name: getattr(job.gpu, one.name, None) for one in fields(known)}
    gpu = replace(known, **{name: value for name, value in given.items() if value is not None})
    places = _places(trace, servers, gpu_count // len(servers), each)
    if isinstance(places, str):
        return [problem("trace", places, "name as many `hosts` as the trace was taken on")]
    return Traced(job, trace, gpu, places, job.trace or "")


def _places(trace: Trace, servers: Sequence[str], gpus_each: int, ranks_each: int) -> tuple[int, ...] | str:
    """Where each rank goes: on the server of the name that it ran on, else on the servers in turn; or why it cannot."""
    if not trace.hosts:
        return tuple(rank // ranks_each * gpus_each + rank % ranks_each for rank in range(len(trace.ranks)))
    ran_on = list(dict.fromkeys(host for host, _ in trace.hosts))
    if len(ran_on) > len(servers):
        return f"the trace was taken on {len(ran_on)} servers; the job has {len(servers)}"
    same = {host: servers.index(host) for host in ran_on if host in servers}
    left = iter([number for number in range(len(servers)) if number not in same.values()])
    at = {host: same[host] if host in same else next(left) for host in ran_on}
    if most := next((gpu for _, gpu in trace.hosts if gpu >= gpus_each), None):
        return f"the trace has GPU {most} of a server; the job's servers have {gpus_each}"
    return tuple(at[host] * gpus_each + gpu for host, gpu in trace.hosts)
