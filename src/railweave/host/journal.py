"""The journal of what is ours on this server, and what we displaced, written before any change that it describes.

The journal holds intents, not steps: "of these entries, remove those that exist; of those, put back the missing ones". So the
journal is right at every moment between two changes, and after a SIGKILL at any of them, without knowing which change was last.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
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
class Journal:
    """``added``: ours, or about to be. ``replaced``: there before us, or about to be displaced.

    ``names``: the file of table names, where it is ours; ``names_before``: what stood there before, None for no file.
    """

    added: tuple[Entry, ...] = ()
    replaced: tuple[Entry, ...] = ()
    names: Path | None = None
    names_before: str | None = None


def load(file: Path) -> Journal:
    """The journal; empty where there is none. Raises HostError where it cannot be understood.

    Of one from before the last boot only the names file counts: the kernel has forgotten everything else.
    """
    text = files.read(file)
    if text is None:
        return Journal()
    try:
        value = files.parsed(text)
        if value["schema"] != SCHEMA:
            raise HostError(f"{file}: written by a newer railweave host (version {value['schema']}); use that one")
        names, before = _names(value["names"]), _text(value["names_before"])
        if value["boot"] != _boot():
            return Journal(names=names, names_before=before)
        return Journal(_entries(value["added"]), _entries(value["replaced"]), names, before)
    except (ValueError, KeyError, TypeError):
        raise HostError(
            f"{file}: not a journal of railweave host; move it away to start afresh, then check `ip rule` and"
            " `ip route show table all` for what it described"
        ) from None


def save(file: Path, journal: Journal) -> None:
    """Write the journal, or remove it where nothing is ours. Raises HostError."""
    if journal == Journal():
        files.write(file, None)
        return
    names = None if journal.names is None else str(journal.names)
    # A line for each entry: json's own indentation takes many times as long.
    members = [
        f'"schema": {SCHEMA}',
        f'"boot": {json.dumps(_boot())}',
        *(
            f'"{key}": [\n' + ",\n".join(json.dumps(_value(entry)) for entry in entries) + "\n]"
            for key, entries in (("added", journal.added), ("replaced", journal.replaced))
        ),
        f'"names": {json.dumps(names)}',
        f'"names_before": {json.dumps(journal.names_before)}',
    ]
    text = "{\n" + ",\n".join(members) + "\n}\n"
    if len(text) > files.MOST_BYTES:  # of one that could not be read again, nothing could be undone
        raise HostError(
            f"{file}: the journal of so many routes and rules would be {len(text) >> 20} MiB, and"
            f" {files.MOST_BYTES >> 20} MiB is the most that is read"
        )
    files.write(file, text)


@contextmanager
def locked(file: Path) -> Generator[int, None, None]:
    """Hold the lock beside the journal; gives its descriptor. Raises HostError that says who has it."""
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


def _boot() -> str:
    """Return what tells this boot from others; empty if the system does not say."""
    return _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""


def _value(entry: Entry) -> dict[str, Any]:
    """An entry without what is as it is by default."""
    values = {
        name: getattr(entry, name)
        for name, default in _FIELDS[type(entry)]
        if default is MISSING or getattr(entry, name) != default
    }
    return {"route" if isinstance(entry, Route) else "rule": values}


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
