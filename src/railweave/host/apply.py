"""Bring the kernel and the names file to the plan, or leave everything as it was; and take it all back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

from . import changes, files, interrupts, journal, kernel, names
from .failure import HostError, HostInputError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from .changes import Changes
    from .host_file import HostFile


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

    Raises HostError where a step failed and InterruptedRunError after a signal; everything is then as it was before.
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
            journal.save(places.journal, wanted.after)
        except HostError as error:
            try:
                kernel.change(changes.back(wanted, before, kernel.read()), lock)
                if files.read(places.names) != names_before:
                    files.write(places.names, names_before)
                journal.save(places.journal, old)
            except HostError as second:
                raise HostError(
                    f"{error}; and putting things back failed: {second}; `railweave host undo` tries again"
                ) from None
            raise type(error)(f"{error}; everything is as it was before") from None
    return wanted


def undo(state_file: Path, lock: int) -> int | None:
    """Take back all that ``apply`` did since the first time; gives the number of entries changed, None for nothing to do.

    Raises HostError where a step failed: what is left stays in the journal, and a second ``undo`` goes on from there.
    """
    old = journal.load(state_file)
    if old == journal.Journal():
        journal.save(state_file, old)
        return None
    with interrupts.held() as check:
        commands = changes.to_before(kernel.read(), old)
        kernel.change(commands, lock)
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


def _verify(plan: HostFile, skip: Collection[str]) -> None:
    """The kernel accepts some routes and drops them at once, such as on a link that goes down meanwhile."""
    missing = changes.undone(plan, kernel.read(), skip)
    if missing:
        raise HostError(f"{kernel.command_line(('add', missing[0]))}: done, but it is not there; {len(missing)} such")
