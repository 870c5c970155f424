"""The selection of a plan's runs, and the results of a plan as values and as text."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.errors import InputError, Option, Problem
from railweave.operations.bench.plan import Perftest, Plan, PlannedRun
from railweave.operations.bench.running.carrying import PLANNED
from railweave.operations.bench.running.pair import Launch, peer_of, perftest_words, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.operations.store.records import Run


@dataclass(frozen=True, slots=True)
class RunSelection:
    """A selection of a plan's runs.

    - ``runs``: the runs to execute.
    - ``had``: runs that the store already has.
    - ``needing``: runs left out because they need a setting to be changed first, and were not named.
    """

    runs: tuple[PlannedRun, ...]
    had: tuple[PlannedRun, ...] = ()
    needing: tuple[PlannedRun, ...] = ()


def chosen(
    plan: Plan, had: Mapping[str, bool], *, only: Sequence[str] = (), again: bool = False, failed: bool = False
) -> RunSelection:
    """Return the selected runs of a plan, in the order of the plan.

    - ``had``: the names of the runs in the store, each with whether its latest attempt failed.
    - ``only``: names of runs or parts, with ``*`` for any text. Default: all runs that need no setting to be changed first.
    - ``again``: include runs that the store has; ``failed``: include those of them that failed.

    Raises ``InputError`` for a name that the plan does not have.
    """
    for name in only:
        if not any(_named(run, name) for run in plan.runs):
            parts = ", ".join(dict.fromkeys(run.part for run in plan.runs))
            fix = f"give the name of a run, or a part: {parts}"
            raise InputError([Problem(Option("--only", name), "the plan has no such run", fix)])
    wanted = [run for run in plan.runs if not only or any(_named(run, name) for name in only)]
    needing = [] if only else [run for run in wanted if run.needs]
    ready = [run for run in wanted if only or not run.needs]
    there = [run for run in ready if run.name in had and not (again or (failed and had[run.name]))]
    names = {run.name for run in there}
    return RunSelection(tuple(run for run in ready if run.name not in names), tuple(there), tuple(needing))


def _named(run: PlannedRun, name: str) -> bool:
    return name in {run.part, run.name} or fnmatchcase(run.name, name)


@dataclass(frozen=True)
class RunSummary:
    """A summary of the executed runs.

    - ``chosen``: the selected runs.
    - ``runs``: the results, as stored.
    - ``commands``: the name of each run, and the command that starts it.
    """

    plan: str
    store: str
    chosen: RunSelection
    runs: tuple[Run, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """True if no run failed."""
        return not any(run.failures for run in self.runs)

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {
            "plan": self.plan,
            "store": self.store,
            "planned": [run.name for run in self.chosen.runs],
            "had": [run.name for run in self.chosen.had],
            "needing": {run.name: run.needs for run in self.chosen.needing},
            "commands": dict(self.commands),
            "notes": list(self.notes),
            "runs": [
                {
                    "name": name_of(run),
                    "id": run.id,
                    "failures": list(run.failures),
                    "samples": len(run.samples),
                    "file": run.file,
                }
                for run in self.runs
            ],
        }

    def to_text(self) -> str:
        """Return a text that lists the failed runs, the notes and the runs that were left out."""
        lines: list[str] = []
        for run in self.runs:
            if run.failures:
                lines.append(f"failed: {name_of(run)} ({run.id})")
                lines += [f"    {why}" for why in run.failures]
        lines += [f"note: {note}" for note in self.notes]
        if self.chosen.needing:
            needs = dict.fromkeys(run.needs for run in self.chosen.needing)
            left = counted(len(self.chosen.needing), "run")
            lines.append(f"left out: {left} that need something to be set first; name them by --only once it is:")
            lines += [f"    {need}" for need in needs]
        failed = sum(bool(run.failures) for run in self.runs)
        had = f"; {len(self.chosen.had):,} were there already" if self.chosen.had else ""
        lines.append(f"{counted(len(self.runs), 'run')} kept in {self.store}, {failed or 'none'} of them failed{had}")
        return "\n".join(lines)


def name_of(run: Run) -> str:
    """Return the name of a run in its plan."""
    return dict(run.settings).get(PLANNED, run.title)


def command(run: PlannedRun, launch: Launch, perftest: str = "") -> str:
    """Return the command of a run in readable form. For perftest it is the client's, with placeholders for values found on its server."""
    test = run.test
    if isinstance(test, Perftest):
        words = perftest_words(test, test.client.gpu, perftest)
        return f"{test.client.host}: {' '.join(words)} -d DEVICE -x GID({test.client.address}) -p PORT {peer_of(test)}"
    place = launch.place(test)
    return f"{place or 'this machine'}: {shown(test, launch)}"
