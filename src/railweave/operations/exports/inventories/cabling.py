"""Cables whose ends change. A port takes one cable, so cables are taken off ports before other cables get them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.operations.exports.inventories.client import ServerError
from railweave.operations.exports.inventories.matching import is_loose, ports
from railweave.operations.exports.inventories.objects import Item, cable_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.exports.inventories.matching import Export, Index
    from railweave.operations.exports.inventories.objects import Id, Kind, Record

_GIVES_UP = 3
"""The failures in a row after which no more cables are put back: the server may be gone."""


def ends_body(export: Export, item: Item, *, new: bool) -> Record:
    """Return the two ends of a cable as the API takes them."""
    ends = {side: [("dcim.interface", export.ids.get(end))] for side, end in zip("ab", cable_ends(item), strict=True)}
    return export.product.ends_body(ends, new)


def moved_items(
    export: Export, items: Sequence[Item], index: Index
) -> tuple[list[tuple[Record, Item]], list[Item], list[str]]:
    """Divide cables that no cable of the server has the ends of.

    Returns (cables of the server that move, each with the design's cable; cables to create; notes about cables that are left out).
    """
    used = {record["id"] for record in index.records.values()}
    at_port: dict[Id, Record] = {port: record for record in index.cables for port in ports(export, record)}
    loose = [record for record in index.cables if is_loose(export, record)]
    moves: list[tuple[Record, Item]] = []
    creates: list[Item] = []
    notes: list[str] = []
    for item in items:
        ends = [export.ids.get(end) for end in cable_ends(item)]
        at = [at_port[end] for end in ends if end in at_port]
        foreign = next((record for record in at if not export.made_here(record)), None)
        if foreign is not None:
            name = foreign.get("label") or f"#{foreign['id']}"
            notes.append(f"cable {item.name} is left out: cable {name}, which railweave did not make, is in its port")
            continue
        free = next((record for record in at if record["id"] not in used), None)
        if free is None:
            free = next((record for record in loose if record["id"] not in used and _was_at(record, item)), None)
        if free is None:
            creates.append(item)
        else:
            used.add(free["id"])
            moves.append((free, item))
    return moves, creates, notes


def _was_at(record: Record, item: Item) -> bool:
    """Return True if the label of a cable names one of the two ends of a design's cable (``Cable.name``)."""
    a, b = (":".join(end.key) for end in cable_ends(item))
    label = str(record.get("label") or "")
    return label.startswith(f"{a}--") or label.endswith(f"--{b}")


def releases(
    export: Export, moves: Sequence[tuple[Record, Item]], creates: Sequence[Item], index: Index
) -> dict[Id, list[str]]:
    """Return the sides of cables that are taken off their ports, because other cables are to have these."""
    wanted: dict[Id | None, Id] = {
        export.ids.get(end): record["id"] for record, item in moves for end in cable_ends(item)
    }
    wanted |= {export.ids.get(end): "" for item in creates for end in cable_ends(item)}
    result: dict[Id, list[str]] = {}
    for record in index.cables:
        ends = export.product.ends_of(record)
        sides = [
            side
            for side, there in ends.items()
            if any(wanted.get(port, record["id"]) != record["id"] for _, port in there)
        ]
        if sides and export.made_here(record):
            result[record["id"]] = sides
    return result


def released_for_good(index: Index, released: dict[Id, list[str]], moving: set[Id]) -> list[str]:
    """Return notes about cables that lose an end and get no other: the design does not have them, and other cables take their ports.

    They are no longer ``unused``.
    """
    lose = {number for number in released if number not in moving}
    notes = [
        f"cable {_label(record)}, which the design does not have, is taken off a port that another cable gets"
        for record in index.cables
        if record["id"] in lose
    ]
    index.unused[:] = [record for record in index.unused if record["id"] not in lose]
    return notes


def release(export: Export, kind: Kind, released: dict[Id, list[str]]) -> None:
    """Take cables off their ports."""
    bodies = [
        {"id": number, **export.product.ends_body({side: [] for side in sides}, False)}
        for number, sides in released.items()
    ]
    batch = export.product.batch
    for start in range(0, len(bodies), batch):
        _send(export, kind, bodies[start : start + batch])


def _send(export: Export, kind: Kind, bodies: Sequence[Record]) -> None:
    export.client.send("PATCH", kind.path, bodies, [f"cable {body['id']}" for body in bodies])


def put_back(
    export: Export, kind: Kind, released: dict[Id, list[str]], moved: Sequence[tuple[Record, Item]], index: Index
) -> str:
    """Give cables their ends again, after the server has refused to move some. Return a sentence about it for the error.

    ``moved`` are the changes that were carried out. A cable whose port a moved cable has now cannot be put back.
    """
    done = {record["id"] for record, _ in moved}
    taken = {export.ids.get(end) for _, item in moved for end in cable_ends(item)}
    records = {record["id"]: record for record in index.cables}
    bodies: list[Record] = []
    lost: list[str] = []
    for number, sides in released.items():
        if number in done:
            continue
        ends = {side: export.product.ends_of(records[number])[side] for side in sides}
        if taken.isdisjoint(port for there in ends.values() for _, port in there):
            bodies.append({"id": number, **export.product.ends_body(ends, False)})
        else:
            lost.append(_label(records[number]))
    failed = ""
    back = in_a_row = 0
    for body in bodies:  # one request each: a server refuses a whole request because of one cable
        try:
            if in_a_row < _GIVES_UP:
                _send(export, kind, [body])
                in_a_row = 0
                back += 1
                continue
        except ServerError as error:
            failed = f" ({error})"
            in_a_row += 1
        lost.append(_label(records[body["id"]]))
    words = f"\n{counted(back, 'cable')} put back on the ports from before" if back else ""
    if lost:
        words += f"\nnot put back, so that an end may be missing until the next run: {', '.join(lost)}{failed}"
    return words


def _label(record: Record) -> str:
    """Return the label of a cable, or else its number."""
    return str(record.get("label") or f"#{record['id']}")
