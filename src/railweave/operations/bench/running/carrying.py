"""Execution of a plan, round by round. The runs of a round start together, and each result is stored as soon as its run ends."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import json
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

from railweave.live.reach.failure import ReachError, reason, safe_line
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
"""The keys of two settings of a stored run. Their values are the name of the planned run, and the digest of the plan."""


@dataclass
class ResultWriter:
    """A writer of results.

    ``plan`` is the plan's digest. ``outputs`` is the folder for the programs' output; it is created with the first
    file.
    """

    store: Store
    plan: str
    outputs: Path

    def had(self) -> dict[str, bool]:
        """Return the runs of this plan that are in the store, by name. True means that the latest attempt failed."""
        failed_by_name: dict[str, bool] = {}
        for settings, failed in self.store.settings():
            given = dict(settings)
            if given.get(PLAN) == self.plan and PLANNED in given:
                failed_by_name[given[PLANNED]] = failed
        return failed_by_name

    def keep(
        self, planned: PlannedRun, came: RunResult, began: dt.datetime, seconds: float, environment: Environment
    ) -> Run:
        """Store the result of a run, and return the run as stored. Raises ``OutputError`` if the result cannot be written.

        ``planned`` is the run in the plan, and ``came`` its result. ``began`` is its start time, and ``seconds`` its duration.
        ``environment`` has the versions and settings of its servers.
        """
        # A plan is a file that anybody may have written: no name in it leads out of the folder.
        name = "/".join(part for part in planned.name.split("/") if part not in {"", ".", ".."})
        path, attempt = _free(self.outputs / f"{name}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        for end, text in came.more.items():
            write_file(path.with_name(f"{path.stem}.{end}.txt"), text)
        write_file(path, came.text)
        file = str(path.absolute())
        try:
            run = made(planned, came, file, began, seconds, environment)
        except Exception as error:  # noqa: BLE001 - whatever a program prints, the other runs go on
            came.failures.append(reason(error))
            run = made(planned, replace(came, text=""), file, began, seconds, environment)
        settings = dict(run.settings) | {PLAN: self.plan, "attempt": str(attempt)}
        run = replace(run, settings=tuple(settings.items()))
        self.store.add([run])
        return run


def _free(path: Path) -> tuple[Path, int]:
    """Return (path that does not exist yet, number of the attempt). If ``path`` exists, the new path has this number in its file name."""
    attempt, candidate = 1, path
    while candidate.exists():
        attempt += 1
        candidate = path.with_name(f"{path.stem}.{attempt}.txt")
    return candidate, attempt


def made(
    planned: PlannedRun, came: RunResult, file: str, began: dt.datetime, seconds: float, environment: Environment
) -> Run:
    """Return the run to store: the numbers read from the output ``came``, the planned settings, and the failures.

    ``file`` is the name of the output file. ``began`` is the start time, and ``seconds`` the duration. ``environment`` has the
    versions and settings of the run's servers.
    """
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
    """Return the settings that reports and ``compare`` read: the planned run, its part and round, the NICs and the path between them."""
    test = planned.test
    settings = {PLANNED: planned.name, "part": planned.part, "round": str(planned.round), "needs": planned.needs}
    settings |= {"tolerance": f"{planned.tolerance:g}", "links": " ".join(planned.links)}
    if isinstance(test, NcclTests):
        return settings | {"tenant": test.tenant}
    ends = {name: f"{end.host}:{end.nic}" for name, end in (("client", test.client), ("server", test.server))}
    return settings | ends | {"color": test.color, "memory": test.memory}


def _last(came: RunResult) -> Iterable[str]:
    """Yield the last ``LEFT`` lines of each output of a run without results.

    ``came`` has the outputs: the main one, and further ones with a file suffix such as ``server``. Lines of further outputs
    begin with the suffix.
    """
    for end, text in (("", came.text), *came.more.items()):
        lines = [line for line in text.splitlines() if line.strip()]
        yield from (f"{f'{end}: ' if end else ''}{safe_line(line)}" for line in lines[-LEFT:])


def with_servers(
    environment: Environment, hosts: Iterable[str], surveyed: dict[str, dict[str, str]], checked: dict[str, object]
) -> Environment:
    """Return the environment of one run: ``environment``, which all runs have in common, with the versions and check results of the run's servers added.

    A version that is the same on all servers is stored once. Firmware is stored by server and device. ``surveyed`` has
    the versions by server, and ``checked`` the check results by server.
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
"""The default for the largest number of runs of a round that run at the same time. Each run needs a login to two servers."""
SURVEY_S = 30
"""The time limit in seconds for a server to report its versions."""


@dataclass(frozen=True)
class RunOptions:
    """Options for the execution of runs.

    - ``launch``: the settings for starting collectives.
    - ``perftest``: the folder of perftest on servers; if empty, perftest is found through PATH.
    - ``at_once``: the maximum number of simultaneous runs.
    - ``timeout_s``: a timeout in seconds; None for the timeouts of the plan.
    """

    launch: Launch
    perftest: str = ""
    at_once: int = AT_ONCE
    timeout_s: float | None = None


def hosts_of(run: PlannedRun) -> tuple[str, ...]:
    """Return the servers of a run: for a collective, its servers in rank order; for a perftest, the client and the server."""
    test = run.test
    return test.hosts if isinstance(test, NcclTests) else (test.client.host, test.server.host)


def rounds_of(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """Return the runs in groups, in the order of execution: by part, then by round. The runs of a group run at the same time."""
    parts = list(dict.fromkeys(run.part for run in runs))
    by_round: dict[tuple[int, int], list[PlannedRun]] = {}
    for run in runs:
        by_round.setdefault((parts.index(run.part), run.round), []).append(run)
    return [by_round[key] for key in sorted(by_round)]


def waiting(runs: Sequence[PlannedRun], at_once: int) -> list[str]:
    """Return a sentence for each part of the plan (a group of runs) that has rounds with more runs than ``at_once``.

    Such rounds take longer than planned and load the network less.
    """
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
    """Execute runs, and return the stored runs in the order in which they ended.

    - ``keeper``: stores the results; ``ways``: the options of execution. ``shells``: the connections to the servers.
    - ``environment``: the environment of all runs.
    - ``checked``: the report of `host check`, by server.
    - ``done``: called with each planned run and the stored run after it is stored.

    A run that fails, or whose servers cannot be reached, is stored as a result too. Raises ``OutputError`` if a result
    cannot be stored; the runs in progress are then stopped.
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
    """Return the software versions of each server of these runs: by server, then by name, such as ``kernel``.

    A server that does not answer has no versions. If all runs are collectives that are started from a machine outside the run, no
    server is queried, and the result is empty. ``shells`` has the connections to servers, and ``ways`` the options of execution.
    """
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
