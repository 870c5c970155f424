"""The evaluator that asks the network itself: each combination is in force for as long as its benchmarks run, and is taken back.

The network runs the fabric file's own values before and after, whatever happens: each trial is a change whose timers run on the devices
from its first commit on and which is never confirmed (``operations.deploy.trial``).
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from railweave.counting import counted
from railweave.errors import InputError, OutputError
from railweave.live.check.rises import total
from railweave.live.fleet.host_tree import FILE, only_environment
from railweave.model.catalog import in_force
from railweave.operations.bench.running.collective import START_S
from railweave.operations.deploy.applying import How, resume
from railweave.operations.deploy.host_files import host_files
from railweave.operations.deploy.journal import at_work
from railweave.operations.deploy.making import make_plan
from railweave.operations.deploy.rollout import StoppedError
from railweave.operations.deploy.trial import held
from railweave.operations.tune.benchmarks import bandwidths, label_of, plan_of
from railweave.operations.tune.designing import designed
from railweave.operations.tune.guarding import Counters, GuardrailError
from railweave.operations.tune.measuring import Failed, Refused, Sample, Wanted, mean
from railweave.operations.tune.space import shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from railweave.live.check.rises import Kind
    from railweave.live.site.site import Site
    from railweave.model.intent.scenario import Setting
    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Plan as BenchPlan
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.store.records import Run
    from railweave.operations.tune.guarding import Reading
    from railweave.operations.tune.simulated import Task

DEPLOY_S = 120
"""What a wave may take beyond the time to settle, for the timers: devices are asked, change and are asked again."""

COUNTED: tuple[Kind, ...] = ("drops", "pauses", "marks")
"""What a sample says of the network's counters."""


class Runs(Protocol):
    """Carries out benchmarks on a network that is in force."""

    def __call__(
        self, network: Network, plan: BenchPlan, meanwhile: Callable[[], Awaitable[None]] | None
    ) -> Sequence[Run]:
        """The runs as they are kept. What ``meanwhile`` raises ends them, and is raised."""
        ...


@dataclass(frozen=True)
class Way:
    """How the network is reached and measured: ``site`` of a design, ``runs`` of benchmarks, values of secrets."""

    site: Callable[[Network], Site]
    runs: Runs
    secrets: Mapping[str, str]
    say: Callable[[str], None]


