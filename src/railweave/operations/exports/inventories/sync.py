"""A comparison of a design's objects with those of a NetBox server, and their creation and change there.

Nothing is ever deleted. Objects without the tag were not made by railweave: they are used as they are, and their differences
are reported, unless they are adopted.

Kinds are compared one after the other, each with the state of the server at that moment. An export that was interrupted
therefore continues where it ended.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from railweave.counting import counted
from railweave.operations.exports.inventories.client import BATCH, NetboxError
from railweave.operations.exports.inventories.matching import Index, created, lookup, moved_items
from railweave.operations.exports.inventories.objects import KINDS, Item, Key, Kind, Reference, Value, cable_ends, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from railweave.operations.exports.inventories.client import Client, Record

PRIMARY = (
    Kind("primary MAC address", "dcim/interfaces", plural="primary MAC addresses"),
    Kind("primary address", "dcim/devices", plural="primary addresses"),
)
"""The fields that can be set only after the object that they refer to exists, which refers back to theirs."""
_SIDES = ("a_terminations", "b_terminations")
"""The fields of a cable that have its ends."""
_GIVES_UP = 3
"""The failures in a row after which no more cables are put back: the server may be gone."""
_OLDEST = (4, 2)
"""The oldest supported release: MAC addresses became objects in NetBox 4.2."""


@dataclass(frozen=True)
class Change:
    """An object that is created or changed. ``before`` has the present values of the fields that change."""

    kind: str
    action: Literal["create", "update"]
    name: str
    fields: dict[str, object]
    before: dict[str, object] = field(default_factory=dict[str, object])

    def __str__(self) -> str:
        if self.action == "create":
            return f"+ {self.kind} {self.name}"
        parts = [f"{name} {_shown(self.before.get(name))} -> {_shown(value)}" for name, value in self.fields.items()]
        return f"~ {self.kind} {self.name}: {', '.join(parts)}"


def _shown(value: object) -> str:
    return "none" if value in (None, "", []) else str(value)


@dataclass
class Synced:
    """The result of an export to a server.

    - ``applied``: True if the changes were carried out, False if they are only planned.
    - ``equal``: the number of objects that need no change, by kind.
    - ``different``: the number of objects that railweave did not make, that differ and that stay, by kind. ``notes`` names each.
    - ``notes``: differences of objects that railweave did not make, and objects that the design no longer has.
    """

    url: str
    version: str
    applied: bool
    changes: list[Change] = field(default_factory=list[Change])
    equal: Counter[str] = field(default_factory=Counter[str])
    different: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])
    requests: int = 0

    @property
    def differs(self) -> bool:
        """True if something was or is to be created or changed."""
        return bool(self.changes)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the numbers of objects to create, to update, without a difference, and different but not changed, by kind."""
        created = Counter(change.kind for change in self.changes if change.action == "create")
        updated = Counter(change.kind for change in self.changes if change.action == "update")
        kinds = [*KINDS, *(kind.name for kind in PRIMARY)]
        return {
            kind: {
                "create": created[kind],
                "update": updated[kind],
                "equal": self.equal[kind],
                "different": self.different[kind],
            }
            for kind in kinds
            if created[kind] or updated[kind] or self.equal[kind] or self.different[kind]
        }

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON value."""
        changes = [
            {
                "kind": change.kind,
                "action": change.action,
                "name": change.name,
                "fields": change.fields,
                "before": change.before,
            }
            for change in self.changes
        ]
        head = {"url": self.url, "netbox": self.version, "applied": self.applied, "requests": self.requests}
        return {**head, "counts": self.counts(), "changes": changes, "notes": self.notes}


@dataclass
class _Export:
    """The state of a comparison: the numbers of objects on the server, by reference, and their keys by number."""

    client: Client
    tag: str
    apply: bool
    adopt: bool
    result: Synced
    progress: Callable[[str], None]
    ids: dict[Reference, int] = field(default_factory=dict[Reference, int])
    keys: dict[tuple[str, int], Key] = field(default_factory=dict[tuple[str, int], Key])
    elsewhere: set[Reference] = field(default_factory=set[Reference])
    """The addresses that railweave did not make, and that are not at the design's interface."""

    def known(self, kind: str, key: Key, record: Record) -> None:
        """Remember the number of an object on the server."""
        self.ids[Reference(kind, key)] = int(record["id"])
        self.keys[kind, int(record["id"])] = key

    def made_here(self, record: Record) -> bool:
        """Return True if an object has the tag, so that railweave may change it."""
        return self.adopt or self.tagged(record)

    def tag_number(self) -> int | None:
        """Return the number of the tag. None if the server does not have it yet."""
        return next((number for reference, number in self.ids.items() if reference.kind == "tag"), None)

    def tagged(self, record: Record) -> bool:
        """Return True if an object has the tag."""
        return any(tag.get("slug") == self.tag for tag in record.get("tags") or ())


