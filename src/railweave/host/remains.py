"""What a change that failed has left behind, by what the kernel shows before and after, not by what was done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .entries import STATIC, SYSTEM_TABLES, Entry, Route
from .kernel import command_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .journal import Journal
    from .kernel import Command, Kernel

_NAMED = 10
"""As many commands are named in a message."""


@dataclass(frozen=True)
class Remains:
    """``more``: there now and not before. ``less``: there before and gone now. Both as the kernel shows them."""

    more: tuple[Entry, ...]
    less: tuple[Entry, ...]

    @property
    def lines(self) -> list[str]:
        """What one would type to end it."""
        lines = [f"still there, to be removed: {some([('del', one) for one in self.more])}"] if self.more else []
        return lines + ([f"gone, to be put back: {some([('add', one) for one in self.less])}"] if self.less else [])

    def kept(self, journal: Journal) -> Journal:
        """The journal of before, with what ``undo`` must do besides.

        What could not be written back as it was is left out: a rule or a route that says less would do more.
        """
        added, replaced = ({one.identity for one in known} for known in (journal.added, journal.replaced))
        restorable = (one for one in self.less if not (one.opaque if isinstance(one, Route) else not one.plain))
        return replace(
            journal,
            added=(*journal.added, *(one for one in self.more if one.identity not in added | replaced)),
            replaced=(*journal.replaced, *(one for one in restorable if one.identity not in added | replaced)),
        )


def after(commands: Sequence[Command], before: Kernel, now: Kernel) -> Remains:
    """What is otherwise than before, of all that the commands could have touched.

    That is what they name, and all that is in a table or selects what a rule of theirs selects: the kernel may show an
    entry in other words than it was given in. Of entries that no command names, new ones count where their protocol is
    ours: others are not our doing.
    """
    touched = [entry for _, entry in commands]
    names = {one.identity for one in touched}
    tables = {one.table for one in touched} - SYSTEM_TABLES
    places = {one.place for one in touched}

    def reached(one: Entry) -> bool:
        return one.table in tables or one.place in places

    had, has = ({one.identity for one in kernel.entries} for kernel in (before, now))
    more = [one for one in now.entries if one.identity not in had and reached(one)]
    return Remains(
        tuple(one for one in more if one.identity in names or one.protocol == STATIC),
        tuple(one for one in before.entries if one.identity not in has and reached(one)),
    )


def some(commands: Sequence[Command]) -> str:
    """Commands as one would type them, the first of them where they are many."""
    lines = [command_line(one) for one in commands[:_NAMED]]
    rest = len(commands) - len(lines)
    return ", ".join(lines) + (f" and {rest} more" if rest else "")