class Measured:
    """The network of a study's fabric file. Raises ``InputError`` where it does not run that file's design, or cannot be watched.

    A trial that was interrupted before is taken back first.
    """

    def __init__(self, task: Task, way: Way) -> None:
        self._task, self._way = task, way
        self._study, self._fabric = task.study.study, task.study.fabric
        own = designed(task.source, {}, task.device, task.hardware)
        if isinstance(own, Refused):
            raise InputError([task.study.document.problem(("fabric",), own.why, "`railweave build` says more")])
        self._own = own
        with ExitStack() as stack:
            self._rows = stack.enter_context(at_work(self._fabric))
            with in_force(own.catalog):
                self._site = way.site(own)
                self._brought_back()
                self._at_own("the study cannot begin")
                self._counters = Counters(self._site, self._study.bench.guardrails)
                self._counters.check(task.study, asyncio.run(self._counters.read()))
            self._open = stack.pop_all()

    def measure(self, wanted: Sequence[Wanted]) -> list[Sample | Refused | Failed]:
        """The answers. Each combination is in force once, for all of its runs.

        Raises ``InputError`` for collectives that cannot be run, and where the file's own values fail; ``StoppedError`` of deploy where something could not be taken back.
        """
        together: dict[tuple[tuple[str, Setting], ...], list[Wanted]] = {}
        for one in wanted:
            together.setdefault(tuple(sorted(one.values.items())), []).append(one)
        found: dict[int, Sample | Refused | Failed] = {}
        for same in together.values():
            found |= {id(one): answer for one, answer in zip(same, self._combination(same), strict=True)}
        return [found[id(one)] for one in wanted]

    def close(self) -> None:
        """Look once more whether the network runs the file's own values, and let others deploy. Raises ``OutputError`` where it does not."""
        with self._open, in_force(self._own.catalog):
            try:
                self._at_own("the study has ended, and")
            except InputError as error:
                raise OutputError("; ".join(one.what for one in error.problems)) from None

    def _combination(self, wanted: Sequence[Wanted]) -> list[Sample | Refused | Failed]:
        """The answers to runs of one combination."""
        values = wanted[0].values
        space = self._task.space
        in_file = space.in_file(values)
        network = designed(self._task.source, in_file, self._task.device, self._task.hardware)
        if isinstance(network, Refused):
            return [network] * len(wanted)
        own = {one.name: value for one, value in zip(space.knobs, space.own, strict=True)}
        changed = {name: value for name, value in values.items() if own.get(name) != value}
        words = shown(changed, [one.name for one in space.knobs]) or "the file's own values"
        seeds = [one.seed for one in wanted]
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
    ) -> list[Sample] | list[Failed]:
        """Runs with values that are in force as long. Raises ``GuardrailError``, and ``StoppedError`` as ``held`` does."""
        site = self._way.site(network)
        change = self._change(site, words)
        if not change.changed:
            self._way.say(f"trial {words}: no device changes")
            return self._runs(network, plan, seeds)
        if change.refused:
            return [Failed(f"deploy refuses it: {'; '.join(change.refused[:3])}")] * len(seeds)
        devices, waves = counted(len(change.changed), "device"), counted(len(change.waves), "wave")
        self._way.say(f"trial {words}: {devices} in {waves}")
        how = self._study.bench
        deploying = (len(change.waves) + 1) * (how.settle + DEPLOY_S)
        lasts = int(len(plan.runs) * (how.timeout + START_S) + deploying)
        given = How(lasts, how.settle, self._way.say)
        return held(self._rows, change, site, given, self._way.secrets, lambda: self._runs(network, plan, seeds))

    def _failed(self, wanted: Sequence[Wanted], words: str, why: str) -> list[Sample | Refused | Failed]:
        self._way.say(f"trial {words}: {why}")
        return [Failed(why)] * len(wanted)

    def _own_runs(self, network: Network, plan: BenchPlan, seeds: Sequence[int]) -> list[Sample] | list[Failed]:
        """Runs with the file's own values. Raises ``InputError`` where one fails."""
        self._way.say("measuring the file's own values")
        found = self._runs(network, plan, seeds, guarded=False)
        if bad := next((one for one in found if isinstance(one, Failed)), None):
            fix = "mend that first: a study compares with these"
            what = f"a benchmark fails with the fabric file's own values: {bad.why}"
            raise InputError([self._task.study.document.problem(("goal",), what, fix)])
        return found

    def _runs(
        self, network: Network, plan: BenchPlan, seeds: Sequence[int], *, guarded: bool = True
    ) -> list[Sample] | list[Failed]:
        """Run the benchmarks of what is in force, with counters before and after. Raises ``GuardrailError``, as soon as it is known, where they are guarded."""
        before = asyncio.run(self._counters.read())
        if guarded and before.silent:
            name, why = next(iter(before.silent.items()))
            raise GuardrailError(f"{name} does not say its counters any more: {why}")
        watch = (lambda: self._counters.watch(before)) if guarded else None
        runs = self._way.runs(network, plan, watch)
        after = asyncio.run(self._counters.read())
        if guarded and (why := self._counters.broken(before, after)):
            raise GuardrailError(why)
        speeds, failed = bandwidths(plan, runs)
        if failed:
            return [Failed(failed)] * len(seeds)
        return self._samples(plan, speeds, seeds, before, after)

    def _samples(
        self, plan: BenchPlan, speeds: Mapping[str, float], seeds: Sequence[int], before: Reading, after: Reading
    ) -> list[Sample]:
        """A sample for each seed; counters are those of all of them together, for each the same."""
        weights = [one.weight for one in self._study.goal.collectives]
        rises = self._counters.rises(before, after)
        drops, pauses, marks = (total(rises, kind) for kind in COUNTED)
        rows = [speeds[one.name] for one in plan.runs]
        count = len(weights)
        found: list[Sample] = []
        for place, seed in enumerate(seeds):
            parts = tuple(rows[place * count : (place + 1) * count])
            found.append(Sample(seed, parts, mean(parts, weights), drops, pauses, marks))
        return found

    def _change(self, site: Site, words: str) -> Plan:
        """What brings the network from its own design to another. Raises ``StoppedError`` where a device does not answer."""
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
            running,
            silent={},
            live=True,
            most=self._study.bench.max_unavailable,
            configs=site.configs,
            servers={name: (texts, {FILE: site.host_file(name)}) for name, texts in serving.items()},
        )
        return replace(plan, trial=words)

    def _brought_back(self) -> None:
        """Take back a trial that was interrupted. Raises ``InputError`` where something else was."""
        last = next(iter(self._rows.revisions()), None)
        if last is None or last.state != "running":
            return
        if not self._rows.plan(last.number).trial:
            what = f"revision {last.number} of this fabric file was interrupted"
            fix = "railweave deploy status FABRIC says how things are, deploy resume FABRIC ends it"
            raise InputError([self._task.study.document.problem(("fabric",), what, fix)])
        self._way.say(f"revision {last.number}, a trial, was interrupted: it is taken back")
        how = How(DEPLOY_S, self._study.bench.settle, self._way.say)
        resume(self._rows, self._site, how, self._way.secrets, back=True)

    def _at_own(self, when: str) -> None:
        """Raise ``InputError`` where a switch does not run the fabric file's own design, or does not answer."""
        self._way.say("asking every switch whether it runs the fabric file's own values")
        site = self._site
        running, silent = site.running(list(site.asked), lambda _: None)
        plan = make_plan(self._fabric, site.network, running, silent=silent, live=True, configs=site.configs)
        others = [f"{name} does not answer: {why}" for name, why in silent.items()]
        others += [f"{name} does not run the fabric file's own values" for name in plan.changed]
        if others:
            what = f"{when} {'; '.join(others[:5])}" + (f" and {len(others) - 5} more" if len(others) > 5 else "")
            fix = "`railweave deploy status FABRIC` says more; `railweave deploy plan` and `apply` bring the file onto the network"
            raise InputError([self._task.study.document.problem(("fabric",), what, fix)])