def export_to(
    client: Client,
    wanted: Sequence[Item],
    *,
    tag: str,
    apply: bool,
    adopt: bool,
    progress: Callable[[str], None],
) -> Synced:
    """Compare objects with those of a server, and with ``apply`` create and change them there.

    - ``tag``: the name of the tag of objects that railweave makes.
    - ``adopt``: True to change objects of the same name that railweave did not make, and give them the tag.

    Raises ``NetboxError`` if a request fails; it says what was carried out before.
    """
    version = client.version()
    numbers = tuple(int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit())
    if numbers < _OLDEST:
        raise NetboxError(
            f"{client.url} has NetBox {version}; 4.2 or later is needed, because MAC addresses are objects there"
        )
    result = Synced(client.url, version, apply)
    export = _Export(client, slug(tag), apply, adopt, result, progress)
    by_kind: dict[str, list[Item]] = {}
    for item in wanted:
        by_kind.setdefault(item.kind, []).append(item)
    try:
        for kind in (*KINDS.values(), *PRIMARY):
            if items := by_kind.get(kind.name):
                progress(f"{kind.many}: reading")
                _kind(export, kind, items)
    except NetboxError as error:
        raise NetboxError(f"{error}{_until_then(result)}") from None
    result.requests = client.requests
    return result


def _until_then(result: Synced) -> str:
    if not result.applied:
        return ""
    done = [
        f"{counted(row['create'] + row['update'], kind, _plural(kind))}"
        for kind, row in result.counts().items()
        if row["create"] + row["update"]
    ]
    carried_out = ", ".join(done) or "nothing"
    return f"\nuntil then created or changed: {carried_out}; run the command again to continue"


def _plural(kind: str) -> str:
    return KINDS[kind].many if kind in KINDS else next(known.many for known in PRIMARY if known.name == kind)


def _kind(export: _Export, kind: Kind, items: Sequence[Item]) -> None:
    """Compare the objects of one kind, and carry out their changes with ``apply``."""
    offered = export.client.fields(kind.path) if kind not in PRIMARY else None
    if offered is None and export.apply and kind not in PRIMARY:
        raise NetboxError(f"{export.client.url}: the user of the token may not create {kind.many} (right add)")
    items = [_supported(item, offered) for item in items if export.elsewhere.isdisjoint(_references(item))]
    index = lookup(export, kind, items)
    if kind not in PRIMARY:
        for key, record in index.records.items():
            export.known(kind.name, key, record)
    creates = [item for item in items if item.key not in index.records]
    updates = [(item, index.records[item.key]) for item in items if item.key in index.records]
    if kind in PRIMARY:
        for item in creates:  # its object is only planned
            export.result.changes.append(Change(kind.name, "update", item.name, _fields(item)))
        creates = []
    if kind.name == "cable":
        creates = _cables(export, kind, creates, index)
    _update(export, kind, updates)
    _create(export, kind, creates)
    if index.unused:
        export.result.notes.append(_unused(kind, index))


def _references(item: Item) -> set[Reference]:
    return {value for value in item.fields.values() if isinstance(value, Reference)}


def _unused(kind: Kind, index: Index) -> str:
    names = [str(record.get("display") or record["id"]) for record in index.unused]
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return f"{counted(len(names), kind.name, kind.many)} with the tag that the design does not have, left as they are: {shown}"


def _supported(item: Item, offered: Record | None) -> Item:
    """Return an object without the fields and choices that the server's release does not have."""
    if offered is None:
        return item
    fields: dict[str, Value] = {}
    for name, value in item.fields.items():
        if name not in offered:
            continue
        choices = [choice.get("value") for choice in offered[name].get("choices") or ()]
        if isinstance(value, str) and choices and value not in choices:
            if "other" not in choices:
                continue
            fields[name] = "other"
        else:
            fields[name] = value
    return Item(item.kind, item.key, fields)


def _resolved(export: _Export, value: Value, *, many: bool = False) -> object:
    """Return a value as the API takes it: the number of an object for a reference to it. None if the object is only planned."""
    resolved = export.ids.get(value) if isinstance(value, Reference) else value
    return [resolved] if many else resolved


def _fields(item: Item) -> dict[str, object]:
    """Return the fields of an object in words, for reports."""
    return {
        name: " ".join(filter(None, value.key)) if isinstance(value, Reference) else value
        for name, value in item.fields.items()
    }


def plain(value: object) -> object:
    """Return a value of the server as it was sent: the number of an object, the word of a choice, a list of numbers."""
    if isinstance(value, dict):
        entry = cast("Record", value)
        return entry["id"] if "id" in entry else entry.get("value")
    if isinstance(value, list):
        return sorted(cast("list[int]", [plain(entry) for entry in cast("list[object]", value)]))
    return value


