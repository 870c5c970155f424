"""A comparison of a design's objects with those of an inventory server, and their creation and change there.

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
from railweave.operations.exports.inventories import cabling
from railweave.operations.exports.inventories.client import ServerError
from railweave.operations.exports.inventories.matching import Index, created, lookup
from railweave.operations.exports.inventories.objects import Id, Item, Key, Kind, Known, Product, Reference, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from railweave.operations.exports.inventories.client import Client
    from railweave.operations.exports.inventories.objects import Record


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

    product: Product
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
        return {
            kind: {
                "create": created[kind],
                "update": updated[kind],
                "equal": self.equal[kind],
                "different": self.different[kind],
            }
            for kind in self.product.kinds
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
        head = {"url": self.url, self.product.target: self.version, "applied": self.applied, "requests": self.requests}
        return {**head, "counts": self.counts(), "changes": changes, "notes": self.notes}


@dataclass
class _Export:
    """The state of a comparison: the ids of objects on the server, by reference, and their keys by id. ``tag`` is what the tag's filter takes."""

    client: Client
    tag: str
    apply: bool
    adopt: bool
    result: Synced
    progress: Callable[[str], None]
    ids: dict[Reference, Id] = field(default_factory=dict[Reference, Id])
    keys: Known = field(default_factory=dict[tuple[str, Id], Key])
    foreign: set[Reference] = field(default_factory=set[Reference])
    """The objects that railweave did not make."""
    elsewhere: set[Reference] = field(default_factory=set[Reference])
    """The addresses that railweave did not make, and that are not at the design's interface."""

    @property
    def product(self) -> Product:
        """The kind of the server."""
        return self.result.product

    def known(self, kind: str, key: Key, record: Record) -> None:
        """Remember the id of an object on the server."""
        self.ids[Reference(kind, key)] = record["id"]
        self.keys[kind, record["id"]] = key

    def made_here(self, record: Record) -> bool:
        """Return True if an object has the tag, so that railweave may change it."""
        return self.adopt or self.tagged(record)

    def tag_id(self) -> Id | None:
        """Return the id of the tag. None if the server does not have it yet."""
        return next((number for reference, number in self.ids.items() if reference.kind == "tag"), None)

    def tagged(self, record: Record) -> bool:
        """Return True if an object has the tag."""
        return any(tag["id"] == self.tag_id() for tag in record.get("tags") or ())


def export_to(
    client: Client,
    wanted: Sequence[Item],
    *,
    apply: bool,
    adopt: bool,
    progress: Callable[[str], None],
) -> Synced:
    """Compare objects with those of a server, and with ``apply`` create and change them there.

    - ``wanted``: the objects, with the tag of objects that railweave makes.
    - ``adopt``: True to change objects of the same name that railweave did not make, and give them the tag.

    Raises ``ServerError`` if a request fails; it says what was carried out before.
    """
    product = client.product
    version = client.version()
    numbers = tuple(int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit())
    if numbers < product.oldest:
        oldest = ".".join(map(str, product.oldest))
        raise ServerError(
            f"{client.url} has {product.name} {version}; {oldest} or later is needed, because {product.because}"
        )
    result = Synced(product, client.url, version, apply)
    tag = next(item for item in wanted if item.kind == "tag").fields
    export = _Export(client, str(tag.get("slug") or tag["name"]), apply, adopt, result, progress)
    by_kind: dict[str, list[Item]] = {}
    for item in wanted:
        by_kind.setdefault(item.kind, []).append(item)
    try:
        for kind in product.kinds.values():
            items = by_kind.get(kind.name, [])
            if items and kind.only_for:
                items = _needed(export, items, product.kinds[kind.only_for], by_kind.get(kind.only_for, []))
            if items:
                progress(f"{kind.many}: reading")
                _kind(export, kind, items)
    except ServerError as error:
        raise ServerError(f"{error}{_until_then(result)}") from None
    result.requests = client.requests
    return result


def _until_then(result: Synced) -> str:
    if not result.applied:
        return ""
    done = [
        f"{counted(row['create'] + row['update'], kind, result.product.kinds[kind].many)}"
        for kind, row in result.counts().items()
        if row["create"] + row["update"]
    ]
    carried_out = ", ".join(done) or "nothing"
    return f"\nuntil then created or changed: {carried_out}; run the command again to continue"


