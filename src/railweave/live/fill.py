"""``inventory fill``: the inventory of a network with what a capture tells of its hardware."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import FileLine, InputError, Problem
from railweave.intent.inventory import read_inventory
from railweave.intent.reading.source import companion
from railweave.live.check import read
from railweave.live.learnt import filled, learnt
from railweave.reading import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.live.learnt import Key
    from railweave.network.model import Network
    from railweave.state.capture import Capture


@dataclass(frozen=True)
class Filled:
    """An inventory before and after; ``cells`` are those that differ, ``notes`` what was heard and not taken."""

    file: Path
    before: str
    after: str
    cells: dict[Key, dict[str, str]]
    notes: list[str]

    @property
    def differs(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.cells)

    def difference(self) -> list[str]:
        """What changes in the file, as ``diff -u`` shows it."""
        sides = (self.before.splitlines(), self.after.splitlines())
        return list(difflib.unified_diff(*sides, str(self.file), str(self.file), lineterm="")) if self.differs else []

    def to_json(self) -> dict[str, object]:
        """The whole as the documented JSON object."""
        rows = [{"device": device, "interface": interface, **row} for (device, interface), row in self.cells.items()]
        return {"file": str(self.file), "rows": rows, "notes": self.notes}


def fill(fabric: Path, network: Network, capture: Capture) -> Filled:
    """What a capture says beside the inventory of a fabric file. Nothing is written.

    Raises ``InputError`` for a build folder, which has no inventory of its own, and for a capture that has nothing of the network.
    """
    if fabric.is_dir():
        fix = "name the fabric file; its inventory is beside it"
        raise InputError([Problem(FileLine(str(fabric)), "a build folder has no inventory", fix)])
    file = companion(fabric, "inventory.csv")
    items = read_inventory(file).items
    found = learnt(network, read(network, capture))
    macs = {one.mac: key for key, one in items.items() if one.mac}
    cells: dict[Key, dict[str, str]] = {}
    for key, row in found.cells.items():
        owner = macs.get(row.get("mac", ""), key)
        if owner != key and "mac" not in found.cells.get(owner, {}):
            found.notes.append(f"{' '.join(key)}: MAC address {row['mac']} is that of {' '.join(owner)} in {file.name}")
            continue
        known = items.get(key)
        new = {column: value for column, value in row.items() if known is None or getattr(known, column) != value}
        if new:
            cells[key] = new
    try:
        before = read_text(file)
    except FileNotFoundError:
        before = ""
    return Filled(file, before, filled(before, cells) if cells else before, cells, found.notes)
