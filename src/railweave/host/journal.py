"""The journal: the routes and rules ("entries") that railweave added on this server, those that it replaced, and setup steps.

The journal is written before each change.

For routes and rules, the journal does not record which changes were made. It lists the entries to remove if they exist,
and the entries to restore if they are missing. So the journal is correct at any time, even if the program was killed
between two changes.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import files
from .entries import Entry, Route, Rule
from .failure import HostError
from .files import RT_TABLES_FILE

if TYPE_CHECKING:
    from collections.abc import Generator

SCHEMA = 1
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_LOCK_WAIT_S = 3.0
_FIELDS = {kind: [(field.name, field.default) for field in fields(kind)] for kind in (Route, Rule)}


@dataclass(frozen=True)
class StepRecord:
    """A step of `setup` or `capture-roce`, written before its first command.

    - ``name``: the name of the step.
    - ``inverse``: the commands that undo the step, in order. Each is the folder to run in (may be empty), then the words of the command.
    - ``files``: the path and the earlier text of each file that the step writes; None if the file did not exist.
    - ``left``: a description of the changes that cannot be undone; empty if there are none.
    - ``boot``: the identifier of the boot during which the step ended, if the step takes effect only after a restart; else empty.
    - ``ended``: True if all its commands have succeeded.
    - ``written``: the path and text of each file that the step wrote, so that later changes by others are not undone.
    - ``modes``: the path and the earlier mode of each file.
    """

    name: str
    inverse: tuple[tuple[str, ...], ...] = ()
    files: tuple[tuple[str, str | None], ...] = ()
    left: str = ""
    boot: str = ""
    ended: bool = False
    written: tuple[tuple[str, str], ...] = ()
    modes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Journal:
    """The record of changes to this server.

    - ``added``: routes and rules that railweave added or is about to add.
    - ``replaced``: earlier routes and rules that railweave replaced or is about to replace.
    - ``names``: the path of the file with the names of routing tables, if railweave has written it; else None.
    - ``names_before``: the earlier text of that file; None if it did not exist.
    - ``steps``: the steps of `setup` and `capture-roce`, in the order in which they ran.
    """

    added: tuple[Entry, ...] = ()
    replaced: tuple[Entry, ...] = ()
    names: Path | None = None
    names_before: str | None = None
    steps: tuple[StepRecord, ...] = ()


def load(file: Path) -> Journal:
    """Return the journal in ``file``; an empty journal if the file does not exist. Raises HostError if the file cannot be parsed.

    If the server has restarted since the journal was written, the kernel has lost the routes and rules. Then only the steps and the names
    of routing tables are returned.
    """
    text = files.read(file)
    if text is None:
        return Journal()
    try:
        value = files.parsed(text)
        if value["schema"] != SCHEMA:
            raise HostError(f"{file}: written by a newer railweave host (version {value['schema']}); use that one")
        names, before = _names(value["names"]), _text(value["names_before"])
        steps = tuple(_step(step) for step in value.get("steps", []))
        if value["boot"] != boot():
            return Journal(names=names, names_before=before, steps=steps)
        return Journal(_entries(value["added"]), _entries(value["replaced"]), names, before, steps)
    except (ValueError, KeyError, TypeError):
        raise HostError(
            f"{file}: not a journal of railweave host; move it away to start afresh, then check `ip rule` and"
            " `ip route show table all` for what it described"
        ) from None


def save(file: Path, journal: Journal) -> None:
    """Write the journal, or remove the file if the journal is empty. Raises HostError if the file cannot be written or removed."""
    if journal == Journal():
        files.write(file, None)
        return
    names = None if journal.names is None else str(journal.names)
    # A line for each entry: json's own indentation takes many times as long.
    members = [
        f'"schema": {SCHEMA}',
        f'"boot": {json.dumps(boot())}',
        *(
            f'"{key}": [\n' + ",\n".join(json.dumps(_value(entry)) for entry in entries) + "\n]"
            for key, entries in (("added", journal.added), ("replaced", journal.replaced))
        ),
        f'"names": {json.dumps(names)}',
        f'"names_before": {json.dumps(journal.names_before)}',
    ]
    if journal.steps:
        members.append('"steps": [\n' + ",\n".join(json.dumps(asdict(step)) for step in journal.steps) + "\n]")
    text = "{\n" + ",\n".join(members) + "\n}\n"
    if len(text) > files.MOST_BYTES:  # of one that could not be read again, nothing could be undone
        raise HostError(
            f"{file}: the journal of so many routes and rules would be {len(text) >> 20} MiB, and"
            f" {files.MOST_BYTES >> 20} MiB is the most that is read"
        )
    files.write(file, text)


@contextmanager
def locked(file: Path) -> Generator[int, None, None]:
    """Lock the file ``*.lock`` next to the journal ``file`` while the context lasts, and yield the descriptor of the lock file.

    Raises HostError if another process keeps the lock; the error names that process. Also raises HostError if the lock file cannot be
    opened.
    """
    lock = file.with_suffix(".lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise HostError(f"{lock}: {error.strerror}; changing routes needs root") from None
    try:
        end = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    who = os.pread(held, 200, 0).decode("utf-8", "replace").strip()
                    raise HostError(
                        f"{who or 'another railweave host'} is at work ({lock}); stop it, or let it end"
                    ) from None
                time.sleep(0.05)
        os.ftruncate(held, 0)
        os.pwrite(held, f"railweave host, process {os.getpid()},".encode(), 0)
        yield held
    finally:
        os.close(held)


def boot() -> str:
    """Return an identifier of the present boot; empty if the system has none."""
    return _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""


def _value(entry: Entry) -> dict[str, Any]:
    """Return the route or rule ``entry`` as a JSON object, without the fields that have their default value."""
    values = {
        name: getattr(entry, name)
        for name, default in _FIELDS[type(entry)]
        if default is MISSING or getattr(entry, name) != default
    }
    return {"route" if isinstance(entry, Route) else "rule": values}


def _step(value: dict[str, Any]) -> StepRecord:
    inverse: list[list[str]] = value["inverse"]
    written: list[tuple[str, Any]] = value["files"]
    return StepRecord(
        value["name"],
        tuple(tuple(command) for command in inverse),
        tuple((path, _text(text)) for path, text in written),
        value["left"],
        value["boot"],
        value["ended"],
        tuple((str(path), str(text)) for path, text in value.get("written", [])),
        tuple((str(path), int(mode)) for path, mode in value.get("modes", [])),
    )


def _names(value: object) -> Path | None:
    if isinstance(value, bool):  # as the first versions had it: whether
        return RT_TABLES_FILE if value else None
    text = _text(value)
    return None if text is None else Path(text)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError


def _entries(values: list[dict[str, Any]]) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for value in values:
        if "route" in value:
            given = value["route"]  # JSON has no tuples
            lists: dict[str, Any] = {key: tuple(given[key]) for key in ("rest", "opaque") if key in given}
            entries.append(Route(**{**given, **lists}))
        else:
            entries.append(Rule(**value["rule"]))
    return tuple(entries)
