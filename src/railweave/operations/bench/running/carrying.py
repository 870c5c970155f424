"""A plan carried out, round by round: runs of a round go at once, and each is kept as soon as it has ended."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from railweave.live.reach.failure import ReachError
from railweave.operations.bench.plan import NcclTests, Perftest
from railweave.operations.bench.running.collective import launched
from railweave.operations.bench.running.keeping import with_servers
from railweave.operations.bench.running.pair import measured
from railweave.operations.bench.running.scripts import survey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.operations.bench.plan import PlannedRun
    from railweave.operations.bench.running.collective import Launch
    from railweave.operations.bench.running.keeping import Keeper
    from railweave.operations.bench.running.shells import Shells
    from railweave.operations.store.records import Environment, Run

AT_ONCE = 256
"""Runs of a round that go at once where nothing else is said: each has two servers, and a login to each."""
SURVEY_S = 30
"""For a server to say what it has."""


@dataclass(frozen=True)
class Ways:
    """How runs are carried out.

    - ``launch``: of collectives; ``perftest``: the folder of perftest on servers, where it is not on their path.
    - ``at_once``: runs at the same time, of those that may; ``timeout_s``: in the place of what the plan says.
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
    parts = list(dict.fromkeys(one.part for one in runs))
    found: dict[tuple[int, int], list[PlannedRun]] = {}
    for one in runs:
        found.setdefault((parts.index(one.part), one.round), []).append(one)
    return [found[key] for key in sorted(found)]


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
    keeper: Keeper,
    shells: Shells,
    ways: Ways,
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

        async def one(run: PlannedRun, number: int) -> None:
            async with free:
                began, start = dt.datetime.now(dt.UTC), monotonic()
                limit_s = ways.timeout_s or float(run.timeout_s)
                if isinstance(run.test, Perftest):
                    came = await measured(run.test, shells, number=number, limit_s=limit_s, folder=ways.perftest)
                else:
                    came = await launched(run.test, ways.launch, shells, limit_s)
                own = with_servers(environment, hosts_of(run), surveyed, dict(checked))
                kept.append(keeper.keep(run, came, began, monotonic() - start, own))
                done(run, kept[-1])

        for together in rounds_of(runs):
            try:
                async with asyncio.TaskGroup() as group:
                    for number, run in enumerate(together):
                        group.create_task(one(run, number))
            except ExceptionGroup as several:
                raise several.exceptions[0] from None
    finally:
        await shells.close()
    return kept


async def _surveyed(runs: Sequence[PlannedRun], shells: Shells, ways: Ways) -> dict[str, dict[str, str]]:
    """What each server of these runs has; nothing of one that does not answer."""
    programs = {run.test.program for run in runs if isinstance(run.test, Perftest)}
    program = min(programs, default="ib_write_bw")
    script = survey(f"{ways.perftest.rstrip('/')}/{program}" if ways.perftest else program)
    only_here = all(
        isinstance(run.test, NcclTests) and ways.launch.place(run.test) not in hosts_of(run) for run in runs
    )
    names = [] if only_here else list(dict.fromkeys(host for run in runs for host in hosts_of(run)))

    free = asyncio.Semaphore(ways.at_once)

    async def one(host: str) -> dict[str, str]:
        try:
            async with free:
                said = await shells.ran(host, script, SURVEY_S)
        except ReachError:
            return {}
        given = (line.partition("=") for line in said.text.splitlines())
        return {name: text.strip()[:200] for name, _, text in given if name and text.strip()}

    return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))