def _same(present: object, new: object) -> bool:
    if isinstance(new, int | float) and not isinstance(new, bool) and present is not None:
        try:
            return float(cast("str", present)) == float(new)
        except (TypeError, ValueError):
            return False
    return present == new or (new == "" and present is None)


def _differences(
    export: _Export, kind: Kind, item: Item, record: Record
) -> tuple[dict[str, object], dict[str, object], dict[str, object]]:
    """Return the fields in which an object differs from the server's: as the API takes them, in words, and the server's values in words."""
    body: dict[str, object] = {}
    new: dict[str, object] = {}
    before: dict[str, object] = {}
    # A reference to an object that is only planned differs from every value, and from none.
    for name, value in item.fields.items():
        if name in kind.at_creation or name not in record:
            continue
        wanted = _resolved(export, value, many=isinstance(record[name], list))
        planned = isinstance(value, Reference) and value not in export.ids
        if planned or not _same(plain(record[name]), wanted):
            body[name] = wanted
            new[name] = " ".join(filter(None, value.key)) if isinstance(value, Reference) else value
            before[name] = _displayed(record[name])
    return body, new, before


def _displayed(value: object) -> object:
    if isinstance(value, dict):
        entry = cast("Record", value)
        return entry.get("display") or entry.get("label") or entry.get("value")
    if isinstance(value, list):
        return ", ".join(str(_displayed(entry)) for entry in cast("list[object]", value))
    return value


def _update(export: _Export, kind: Kind, pairs: Iterable[tuple[Item, Record]]) -> None:
    """Change the objects that railweave made, and report the differences of others."""
    bodies: list[Record] = []
    changes: list[Change] = []
    for item, record in pairs:
        body, new, before = _differences(export, kind, item, record)
        if not export.made_here(record):
            if "assigned_object_id" in body:
                export.elsewhere.add(Reference(kind.name, item.key))
            differs = bool(body) and not kind.shared
            (export.result.different if differs else export.result.equal)[kind.name] += 1
            if differs:
                words = ", ".join(f"{name} is {_shown(before[name])} (design: {_shown(new[name])})" for name in new)
                export.result.notes.append(
                    f"{kind.name} {item.name} was not made by railweave: {words}; --adopt changes it"
                )
            continue
        if export.adopt and not export.tagged(record) and "tags" in record and not kind.shared:
            tags = [int(tag["id"]) for tag in record["tags"]]
            body["tags"] = [*tags, export.tag_number()]
            new["tags"], before["tags"] = f"with {export.tag}", _displayed(record["tags"])
        if kind.shared or not body:
            export.result.equal[kind.name] += 1
            continue
        bodies.append({"id": record["id"], **body})
        changes.append(Change(kind.name, "update", item.name, new, before))
    _send(export, kind, "PATCH", bodies, changes)


def _create(export: _Export, kind: Kind, items: Sequence[Item]) -> None:
    """Create objects. Those that refer to another object of the same kind come after it."""
    while items:
        waiting: list[Item] = []
        now: list[Item] = []
        for item in items:
            (waiting if export.apply and _waits(export, kind, item) else now).append(item)
        if not now:  # the server then says what is missing
            now, waiting = waiting, []
        bodies: list[Record] = []
        for item in now:
            body: Record = {
                name: _resolved(export, value, many=name == "tagged_vlans") for name, value in item.fields.items()
            }
            if kind.name == "cable":
                body |= _ends(export, item)
            if kind.name != "tag":
                body["tags"] = [{"slug": export.tag}]
            bodies.append(body)
        changes = [Change(kind.name, "create", item.name, _fields(item)) for item in now]
        _send(export, kind, "POST", bodies, changes, now)
        items = waiting


def _waits(export: _Export, kind: Kind, item: Item) -> bool:
    return any(
        isinstance(value, Reference) and value.kind == kind.name and value not in export.ids
        for value in item.fields.values()
    )


def _send(
    export: _Export,
    kind: Kind,
    method: str,
    bodies: Sequence[Record],
    changes: Sequence[Change],
    items: Sequence[Item] = (),
) -> None:
    """Carry out changes with ``apply``, ``BATCH`` at a time; else only list them. ``items`` are the created objects."""
    if not export.apply:
        export.result.changes.extend(changes)
        return
    words = "created" if method == "POST" else "changed"
    for start in range(0, len(bodies), BATCH):
        part = slice(start, start + BATCH)
        names = [f"{change.kind} {change.name}" for change in changes[part]]
        records = export.client.send(method, kind.path, bodies[part], names)
        for key, record in created(export, kind, items[part], records).items() if items else ():
            export.known(kind.name, key, record)
        export.result.changes.extend(changes[part])
        export.progress(f"{kind.many}: {min(start + BATCH, len(bodies))} of {len(bodies)} {words}")


