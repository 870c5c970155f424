"""Changes to make, and the journal entries about them: arithmetic on values, no commands."""

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
    """Commands in their order, the text of the names file (None: no change), and the journal during and after them."""

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

    - Entries that do what is planned stay, no matter who made them.
    - Entries that we made and that are no longer planned go, and the entries that they had displaced return.
    - Conflicting entries of others (a route's place, or a rule's selector, leading elsewhere) make way and are remembered.

    ``names_now`` is the text of ``names_file``; None if there is no file. Raises HostError if an entry could not be put back as it was.
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
    )
    returned = set(back)
    after = replace(
        during,
        added=tuple(entry for entry in during.added if _planned(entry, planned_at)),
        replaced=tuple(entry for entry in during.replaced if entry not in returned),
    )
    return Changes(tuple(steps), new_names, during, after)


def to_before(kernel: Kernel, journal: Journal) -> tuple[Command, ...]:
    """The way from what is there to what was there before us."""
    ours = _identities(journal.added)
    stale = [entry for entry in kernel.entries if entry.identity in ours]
    left = [entry for entry in kernel.entries if entry.identity not in ours]
    return (*_removals(stale), *_returns(journal.replaced, left))


def back(changes: Changes, before: Kernel, now: Kernel) -> tuple[Command, ...]:
    """The way back to before, from wherever carrying these changes out ended."""
    had, has = _identities(before.entries), _identities(now.entries)
    touched = [entry for _, entry in changes.commands]
    new, lost = has - had, had - has
    made = [entry for entry in touched if entry.identity in new]
    gone = [entry for entry in touched if entry.identity in lost]
    return (*_removals(made), *(("add", entry) for entry in gone))


def undone(plan: HostFile, kernel: Kernel, skip: Collection[str] = ()) -> list[Entry]:
    """The planned entries that nothing in the kernel does."""
    at = _by_place(kernel.entries)
    return [entry for dev, entry in plan.entries if dev not in skip and not any(r.does(entry) for r in at[entry.place])]


def _by_place(entries: Iterable[Entry]) -> defaultdict[Any, list[Any]]:
    """Entries by their place, where each is a route, or each a rule."""
    by_place: defaultdict[Any, list[Any]] = defaultdict(list)
    for entry in entries:
        by_place[entry.place].append(entry)
    return by_place


def _identities(entries: Iterable[Entry]) -> set[tuple[Any, ...]]:
    return {entry.identity for entry in entries}


def _planned(entry: Entry, planned_at: defaultdict[Any, list[Any]]) -> bool:
    return any(entry.does(wanted) for wanted in planned_at[entry.place])


def _removals(entries: Iterable[Entry]) -> list[Command]:
    """Rules first, so that none leads to a table half empty."""
    return [("del", entry) for entry in sorted(entries, key=lambda entry: isinstance(entry, Route))]


def _returns(entries: Iterable[Entry], left: Iterable[Entry]) -> list[Command]:
    """Put back what is not there, unless someone has put another route in its place."""
    taken = {(*entry.place, entry.metric if isinstance(entry, Route) else entry.identity) for entry in left}
    missing = [
        entry
        for entry in entries
        if (*entry.place, entry.metric if isinstance(entry, Route) else entry.identity) not in taken
    ]
    return [("add", entry) for entry in missing]


def _free_priorities(left: Iterable[Entry]) -> dict[int, int]:
    """Per family, the priority below which the kernel would put a rule that has none: that of the second rule.

    (fib_default_rule_pref in the kernel's net/core/fib_rules.c.) Chosen here, so that the journal can name the rule.
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