def _needed(export: _Export, items: Sequence[Item], kind: Kind, users: Sequence[Item]) -> list[Item]:
    """Return the objects that those of a different kind refer to which the server lacks."""
    there = lookup(export, kind, users).records
    wanted = {value for user in users if user.key not in there for value in _references(user)}
    return [item for item in items if Reference(item.kind, item.key) in wanted]


def _kind(export: _Export, kind: Kind, items: Sequence[Item]) -> None:
    """Compare the objects of one kind, and carry out their changes with ``apply``."""
    offered = None if kind.field_of else export.client.fields(kind.path)
    items = [_supported(item, offered) for item in items if export.elsewhere.isdisjoint(_references(item))]
    index = lookup(export, kind, items)
    if not kind.field_of:
        for key, record in index.records.items():
            export.known(kind.name, key, record)
    creates = [item for item in items if item.key not in index.records]
    updates = [(item, index.records[item.key]) for item in items if item.key in index.records]
    needed = not kind.field_of and (creates or not kind.shared)
    if offered is None and export.apply and needed:
        raise ServerError(f"{export.client.url}: the user of the token may not create {kind.many} (right add)")
    if kind.field_of:
        for item in creates:  # its object is only planned
            export.result.changes.append(Change(kind.name, "update", item.name, _fields(item)))
        creates = []
    if kind.owner:
        creates = _of_owners_made_here(export, kind, creates)
    if kind.name == "cable":
        creates = _cables(export, kind, creates, index)
    _update(export, kind, updates)
    _create(export, kind, creates, offered or {})
    if index.unused:
        export.result.notes.append(_unused(kind, index))


def _owner(kind: Kind, item: Item) -> Reference:
    return cast("Reference", item.fields[kind.owner])


def _owner_is_foreign(export: _Export, kind: Kind, item: Item) -> bool:
    return _owner(kind, item) in export.foreign and not export.adopt


def _of_owners_made_here(export: _Export, kind: Kind, items: Sequence[Item]) -> list[Item]:
    """Return the objects to create whose owner railweave made. The others are left out, with a note."""
    result: list[Item] = []
    for item in items:
        if not _owner_is_foreign(export, kind, item):
            result.append(item)
            continue
        owner = _owner(kind, item)
        export.elsewhere.add(owner)
        export.result.different[kind.name] += 1
        words = f"{owner.kind} {' '.join(owner.key)} was not made by railweave; --adopt changes it"
        export.result.notes.append(f"{kind.name} {item.name} is left out: {words}")
    return result


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
    """Return a value as the API takes it: the id of an object for a reference to it. None if the object is only planned."""
    resolved = export.ids.get(value) if isinstance(value, Reference) else value
    return [resolved] if many else resolved


def _fields(item: Item) -> dict[str, object]:
    """Return the fields of an object in words, for reports."""
    return {
        name: " ".join(filter(None, value.key)) if isinstance(value, Reference) else value
        for name, value in item.fields.items()
    }


def plain(value: object) -> object:
    """Return a value of the server as it was sent: the id of an object, the word of a choice, a list of ids."""
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
            before[name] = _displayed(export, record[name])
    return body, new, before


def _displayed(export: _Export, value: object) -> object:
    if isinstance(value, dict):
        entry = cast("Record", value)
        words = entry.get("display") or entry.get("label") or entry.get("value")
        return words if words is not None or "url" not in entry else export.client.display(entry["url"])
    if isinstance(value, list):
        return ", ".join(str(_displayed(export, entry)) for entry in cast("list[object]", value))
    return value


