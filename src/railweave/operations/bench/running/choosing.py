"""Which runs of a plan are carried out now."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.operations.bench.plan import Plan, PlannedRun


@dataclass(frozen=True, slots=True)
class Chosen:
    """``runs``: those to carry out; ``had``: that the store has already; ``needing``: that need something to be set first, and were not named."""

    runs: tuple[PlannedRun, ...]
    had: tuple[PlannedRun, ...] = ()
    needing: tuple[PlannedRun, ...] = ()


def chosen(
    plan: Plan, had: Mapping[str, bool], *, only: Sequence[str] = (), again: bool = False, failed: bool = False
) -> Chosen:
    """The runs of a plan, in its order.

    - ``had``: names of those that the store has, and whether the latest of each failed.
    - ``only``: names of runs or parts, with ``*`` for any text; without them all but those that need something to be set first.
    - ``again``: also those that the store has; ``failed``: those of them that failed.

    Raises ``InputError`` for a name that the plan does not have.
    """
    for name in only:
        if not any(_named(one, name) for one in plan.runs):
            parts = ", ".join(dict.fromkeys(one.part for one in plan.runs))
            fix = f"give the name of a run, or a part: {parts}"
            raise InputError([Problem(Option("--only", name), "the plan has no such run", fix)])
    wanted = [one for one in plan.runs if not only or any(_named(one, name) for name in only)]
    needing = [] if only else [one for one in wanted if one.needs]
    ready = [one for one in wanted if only or not one.needs]
    there = [one for one in ready if one.name in had and not (again or (failed and had[one.name]))]
    names = {one.name for one in there}
    return Chosen(tuple(one for one in ready if one.name not in names), tuple(there), tuple(needing))


def _named(run: PlannedRun, name: str) -> bool:
    return name in {run.part, run.name} or fnmatchcase(run.name, name)
