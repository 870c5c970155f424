"""A fabric file without a lock that is built over what another one with a lock built: what was allotted there is not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import RailweaveError
from railweave.model.findings.registry import Rule
from railweave.model.intent.lock import read_lock
from railweave.model.intent.reading.source import companion

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.findings import Finding
    from railweave.model.intent.lock import Lock

LOCK = "fabric.lock"
"""The lock's name in an output folder: a copy, so that `diff` can design a changed file with its allocations."""

LOCK_MISSING = Rule(
    id="lock-missing",
    severity="warning",
    applies="build",
    says="the fabric file has no lock beside it, and the folder that it replaces had other allocations",
    why="servers, ports, addresses and cables that the replaced folder described may have moved",
    fix="where the new file is a change of the old one: put it in the place of the old file, whose lock then counts, and build again; "
    "`railweave diff OLD NEW` shows what changes",
)


def earlier_lock(fabric: Path, out: Path) -> Lock | None:
    """The lock of the build that stands in ``out``, where the fabric file has none of its own; else None."""
    try:
        if companion(fabric, "lock").exists() or not (out / LOCK).is_file():
            return None
        return read_lock(out / LOCK)
    except (RailweaveError, OSError):
        return None  # a folder that is replaced need not be whole; what is wrong with a name is said where it is read


def lock_missing(fabric: Path, out: Path, before: Lock | None, now: Lock) -> list[Finding]:
    """That names which both have were allotted anew."""
    if before is None:
        return []
    moved = [
        name for pool, slots in now.pools.items() for name, slot in slots.items() if _moved(before, pool, name, slot)
    ]
    if not moved:
        return []
    what = (
        f"{companion(fabric, 'lock').name} is not there, so all is allotted anew: "
        f"{len(moved)} of the names in the {LOCK} that {out} had before have another place now, {moved[0]} among them"
    )
    return [LOCK_MISSING.finding(str(fabric), what, file=str(fabric))]


def _moved(before: Lock, pool: str, name: str, slot: int) -> bool:
    """Whether a name that had a place before has another now."""
    had = before.pools.get(pool, {}).get(name)
    return had != slot if had is not None else any(name in slots for slots in _siblings(before, pool))


def _siblings(lock: Lock, pool: str) -> list[dict[str, int]]:
    """Pools of the same family, such as those of servers of other stripes."""
    family = pool.rpartition("/")[0]
    return [slots for one, slots in lock.pools.items() if family and one != pool and one.rpartition("/")[0] == family]
