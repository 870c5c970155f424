"""Statements of a command line as rows of a table: one row prints, reads, checks and explains a statement.

A row has the form of a statement, ``username <name> role <role>``, and a codec for each slot in it. The slots are fields of the value
that the statements describe. From a table (``Statements``) follow:

- the lines of a value, in the order of the rows (``printed``), and the value of lines (``read``), with each line that no row takes left
  unknown;
- the grammar of the command line (``accepts``): each row with its source and its limits;
- the names that lines define and use (``names``).

A statement that says nothing about the network is a row too (``passed``), with the reason. It must never be a statement that can shut,
drain, filter, reorder or disable something.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from railweave.model.config.sections import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.sections import SectionReader

T = TypeVar("T")

IT = "it"
"""The slot of an element that is the value itself, such as an address of a list of addresses."""


@dataclass(frozen=True)
class Codec:
    """The words of a value.

    ``accepts`` is what the device takes, as a regular expression; ``word`` is the same for the reader, which finds a slot by it and may
    understand more than the device takes. ``read`` raises ``ValueError`` or ``KeyError`` for words that are no value. ``defines`` and
    ``refers`` name the kind of things whose names the words are.
    """

    accepts: str
    read: Callable[[str], Any] = str
    write: Callable[[Any], str] = str
    word: str = r"\S+"
    defines: str = ""
    refers: str = ""
    spreads: bool = False
    """The words are several elements of a list: ``read`` returns all of them."""


class Name(NamedTuple):
    """A name in a line: of a thing of a ``kind`` that the line defines or, if ``refers``, uses."""

    kind: str
    name: str
    line: Section
    refers: bool


@dataclass(frozen=True)
class Row:
    """A statement. Made by ``line``, ``each``, ``part``, ``fixed`` and ``passed``, which say what the fields mean."""

    forms: tuple[str, ...]
    also: tuple[str, ...] = ()
    codecs: Mapping[str, Codec] = dataclasses.field(default_factory=dict[str, Codec])
    source: str = ""
    reason: str = ""
    since: str = ""
    field: str = ""
    by: str = ""
    made: type | None = None
    rows: tuple[Row, ...] | None = None
    sets: Mapping[str, object] = dataclasses.field(default_factory=dict[str, object])
    usual: object = None
    when: Callable[[Any], bool] | None = None
    several: bool = False
    prints: bool = True


def line(
    form: str | Sequence[str],
    source: str,
    *,
    also: Sequence[str] = (),
    sets: Mapping[str, object] | None = None,
    usual: object = None,
    when: Callable[[Any], bool] | None = None,
    prints: bool = True,
    since: str = "",
    **codecs: Codec,
) -> Row:
    """Return a statement about fields of the value: those of its slots, and those that it ``sets`` to a constant.

    It is printed if every slot outside brackets has a value other than None and ``usual``, every field of ``sets`` has that value, and
    ``when`` holds; of several forms, the first that fits. ``also`` are forms that mean the same and are read only.
    """
    return Row(
        _forms(form), tuple(also), codecs, source, since=since, sets=sets or {}, usual=usual, when=when, prints=prints
    )


def each(
    form: str | Sequence[str],
    field: str,
    source: str,
    made: type | None = None,
    rows: Sequence[Row] | None = None,
    *,
    by: str = "",
    also: Sequence[str] = (),
    when: Callable[[Any], bool] | None = None,
    prints: bool = True,
    since: str = "",
    **codecs: Codec,
) -> Row:
    """Return a statement for each element of ``field``, which are values of ``made`` (None: the value of the slot ``it`` itself).

    With ``rows`` it is a section with these statements in it. With ``by`` the field is a mapping from the value of that slot, and lines of
    one key describe one element; without it the field is a tuple. Slots that are no field of the element are fields of the value around it.
    """
    inner = None if rows is None else tuple(rows)
    return Row(
        _forms(form), tuple(also), codecs, source, since=since, field=field, by=by, made=made, rows=inner, when=when, several=True, prints=prints,
    )  # fmt: skip


def part(field: str, made: type, rows: Sequence[Row], form: str = "", source: str = "") -> Row:
    """Return the statements of a part of the value: below a header ``form`` or, without one, among the others. It is None without any."""
    return Row(_forms(form) if form else (), source=source, field=field, made=made, rows=tuple(rows))


def fixed(form: str, source: str, when: Callable[[Any], bool] | None = None) -> Row:
    """Return a statement that is printed with the value, if ``when`` holds, and whose presence is no field."""
    return Row((form,), source=source, when=when)


def passed(form: str, reason: str, source: str = "", **codecs: Codec) -> Row:
    """Return a statement that is read and says nothing about the network, with the ``reason``."""
    return Row((form,), codecs=codecs, source=source, reason=reason, prints=False)


def _forms(form: str | Sequence[str]) -> tuple[str, ...]:
    return (form,) if isinstance(form, str) else tuple(form)


_PIECES = re.compile(r"(<\w+>|[\[\]{}|])")


_ANY_ORDER = {"{": "(?:", "|": "|", "}": ")*"}


class Form:
    """A form, compiled: what it is printed by, and the patterns by which lines of it are read and checked.

    ``<slot>`` is a value, and one whose name begins with ``_`` is read and dropped; ``[ port <port>]`` may be missing;
    ``{ port <port>| vrf <_vrf>}`` are options in any order, in forms that are only read.
    """

    def __init__(self, text: str, codecs: Mapping[str, Codec]) -> None:
        self.text = text
        self.slots: list[str] = []
        self.optional: set[str] = set()
        self._pieces: list[str | list[str]] = []
        reads, accepts, depth = "", "", 0
        into = self._pieces
        for piece in _PIECES.split(text):
            if piece == "[":
                depth += 1
                group: list[str] = []
                self._pieces.append(group)
                into = group  # type: ignore[assignment] - an optional group holds texts alone
                reads, accepts = reads + "(?:", accepts + "(?:"
            elif piece == "]":
                depth -= 1
                into = self._pieces
                reads, accepts = reads + ")?", accepts + ")?"
            elif piece in _ANY_ORDER:
                depth += (piece == "{") - (piece == "}")
                reads, accepts = reads + _ANY_ORDER[piece], accepts + _ANY_ORDER[piece]
            elif piece.startswith("<"):
                slot = piece[1:-1]
                codec = codecs[slot]
                into.append(piece)
                self.slots.append(slot)
                if depth:
                    self.optional.add(slot)
                reads += f"(?:{codec.word})" if slot.startswith("_") else f"(?P<{slot}>{codec.word})"
                accepts += f"(?:{codec.accepts})"
            elif piece:
                into.append(piece)
                reads, accepts = reads + re.escape(piece), accepts + re.escape(piece)
        self.begins = text.split(maxsplit=1)[0] if not text.startswith(("<", "[")) else ""
        self.reads = re.compile(reads)
        self.accepts = re.compile(accepts)

    def printed(self, values: Mapping[str, Any], codecs: Mapping[str, Codec]) -> str:
        """Return the line of these values by slot; an optional part without a value is left out."""
        words: list[str] = []
        for piece in self._pieces:
            if isinstance(piece, str):
                words.append(_filled(piece, values, codecs))
            elif all(values.get(inner[1:-1]) is not None for inner in piece if inner.startswith("<")):
                words += [_filled(inner, values, codecs) for inner in piece]
        return "".join(words)


def _filled(piece: str, values: Mapping[str, Any], codecs: Mapping[str, Codec]) -> str:
    if not piece.startswith("<"):
        return piece
    slot = piece[1:-1]
    return codecs[slot].write(values[slot])


class _Entry(NamedTuple):
    """A form of a row in a table: ``path`` are the fields of the parts without a header in which the row is."""

    form: Form
    row: Row
    path: tuple[str, ...]
    inner: Statements[Any] | None


class Statements(Generic[T]):
    """A table of rows about values of ``made``."""

    def __init__(self, made: type[T] | None, rows: Iterable[Row]) -> None:
        self.made = made
        self.rows = tuple(rows)
        self._inner: dict[int, Statements[Any]] = {}
        self._lines: dict[int, Statements[Any]] = {}
        self._forms: dict[int, list[Form]] = {}
        self._entries: dict[str, list[_Entry]] = {}
        self._add(self.rows, ())

    def _add(self, rows: Iterable[Row], path: tuple[str, ...]) -> None:
        for row in rows:
            if row.rows is not None:
                self._inner[id(row)] = Statements(row.made, row.rows)
            if row.rows is not None and not row.forms:
                self._add(row.rows, (*path, row.field))
                continue
            made = [Form(text, row.codecs) for text in row.forms]
            self._forms[id(row)] = made
            for form in (*made, *(Form(text, row.codecs) for text in row.also)):
                self._entries.setdefault(form.begins, []).append(_Entry(form, row, path, self._inner.get(id(row))))

    @cached_property
    def names_of_fields(self) -> frozenset[str]:
        """The names of the fields of a value."""
        return frozenset(each.name for each in fields(self.made)) if self.made is not None else frozenset()  # type: ignore[arg-type]

    # Printing

    def printed(self, value: T) -> list[Section]:
        """Return the statements of a value, in the order of the rows."""
        return [section for row in self.rows for section in self._printed(row, value)]

    def _printed(self, row: Row, value: Any) -> Iterator[Section]:  # noqa: ANN401 - a value of `made`
        if not row.prints:
            return
        inner = self._inner.get(id(row))
        if row.several:
            members = getattr(value, row.field)
            for key, member in members.items() if row.by else ((None, member) for member in members):
                yield from self._line(row, value, inner, key, member)
        elif row.made is not None:
            member = getattr(value, row.field)
            if member is None or inner is None:
                return
            body = inner.printed(member)
            if not row.forms:
                yield from body
            elif body:
                yield Section(row.forms[0], body)
        elif row.when is None or row.when(value):
            yield from self._line(row, value, None, None, value)

    def _line(self, row: Row, value: Any, inner: Statements[Any] | None, key: object, member: Any) -> Iterator[Section]:  # noqa: ANN401 - values of any class
        if row.several and row.when is not None and not row.when(member):
            return
        if any(getattr(member, name) != constant for name, constant in row.sets.items()):
            return
        for form in self._forms[id(row)]:
            values: dict[str, Any] = {}
            for slot in form.slots:
                if slot == IT:
                    values[slot] = member
                elif slot == row.by:
                    values[slot] = key
                else:
                    values[slot] = getattr(member, slot) if hasattr(member, slot) else getattr(value, slot)
            required = [values[slot] for slot in form.slots if slot not in form.optional]
            if any(word is None or (row.usual is not None and word == row.usual) for word in required):
                continue
            yield Section(form.printed(values, row.codecs), None if inner is None else inner.printed(member))
            return

    # Reading

    def read(self, sections: Iterable[Section], reader: SectionReader) -> T:
        """Return the value that sections describe; ``reader`` takes the lines that were understood."""
        return self.build(self.collect(sections, reader))

    def collect(
        self, sections: Iterable[Section], reader: SectionReader, into: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the fields that sections describe, by name, as ``build`` takes them; ``into`` has those of sections before."""
        collected: dict[str, Any] = {} if into is None else into
        for section in sections:
            entry, values = self._entry(section.line)
            if entry is None:
                continue
            row = entry.row
            if section.body and entry.inner is None and row.rows is None and not row.reason:
                continue  # a plain statement has nothing below it
            reader.take(section)
            here = collected
            for name in entry.path:
                here: dict[str, Any] = here.setdefault(name, {})
            self._store(entry, values, here, section, reader)
        return collected

    def _store(
        self, entry: _Entry, values: dict[str, Any], here: dict[str, Any], section: Section, reader: SectionReader
    ) -> None:
        row, inner = entry.row, entry.inner
        part_fields: dict[str, Any]
        if not row.several:
            if row.made is not None and inner is not None:
                part_fields = here.setdefault(row.field, {})
                inner.collect(section.body or (), reader, part_fields)
            elif not row.reason:
                here.update(values)
                here.update(row.sets)
            return
        if row.made is None:
            member = values.pop(IT)
            here.update(values if not row.by else {name: word for name, word in values.items() if name != row.by})
            if row.by:
                here.setdefault(row.field, {})[values[row.by]] = member
            elif row.codecs[IT].spreads:
                here.setdefault(row.field, []).extend(member)
            else:
                here.setdefault(row.field, []).append(member)
            return
        table = self._table(row)
        element_fields = {name: word for name, word in values.items() if name in table.names_of_fields}
        here.update({name: word for name, word in values.items() if name not in element_fields and name != row.by})
        if row.by:
            member: dict[str, Any] = here.setdefault(row.field, {}).setdefault(values[row.by], {})
        else:
            member = {}
            here.setdefault(row.field, []).append(member)
        member.update(element_fields)
        member.update(row.sets)
        if inner is not None:
            inner.collect(section.body or (), reader, member)

    def _table(self, row: Row) -> Statements[Any]:
        """Return the table of a row's elements; an element that is one line has one without rows."""
        table = self._inner.get(id(row)) or self._lines.get(id(row))
        if table is None:
            table = self._lines[id(row)] = Statements(row.made, ())
        return table

    def _entry(self, text: str) -> tuple[_Entry | None, dict[str, Any]]:
        """Return the row that a line is of, and the values of its slots; None if no row understands it."""
        first = text.split(" ", 1)[0]
        for entry in (*self._entries.get(first, ()), *self._entries.get("", ())):
            match = entry.form.reads.fullmatch(text)
            if match is None:
                continue
            try:
                codecs = entry.row.codecs
                return entry, {
                    slot: codecs[slot].read(word) for slot, word in match.groupdict().items() if word is not None
                }
            except (ValueError, KeyError):
                continue
        return None, {}

    def build(self, values: dict[str, Any]) -> T:
        """Return the value of fields that were collected. Fields that no statement gave have their default."""
        assert self.made is not None  # noqa: S101 - only values of a class are built
        return self.made(**self._built(self.rows, dict(values)))

    def _built(self, rows: Iterable[Row], values: dict[str, Any]) -> dict[str, Any]:
        built: set[str] = set()
        for row in rows:
            if row.field not in values or row.field in built:
                continue
            built.add(row.field)
            value: Any = values[row.field]
            if row.made is None:
                if row.several and not row.by:
                    values[row.field] = tuple(value)
                continue
            table: Statements[Any] = self._table(row)
            if not row.several:
                values[row.field] = table.build(value)
            elif row.by:
                values[row.field] = {key: table.build(inner) for key, inner in value.items()}
            else:
                values[row.field] = tuple(table.build(inner) for inner in value)
        return values

    # Checking

    def accepts(self, text: str) -> tuple[Row, Statements[Any] | None] | None:
        """Return the row whose form a line has, within the limits of the device, and the table of what stands below; None: no row has it."""
        first = text.split(" ", 1)[0]
        for entry in (*self._entries.get(first, ()), *self._entries.get("", ())):
            if entry.form.accepts.fullmatch(text):
                return entry.row, entry.inner
        return None

    def names(self, sections: Iterable[Section]) -> Iterator[Name]:
        """Yield the names that lines define and use, in the order of the lines."""
        for section in sections:
            entry, values = self._entry(section.line)
            if entry is None:
                continue
            for slot, codec in entry.row.codecs.items():
                if slot in values and (codec.defines or codec.refers):
                    yield Name(codec.defines or codec.refers, codec.write(values[slot]), section, bool(codec.refers))
            if entry.inner is not None and section.body:
                yield from entry.inner.names(section.body)

    def every(self) -> Iterator[tuple[tuple[str, ...], Row]]:
        """Yield every row with the headers above it."""
        for row in self.rows:
            yield (), row
            inner = self._inner.get(id(row))
            if inner is not None:
                for above, deeper in inner.every():
                    yield (*row.forms[:1], *above), deeper


def unset(made: type) -> dict[str, object]:
    """Return the fields of a class that have no default, with None: for classes whose fields are all read from statements."""
    return {each.name: None for each in fields(made) if each.default is MISSING and each.default_factory is MISSING}
