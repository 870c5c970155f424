"""NAME.lock: the allocations made so far.

Everything that is counted (stripes, spines, servers in a stripe, path colors of uplinks) takes a slot in a named
pool. A name keeps its slot for as long as the lock holds it, also while it is absent from the fabric file; a new name
takes the lowest slot that was never given away. So adding or removing anything, from the middle too, moves nothing.
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
"""The highest slot that a lock may hold: numbers follow from slots, and none of them is so long."""


@dataclass
class Lock:
    """Slots by pool and name. ``used`` collects the names that the current design asked for.

    While ``compacting``, a pool that is asked for loses the names it is not asked for, before new ones are dealt.
    """

    pools: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    used: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    compacting: bool = False

    def allot(self, pool: str, names: Iterable[str], *, shared: bool = False) -> dict[str, int]:
        """The slot (1-based) of each name; names without one get the lowest slots that are free, in order.

        ``names`` are all that the design has in the pool, unless fabrics share it.
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
        """Let a name be in one pool of a family only: ``home``. Slots it had in others stay taken, under another name.

        So a server that is moved to another stripe keeps to that stripe, and finds its old slot when it comes back.
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
        """The lock to keep after a design: the whole, or while compacting only what the design asked for."""
        if not self.compacting:
            return Lock(self.pools)
        kept = {
            pool: {n: slot for n, slot in self.pools[pool].items() if n in names} for pool, names in self.used.items()
        }
        return Lock({pool: slots for pool, slots in kept.items() if slots})

    def copy(self) -> Lock:
        """An independent copy, with nothing marked used."""
        return Lock({pool: dict(slots) for pool, slots in self.pools.items()}, compacting=self.compacting)

    def to_text(self) -> str:
        """The file form: one name a line, so that a version-control diff shows what was allotted."""
        pools = {
            pool: dict(sorted(slots.items(), key=lambda item: item[1]))
            for pool, slots in sorted(self.pools.items())
            if slots
        }
        return json.dumps({"railweave-lock": VERSION, "pools": pools}, indent=1) + "\n"


def read_lock(path: Path) -> Lock:
    """Read a lock; a missing file is an empty one. Raises ``SpecError`` where the file is damaged."""
    if not path.exists():
        return Lock()
    fix = "restore it from version control; deleting it allots everything anew"
    text = read_json(path, "the lock is damaged", fix)
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
    """Yield each fault that makes a lock's pools unusable."""
    if not isinstance(pools, dict):
        yield "pools are not a map"
        return
    for pool, slots in cast("dict[str, Any]", pools).items():
        if not isinstance(slots, dict):
            yield f"{pool}: not a map of names and slots"
            continue
        owners: dict[int, str] = {}
        for name, slot in cast("dict[str, Any]", slots).items():
            if not isinstance(slot, int) or isinstance(slot, bool) or not 1 <= slot <= MOST_SLOTS:
                yield f"{pool}: {name!r} has slot {slot!r:.40}"
            elif slot in owners:
                yield f"{pool}: {owners[slot]!r} and {name!r} both have slot {slot}"
            else:
                owners[slot] = name
