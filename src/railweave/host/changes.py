"""Computation of the commands that change routes and rules, and of the journal entries for them. This module runs no commands."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import files
from .entries import Entry, Route, Rule
from .failure import HostError
from .journal import Journal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from .host_file import HostFile
    from .kernel import Command, Kernel


@dataclass(frozen=True)
class Changes:
    """The changes to make.

    - ``commands``: the commands in order.
    - ``names``: the new text of the names file (routing table names); None if it stays unchanged.
    - ``during``: the journal to write before the commands run.
    - ``after``: the journal to write when the commands have succeeded.
    """

    commands: tuple[Command, ...]
    names: str | None
    during: Journal
    after: Journal

    def __bool__(self) -> bool:
        return bool(self.commands) or self.names is not None


def to_plan(
    plan: HostFile,
    kernel: Kernel,
    journal: Journal,
    names_now: str | None,
    skip: Collection[str] = (),
    names_file: Path = files.RT_TABLES_FILE,
) -> Changes:
    """Return the changes from the present state to the plan, leaving out the network devices in ``skip``.

    Entries are routes and rules. ``kernel`` holds the present ones.

    - Entries that already have the planned effect stay, even if railweave did not make them.
    - Entries of railweave that are no longer planned are removed, and the entries that they had replaced are restored.
    - Other entries that conflict with the plan are removed and recorded in the journal. They have the destination of
      a planned route or the selector of a planned rule, but lead elsewhere.

    ``names_now`` is the text of ``names_file``; None if there is no file. Raises HostError if an entry that must be removed could not
    be restored exactly later.
    """
    planned = [entry for _, entry in plan.entries]
    planned_at = _by_place(planned)
    ours = _identities(journal.added)
    ours_at = {entry.place for entry in journal.added}
    stale = [entry for entry in kernel.entries if entry.identity in ours and not _planned(entry, planned_at)]
    going = _identities(stale)
    left = [entry for entry in kernel.entries if entry.identity not in going]
    there_at = _by_place(left)
    free = _free_priorities(left)

    back = [entry for entry in journal.replaced if not any(entry.conflicts(p) for p in planned_at[entry.place])]
    steps = [*_removals(stale), *_returns(back, left)]
    conflicts: dict[Entry, None] = {}  # in their order
    added: list[Entry] = []
    for dev, entry in plan.entries:
        if dev in skip:
            continue
        wanted = entry
        rivals = [
            rival for rival in there_at[wanted.place] if rival.conflicts(wanted) and not _planned(rival, planned_at)
        ]
        rivals = [rival for rival in rivals if rival not in conflicts]
        conflicts.update(dict.fromkeys(rivals))
        steps += [("del", rival) for rival in rivals]
        if not any(other.does(wanted) for other in there_at[wanted.place]):
            if isinstance(wanted, Rule) and wanted.priority is None:
                free[wanted.family] = max(free[wanted.family] - 1, 0)
                wanted = replace(wanted, priority=free[wanted.family])
            added.append(wanted)
            steps.append(("add", wanted))
    _must_be_restorable(conflicts)

    # What stands where ours stood was put there later, by someone who displaced us: it is not "what was before".
    known = _identities(journal.replaced)
    foreign = [conflict for conflict in conflicts if conflict.place not in ours_at and conflict.identity not in known]
    # Whoever wrote the names: where they are the same, the file is left alone.
    text = files.rt_tables_text(plan.host, plan.network, plan.tables)
    new_names = None if files.rt_tables(names_now) == files.rt_tables(text) else text
    during = Journal(
        (*journal.added, *(entry for entry in added if entry.identity not in ours)),
        (*journal.replaced, *foreign),
        journal.names if new_names is None else names_file,
        journal.names_before if journal.names or new_names is None else names_now,
        journal.steps,
    )
    returned = set(back)
    after = replace(
        during,
        added=tuple(entry for entry in during.added if _planned(entry, planned_at)),
        replaced=tuple(entry for entry in during.replaced if entry not in returned),
    )
    return Changes(tuple(steps), new_names, during, after)


def to_before(kernel: Kernel, journal: Journal) -> tuple[Command, ...]:
    """Return the commands that restore the routes and rules from before the first ``apply``, which the journal records.

    ``kernel`` holds the present routes and rules.
    """
    ours = _identities(journal.added)
    stale = [entry for entry in kernel.entries if entry.identity in ours]
    left = [entry for entry in kernel.entries if entry.identity not in ours]
    return (*_removals(stale), *_returns(journal.replaced, left))


def back(changes: Changes, before: Kernel, now: Kernel) -> tuple[Command, ...]:
    """Return the commands that undo ``changes``, even if only some of them were made.

    ``before`` and ``now`` are the kernel's routes and rules before the changes and at present.
    """
    had, has = _identities(before.entries), _identities(now.entries)
    touched = [entry for _, entry in changes.commands]
    new, lost = has - had, had - has
    made = [entry for entry in touched if entry.identity in new]
    gone = [entry for entry in touched if entry.identity in lost]
    return (*_removals(made), *(("add", entry) for entry in gone))


def undone(plan: HostFile, kernel: Kernel, skip: Collection[str] = ()) -> list[Entry]:
    """Return the planned routes and rules that are missing: the kernel has no entry with the same effect.

    The network devices in ``skip`` are not checked.
    """
    at = _by_place(kernel.entries)
    return [entry for dev, entry in plan.entries if dev not in skip and not any(r.does(entry) for r in at[entry.place])]


def _by_place(entries: Iterable[Entry]) -> defaultdict[Any, list[Any]]:
    """Return entries (only routes or only rules) grouped by ``place``: entries that match the same packets are in one group."""
    by_place: defaultdict[Any, list[Any]] = defaultdict(list)
    for entry in entries:
        by_place[entry.place].append(entry)
    return by_place


def _identities(entries: Iterable[Entry]) -> set[tuple[Any, ...]]:
    return {entry.identity for entry in entries}


def _planned(entry: Entry, planned_at: defaultdict[Any, list[Any]]) -> bool:
    return any(entry.does(wanted) for wanted in planned_at[entry.place])


def _removals(entries: Iterable[Entry]) -> list[Command]:
    """Return the commands that remove ``entries`` (routes and rules).

    Rules are removed first, so that no rule points to a half-empty table.
    """
    return [("del", entry) for entry in sorted(entries, key=lambda entry: isinstance(entry, Route))]


def _returns(entries: Iterable[Entry], left: Iterable[Entry]) -> list[Command]:
    """Return the commands that add routes and rules again. A route is left out if another route now has its destination and metric.

    ``left`` has the entries that the kernel has and keeps.
    """
    taken = {(*entry.place, entry.metric if isinstance(entry, Route) else entry.identity) for entry in left}
    missing = [
        entry
        for entry in entries
        if (*entry.place, entry.metric if isinstance(entry, Route) else entry.identity) not in taken
    ]
    return [("add", entry) for entry in missing]


def _free_priorities(left: Iterable[Entry]) -> dict[int, int]:
    """Return the priority of the second of the rules in ``left``, for each address family (4 or 6); 0 if there are fewer than two.

    The kernel puts a new rule without a priority just before this rule (fib_default_rule_pref in the kernel's
    net/core/fib_rules.c). Railweave chooses the priority itself so that the journal can name the rule.
    """
    priorities = {4: 0, 6: 0}
    for family in priorities:
        rules = [rule for rule in left if isinstance(rule, Rule) and rule.family == family]
        if len(rules) > 1:
            priorities[family] = rules[1].priority or 0
    return priorities


def _must_be_restorable(conflicts: Iterable[Entry]) -> None:
    for conflict in conflicts:
        if isinstance(conflict, Route) and conflict.opaque:
            subject = f"the route to {conflict.destination} in table {conflict.table} ({', '.join(conflict.opaque)})"
            raise HostError(
                f"{subject} conflicts with the plan, and could not be put back as it is: remove it yourself first"
            )
