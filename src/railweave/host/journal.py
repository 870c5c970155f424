"""What is ours on this server, and what we displaced: written before any change that it describes.

The journal holds intents, not steps: "of these entries, remove those that are there; of those, put back what is not".
So it is right at every moment between two changes, and after a SIGKILL at any of them, without knowing which was last.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import files
from .entries import Entry, Route, Rule
from .failure import HostError
from .names import DEFAULT_FILE

if TYPE_CHECKING:
    from collections.abc import Generator

SCHEMA = 1
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_LOCK_WAIT_S = 3.0


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
    value = {
        "schema": SCHEMA,
        "boot": _boot(),
        "added": [_value(one) for one in journal.added],
        "replaced": [_value(one) for one in journal.replaced],
        "names": None if journal.names is None else str(journal.names),
        "names_before": journal.names_before,
    }
    files.write(file, json.dumps(value, indent=1) + "\n")


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
    """What tells this boot from others; empty where the system does not say."""
    return _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""


def _value(entry: Entry) -> dict[str, Any]:
    return {"route" if isinstance(entry, Route) else "rule": asdict(entry)}


def _names(value: object) -> Path | None:
    if isinstance(value, bool):  # as the first versions had it: whether
        return DEFAULT_FILE if value else None
    text = _text(value)
    return None if text is None else Path(text)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError


def _entries(values: list[dict[str, Any]]) -> tuple[Entry, ...]:
    found: list[Entry] = []
    for value in values:
        if "route" in value:
            route = Route(**value["route"])  # JSON has no tuples
            found.append(replace(route, rest=tuple(route.rest), opaque=tuple(route.opaque)))
        else:
            found.append(Rule(**value["rule"]))
    return tuple(found)
