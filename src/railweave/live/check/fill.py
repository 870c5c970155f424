"""``inventory fill``: the inventory of a network with what a capture tells of its hardware."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import FileLine, InputError, Problem
from railweave.live.check.check import read
from railweave.live.check.learnt import filled, learnt
from railweave.live.check.learnt_of_modules import lengths
from railweave.model.intent.inventory import read_inventory
from railweave.model.intent.reading.source import companion
from railweave.model.state.host_state import read_hosts
from railweave.reading import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from railweave.live.check.learnt import Key, Learnt
    from railweave.model.intent.inventory import Item
    from railweave.model.network.model import Network
    from railweave.model.state.capture import Capture
    from railweave.model.state.device_state import DeviceState

_ROUNDED_M = 1.0
"""Modules give lengths in whole metres, people measure more exactly."""


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

    Raises ``InputError`` for a build folder, which has no inventory of its own, for a capture of a lab, whose hardware is none,
    and for a capture that has nothing of the network.
    """
    if fabric.is_dir():
        fix = "name the fabric file; its inventory is beside it"
        raise InputError([Problem(FileLine(str(fabric)), "a build folder has no inventory", fix)])
    if capture.meta.lab is not None:
        fix = "collect from the devices themselves: `railweave collect FABRIC -o CAPTURE --servers`"
        raise InputError(
            [Problem(FileLine(str(capture.folder)), "it is a capture of a lab, which has no hardware", fix)]
        )
    file = companion(fabric, "inventory.csv")
    items = read_inventory(file).items
    states = read(network, capture)
    found = learnt(network, states, read_hosts(capture, [one.name for one in network.servers]))
    add_lengths(network, states, items, found)
    macs = {one.mac: key for key, one in items.items() if one.mac}
    cells: dict[Key, dict[str, str]] = {}
    for key, row in found.cells.items():
        owner = macs.get(row.get("mac", ""), key)
        if owner != key and "mac" not in found.cells.get(owner, {}):
            found.notes.append(f"{' '.join(key)}: MAC address {row['mac']} is that of {' '.join(owner)} in {file.name}")
            continue
        known = items.get(key)
        new = {column: value for column, value in row.items() if known is None or _known(known, column) != value}
        if new:
            cells[key] = new
    try:
        before = read_text(file)
    except FileNotFoundError:
        before = ""
    return Filled(file, before, filled(before, cells) if cells else before, cells, found.notes)


def _known(item: Item, column: str) -> str:
    """A cell of a row as it would be written."""
    return f"{item.length_m or 0:g}" if column == "length" else getattr(item, column)


def add_lengths(network: Network, states: Mapping[str, DeviceState], items: Mapping[Key, Item], found: Learnt) -> None:
    """Add the lengths of cables that modules know. What the inventory has at either end was measured, and stays."""
    for here, there, metres in lengths(network, states, found.notes):
        ends = [(end.device, end.port) for end in (here, there)]
        measured = next((items[end].length_m for end in ends if end in items and items[end].length_m), None)
        if measured is None:
            found.cells.setdefault(ends[0], {})["length"] = f"{metres:g}"
        elif abs(measured - metres) >= _ROUNDED_M:
            found.notes.append(
                f"{' '.join(ends[0])}: its module says that the cable has {metres:g} m, the inventory has {measured:g} m, which stays"
            )
