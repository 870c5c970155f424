"""The prediction of the training jobs of a file on a network.

Their steps, storage traffic and background traffic run at the same time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.design.fault_targets import FaultTarget, fault_targets
from railweave.errors import InputError, Option, Problem
from railweave.model.intent.job_file import ReadJobs, read_jobs
from railweave.model.intent.scenario import Background, read_scenario
from railweave.model.network.status import present
from railweave.prediction.jobs.build import build
from railweave.prediction.jobs.graph import COMPUTE, Communication, Graph, Op
from railweave.prediction.jobs.plan import JobPlan, planned
from railweave.prediction.jobs.run import Times, run
from railweave.prediction.jobs.traces.traced import PlacedTrace, traced
from railweave.prediction.simulation.background import ends
from railweave.prediction.simulation.conditions import (
    NvlinkLoss,
    SimulatedNetwork,
    bed_of,
    conditions_of,
    nvlink_losses,
    with_losses,
)
from railweave.prediction.simulation.engines.run import FLOW_NOTE, NEVER, run_flows
from railweave.prediction.simulation.engines.traffic import at_once
from railweave.prediction.simulation.job import job_of
from railweave.prediction.simulation.model.outages import Timeline
from railweave.prediction.simulation.settings import texts
from railweave.prediction.simulation.training.answer import JobResult, TrainingPrediction
from railweave.prediction.simulation.training.checkpoint import CheckpointCost, written
from railweave.prediction.simulation.training.loads import CarriedCommunication, PlacedJob, carried, nccl_of
from railweave.prediction.simulation.training.packets import NOTE as PACKET_NOTE
from railweave.prediction.simulation.training.packets import PacketCheck, as_long_as_packets, check_packets, slowest
from railweave.prediction.simulation.training.storage import SharedLinks, stored, stores_of
from railweave.prediction.simulation.training.tiers import sent
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.model.fabric import PacketFabric


NOTE = (
    "background: it keeps its rate on every link of its path, but leaves jobs at least half of a link, as fair queues do for the same number of queue pairs; "
    "a communication is then as fast as its slowest link allows"
)
WINDOW_US = 10_000
"""The time in us for which background traffic is simulated to find the links that it uses. The length does not affect the result."""


def taken(
    fabric: PacketFabric, timeline: Timeline, wanted: Background, settings: Mapping[str, str]
) -> NDArray[np.float64]:
    """Return, for each port, the share of its rate that background traffic uses, at most 1.

    ``wanted`` describes the background traffic, ``timeline`` has the faults, and ``settings`` are engine parameters. Raises ``InputError``
    if ports do not exist, or do not reach their targets.
    """
    pairs_of = ends(fabric.wiring, wanted)
    sources = np.repeat(np.array([src for src, _ in pairs_of], np.uint32), wanted.qps)
    targets = np.repeat(np.array([dst for _, dst in pairs_of], np.uint32), wanted.qps)
    turn = np.tile(np.arange(wanted.qps, dtype=np.uint32), len(pairs_of))
    pairs = fabric.addresses.pairs(sources, targets, turn)
    wiring = fabric.wiring
    rates = wiring.cables[wiring.port_cable, 2].astype(np.float64)
    line = rates[wiring.first_port[sources.astype(np.int64)]]
    traffic = at_once(pairs, np.maximum(line * wanted.share / wanted.qps * WINDOW_US / 8, 1))
    arguments = fabric.flow_arguments(pairs, timeline)
    arguments["parameters"] = {**arguments["parameters"], **settings}
    run = run_flows(arguments, traffic)
    if not run.complete:
        lost = pairs[int((run.arrivals == NEVER).argmax())]
        names = f"{wiring.nics[int(lost[0])]} does not reach {wiring.nics[int(lost[1])]}"
        raise InputError([Problem(Option("--background", part=("ports",)), names, "name the ports of one tenant")])
    headers = run.sent_bytes[np.unique(wiring.first_port[sources.astype(np.int64)])].sum()
    headers /= traffic.messages[:, 1].sum()
    return np.minimum(run.sent_bytes / headers * 8 / WINDOW_US / rates, 1.0)


READ = "read"
"""The kind of communications that read from storage."""


@dataclass(frozen=True)
class StorageUse:
    """The storage traffic of one job of the job file ``read``. ``number`` is the index of the job in the file.

    ``whole`` is the network with all its fabrics, including those for storage. ``lb`` is the load balancing of switches in place of the
    designed one.
    """

    whole: Network
    read: ReadJobs
    number: int
    lb: str | None

    def add_reads(self, placed: PlacedJob, graph: Graph) -> CarriedCommunication | None:
        """Add the storage reads of a step to ``graph``, the graph of the step. They start at the beginning of the step.

        Return the load of the reads without other traffic on the network, or None if the job reads nothing. ``placed`` is the job as placed
        on the network. Raises the errors of ``stores_of`` and ``stored``.
        """
        wanted = self.read.jobs[self.number].read
        if wanted is None:
            return None
        stores = stores_of(self.whole, placed, wanted, self.lb, self._tell("read"))
        number = graph.communication(Communication(READ, 0, "send-recv", wanted.bytes, _ranks(placed)))
        graph.add(Op(0, READ, READ, 0, (), number))
        return self._arrived("read", stored(stores, wanted, wanted.bytes, reads=True), stores.name)

    def checkpoint(
        self,
        placed: PlacedJob,
        plan: JobPlan | PlacedTrace,
        graph: Graph,
        known: Sequence[CarriedCommunication],
        step_ps: int,
    ) -> CheckpointCost | None:
        """Return the cost of the job's checkpoint if no other job uses the network. Return None if the job writes no checkpoint.

        ``known`` has the loads of the job's communications, and ``step_ps`` is the time of a step without a checkpoint. ``placed`` is the
        job as placed on the network, and ``graph`` has the operations of the step. Raises the errors of ``stores_of`` and ``stored``.
        """
        wanted = self.read.jobs[self.number].checkpoint
        if wanted is None:
            return None
        stores = stores_of(self.whole, placed, wanted, self.lb, self._tell("checkpoint"))
        size = wanted.bytes or 0
        if isinstance(plan, JobPlan) and wanted.bytes is None:
            size = max(round(plan.model.parameters * (wanted.weights + wanted.optimizer)), 1)
        to = self._arrived("checkpoint", stored(stores, wanted, size, reads=False), stores.name)
        return written(graph, known, step_ps, to, wanted, size, len(stores.servers), stores.name)

    def _arrived(self, part: str, load: CarriedCommunication, fabric: str) -> CarriedCommunication:
        if not load.complete:
            description = f"not all servers of the job reach it over fabric {fabric}"
            raise InputError(
                [self._tell(part)("storage", description, "check the tenants, and the faults of the scenario")]
            )
        return load

    def _tell(self, part: str) -> Callable[[str, str, str], Problem]:
        def tell(field: str, description: str, fix: str) -> Problem:
            return self.read.document.problem(self.read.location(self.number, part, field), description, fix)

        return tell


def _ranks(placed: PlacedJob) -> tuple[tuple[int, ...], ...]:
    """Return the ranks of each server, as one group per server, because a server reads from storage for all of its ranks together.

    ``placed`` is the job as placed on the network.
    """
    gpus = placed.job.gpus_per_server
    return tuple(tuple(range(first, first + gpus)) for first in range(0, placed.job.ranks, gpus))


MOST_STEPS = 40
"""The largest number of steps of a job that are simulated while a longer job runs."""


@dataclass(frozen=True)
class StartedJob:
    """A job: the graph of its step, and the time in ps at which its first step begins."""

    graph: Graph
    start_ps: int


def together(
    jobs: Sequence[StartedJob],
    known: Sequence[Sequence[CarriedCommunication]],
    load: NDArray[np.float64] | None,
    alone_ps: Sequence[int],
) -> list[tuple[Times, int]]:
    """Run the steps of all jobs at the same time. Return one tuple for each job: (times of its last step, mean duration of its steps in ps).

    The first member has the begin and end of each operation of the last step. The mean leaves out the job's first step.

    - ``known``: for each job, the loads of its communications.
    - ``load``: for each port, the fraction of its rate that background traffic uses.
    - ``alone_ps``: for each job, the time of a step without the other jobs.

    All jobs repeat their steps until the job with the longest step has made two steps. So shorter jobs overlap with every part of these two
    steps.
    """
    until = 2 * max(alone_ps) + max(job.start_ps for job in jobs)
    whole = Graph(sum(job.graph.classes for job in jobs))
    begins: list[list[int]] = []
    classes = communications = 0
    for job, alone in zip(jobs, alone_ps, strict=True):
        steps = min(MOST_STEPS, max(2, -(-(until - job.start_ps) // max(alone, 1))))
        job_begins: list[int] = []
        before: dict[int, int] = {}
        if job.start_ps:
            for number in range(job.graph.classes):
                before[number] = whole.add(Op(number + classes, COMPUTE, "start", job.start_ps, ()))
        for _ in range(steps):
            job_begins.append(len(whole.ops))
            begin, following = len(whole.ops), dict(before)
            for op in job.graph.ops:
                after = tuple(earlier + begin for earlier in op.after)
                after = after or ((before[op.rank_class],) if op.rank_class in before else ())
                named = None if op.communication is None else op.communication + communications
                number = whole.add(replace(op, rank_class=op.rank_class + classes, after=after, communication=named))
                if op.stream == COMPUTE:
                    following[op.rank_class] = number
            before = following
        begins.append(job_begins)
        whole.communications += job.graph.communications
        classes += job.graph.classes
        communications += len(job.graph.communications)
    times = run(whole, SharedLinks([carried_load for job_loads in known for carried_load in job_loads], load))
    return [_last_step(times, len(job.graph.ops), step_begins) for job, step_begins in zip(jobs, begins, strict=True)]


def _last_step(times: Times, count: int, begins: Sequence[int]) -> tuple[Times, int]:
    """Return (begin and end of each operation in a job's last step, mean duration in ps of all its steps except the first).

    Times count from the end of the step before the last. ``times`` has the times of all jobs' operations, ``count`` is the number of
    operations per step. ``begins`` has the first operation of each step.
    """
    ends = [max(times.end_ps[begin : begin + count]) for begin in begins]
    first, last = ends[-2], begins[-1]
    begin = tuple(max(moment - first, 0) for moment in times.begin_ps[last : last + count])
    end = tuple(max(moment - first, 0) for moment in times.end_ps[last : last + count])
    return Times(begin, end), (ends[-1] - ends[0]) // (len(begins) - 1)


@dataclass(frozen=True)
class _Job:
    plan: JobPlan | PlacedTrace
    placed: PlacedJob
    graph: Graph
    reads: CarriedCommunication | None = None


ENGINES = ("auto", "flow", "packet")
"""The engines that can time communications. ``auto`` means ``flow``."""


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
    scenario: Path | None = None,
    others: Path | None = None,
    background: Background | None = None,
    check: bool = False,
    engine: str = "flow",
    progress: Callable[[str], None] = silent,
) -> TrainingPrediction:
    """Return the predicted step of each job of a file while all jobs run at the same time.

    - ``changes``: new values for fields of all jobs in the file, by field (such as ``parallel.tensor``).
    - ``lb``, ``settings``: the load balancing and further engine parameters, as in ``collective.predict``.
    - ``qps``: the number of queue pairs per connection, for jobs that give no number.
    - ``faults``: faults that have already happened, and to which routes have adapted.
    - ``scenario``: a file with more faults and background traffic.
    - ``whole``: the network including storage fabrics, if ``network`` is only one of its fabrics.
    - ``others``: a file of jobs that run at the same time; ``changes`` do not apply to them.
    - ``background``: background traffic, in place of the scenario's background traffic.
    - ``check``: True to run the communications also by packets.
    - ``engine``: ``flow`` or ``packet``. With ``packet``, a communication takes the time of packets if this is longer than the time of
      flows.

    Raises ``InputError`` for an invalid argument and, with the line, for an error in a file.
    """
    say = progress or _nothing
    if engine not in ENGINES:
        raise InputError([Problem(Option("--engine"), f"{engine!r} is not an engine", f"use {', '.join(ENGINES)}")])
    read = [read_jobs(path, changes), *([] if others is None else [read_jobs(others)])]
    say("preparing the network")
    bed = bed_of(network, lb, tenant=read[0].jobs[0].tenant)
    more, of_scenario = _scenario(network, scenario)
    timeline = _after(bed, (*faults, *more))
    background = background or of_scenario
    losses = [loss for loss in nvlink_losses((*faults, *more)) if loss.until_ps is None]
    jobs = [
        _ready(network, bed, job_file, number, qps, timeline, settings or {}, losses)
        for job_file in read
        for number in range(len(job_file.jobs))
    ]
    storage = [
        StorageUse(whole or network, job_file, number, lb) for job_file in read for number in range(len(job_file.jobs))
    ]
    jobs = [
        replace(job, reads=job_storage.add_reads(job.placed, job.graph))
        for job, job_storage in zip(jobs, storage, strict=True)
    ]
    known = _sent(jobs, say)
    checked: list[list[PacketCheck]] = [[] for _ in jobs]
    if check or engine == "packet":
        checked = [
            check_packets(job.placed, slowest(job.graph, job_loads), say)
            for job, job_loads in zip(jobs, known, strict=True)
        ]
    if engine == "packet":
        known = [
            as_long_as_packets(job.graph, job_loads, checks)
            for job, job_loads, checks in zip(jobs, known, checked, strict=True)
        ]
    say(f"running {sum(len(job.graph.ops) for job in jobs):,} operations of a step")
    alone = [run(job.graph, SharedLinks(job_loads)) for job, job_loads in zip(jobs, known, strict=True)]
    steps = [(times, times.step_ps) for times in alone]
    load = None if background is None else taken(bed.fabric, timeline, background, settings or {})
    if len(jobs) > 1:
        say("running the jobs together")
        steps = together(
            [StartedJob(job.graph, job.plan.job.start) for job in jobs],
            known,
            load,
            [alone_times.step_ps for alone_times in alone],
        )
    elif load is not None:
        times = run(jobs[0].graph, SharedLinks(known[0], load))
        steps = [(times, times.step_ps)]
    checkpoints = [
        job_storage.checkpoint(job.placed, job.plan, job.graph, job_loads, by_itself.step_ps)
        for job_storage, job, job_loads, by_itself in zip(storage, jobs, known, alone, strict=True)
    ]
    there = {
        "other jobs at the same time": len(jobs) > 1,
        "background traffic": load is not None,
        "faults": bool(faults or more),
    }
    unlike = " and ".join(circumstance for circumstance, is_there in there.items() if is_there)
    results = [
        JobResult(
            job.plan,
            job.graph,
            times,
            tuple(job_loads),
            step,
            by_itself.step_ps,
            sent(network, bed.fabric.wiring, job.graph, job_loads, step),
            unlike,
            tuple(checks),
            checkpoint=checkpoint,
        )
        for job, job_loads, checks, (times, step), by_itself, checkpoint in zip(
            jobs, known, checked, steps, alone, checkpoints, strict=True
        )
    ]
    notes = (FLOW_NOTE if engine != "packet" else PACKET_NOTE, *bed.fabric.notes, *(() if load is None else (NOTE,)))
    if shared_note := _shared(jobs):
        notes = (*notes, shared_note)
    return TrainingPrediction(network.name, tuple(results), bed.fabric, notes, len(read[0].jobs))


def _shared(jobs: Sequence[_Job]) -> str:
    """Return a note if several jobs use the same server, and an empty text otherwise."""
    names = Counter(name for job in jobs for name in job.placed.job.machines)
    both = [name for name, often in names.items() if often > 1]
    if not both:
        return ""
    return f"jobs share {len(both)} servers, such as {both[0]}: each job is assumed to compute as fast as if it had these GPUs alone"


def _nothing(_: str) -> None:
    """Ignore a progress message."""


def _scenario(network: Network, path: Path | None) -> tuple[tuple[FaultTarget, ...], Background | None]:
    """Return the faults and background traffic of a scenario file.

    Raises ``InputError`` if the file also has the traffic of a job.
    """
    if path is None:
        return (), None
    scenario = read_scenario(path, "sim")
    if scenario.scenario.traffic:
        description = f"{path} has traffic of a job; with --job, only faults and background of a scenario are used"
        raise InputError([Problem(Option("--scenario"), description, "remove its traffic")])
    return tuple(fault_targets(network, scenario)), scenario.scenario.background


def _after(bed: SimulatedNetwork, faults: Sequence[FaultTarget]) -> Timeline:
    """Return a timeline for the state after ``faults``: the faults have already happened, and the routes have adapted to them.

    ``bed`` is the prepared network.
    """
    timeline = conditions_of(bed, None, faults, 0).timeline if faults else Timeline()
    return timeline.since(max(timeline.moments)) if timeline.moments else timeline


def _ready(
    network: Network,
    bed: SimulatedNetwork,
    read: ReadJobs,
    number: int,
    qps: int | None,
    timeline: Timeline,
    settings: Mapping[str, str],
    losses: Sequence[NvlinkLoss],
) -> _Job:
    job = read.jobs[number]
    try:
        collective_job, hosts = job_of(
            present(network),
            bed.fabric.wiring,
            job.tenant,
            job.hosts,
            whole=network,
        )
        collective_job = with_losses(collective_job, losses)
    except InputError as error:
        raise InputError([_at(read, number, problem) for problem in error.problems]) from None
    if job.trace is None:
        plan = planned(read, number, collective_job.servers[0].gpu, collective_job.ranks)
    else:
        plan = traced(
            read,
            number,
            collective_job.servers[0].gpu,
            collective_job.ranks,
            collective_job.machines,
        )
    if isinstance(plan, list):
        raise InputError(plan)
    colors = bed.fabric.addresses.paths
    nccl = nccl_of(network, texts(job.nccl), collective_job, job.qps or qps, colors)
    placed = PlacedJob(bed.fabric, collective_job, hosts, nccl, timeline, settings)
    return _Job(
        plan, placed, plan.graph(placed.inside) if isinstance(plan, PlacedTrace) else build(plan, placed.inside)
    )


def _at(read: ReadJobs, number: int, problem: Problem) -> Problem:
    return read.document.problem(read.location(number, "hosts"), problem.what, problem.fix)


def _sent(jobs: Sequence[_Job], say: Callable[[str], None]) -> list[list[CarriedCommunication]]:
    """Return, for each job, the load of each of its communications. ``say`` is called with progress as text."""
    total = sum(len(job.graph.communications) for job in jobs)
    all_loads: list[list[CarriedCommunication]] = []
    for job in jobs:
        job_loads: list[CarriedCommunication] = []
        for communication in job.graph.communications:
            number = sum(map(len, all_loads)) + len(job_loads) + 1
            say(
                f"communication {number} of {total}: {communication.kind} {communication.collective} of {communication.size_bytes:,} bytes"
            )
            job_loads.append(
                job.reads
                if communication.kind == READ and job.reads is not None
                else carried(job.placed, communication)
            )
        all_loads.append(job_loads)
    return all_loads
