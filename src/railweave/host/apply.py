"""Apply the plan to the kernel and the names file, or leave everything as it was; undo it; watch and repair it."""

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
"""As many commands are named in a message."""


@dataclass(frozen=True)
class Remains:
    """``more``: there now and not before. ``less``: there before and gone now. Both as the kernel shows them."""

    more: tuple[Entry, ...]
    less: tuple[Entry, ...]

    @property
    def lines(self) -> list[str]:
        """The commands for an operator to type: what to remove, and what to put back."""
        lines = [f"still there, to be removed: {some([('del', entry) for entry in self.more])}"] if self.more else []
        return lines + ([f"gone, to be put back: {some([('add', entry) for entry in self.less])}"] if self.less else [])

    def kept(self, journal: Journal) -> Journal:
        """The journal of before, with what ``undo`` must do besides.

        What could not be written back as it was is left out: a rule or a route that says less would do more.
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
    """Return the entries that differ from before, among all that the commands could have touched.

    The commands could have touched the entries that they name, every entry in one of their tables, and every entry that selects
    what one of their rules selects. The kernel may show an entry in other words than it was given in. Of entries that no
    command names, new ones count if their protocol is ours; others are not our doing.
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
    """Commands as one would type them, the first of them where they are many."""
    lines = [command_line(command) for command in commands[:_NAMED]]
    rest = len(commands) - len(lines)
    return ", ".join(lines) + (f" and {rest} more" if rest else "")


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def by_exception() -> None:
    """From now on both signals end the program as Ctrl-C does: with KeyboardInterrupt."""
    for signal_number in _SIGNALS:
        signal.signal(signal_number, signal.default_int_handler)


@contextmanager
def held() -> Generator[Callable[[], None], None, None]:
    """Hold both signals back; gives a function that raises InterruptedRunError if one came."""
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
    """The files that belong to a server's state: the journal, and the names of routing tables."""

    journal: Path
    names: Path


def places(state_file: Path, names_file: Path | None) -> Places:
    """The places; the names are where the journal has them, else in ``names_file``, else where iproute2 looks.

    Raises HostInputError where they were put elsewhere before: of two files, ``undo`` would know one only.
    """
    given = None if names_file is None else names_file.absolute()
    known = journal.load(state_file).names
    if given and known and given != known:
        raise HostInputError(f"--names-file {given}: the names are in {known} since an earlier apply; undo that first")
    return Places(state_file, known or given or files.RT_TABLES_FILE)


def work_out(plan: HostFile, places: Places, skip: Collection[str] = ()) -> Changes:
    """Return the changes that ``apply`` would make now.

    Raises HostError.
    """
    now = files.read(places.names)
    return changes.to_plan(plan, kernel.read(), journal.load(places.journal), now, skip, places.names)


def apply(plan: HostFile, places: Places, lock: int, skip: Collection[str] = ()) -> Changes:
    """Bring the server to the plan, all but the network devices in ``skip``; gives what was changed.

    Raises HostError where a step failed and InterruptedRunError after a signal; everything is then as it was before, or
    the text names what the kernel has otherwise, and the journal keeps it for ``undo``.
    """
    before, names_before = kernel.read(), files.read(places.names)
    old = journal.load(places.journal)
    wanted = changes.to_plan(plan, before, old, names_before, skip, places.names)
    if not wanted:
        if wanted.after != old:
            journal.save(places.journal, wanted.after)
        return wanted
    with held() as check:
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
    """Take back all that ``apply`` did since the first time; gives the number of entries changed, None for nothing to do.

    Raises HostError where a step failed: all others are done, the text names what is left, the journal stays, and a
    second ``undo`` goes on from there.
    """
    old = journal.load(state_file)
    if old == journal.Journal():
        journal.save(state_file, old)
        return None
    with held() as check:
        commands = changes.to_before(kernel.read(), old)
        failed = kernel.attempt(commands, lock)
        left = changes.to_before(kernel.read(), old) if commands else ()
        if left:
            raise HostError("; ".join([*failed[:1], f"not undone yet: {some(left)}"]))
        check()
        if old.names:
            files.write(old.names, old.names_before)
        check()
        journal.save(state_file, journal.Journal())
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
    """Put everything back as far as it goes; gives, as the end of a sentence, what the kernel and the files are then."""
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
    """The kernel accepts some routes and drops them at once, such as on a link that goes down meanwhile."""
    missing = changes.undone(plan, kernel.read(), skip)
    if missing:
        raise HostError(f"{kernel.command_line(('add', missing[0]))}: done, but it is not there; {len(missing)} such")


_SETTLE_S = 0.2
"""A change seldom comes alone: look when so long nothing more was said, so that a flap is one repair."""
_SETTLE_AT_MOST_S = 2.0
_LOOK_ANYWAY_S = 60.0
"""The kernel does not tell of every route it drops (IPv4, when a link goes down), and drops news when there is too much."""

_TRY_AGAIN_S = 3.0
"""After a repair that failed: often something else was still at it."""


def watch(plan: HostFile, places: Places, lock: int, say: Callable[[str], None]) -> None:
    """Repair until KeyboardInterrupt; ``say`` gets a line for each repair, and for each NIC that goes or comes back."""
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
    """A descriptor on which the kernel's news of links, addresses, routes and rules can be read."""
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
    """Wait so long for news, and then until there is no more for a moment. False where the source has dried up."""
    end = time.monotonic() + wait
    while select.select([news], [], [], max(0.0, min(wait, end - time.monotonic())))[0]:
        if not os.read(news, 1 << 16):
            time.sleep(1)
            return False
        if wait != _SETTLE_S:  # the first
            wait, end = _SETTLE_S, time.monotonic() + _SETTLE_AT_MOST_S
    return True
