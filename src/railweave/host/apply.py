"""Apply the planned routes and rules to the kernel, and the table names to the file of routing table names, all or nothing.

The module also undoes the changes, and restores the planned state whenever another program changes it.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Callable

from . import changes, files, journal, kernel, readiness
from .entries import STATIC, SYSTEM_TABLES, Entry, Route
from .failure import HostError, HostInputError, InterruptedRunError
from .kernel import command_line

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence
    from pathlib import Path
    from types import FrameType

    from .changes import Changes
    from .host_file import HostFile
    from .journal import Journal
    from .kernel import Command, Kernel


_NAMED = 10
"""The largest number of commands that a message lists."""


@dataclass(frozen=True)
class Remains:
    """The routes and rules (entries) in which the kernel still differs from an earlier state.

    - ``more``: entries that exist now and did not exist before.
    - ``less``: entries that existed before and do not exist now.
    """

    more: tuple[Entry, ...]
    less: tuple[Entry, ...]

    @property
    def lines(self) -> list[str]:
        """The commands by which an operator can restore the earlier state: a line with removals, and a line with additions."""
        lines = [f"still there, to be removed: {some([('del', entry) for entry in self.more])}"] if self.more else []
        return lines + ([f"gone, to be put back: {some([('add', entry) for entry in self.less])}"] if self.less else [])

    def kept(self, journal: Journal) -> Journal:
        """Return the journal with the remaining differences added, so that ``undo`` reverses them later.

        Entries that cannot be restored exactly are left out, because an incomplete rule or route would match more
        packets than the original.
        """
        added, replaced = ({entry.identity for entry in known} for known in (journal.added, journal.replaced))
        restorable = (
            entry for entry in self.less if not (entry.opaque if isinstance(entry, Route) else not entry.plain)
        )
        return replace(
            journal,
            added=(*journal.added, *(entry for entry in self.more if entry.identity not in added | replaced)),
            replaced=(*journal.replaced, *(entry for entry in restorable if entry.identity not in added | replaced)),
        )


def after(commands: Sequence[Command], before: Kernel, now: Kernel) -> Remains:
    """Return the routes and rules that differ between ``before`` and ``now``, if the commands could have affected them.

    The commands could have affected:

    - the entries that they name
    - every entry in one of their tables
    - every entry with the same selector as one of their rules, because the kernel may show an entry differently from the command

    A new entry that no command names is returned only if it has railweave's protocol number; otherwise, another program
    made the entry.
    """
    touched = [entry for _, entry in commands]
    names = {entry.identity for entry in touched}
    tables = {entry.table for entry in touched} - SYSTEM_TABLES
    places = {entry.place for entry in touched}

    def reached(entry: Entry) -> bool:
        return entry.table in tables or entry.place in places

    had, has = ({entry.identity for entry in kernel.entries} for kernel in (before, now))
    more = [entry for entry in now.entries if entry.identity not in had and reached(entry)]
    return Remains(
        tuple(entry for entry in more if entry.identity in names or entry.protocol == STATIC),
        tuple(entry for entry in before.entries if entry.identity not in has and reached(entry)),
    )


def some(commands: Sequence[Command]) -> str:
    """Return commands as an operator would type them, separated by commas. A long list ends with the number of further commands."""
    lines = [command_line(command) for command in commands[:_NAMED]]
    rest = len(commands) - len(lines)
    return ", ".join(lines) + (f" and {rest} more" if rest else "")


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def by_exception() -> None:
    """Make SIGINT and SIGTERM end the program with KeyboardInterrupt from now on, as Ctrl-C does."""
    for signal_number in _SIGNALS:
        signal.signal(signal_number, signal.default_int_handler)


@contextmanager
def delayed_interrupts() -> Generator[Callable[[], None], None, None]:
    """Delay SIGINT and SIGTERM inside a ``with`` statement.

    Yield a function that raises InterruptedRunError if one of these signals has arrived.
    """
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    def check() -> None:
        if came:
            raise InterruptedRunError(f"interrupted by {signal.Signals(came[0]).name}")

    before = [signal.signal(signal_number, note) for signal_number in _SIGNALS]
    try:
        yield check
    finally:
        for signal_number, handler in zip(_SIGNALS, before):
            signal.signal(signal_number, handler)


@dataclass(frozen=True)
class Places:
    """The paths of the journal (the record of railweave's changes) and of the file with the names of routing tables."""

    journal: Path
    names: Path


def places(state_file: Path, names_file: Path | None) -> Places:
    """Return the paths of the journal (``state_file``) and of the names file (the file with the names of routing tables).

    The names file is the file that the journal records, else ``names_file``, else iproute2's default.
    Raises HostInputError if ``names_file`` differs from the journal's file, because ``undo`` could restore only one of the
    two files.
    """
    given = None if names_file is None else names_file.absolute()
    known = journal.load(state_file).names
    if given and known and given != known:
        raise HostInputError(f"--names-file {given}: the names are in {known} since an earlier apply; undo that first")
    return Places(state_file, known or given or files.RT_TABLES_FILE)


def work_out(plan: HostFile, places: Places, skip: Collection[str] = ()) -> Changes:
    """Return the changes that ``apply`` would make now, except for the network devices in ``skip``.

    ``places`` has the paths of two files: the record of railweave's changes (the journal), and the names of routing tables. Raises
    HostError if the state of the server cannot be read, or if a route or rule cannot be replaced safely.
    """
    now = files.read(places.names)
    return changes.to_plan(plan, kernel.read(), journal.load(places.journal), now, skip, places.names)


def apply(plan: HostFile, places: Places, lock: int, skip: Collection[str] = ()) -> Changes:
    """Apply the plan to the server, except for the network devices in ``skip``, and return the changes made.

    ``places`` has the paths of two files: the record of railweave's changes (the journal), and the names of routing tables. ``lock`` is the
    file descriptor of the lock. Raises HostError if a step fails, and InterruptedRunError after a signal. In both cases, the earlier state
    is restored. If that fails too, the message names the differences that remain in the kernel, and the journal keeps them for ``undo``.
    """
    before, names_before = kernel.read(), files.read(places.names)
    old = journal.load(places.journal)
    wanted = changes.to_plan(plan, before, old, names_before, skip, places.names)
    if not wanted:
        if wanted.after != old:
            journal.save(places.journal, wanted.after)
        return wanted
    with delayed_interrupts() as check:
        try:
            journal.save(places.journal, wanted.during)
            _change(wanted, places, lock, check)
            _verify(plan, skip)
            check()
            if wanted.after != wanted.during:
                journal.save(places.journal, wanted.after)
        except HostError as error:
            raise type(error)(f"{error}; {_put_back(wanted, before, names_before, old, places, lock)}") from None
    return wanted


def undo(state_file: Path, lock: int) -> int | None:
    """Undo everything that ``apply`` has done. Return the number of changed entries, or None if there was nothing to undo.

    ``state_file`` is the path of the journal, and ``lock`` the file descriptor of the lock. Raises HostError if a step fails. In
    that case, all other steps are still carried out, the message names the failed steps, and the journal is kept, so that a
    second ``undo`` can continue.
    """
    old = journal.load(state_file)
    steps = journal.Journal(steps=old.steps)
    if old == steps:
        journal.save(state_file, old)
        return None
    with delayed_interrupts() as check:
        commands = changes.to_before(kernel.read(), old)
        failed = kernel.attempt(commands, lock)
        left = changes.to_before(kernel.read(), old) if commands else ()
        if left:
            raise HostError("; ".join([*failed[:1], f"not undone yet: {some(left)}"]))
        check()
        if old.names:
            files.write(old.names, old.names_before)
        check()
        journal.save(state_file, steps)
    return len(commands)


def _change(wanted: Changes, places: Places, lock: int, check: Callable[[], None]) -> None:
    for family in (4, 6):
        check()
        kernel.change([command for command in wanted.commands if command[1].family == family], lock)
    check()
    if wanted.names is not None:
        files.write(places.names, wanted.names)
    check()


def _put_back(
    wanted: Changes, before: Kernel, names_before: str | None, old: Journal, places: Places, lock: int
) -> str:
    """Restore the state before the change as far as possible. Return the result as the end of a sentence.

    ``wanted`` are the changes that failed. The earlier state consists of ``before`` (routes and rules), ``names_before`` (the text of
    the names file) and ``old`` (the journal). ``places`` has the paths of both files, and ``lock`` is the file descriptor of the lock.
    """
    troubles: list[str] = []
    try:
        troubles += kernel.attempt(changes.back(wanted, before, kernel.read()), lock)
    except HostError as error:
        troubles.append(str(error))
    kept = replace(old, names=wanted.during.names, names_before=wanted.during.names_before)
    left = [f"{places.names}"]
    try:
        if files.read(places.names) != names_before:
            files.write(places.names, names_before)
        kept, left = old, []
    except HostError as error:
        troubles.append(str(error))
    try:
        remains = after(wanted.commands, before, kernel.read())
        journal.save(places.journal, remains.kept(kept))
        left = [*remains.lines, *left]
    except HostError as error:  # the journal of the time before, or of all that was to be done, is there: both will do
        troubles.append(str(error))
        left = [*left, "what the kernel or the journal has now could not be found out or kept"]
    if not left:
        return "everything is as it was before"
    why = f" ({troubles[0]})" if troubles else ""
    return f"not everything is as it was before{why}: {'; '.join(left)}; `railweave host undo` tries again"


def _verify(plan: HostFile, skip: Collection[str]) -> None:
    """Raise HostError if a planned route or rule is missing. The network devices in ``skip`` are not checked.

    The kernel drops some routes after they are added, for example if a link goes down.
    """
    missing = changes.undone(plan, kernel.read(), skip)
    if missing:
        raise HostError(f"{kernel.command_line(('add', missing[0]))}: done, but it is not there; {len(missing)} such")


_SETTLE_S = 0.2
"""The seconds without an event after which a repair begins. Several changes usually come together, and one repair is enough for them."""
_SETTLE_AT_MOST_S = 2.0
_LOOK_ANYWAY_S = 60.0
"""The longest time in seconds between two checks of the server's routes and rules.

The kernel does not report every dropped route, and loses events if there are many.
"""

_TRY_AGAIN_S = 3.0
"""The seconds to wait after a failed repair, because another program is often still making changes."""


def watch(plan: HostFile, places: Places, lock: int, say: Callable[[str], None]) -> None:
    """Restore the planned state whenever it changes, until KeyboardInterrupt is raised.

    ``places`` has the paths of two files: the record of railweave's changes (the journal), and the names of routing tables. ``lock`` is the
    file descriptor of the lock. ``say`` is called with a line of text for each repair, and for each NIC that disappears or returns.
    """
    blocked: dict[str, str] = {}
    trouble = ""
    while True:
        with _news() as news:  # listens before it looks: nothing is missed in between
            while True:
                try:
                    blocked = _report(plan, blocked, say)
                    done = apply(plan, places, lock, blocked)
                    trouble = ""
                    if done:
                        lines = [command_line(command) for command in done.commands] or [f"{places.names} written"]
                        say("repaired: " + "; ".join(_few(lines)))
                except InterruptedRunError as error:
                    say(str(error))
                    raise KeyboardInterrupt from None
                except HostError as error:
                    if str(error) != trouble:
                        trouble = str(error)
                        say(f"not repaired: {trouble}")
                if not _settled(news, _TRY_AGAIN_S if trouble else _LOOK_ANYWAY_S):
                    break


def _report(plan: HostFile, before: dict[str, str], say: Callable[[str], None]) -> dict[str, str]:
    now = {state.netdev: state.blocked for state in readiness.read(plan) if state.blocked}
    for netdev in {**before, **now}:
        if before.get(netdev) != now.get(netdev):
            say(f"{netdev}: {now.get(netdev, 'is back')}")
    return now


def _few(lines: list[str]) -> list[str]:
    return lines if len(lines) <= 3 else [*lines[:2], f"{len(lines) - 2} more"]


@contextmanager
def _news() -> Generator[int, None, None]:
    """Open a connection to the kernel's events about links, addresses, routes and rules, and yield its file descriptor."""
    try:
        with subprocess.Popen(
            ["ip", "monitor", "link", "address", "route", "rule"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as monitor:
            try:
                assert monitor.stdout is not None  # noqa: S101 - PIPE
                yield monitor.stdout.fileno()
            finally:
                monitor.terminate()
    except FileNotFoundError:
        raise HostError("the ip command is not there: install iproute2") from None


def _settled(news: int, wait: float) -> bool:
    """Wait up to ``wait`` seconds for the first kernel event, then until events pause. Return False if the event source has ended.

    ``news`` is the file descriptor of the events.
    """
    end = time.monotonic() + wait
    while select.select([news], [], [], max(0.0, min(wait, end - time.monotonic())))[0]:
        if not os.read(news, 1 << 16):
            time.sleep(1)
            return False
        if wait != _SETTLE_S:  # the first
            wait, end = _SETTLE_S, time.monotonic() + _SETTLE_AT_MOST_S
    return True
