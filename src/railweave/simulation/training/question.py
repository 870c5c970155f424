"""The training jobs of a file on a network: their graphs, run side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.errors import InputError
from railweave.intent.job_file import read_jobs
from railweave.jobs.build import build
from railweave.jobs.graph import COMPUTE, Graph, Op
from railweave.jobs.plan import Planned, planned
from railweave.jobs.run import Times, run
from railweave.jobs.traces.traced import Traced, traced
from railweave.network.status import lost_nics, present
from railweave.simulation.conditions import bed_of, conditions_of
from railweave.simulation.engines.flows import FLOW_NOTE
from railweave.simulation.job import job_of
from railweave.simulation.model.outages import Timeline
from railweave.simulation.settings import texts
from railweave.simulation.training.answer import JobResult, TrainingPrediction
from railweave.simulation.training.loads import Carried, Placed, carried, nccl_of
from railweave.simulation.training.sharing import Shared
from railweave.simulation.training.storing import READ, StorageOf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from railweave.design.fault_targets import FaultTarget
    from railweave.errors import Problem
    from railweave.intent.job_file import ReadJobs
    from railweave.network.model import Network
    from railweave.simulation.conditions import Bed


@dataclass(frozen=True)
class _Job:
    plan: Planned | Traced
    placed: Placed
    graph: Graph
    reads: Carried | None = None


def predict_training(
    network: Network,
    path: Path,
    *,
    changes: Mapping[str, str] | None = None,
    lb: str | None = None,
    qps: int | None = None,
    settings: Mapping[str, str] | None = None,
    faults: Sequence[FaultTarget] = (),
    whole: Network | None = None,
    progress: Callable[[str], None] | None = None,
) -> TrainingPrediction:
    """What a step of each job of a file takes on a network while the others run too.

    ``changes``: fields of all jobs in place of those of the file, by path (``parallel.tensor``). ``lb``, ``settings``: as of ``predict``; ``qps``: queue pairs per connection of jobs that say none. ``faults`` have happened before, and
    routes have followed. ``whole``: the network with fabrics of storage too, where ``network`` is one of several. Raises ``InputError``, with lines of the file.
    """
    say = progress or _nothing
    read = read_jobs(path, changes)
    say("making the network ready")
    bed = bed_of(network, lb, tenant=read.jobs[0].tenant)
    timeline = _after(bed, faults)
    jobs = [_ready(network, bed, read, number, qps, timeline, settings or {}) for number in range(len(read.jobs))]
    storage = [StorageOf(whole or network, read, number, lb) for number in range(len(read.jobs))]
    jobs = [replace(job, reads=own.add_reads(job.placed, job.graph)) for job, own in zip(jobs, storage, strict=True)]
    known = _sent(jobs, say)
    say(f"running {sum(len(job.graph.ops) for job in jobs):,} operations of a step")
    alone = [run(job.graph, Shared(own)) for job, own in zip(jobs, known, strict=True)]
    steps = [(times, times.step_ps) for times in alone]
    if len(jobs) > 1:
        say("running the jobs together")
        steps = _together(jobs, known, [times.step_ps for times in alone])
    checkpoints = [
        one.checkpoint(job.placed, job.plan, job.graph, own, by_itself.step_ps)
        for one, job, own, by_itself in zip(storage, jobs, known, alone, strict=True)
    ]
    results = [
        JobResult(job.plan, job.graph, times, tuple(own), step, by_itself.step_ps, checkpoint=checkpoint)
        for job, own, (times, step), by_itself, checkpoint in zip(jobs, known, steps, alone, checkpoints, strict=True)
    ]
    return TrainingPrediction(network.name, tuple(results), bed.fabric, (FLOW_NOTE, *bed.fabric.notes))


MOST_STEPS = 40
"""Of a job that runs beside a longer one."""


def _nothing(_: str) -> None:
    """Say nothing."""


def _after(bed: Bed, faults: Sequence[FaultTarget]) -> Timeline:
    """The network after faults have happened and routes have followed."""
    found = conditions_of(bed, None, faults, 0).timeline if faults else Timeline()
    return found.since(max(found.moments)) if found.moments else found


def _ready(
    network: Network,
    bed: Bed,
    read: ReadJobs,
    number: int,
    qps: int | None,
    timeline: Timeline,
    settings: Mapping[str, str],
) -> _Job:
    job = read.jobs[number]
    try:
        own, hosts = job_of(present(network), bed.fabric.wiring, job.tenant, job.hosts, lost=lost_nics(network))
    except InputError as error:
        raise InputError([_at(read, number, problem) for problem in error.problems]) from None
    if job.trace is None:
        plan = planned(read, number, own.servers[0].gpu, own.ranks)
    else:
        plan = traced(read, number, own.servers[0].gpu, own.ranks, [server.name for server in own.servers])
    if isinstance(plan, list):
        raise InputError(plan)
    colors = int((bed.fabric.addresses.places >= 0).sum(axis=1).max())
    over = job.qps or qps or network.hosts.job.qps_per_connection or colors
    placed = Placed(bed.fabric, own, hosts, nccl_of(texts(job.nccl), own, over, colors), timeline, settings)
    return _Job(plan, placed, plan.graph(placed.inside) if isinstance(plan, Traced) else build(plan, placed.inside))


def _at(read: ReadJobs, number: int, problem: Problem) -> Problem:
    return read.document.problem(read.location(number, "hosts"), problem.what, problem.fix)


def _sent(jobs: Sequence[_Job], say: Callable[[str], None]) -> list[list[Carried]]:
    """What each communication of each job carries."""
    total = sum(len(job.graph.communications) for job in jobs)
    found: list[list[Carried]] = []
    for job in jobs:
        own: list[Carried] = []
        for one in job.graph.communications:
            number = sum(map(len, found)) + len(own) + 1
            say(f"communication {number} of {total}: {one.kind} {one.collective} of {one.size_bytes:,} bytes")
            own.append(job.reads if one.kind == READ and job.reads is not None else carried(job.placed, one))
        found.append(own)
    return found


def _together(
    jobs: Sequence[_Job], known: Sequence[Sequence[Carried]], alone_ps: Sequence[int]
) -> list[tuple[Times, int]]:
    """Steps of all jobs at the same time: of each the times of its last one, and how long one takes.

    Jobs repeat their steps until the longest has made two, so that the others meet every part of it.
    """
    until = 2 * max(alone_ps) + max(job.plan.job.start for job in jobs)
    whole = Graph(sum(job.graph.classes for job in jobs))
    begins: list[list[int]] = []
    classes = communications = 0
    for job, alone in zip(jobs, alone_ps, strict=True):
        steps = min(MOST_STEPS, max(2, -(-(until - job.plan.job.start) // max(alone, 1))))
        own: list[int] = []
        before: dict[int, int] = {}
        if job.plan.job.start:
            for number in range(job.graph.classes):
                before[number] = whole.add(Op(number + classes, COMPUTE, "start", job.plan.job.start, ()))
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
    times = run(whole, Shared([one for own in known for one in own]))
    return [_last_step(times, len(job.graph.ops), own) for job, own in zip(jobs, begins, strict=True)]


def _last_step(times: Times, count: int, begins: Sequence[int]) -> tuple[Times, int]:
    """The last step of a job, from its beginning, and the mean of all but the first."""
    ends = [max(times.end_ps[begin : begin + count]) for begin in begins]
    first, last = ends[-2], begins[-1]
    begin = tuple(max(one - first, 0) for one in times.begin_ps[last : last + count])
    end = tuple(max(one - first, 0) for one in times.end_ps[last : last + count])
    return Times(begin, end), (ends[-1] - ends[0]) // (len(begins) - 1)
