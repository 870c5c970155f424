"""Bring the kernel and the names file to the plan, or leave everything as it was; and take it all back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Callable

from . import changes, files, interrupts, journal, kernel, names, remains
from .failure import HostError, HostInputError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from .changes import Changes
    from .host_file import HostFile
    from .journal import Journal
    from .kernel import Kernel


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
    return Places(state_file, known or given or names.DEFAULT_FILE)


def work_out(plan: HostFile, places: Places, skip: Collection[str] = ()) -> Changes:
    """What ``apply`` would change now. Raises HostError."""
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
    with interrupts.held() as check:
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
    with interrupts.held() as check:
        commands = changes.to_before(kernel.read(), old)
        failed = kernel.attempt(commands, lock)
        left = changes.to_before(kernel.read(), old) if commands else ()
        if left:
            raise HostError("; ".join([*failed[:1], f"not undone yet: {remains.some(left)}"]))
        check()
        if old.names:
            files.write(old.names, old.names_before)
        check()
        journal.save(state_file, journal.Journal())
    return len(commands)


def _change(wanted: Changes, places: Places, lock: int, check: Callable[[], None]) -> None:
    for family in (4, 6):
        check()
        kernel.change([one for one in wanted.commands if one[1].family == family], lock)
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
        found = remains.after(wanted.commands, before, kernel.read())
        journal.save(places.journal, found.kept(kept))
        left = [*found.lines, *left]
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
