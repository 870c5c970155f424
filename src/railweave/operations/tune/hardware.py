"""The evaluator on hardware, which applies each combination of values, runs its benchmarks, and rolls it back.

Before and after a trial, the network runs the fabric file's values. Each trial is a change with rollback timers on
the devices.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from railweave.analysis.expect import Expected, expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.counting import counted
from railweave.errors import InputError, OutputError, RailweaveError
from railweave.live.check.counters import CounterRise, Kind, rises, total, worst
from railweave.live.collect.collect import captured
from railweave.live.fleet.host_tree import only_environment
from railweave.model.catalog import in_force
from railweave.model.catalog.rdma import QUEUE_PAIRS
from railweave.model.device.host import host_config
from railweave.model.state.capture import read_capture
from railweave.model.state.question import asked_about
from railweave.operations.bench.plan import NcclTests, PlannedRun
from railweave.operations.bench.plan import Plan as BenchPlan
from railweave.operations.bench.planning.jobs import Job, jobs
from railweave.operations.bench.running.carrying import PLANNED
from railweave.operations.bench.running.pair import RANKS_START_S
from railweave.operations.deploy.applying import ApplySettings, resume
from railweave.operations.deploy.journal import at_work
from railweave.operations.deploy.making import Answers, make_plan
from railweave.operations.deploy.planning import host_files, with_wanted
from railweave.operations.deploy.rollout import StoppedError
from railweave.operations.deploy.trial import with_plan_applied
from railweave.operations.deploy.waves import PlanLimits
from railweave.operations.tune.measuring import (
    FailedCombination,
    RefusedCombination,
    Sample,
    TrialRequest,
    designed,
    mean,
)
from railweave.operations.tune.space import shown
from railweave.prediction.collectives.program import written
from railweave.prediction.simulation.job import job_network, ordered
from railweave.systems.reading import read_states

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from railweave.live.site.site import Site
    from railweave.model.intent.scenario import Setting
    from railweave.model.intent.study import Guardrails, StudyFile, TunedCollective
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.store.records import Run
    from railweave.operations.tune.simulated import Task


TITLES: dict[Kind, str] = {
    "drops": "packets of lossless classes dropped",
    "pauses": "PFC frames",
    "errors": "errors of links",
}
"""The description of each counter on which a study may set a limit (a guardrail), by the kind of counter."""


class GuardrailError(RailweaveError):
    """The error that a counter increased by more than its guardrail, a limit that the study sets. The message names the counter."""


@dataclass(frozen=True)
class StateReading:
    """The states that switches reported at one time. ``silent`` has the switches that did not answer, with the reason."""

    states: Mapping[str, DeviceState]
    silent: Mapping[str, str]


class Counters:
    """The counters of a network's switches, and the study's guardrails (the limits on their increase)."""

    def __init__(self, site: Site, rails: Guardrails) -> None:
        self._site, self._rails = site, rails
        network = site.network
        routes = ControlPlane(site.configs.values(), network.absent).routes()
        self._expected: dict[str, Expected] = {
            name: expected(network, site.configs[name], routes) for name in site.asked if name not in network.absent
        }

    async def read(self) -> StateReading:
        """Read the counters of every switch. Nothing is changed."""
        chosen = [
            replace(
                device,
                questions=tuple(
                    each for each in device.questions if not each.of_configuration and asked_about(each.name) is None
                ),
            )
            for name, device in self._site.asked.items()
            if name in self._expected
        ]
        with TemporaryDirectory() as place:
            folder = Path(place) / "capture"
            site = self._site
            outcomes = await captured(
                chosen, folder, {}, at_once=site.at_once, attempts=site.attempts, open_by=site.ask_by
            )
            silent = {outcome.device: outcome.error or "no answer" for outcome in outcomes if not outcome.answered}
            systems = {device.target.name: device.system for device in chosen if device.target.name not in silent}
            states = read_states(read_capture(folder), systems) if systems else {}
        missing = {name: "its answer could not be read" for name in systems if name not in states}
        return StateReading(states, {**silent, **missing})

    def rises(self, then: StateReading, now: StateReading) -> list[CounterRise]:
        """Return the increases of counters from the reading ``then`` to the reading ``now``, for the switches that answered both times."""
        return [
            rise
            for name, expectation in self._expected.items()
            if name in then.states and name in now.states
            for rise in rises(expectation, then.states[name], now.states[name])
        ]

    def broken(self, then: StateReading, now: StateReading) -> str:
        """Return a text that names the exceeded guardrail and its counter; empty if no guardrail was exceeded.

        A guardrail is a limit of the study on a counter's increase, here from the reading ``then`` to the reading ``now``. A switch that no
        longer answers counts as an exceeded guardrail.
        """
        if now.silent:
            name, why = next(iter(now.silent.items()))
            return f"{name} no longer reports its counters: {why}"
        counter_rises = self.rises(then, now)
        for kind, most in self._limits().items():
            count, evidence = total(counter_rises, kind), worst(counter_rises, kind)
            if count is not None and evidence is not None and count > most:
                return f"{count:,} {TITLES[kind]}, at most {most:,}: {evidence}"
        return ""

    async def watch(self, then: StateReading) -> None:
        """Read counters repeatedly, and raise ``GuardrailError`` as soon as one has increased too much since the reading ``then``."""
        while True:
            await asyncio.sleep(self._rails.every)
            if why := self.broken(then, await self.read()):
                raise GuardrailError(why)

    def check(self, file: StudyFile, reading: StateReading) -> None:
        """Raise ``InputError`` at the line of the study if a guardrail limits a counter that a switch does not report in ``reading``."""
        at = ("bench", "guardrails")
        if reading.silent:
            name, why = next(iter(reading.silent.items()))
            raise InputError(
                [file.document.problem(at, f"{name} does not report its counters: {why}", "fix this first")]
            )
        counter_rises = self.rises(reading, reading)
        for kind in self._limits():
            whole = {rise.device for rise in counter_rises if rise.kind == kind}
            known = {rise.device for rise in counter_rises if rise.kind == kind and rise.count is not None}
            if blind := sorted(whole - known) or ([] if whole else ["no switch"]):
                message = f"{', '.join(blind[:5])} {'says' if not whole else 'do not say'} {TITLES[kind]}: a guardrail on them would watch nothing"
                fix = f"write `{kind}: null` below `guardrails:` to go without"
                raise InputError([file.document.problem((*at, kind), message, fix)])

    def _limits(self) -> dict[Kind, int]:
        rails = self._rails
        limits: dict[Kind, int | None] = {"drops": rails.drops, "errors": rails.errors, "pauses": rails.pauses}
        return {kind: most for kind, most in limits.items() if most is not None}


PART = "tune"
"""The name of the only part (group of runs) in the benchmark plan of a study."""
BUSBW = "busbw_gbytes_per_s"
OUT_OF_PLACE = "out-of-place"


def plan_of(
    file: StudyFile, fabric: str, own_network: Network, network: Network, label: str, seeds: Sequence[int]
) -> BenchPlan:
    """Return a plan that runs every collective of a study once per seed, one run after another.

    - ``network``: the design with the trial's values, on which the plan is to run.
    - ``own_network``: the design without the trial's values. If the trial's values change a job's environment, the runs
      set the changed variables themselves.
    - ``fabric``: the fabric file. ``label``: a text that is part of the names of runs.

    Raises ``InputError`` at the line of a collective that cannot be run.
    """
    runs: list[PlannedRun] = []
    asked = file.study.goal.collectives
    with in_force(network.catalog):
        tests = [_test(file, number, collective, own_network, network) for number, collective in enumerate(asked)]
    for seed in seeds:
        for number, test in enumerate(tests):
            limit = file.study.bench.timeout
            name = f"{PART}/{label}/{seed:03}/{number:02}-{test.collective}-{written(test.first_bytes)}"
            why = f"{test.collective} with the values of a trial, run {seed}"
            runs.append(PlannedRun(name, PART, why, test, len(runs), limit, limit, 0.05))
    digest = hashlib.sha256(network.to_json()).hexdigest()
    return BenchPlan(PART, fabric, digest, tuple(runs))


def label_of(words: str) -> str:
    """Return a text in a form that is valid in file names. A long text is shortened and ends in its digest."""
    plain = re.sub(r"[^A-Za-z0-9=._-]+", "-", words).strip("-.") or "own"
    return plain if len(plain) <= 80 else f"{plain[:60]}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def _test(file: StudyFile, number: int, asked: TunedCollective, own_network: Network, network: Network) -> NcclTests:
    place = ("goal", "collectives", number)
    try:
        job = _job(file, asked, job_network(network, file.study.on))
    except InputError as error:
        raise InputError(
            [file.document.problem(place, problem.what, problem.fix) for problem in error.problems]
        ) from None
    if job is None:
        message = "its servers are not alike, or have no GPUs: nccl-tests cannot run on all of them"
        raise InputError([file.document.problem(place, message, "name servers of one kind: `hosts:`")])
    variables = _changed(own_network, network, job.hosts[0], asked.tenant or "")
    if asked.qps is not None:
        variables[QUEUE_PAIRS] = str(asked.qps)
    variables |= {name: _text(value) for name, value in asked.nccl.items()}
    return NcclTests(
        asked.collective,
        job.hosts,
        per_host=job.gpus,
        gpus=1,
        first_bytes=asked.size,
        last_bytes=asked.size,
        variables=tuple(variables.items()),
        tenant=job.tenant,
    )


def _job(file: StudyFile, asked: TunedCollective, network: Network) -> Job | None:
    """Return the job of the collective ``asked``. Return None if the servers of the collective do not form exactly one job."""
    tenants = {tenant.name for fabric in network.fabrics for tenant in fabric.tenants}
    if tenants and asked.tenant not in tenants:
        message = f"there is no tenant {asked.tenant!r}" if asked.tenant else "the tenant of the job is missing"
        raise InputError([file.document.problem(("goal",), message, f"tenants are {', '.join(sorted(tenants))}")])
    if not tenants and asked.tenant:
        raise InputError(
            [file.document.problem(("goal",), f"there is no tenant {asked.tenant!r}", "leave `tenant:` out")]
        )
    here = [server.name for server in network.servers if server.name not in network.absent]
    of_tenant = [job for job in jobs(network, here) if job.tenant == (asked.tenant or "")]
    if asked.hosts is not None:
        known = {host: stripe for job in of_tenant for host, stripe in job.stripe_of.items() if host in job.hosts}
        of_tenant = [job for job in jobs(network, ordered(known, asked.hosts)) if job.tenant == (asked.tenant or "")]
    return of_tenant[0] if len(of_tenant) == 1 else None


def _changed(own_network: Network, network: Network, server: str, tenant: str) -> dict[str, str]:
    """Return the environment variables of a job on a server whose values differ because of a trial, with the trial's values.

    ``own_network`` is the design without the trial's values, ``network`` the design with them.
    """
    before, after = (_environment(design, server, tenant) for design in (own_network, network))
    return {name: value for name, value in after.items() if before.get(name) != value}


def _environment(network: Network, server: str, tenant: str) -> dict[str, str]:
    config = host_config(network, server)
    variables = dict(config.tenant_jobs).get(tenant, config.job)
    return {variable.name: variable.value for variable in variables if not variable.resolve}


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def bandwidths(plan: BenchPlan, runs: Sequence[Run]) -> tuple[dict[str, float], str]:
    """Return (bus bandwidth in GB/s by run name, reason if a run failed, else empty)."""
    speeds: dict[str, float] = {}
    kept = {dict(run.settings).get(PLANNED, ""): run for run in runs}
    for planned in plan.runs:
        run = kept.get(planned.name)
        if run is None:
            return speeds, f"{planned.name} was not run"
        if run.failures:
            return speeds, f"{planned.name}: {run.failures[0]}"
        rows = [sample for sample in run.samples if sample.quantity == BUSBW]
        rows = [row for row in rows if row.place == OUT_OF_PLACE] or rows
        if not rows:
            return speeds, f"{planned.name} printed no bus bandwidth"
        speeds[planned.name] = fmean(row.value for row in rows)
    return speeds, ""


DEPLOY_S = 120
"""The seconds per wave (devices changed together) that rollback timers allow for reading and changing devices.

