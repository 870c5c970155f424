"""A plan carried out, round by round: runs of a round go at once, and each is kept as soon as it has ended."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import json
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

from railweave.live.reach.failure import ReachError, told
from railweave.operations.bench.plan import NcclTests, Perftest, PlannedRun
from railweave.operations.bench.read import read
from railweave.operations.bench.running.pair import LEFT, Launch, RunResult, launched, measured
from railweave.operations.bench.running.scripts import survey
from railweave.operations.bench.runs import runs_of
from railweave.operations.store.records import Environment, Run, pairs
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from railweave.operations.bench.running.shells import Shells
    from railweave.operations.store.store import Store


PLANNED, PLAN = "planned run", "plan"
"""Settings by which a run of the store says which run of which plan it is."""


@dataclass
class ResultWriter:
    """Writes results. ``plan``: the digest of the plan; ``outputs``: the folder for what was printed, made with the first file."""

    store: Store
    plan: str
    outputs: Path

    def had(self) -> dict[str, bool]:
        """The runs of this plan that the store has, by name, and whether the latest of each failed."""
        failed_by_name: dict[str, bool] = {}
        for settings, failed in self.store.settings():
            given = dict(settings)
            if given.get(PLAN) == self.plan and PLANNED in given:
                failed_by_name[given[PLANNED]] = failed
        return failed_by_name

    def keep(
        self, planned: PlannedRun, came: RunResult, began: dt.datetime, seconds: float, environment: Environment
    ) -> Run:
        """Keep what came of a run, and give it as it is kept. Raises ``OutputError`` where it cannot be written."""
        # A plan is a file that anybody may have written: no name in it leads out of the folder.
        name = "/".join(part for part in planned.name.split("/") if part not in {"", ".", ".."})
        path, attempt = _free(self.outputs / f"{name}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        for end, text in came.more.items():
            write_file(path.with_name(f"{path.stem}.{end}.txt"), text)
        write_file(path, came.text)
        run = made(planned, came, str(path.absolute()), began, seconds, environment)
        settings = dict(run.settings) | {PLAN: self.plan, "attempt": str(attempt)}
        run = replace(run, settings=tuple(settings.items()))
        self.store.add([run])
        return run


def _free(path: Path) -> tuple[Path, int]:
    """A path that is not there yet, and which attempt it is."""
    attempt, candidate = 1, path
    while candidate.exists():
        attempt += 1
        candidate = path.with_name(f"{path.stem}.{attempt}.txt")
    return candidate, attempt


def made(
    planned: PlannedRun, came: RunResult, file: str, began: dt.datetime, seconds: float, environment: Environment
) -> Run:
    """The run of the store: what its output says, with what was planned and what went wrong."""
    digest = hashlib.sha256(came.text.encode(errors="replace")).hexdigest()
    kept = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    start = began.isoformat(timespec="seconds")
    tool = "perftest" if isinstance(planned.test, Perftest) else "nccl-tests"
    reading = read(came.text, file)
    runs = [run for run in runs_of(reading, digest, kept, environment) if run.samples or run.tool != "nccl-log"]
    run = (
        runs[0]
        if runs
        else Run(tool, f"{_asked(planned)} without a result", file, digest, 1, "", kept, environment=environment)
    )
    failures = [*came.failures, *run.failures]
    if not run.samples and not failures:
        failures.append("it printed no result")
    rates = [sample.value for sample in run.samples if sample.quantity == "bandwidth_gbps"]
    if rates and not any(rates):
        failures.append("a bandwidth of 0: no message came to its end in the time that was measured")
    notes = run.notes if run.samples else (*run.notes, *_last(came))
    settings = dict(run.settings) | _settings(planned) | came.facts | {"seconds": f"{seconds:.1f}"}
    return replace(
        run,
        hosts=_hosts(planned),
        began=run.began or start,
        settings=tuple((name, text) for name, text in settings.items() if text),
        failures=tuple(dict.fromkeys(failures)),
        notes=tuple(notes),
        predictions=planned.predictions,
    )


def _asked(planned: PlannedRun) -> str:
    test = planned.test
    return test.collective if isinstance(test, NcclTests) else test.program


def _hosts(planned: PlannedRun) -> tuple[str, ...]:
    test = planned.test
    if isinstance(test, NcclTests):
        return test.hosts
    return tuple(dict.fromkeys((test.client.host, test.server.host)))


def _settings(planned: PlannedRun) -> dict[str, str]:
    """Return the settings that reports and ``compare`` read: the planned run, the pair of NICs, the path between them."""
    test = planned.test
    settings = {PLANNED: planned.name, "part": planned.part, "round": str(planned.round), "needs": planned.needs}
    settings |= {"tolerance": f"{planned.tolerance:g}", "links": " ".join(planned.links)}
    if isinstance(test, NcclTests):
        return settings | {"tenant": test.tenant}
    ends = {name: f"{end.host}:{end.nic}" for name, end in (("client", test.client), ("server", test.server))}
    return settings | ends | {"color": test.color, "memory": test.memory}


def _last(came: RunResult) -> Iterable[str]:
    """The end of what was printed, of a run that has no result."""
    for end, text in (("", came.text), *came.more.items()):
        lines = [line for line in text.splitlines() if line.strip()]
        yield from (f"{f'{end}: ' if end else ''}{told(line)}" for line in lines[-LEFT:])


def with_servers(
    environment: Environment, hosts: Iterable[str], surveyed: dict[str, dict[str, str]], checked: dict[str, object]
) -> Environment:
    """Return the environment of all runs, with what these servers have and what their checks reported.

    A version that is the same everywhere is kept once; firmware is kept by server and device.
    """
    versions, firmware = dict(environment.versions), dict(environment.firmware)
    names = list(hosts)
    for host in names:
        for name, text in surveyed.get(host, {}).items():
            if name.startswith("firmware "):
                firmware[f"{host} {name.removeprefix('firmware ')}"] = text
            elif versions.get(name, text) == text:
                versions[name] = text
            else:
                versions[f"{name} on {host}"] = text
    host_checks = {host: checked[host] for host in names if host in checked}
    return replace(
        environment,
        versions=pairs(versions),
        firmware=pairs(firmware),
        host_check=json.dumps(host_checks) if host_checks else environment.host_check,
    )


AT_ONCE = 256
"""Runs of a round that go at once where nothing else is said: each has two servers, and a login to each."""
SURVEY_S = 30
"""For a server to say what it has."""


@dataclass(frozen=True)
class RunOptions:
    """Options for carrying out runs.

    - ``launch``: the launch of collectives.
    - ``perftest``: the folder of perftest on servers; empty: perftest is on their path.
    - ``at_once``: the number of runs at the same time, among those that may run together.
    - ``timeout_s``: a timeout in seconds; None: the plan's.
    """

    launch: Launch
    perftest: str = ""
    at_once: int = AT_ONCE
    timeout_s: float | None = None


def hosts_of(run: PlannedRun) -> tuple[str, ...]:
    """The servers that take part in a run."""
    test = run.test
    return test.hosts if isinstance(test, NcclTests) else (test.client.host, test.server.host)


def rounds_of(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """Runs that go at once, in the order in which they are carried out: part by part, each by its rounds."""
    parts = list(dict.fromkeys(run.part for run in runs))
    by_round: dict[tuple[int, int], list[PlannedRun]] = {}
    for run in runs:
        by_round.setdefault((parts.index(run.part), run.round), []).append(run)
    return [by_round[key] for key in sorted(by_round)]


def waiting(runs: Sequence[PlannedRun], at_once: int) -> list[str]:
    """A sentence for each part with rounds of more runs than go at once: they take longer than planned, and load the network less."""
    most: dict[str, int] = {}
    for together in rounds_of(runs):
        most[together[0].part] = max(most.get(together[0].part, 0), len(together))
    return [
        f"{part}: rounds of up to {number:,} runs, of which {at_once:,} go at once (--at-once): it takes longer than planned"
        for part, number in most.items()
        if number > at_once
    ]


async def carried_out(
    runs: Sequence[PlannedRun],
    keeper: ResultWriter,
    shells: Shells,
    ways: RunOptions,
    environment: Environment,
    *,
    checked: Mapping[str, object],
    done: Callable[[PlannedRun, Run], None],
) -> list[Run]:
    """Carry out runs, and give them as they are kept, in the order in which they ended.

    ``environment``: what holds for all of them; ``checked``: what `host check` said, by server; ``done``: called with each run when it is kept.
    A run that fails, or whose servers are not reached, is a result. Raises ``OutputError`` where a result cannot be kept: then what runs is
    ended.
    """
    kept: list[Run] = []
    try:
        surveyed = await _surveyed(runs, shells, ways)
        free = asyncio.Semaphore(ways.at_once)

        async def carry(run: PlannedRun, number: int) -> None:
            async with free:
                began, start = dt.datetime.now(dt.UTC), monotonic()
                limit_s = ways.timeout_s or float(run.timeout_s)
                if isinstance(run.test, Perftest):
                    came = await measured(run.test, shells, number=number, limit_s=limit_s, folder=ways.perftest)
                else:
                    came = await launched(run.test, ways.launch, shells, limit_s)
                run_environment = with_servers(environment, hosts_of(run), surveyed, dict(checked))
                kept.append(keeper.keep(run, came, began, monotonic() - start, run_environment))
                done(run, kept[-1])

        for together in rounds_of(runs):
            try:
                async with asyncio.TaskGroup() as group:
                    for number, run in enumerate(together):
                        group.create_task(carry(run, number))
            except ExceptionGroup as several:
                raise several.exceptions[0] from None
    finally:
        await shells.close()
    return kept


async def _surveyed(runs: Sequence[PlannedRun], shells: Shells, ways: RunOptions) -> dict[str, dict[str, str]]:
    """Return what each server of these runs has; a server that does not answer has an empty dictionary."""
    programs = {run.test.program for run in runs if isinstance(run.test, Perftest)}
    program = min(programs, default="ib_write_bw")
    script = survey(f"{ways.perftest.rstrip('/')}/{program}" if ways.perftest else program)
    only_here = all(
        isinstance(run.test, NcclTests) and ways.launch.place(run.test) not in hosts_of(run) for run in runs
    )
    names = [] if only_here else list(dict.fromkeys(host for run in runs for host in hosts_of(run)))

    free = asyncio.Semaphore(ways.at_once)

    async def survey_host(host: str) -> dict[str, str]:
        try:
            async with free:
                outcome = await shells.ran(host, script, SURVEY_S)
        except ReachError:
            return {}
        given = (line.partition("=") for line in outcome.text.splitlines())
        return {name: text.strip()[:200] for name, _, text in given if name and text.strip()}

    return dict(zip(names, await asyncio.gather(*map(survey_host, names)), strict=True))