def _ends(export: _Export, item: Item) -> Record:
    """Return the two ends of a cable as the API takes them."""
    return {
        f"{side}_terminations": [{"object_type": "dcim.interface", "object_id": export.ids.get(end)}]
        for side, end in zip("ab", cable_ends(item), strict=True)
    }


def _cables(export: _Export, kind: Kind, items: Sequence[Item], index: Index) -> list[Item]:
    """Move cables that railweave made and that the design now connects elsewhere. Return the cables to create.

    A cable between ports that are both free is created. A cable that railweave did not make stays; the designed cable is
    then left out, with a note.
    """
    moves, creates, refused = moved_items(export, items, index)
    export.result.notes.extend(refused)
    export.result.different[kind.name] += len(refused)
    taken = {record["id"] for record, _ in moves}
    index.unused[:] = [record for record in index.unused if record["id"] not in taken]
    changes: list[Change] = []
    bodies: list[Record] = []
    for record, item in moves:
        body, new, before = _differences(export, kind, item, record)
        new = {"ends": item.name, **new}
        before = {"ends": str(record.get("label") or record["id"]), **before}
        bodies.append({"id": record["id"], **body, **_ends(export, item)})
        changes.append(Change(kind.name, "update", item.name, new, before))
    releases = _releases(export, moves, creates, index) if moves else []
    _note_released(export, index, releases, taken)
    if not export.apply:
        _send(export, kind, "PATCH", bodies, changes)
        return creates
    before_moves = len(export.result.changes)
    try:
        _send_releases(export, kind, releases)
        _send(export, kind, "PATCH", bodies, changes)
    except NetboxError as error:
        moved = bodies[: len(export.result.changes) - before_moves]
        raise NetboxError(f"{error}{_put_back(export, kind, releases, moved, index)}") from None
    return creates


def _releases(
    export: _Export, moves: Sequence[tuple[Record, Item]], creates: Sequence[Item], index: Index
) -> list[Record]:
    """Return the changes that take cables off the ports that other cables are to have, because NetBox accepts one cable on a port."""
    wanted: dict[int, int] = {}
    for record, item in moves:
        for end in _ends(export, item).values():
            wanted[end[0]["object_id"]] = record["id"]
    for item in creates:
        for end in _ends(export, item).values():
            wanted[end[0]["object_id"]] = 0
    bodies: list[Record] = []
    for record in index.cables:
        body: Record = {}
        for side in _SIDES:
            ports = [end["object_id"] for end in record[side]]
            if any(wanted.get(port, record["id"]) != record["id"] for port in ports):
                body[side] = []
        if body and export.made_here(record):
            bodies.append({"id": record["id"], **body})
    return bodies


def _note_released(export: _Export, index: Index, releases: Sequence[Record], moving: set[int]) -> None:
    """Note the cables that lose an end and get no other: the design does not have them, and other cables take their ports."""
    lose = {body["id"] for body in releases} - moving
    for record in index.unused:
        if record["id"] in lose:
            export.result.notes.append(
                f"cable {_label(record)}, which the design does not have, is taken off a port that another cable gets"
            )
    index.unused[:] = [record for record in index.unused if record["id"] not in lose]


def _send_releases(export: _Export, kind: Kind, bodies: Sequence[Record]) -> None:
    for start in range(0, len(bodies), BATCH):
        part = bodies[start : start + BATCH]
        export.client.send("PATCH", kind.path, part, [f"cable {body['id']}" for body in part])


def _put_back(export: _Export, kind: Kind, releases: Sequence[Record], moved: Sequence[Record], index: Index) -> str:
    """Give cables their ends again, after NetBox has refused to move some. Return a sentence about it for the error.

    ``moved`` are the changes that were carried out. A cable whose port a moved cable has now cannot be put back.
    """
    done = {body["id"] for body in moved}
    taken = {end["object_id"] for body in moved for side in _SIDES for end in body[side]}
    records = {record["id"]: record for record in index.cables}
    bodies: list[Record] = []
    lost: list[str] = []
    for release in releases:
        record = records[release["id"]]
        if release["id"] in done:
            continue
        ends = {
            side: [{"object_type": end["object_type"], "object_id": end["object_id"]} for end in record[side]]
            for side in _SIDES
            if side in release
        }
        if taken.isdisjoint(end["object_id"] for side in ends.values() for end in side):
            bodies.append({"id": release["id"], **ends})
        else:
            lost.append(_label(record))
    failed = ""
    back = in_a_row = 0
    for body in bodies:  # one request each: NetBox refuses a whole request because of one cable
        try:
            if in_a_row < _GIVES_UP:
                _send_releases(export, kind, [body])
                in_a_row = 0
                back += 1
                continue
        except NetboxError as error:
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