The time for the network to converge is added.
"""

COUNTED: tuple[Kind, ...] = ("drops", "pauses", "marks")
"""The network counters that a sample records."""


class Runs(Protocol):
    """A function that runs benchmarks on a network while a trial's configuration is applied."""

    def __call__(
        self, network: Network, plan: BenchPlan, meanwhile: Callable[[], Awaitable[None]] | None
    ) -> Sequence[Run]:
        """Run the benchmarks of a plan and return the runs as they are stored.

        ``meanwhile`` is a function that runs at the same time. If it fails, the runs end and its error is raised.
        """
        ...


@dataclass(frozen=True)
class NetworkAccess:
    """The functions and values with which a study reaches the network.

    - ``site``: a function that returns the running network, with the logins of its devices, for a design.
    - ``runs``: a function that runs benchmarks.
    - ``secrets``: the values of secrets, by name.
    - ``say``: a function that receives a progress line.
    """

    site: Callable[[Network], Site]
    runs: Runs
    secrets: Mapping[str, str]
    say: Callable[[str], None]


class HardwareEvaluator:
    """The evaluator on the network of a study's fabric file.

    When the evaluator is created, it rolls back an earlier trial that was interrupted. Raises ``InputError`` if the
    network does not run the file's design, or if the network's counters cannot be read.
    """

    def __init__(self, task: Task, way: NetworkAccess) -> None:
        self._task, self._way = task, way
        self._study, self._fabric = task.study.study, task.study.fabric
        own_network = designed(task.source, {}, task.device, task.hardware)
        if isinstance(own_network, RefusedCombination):
            raise InputError([task.study.document.problem(("fabric",), own_network.why, "`railweave build` says more")])
        self._own = own_network
        with ExitStack() as stack:
            self._rows = stack.enter_context(at_work(self._fabric))
            with in_force(own_network.catalog):
                self._site = way.site(own_network)
                self._brought_back()
                self._at_own("the study cannot begin")
                self._counters = Counters(self._site, self._study.bench.guardrails)
                self._counters.check(task.study, asyncio.run(self._counters.read()))
            self._open = stack.pop_all()

    def measure(self, wanted: Sequence[TrialRequest]) -> list[Sample | RefusedCombination | FailedCombination]:
        """Return the result of each trial in ``wanted``, in order. Each combination of values is applied once, for all of its runs.

        Raises ``InputError`` for collectives that cannot be run, or if a run with the fabric file's own values fails. Raises
        ``StoppedError`` (of ``operations.deploy.rollout``) if a device could not be rolled back.
        """
        together: dict[tuple[tuple[str, Setting], ...], list[TrialRequest]] = {}
        for request in wanted:
            together.setdefault(tuple(sorted(request.values.items())), []).append(request)
        answers: dict[int, Sample | RefusedCombination | FailedCombination] = {}
        for same in together.values():
            answers |= {id(request): answer for request, answer in zip(same, self._combination(same), strict=True)}
        return [answers[id(request)] for request in wanted]

    def close(self) -> None:
        """Check again that the network runs the file's own values, and release the lock on deployments.

        Raises ``OutputError`` if the network does not run these values.
        """
        with self._open, in_force(self._own.catalog):
            try:
                self._at_own("the study has ended, and")
            except InputError as error:
                raise OutputError("; ".join(problem.what for problem in error.problems)) from None

    def _combination(self, wanted: Sequence[TrialRequest]) -> list[Sample | RefusedCombination | FailedCombination]:
        """Return the results of the trials ``wanted``, which all have the same combination of values and different seeds."""
        values = wanted[0].values
        space = self._task.space
        in_file = space.in_file(values)
        network = designed(self._task.source, in_file, self._task.device, self._task.hardware)
        if isinstance(network, RefusedCombination):
            return [network] * len(wanted)
        own_values = {knob.name: value for knob, value in zip(space.knobs, space.own_values, strict=True)}
        changed = {name: value for name, value in values.items() if own_values.get(name) != value}
        words = shown(changed, [knob.name for knob in space.knobs]) or "the file's own values"
        seeds = [request.seed for request in wanted]
        fabric = str(self._fabric)
        plan = plan_of(self._task.study, fabric, self._own, network, label_of(words if changed else "own"), seeds)
        with in_force(network.catalog):
            try:
                if not changed:
                    return [*self._own_runs(network, plan, seeds)]
                return [*self._trial(network, plan, seeds, words)]
            except GuardrailError as error:
                return self._failed(wanted, words, f"rolled back at once: {error}")
            except StoppedError as error:
                if not error.back:
                    raise
                return self._failed(wanted, words, str(error))

    def _trial(
        self, network: Network, plan: BenchPlan, seeds: Sequence[int], words: str
    ) -> list[Sample] | list[FailedCombination]:
        """Run benchmarks while a trial's values are in force, and return a result for each seed of ``seeds``.

        If no device needs a change, only run the benchmarks. ``words`` has the values as text. Raises ``GuardrailError`` if a counter
        increases by more than the study allows, and ``StoppedError`` as ``operations.deploy.trial.with_plan_applied`` does.
        """
        site = self._way.site(network)
        change = self._change(site, words)
        if not change.changed:
            self._way.say(f"trial {words}: no device changes")
            return self._runs(network, plan, seeds)
        if change.refused:
            return [FailedCombination(f"deploy refuses it: {'; '.join(change.refused[:3])}")] * len(seeds)
        devices, waves = counted(len(change.changed), "device"), counted(len(change.waves), "wave")
        self._way.say(f"trial {words}: {devices} in {waves}")
        how = self._study.bench
        deploying = (len(change.waves) + 1) * (how.settle + DEPLOY_S)
        lasts = int(len(plan.runs) * (how.timeout + RANKS_START_S) + deploying)
        given = ApplySettings(lasts, how.settle, self._way.say)
        return with_plan_applied(
            self._rows, change, site, given, self._way.secrets, lambda: self._runs(network, plan, seeds)
        )

    def _failed(
        self, wanted: Sequence[TrialRequest], words: str, why: str
    ) -> list[Sample | RefusedCombination | FailedCombination]:
        self._way.say(f"trial {words}: {why}")
        return [FailedCombination(why)] * len(wanted)

    def _own_runs(
        self, network: Network, plan: BenchPlan, seeds: Sequence[int]
    ) -> list[Sample] | list[FailedCombination]:
        """Run benchmarks with the file's own values, and return a sample for each seed. Raises ``InputError`` if a run fails."""
        self._way.say("measuring the file's own values")
        answers = self._runs(network, plan, seeds, guarded=False)
        if bad := next((answer for answer in answers if isinstance(answer, FailedCombination)), None):
            fix = "fix this first: a study compares its results with these values"
            message = f"a benchmark fails with the fabric file's own values: {bad.why}"
            raise InputError([self._task.study.document.problem(("goal",), message, fix)])
        return answers

    def _runs(
        self, network: Network, plan: BenchPlan, seeds: Sequence[int], *, guarded: bool = True
    ) -> list[Sample] | list[FailedCombination]:
        """Run benchmarks on the network as it is, read counters before and after, and return a result for each seed.

        With ``guarded``, raises ``GuardrailError`` as soon as a counter has increased by more than the study allows.
        """
        before = asyncio.run(self._counters.read())
        if guarded and before.silent:
            name, why = next(iter(before.silent.items()))
            raise GuardrailError(f"{name} no longer reports its counters: {why}")
        watch = (lambda: self._counters.watch(before)) if guarded else None
        runs = self._way.runs(network, plan, watch)
        after = asyncio.run(self._counters.read())
        if guarded and (why := self._counters.broken(before, after)):
            raise GuardrailError(why)
        speeds, failed = bandwidths(plan, runs)
        if failed:
            return [FailedCombination(failed)] * len(seeds)
        return self._samples(plan, speeds, seeds, before, after)

    def _samples(
        self,
        plan: BenchPlan,
        speeds: Mapping[str, float],
        seeds: Sequence[int],
        before: StateReading,
        after: StateReading,
    ) -> list[Sample]:
        """Return a sample for each seed. ``speeds`` has the bus bandwidth by run name, in GB/s.

        The counters are the increases from the reading ``before`` to the reading ``after``, over all seeds, so they are equal in all
        samples.
        """
        weights = [collective.weight for collective in self._study.goal.collectives]
        rises = self._counters.rises(before, after)
        drops, pauses, marks = (total(rises, kind) for kind in COUNTED)
        rows = [speeds[run.name] for run in plan.runs]
        count = len(weights)
        samples: list[Sample] = []
        for place, seed in enumerate(seeds):
            parts = tuple(rows[place * count : (place + 1) * count])
            samples.append(Sample(seed, parts, mean(parts, weights), drops, pauses, marks))
        return samples

    def _change(self, site: Site, words: str) -> Plan:
        """Return the plan that changes the network from the fabric file's own values to the values of a trial.

        ``words`` has the trial's values as text. Raises ``StoppedError`` if a device does not answer.
        """
        switches = [name for name, config in site.configs.items() if self._site.configs.get(name) != config]
        servers = [
            name
            for name in site.servers
            if name in self._site.servers and not only_environment(self._site.host_file(name), site.host_file(name))
        ]
        running, silent = site.running(switches, lambda _: None) if switches else ({}, {})
        serving, silent_servers = host_files(site, servers, lambda _, __: None) if servers else ({}, {})
        if silent or silent_servers:
            silent |= silent_servers
            name, why = next(iter(silent.items()))
            raise StoppedError(f"{name} does not answer: {why}; nothing was changed", 0, back=False)
        plan = make_plan(
            self._fabric,
            site.network,
            Answers(running, with_wanted(site, serving)),
            limits=PlanLimits(self._study.bench.max_unavailable),
            configs=site.configs,
        )
        return replace(plan, trial=words)

    def _brought_back(self) -> None:
        """Roll back an interrupted trial, if there is one. Raises ``InputError`` if a revision that is not a trial was interrupted."""
        last = next(iter(self._rows.revisions()), None)
        if last is None or last.state != "running":
            return
        if not self._rows.plan(last.number).trial:
            message = f"revision {last.number} of this fabric file was interrupted"
            fix = "see its state with railweave deploy status FABRIC, and end it with railweave deploy resume FABRIC"
            raise InputError([self._task.study.document.problem(("fabric",), message, fix)])
        self._way.say(f"revision {last.number}, a trial, was interrupted: it is rolled back")
        how = ApplySettings(DEPLOY_S, self._study.bench.settle, self._way.say)
        resume(self._rows, self._site, how, self._way.secrets, back=True)

    def _at_own(self, when: str) -> None:
        """Raise ``InputError`` if a switch does not run the fabric file's own design, or does not answer.

        ``when`` is the beginning of the error's text.
        """
        self._way.say("asking every switch whether it runs the fabric file's own values")
        site = self._site
        running, silent = site.running(list(site.asked), lambda _: None)
        plan = make_plan(self._fabric, site.network, Answers(running, silent=silent), configs=site.configs)
        others = [f"{name} does not answer: {why}" for name, why in silent.items()]
        others += [f"{name} does not run the fabric file's own values" for name in plan.changed]
        if others:
            message = f"{when} {'; '.join(others[:5])}" + (f" and {len(others) - 5} more" if len(others) > 5 else "")
            fix = "`railweave deploy status FABRIC` says more; `railweave deploy plan` and `apply` bring the file onto the network"
            raise InputError([self._task.study.document.problem(("fabric",), message, fix)])