def _update(export: _Export, kind: Kind, pairs: Iterable[tuple[Item, Record]]) -> None:
    """Change the objects that railweave made, and report the differences of others."""
    bodies: list[Record] = []
    changes: list[Change] = []
    for item, record in pairs:
        body, new, before = _differences(export, kind, item, record)
        lost_tag = kind.loses_tags and not export.tagged(record) and record["label"] == item.fields.get("label")
        ours = not _owner_is_foreign(export, kind, item) if kind.owner else lost_tag or export.made_here(record)
        if not ours:
            export.foreign.add(Reference(kind.name, item.key))
            if "assigned_object_id" in body or (kind.owner and body):
                export.elsewhere |= {_owner(kind, item) if kind.owner else Reference(kind.name, item.key)}
            differs = bool(body) and not kind.shared
            (export.result.different if differs else export.result.equal)[kind.name] += 1
            if differs:
                words = ", ".join(f"{name} is {_shown(before[name])} (design: {_shown(new[name])})" for name in new)
                export.result.notes.append(
                    f"{kind.name} {item.name} was not made by railweave: {words}; --adopt changes it"
                )
            continue
        if (export.adopt or lost_tag) and not kind.shared:
            _add_tag(export, record, body, new, before)
        if kind.shared or not body:
            export.result.equal[kind.name] += 1
            continue
        bodies.append({"id": record["id"], **body})
        changes.append(Change(kind.name, "update", item.name, new, before))
    _send(export, kind, "PATCH", bodies, changes)


def _add_tag(export: _Export, record: Record, body: Record, new: dict[str, object], before: dict[str, object]) -> None:
    """Add the tag to the changes of an object that lacks it."""
    if "tags" in record and not export.tagged(record):
        body["tags"] = [*(tag["id"] for tag in record["tags"]), export.tag_id()]
        new["tags"], before["tags"] = f"with {export.tag}", _displayed(export, record["tags"])


def _create(export: _Export, kind: Kind, items: Sequence[Item], offered: Record) -> None:
    """Create objects. Those that refer to another object of the same kind come after it. ``offered`` are the fields that they can have."""
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
                body |= cabling.ends_body(export, item, new=True)
            if "tags" in offered and kind.name != "tag":
                body["tags"] = [export.tag_id()]
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
    """Carry out changes with ``apply``, a batch at a time; else only list them. ``items`` are the created objects."""
    if not export.apply:
        export.result.changes.extend(changes)
        return
    words = "created" if method == "POST" else "changed"
    batch = export.product.batch
    for start in range(0, len(bodies), batch):
        part = slice(start, start + batch)
        names = [f"{change.kind} {change.name}" for change in changes[part]]
        records = export.client.send(method, kind.path, bodies[part], names)
        if method == "POST" and kind.loses_tags:
            tags = [{"id": record["id"], "tags": [export.tag_id()]} for record in records]
            export.client.send("PATCH", kind.path, tags, names)
        for key, record in created(export, kind, items[part], records).items() if items else ():
            export.known(kind.name, key, record)
        export.result.changes.extend(changes[part])
        export.progress(f"{kind.many}: {min(start + batch, len(bodies))} of {len(bodies)} {words}")


def _cables(export: _Export, kind: Kind, items: Sequence[Item], index: Index) -> list[Item]:
    """Move cables that railweave made and that the design now connects elsewhere. Return the cables to create.

    A cable between ports that are both free is created. A cable that railweave did not make stays; the designed cable is
    then left out, with a note.
    """
    moves, creates, refused = cabling.moved_items(export, items, index)
    export.result.notes.extend(refused)
    export.result.different[kind.name] += len(refused)
    taken = {record["id"] for record, _ in moves}
    index.unused[:] = [record for record in index.unused if record["id"] not in taken]
    changes: list[Change] = []
    bodies: list[Record] = []
    for record, item in moves:
        body, new, before = _differences(export, kind, item, record)
        _add_tag(export, record, body, new, before)
        new = {"ends": item.name, **new}
        before = {"ends": str(record.get("label") or record["id"]), **before}
        bodies.append({"id": record["id"], **body, **cabling.ends_body(export, item, new=False)})
        changes.append(Change(kind.name, "update", item.name, new, before))
    released = cabling.releases(export, moves, creates, index) if moves else {}
    export.result.notes.extend(cabling.released_for_good(index, released, taken))
    if not export.apply:
        _send(export, kind, "PATCH", bodies, changes)
        return creates
    before_moves = len(export.result.changes)
    try:
        cabling.release(export, kind, released)
        _send(export, kind, "PATCH", bodies, changes)
    except ServerError as error:
        moved = moves[: len(export.result.changes) - before_moves]
        raise ServerError(f"{error}{cabling.put_back(export, kind, released, moved, index)}") from None
    return creates
