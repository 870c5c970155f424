"""What came of a run, as a run of the store: the file with what was printed first, then the row. Nothing else writes either."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.live.reach.failure import told
from railweave.operations.bench.plan import NcclTests, Perftest
from railweave.operations.bench.read import read
from railweave.operations.bench.running.pair import LEFT
from railweave.operations.bench.runs import runs_of
from railweave.operations.store.records import Environment, Run, pairs
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from railweave.operations.bench.plan import PlannedRun
    from railweave.operations.bench.running.pair import Came
    from railweave.operations.store.store import Store

PLANNED, PLAN = "planned run", "plan"
"""Settings by which a run of the store says which run of which plan it is."""


@dataclass
class Keeper:
    """Writes results. ``plan``: the digest of the plan; ``outputs``: the folder for what was printed, made with the first file."""

    store: Store
    plan: str
    outputs: Path

    def had(self) -> dict[str, bool]:
        """The runs of this plan that the store has, by name, and whether the latest of each failed."""
        found: dict[str, bool] = {}
        for settings, failed in self.store.settings():
            given = dict(settings)
            if given.get(PLAN) == self.plan and PLANNED in given:
                found[given[PLANNED]] = failed
        return found

    def keep(
        self, planned: PlannedRun, came: Came, began: dt.datetime, seconds: float, environment: Environment
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
    attempt, found = 1, path
    while found.exists():
        attempt += 1
        found = path.with_name(f"{path.stem}.{attempt}.txt")
    return found, attempt


def made(
    planned: PlannedRun, came: Came, file: str, began: dt.datetime, seconds: float, environment: Environment
) -> Run:
    """The run of the store: what its output says, with what was planned and what went wrong."""
    digest = hashlib.sha256(came.text.encode(errors="replace")).hexdigest()
    kept = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    start = began.isoformat(timespec="seconds")
    tool = "perftest" if isinstance(planned.test, Perftest) else "nccl-tests"
    found = read(came.text, file)
    runs = [one for one in runs_of(found, digest, kept, environment) if one.samples or one.tool != "nccl-log"]
    run = (
        runs[0]
        if runs
        else Run(tool, f"{_asked(planned)} without a result", file, digest, 1, "", kept, environment=environment)
    )
    failures = [*came.failures, *run.failures]
    if not run.samples and not failures:
        failures.append("it printed no result")
    rates = [one.value for one in run.samples if one.quantity == "bandwidth_gbps"]
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
    """What reports and ``compare`` read: the planned run, the pair of NICs, the way between them."""
    test = planned.test
    found = {PLANNED: planned.name, "part": planned.part, "round": str(planned.round), "needs": planned.needs}
    found |= {"tolerance": f"{planned.tolerance:g}", "links": " ".join(planned.links)}
    if isinstance(test, NcclTests):
        return found | {"tenant": test.tenant}
    ends = {name: f"{end.host}:{end.nic}" for name, end in (("client", test.client), ("server", test.server))}
    return found | ends | {"color": test.color, "memory": test.memory}


def _last(came: Came) -> Iterable[str]:
    """The end of what was printed, of a run that has no result."""
    for end, text in (("", came.text), *came.more.items()):
        lines = [line for line in text.splitlines() if line.strip()]
        yield from (f"{f'{end}: ' if end else ''}{told(line)}" for line in lines[-LEFT:])


def with_servers(
    environment: Environment, hosts: Iterable[str], surveyed: dict[str, dict[str, str]], checked: dict[str, object]
) -> Environment:
    """What these servers have and what their checks said, with what holds for all runs.

    A version that is the same everywhere is kept once; firmware is by server and device.
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
    said = {host: checked[host] for host in names if host in checked}
    return replace(
        environment,
        versions=pairs(versions),
        firmware=pairs(firmware),
        host_check=json.dumps(said) if said else environment.host_check,
    )
