"""The file NAME.lock, which records all allocations.

Every item with a number (a stripe, a spine, a server in a stripe, a path color of an uplink) has a slot in a named
pool. The slot is the item's number. A name keeps its slot as long as it is in the lock, even if it is absent from
the fabric file. A new name takes the lowest slot that the lock has not assigned. So adding or removing an item never
changes other items' slots.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import FileLine, Problem, SpecError
from railweave.reading import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

VERSION = 1

MOST_SLOTS = 1 << 24
"""The highest slot in a lock. Addresses and other numbers are derived from slots, so slots need a limit."""


@dataclass
class Lock:
    """The slots by pool and name. ``used`` holds the names that the current design has requested, by pool.

    If ``compacting``, each request for a pool's slots first removes the names not requested.
    """

    pools: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    used: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    compacting: bool = False

    def allot(self, pool: str, names: Iterable[str], *, shared: bool = False) -> dict[str, int]:
        """Return the slot of each name, counted from 1. Names without a slot get the lowest free slots, in order.

        ``names`` must be all names that the design has in the pool. If several fabrics share the pool (``shared``), other names
        keep their slots.
        """
        names = list(names)
        slots = self.pools.setdefault(pool, {})
        if self.compacting and not shared:
            slots = self.pools[pool] = {name: slot for name, slot in slots.items() if name in names}
        used = self.used.setdefault(pool, set())
        taken = set(slots.values())
        result: dict[str, int] = {}
        free = 1
        for name in names:
            slot = slots.get(name)
            if slot is None:
                while free in taken:
                    free += 1
                slot = slots[name] = free
                taken.add(free)
            used.add(name)
            result[name] = slot
        return result

    def move(self, name: str, home: str, family: str) -> None:
        """Remove a name from all pools whose names start with ``family``, except the pool ``home``.

        Its slots in those pools stay reserved. So if a server moves to a different stripe, no other server gets its old slot. If
        the server returns, it gets its old slot back.
        """
        for pool, slots in self.pools.items():
            if pool != home and name in slots and pool.startswith(family):
                slot = slots.pop(name)
                slots[f"{name} (moved from {slot})"] = slot
        here = self.pools.get(home, {})
        former = next((holder for holder in here if holder.startswith(f"{name} (moved from ")), None)
        if former is not None and name not in here:
            here[name] = here.pop(former)

    def finished(self) -> Lock:
        """Return the lock to save after a design. With ``compacting``, it holds only the slots that the design requested."""
        if not self.compacting:
            return Lock(self.pools)
        kept = {
            pool: {n: slot for n, slot in self.pools[pool].items() if n in names} for pool, names in self.used.items()
        }
        return Lock({pool: slots for pool, slots in kept.items() if slots})

    def unused(self) -> list[str]:
        """Return names that have a slot in a pool of the current design but were not requested by it."""
        names = {
            name.partition(" (moved from ")[0]: None
            for pool in self.used
            for name in self.pools[pool]
            if name not in self.used[pool]
        }
        return list(names)

    def copy(self) -> Lock:
        """Return an independent copy in which no name is marked as used."""
        return Lock({pool: dict(slots) for pool, slots in self.pools.items()}, compacting=self.compacting)

    def to_text(self) -> str:
        """Return the text of the lock file, with one name per line so that a version-control diff shows the allocations."""
        pools = {
            pool: dict(sorted(slots.items(), key=lambda item: item[1]))
            for pool, slots in sorted(self.pools.items())
            if slots
        }
        return json.dumps({"railweave-lock": VERSION, "pools": pools}, indent=1) + "\n"


def read_lock(path: Path) -> Lock:
    """Read a lock. A missing file gives an empty lock. Raises ``SpecError`` if the file is damaged."""
    fix = "restore it from version control; if you delete it, all numbers and addresses are assigned again"
    try:
        text = read_json(path, "the lock is damaged", fix)
    except FileNotFoundError:
        return Lock()
    data = cast("dict[str, Any]", text) if isinstance(text, dict) else {}
    if data.get("railweave-lock") != VERSION:
        raise SpecError(
            [
                Problem(
                    FileLine(str(path), 1), "not a lock of this version", f'expected "railweave-lock": {VERSION}; {fix}'
                )
            ]
        )
    pools: Any = data.get("pools", {})
    wrong = next(_wrong(pools), None)
    if wrong is not None:
        raise SpecError([Problem(FileLine(str(path)), wrong, fix)])
    return Lock({pool: dict(slots) for pool, slots in pools.items()})


def _wrong(pools: Any) -> Iterator[str]:  # noqa: ANN401 - JSON values
    """Yield a message for each fault that makes the pools of a lock unusable."""
    if not isinstance(pools, dict):
        yield "pools must be a map"
        return
    for pool, slots in cast("dict[str, Any]", pools).items():
        if not isinstance(slots, dict):
            yield f"{pool}: must be a map of names to slots"
            continue
        owners: dict[int, str] = {}
        for name, slot in cast("dict[str, Any]", slots).items():
            if not isinstance(slot, int) or isinstance(slot, bool) or not 1 <= slot <= MOST_SLOTS:
                yield f"{pool}: {name!r} has slot {slot!r:.40}"
            elif slot in owners:
                yield f"{pool}: {owners[slot]!r} and {name!r} have the same slot {slot}"
            else:
                owners[slot] = name
