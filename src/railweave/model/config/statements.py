"""Statements of a command line as rows of a table: one row prints, reads, checks and explains a statement.

A row has the form of a statement, ``username <name> role <role>``, and a codec for each slot in it. The slots are fields of the value
that the statements describe. From a table (``Statements``) follow:

- the lines of a value, in the order of the rows (``printed``), and the value of lines (``read``), with each line that no row takes left
  unknown;
- the grammar of the command line (``commands``): each row with its source and its limits;
- the names that lines define and use (``names``).

A statement that says nothing about the network is a row too (``passed``), with the reason. It must never be a statement that can shut,
drain, filter, reorder or disable something.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
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
    says: str = ""
    """The words or limits for people, such as ``1-60`` (empty: the name of the slot)."""
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
    by: tuple[str, ...] = ()
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
    """Return a statement about fields of the value, with its ``source``, the public document that has it (empty: it is only read).

    The fields are those of its slots, and those that it ``sets`` to a constant.

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
    by: str | Sequence[str] = (),
    also: Sequence[str] = (),
    when: Callable[[Any], bool] | None = None,
    prints: bool = True,
    since: str = "",
    **codecs: Codec,
) -> Row:
    """Return a statement for each element of ``field``, which are values of ``made`` (None: the value of the slot ``it`` itself).

    With ``rows`` it is a section with these statements in it. With ``by`` the field is a mapping from the value of that slot, or of the first
    of several that the line has, and lines of one key describe one element; without it the field is a tuple. Slots that are no field of the element are fields of the value around it.
    """
    inner = None if rows is None else tuple(rows)
    keys = (by,) if isinstance(by, str) else tuple(by)
    return Row(
        _forms(form), tuple(also), codecs, source, since=since, field=field, by=keys, made=made, rows=inner, when=when, several=True, prints=prints,
    )  # fmt: skip


def part(
    field: str,
    made: type,
    rows: Sequence[Row],
    form: str = "",
    source: str = "",
    *,
    when: Callable[[Any], bool] | None = None,
) -> Row:
    """Return the statements of a part of the value: below a header ``form`` or, without one, among the others.

    The part is None if there are none of them. It is printed if ``when`` holds of the value around it.
    """
    return Row(_forms(form) if form else (), source=source, field=field, made=made, rows=tuple(rows), when=when)


def fixed(form: str, source: str, when: Callable[[Any], bool] | None = None) -> Row:
    """Return a statement that is printed with the value, if ``when`` holds, and whose presence is no field."""
    return Row((form,), source=source, when=when)


def passed(form: str, reason: str, source: str = "", **codecs: Codec) -> Row:
    """Return a statement that is read and says nothing about the network, with the ``reason``."""
    return Row((form,), codecs=codecs, source=source, reason=reason, prints=False)


def _forms(form: str | Sequence[str]) -> tuple[str, ...]:
    return (form,) if isinstance(form, str) else tuple(form)


_PIECES = re.compile(r"(<\w+>|[\[\]{}|])")


_GROUPS = {"[": "(?:", "]": ")?", "{": "(?:", "|": "|", "}": ")*"}


def _told(piece: str, codecs: Mapping[str, Codec]) -> str:
    """Return a piece of a form for people: a slot as its limits or words."""
    says = codecs[piece[1:-1]].says if piece.startswith("<") else ""
    return f"<{says}>" if says else piece


class Form:
    """A form, compiled: what it is printed by, and the patterns by which lines of it are read and checked.

    ``<slot>`` is a value, and one whose name begins with ``_`` is read and dropped; ``[ port <port>]`` may be missing;
    ``{ port <port>| vrf <_vrf>}`` are options in any order, in forms that are only read.
    """

    def __init__(self, text: str, codecs: Mapping[str, Codec]) -> None:
        self.text = _PIECES.sub(lambda piece: _told(piece[0], codecs), text)
        self.slots: list[str] = []
        self.optional: set[str] = set()
        self._groups: list[tuple[str, list[int]]] = []
        reads, accepts, depth, template, places = "", "", 0, "", list[int]()
        for piece in _PIECES.split(text):
            if piece in "[]" and piece:
                self._groups.append((template, places))
                template, places = "", []
                depth += 1 if piece == "[" else -1
                reads, accepts = reads + _GROUPS[piece], accepts + _GROUPS[piece]
            elif piece in _GROUPS:
                depth += (piece == "{") - (piece == "}")
                reads, accepts = reads + _GROUPS[piece], accepts + _GROUPS[piece]
            elif piece.startswith("<"):
                slot = piece[1:-1]
                codec = codecs[slot]
                places.append(len(self.slots))
                template += "%s"
                self.slots.append(slot)
                if depth:
                    self.optional.add(slot)
                reads += f"(?:{codec.word})" if slot.startswith("_") else f"(?P<{slot}>{codec.word})"
                accepts += f"(?:{codec.accepts})"
            else:
                template += piece.replace("%", "%%")
                reads, accepts = reads + re.escape(piece), accepts + re.escape(piece)
        self._groups.append((template, places))
        self.begins = text.split(maxsplit=1)[0] if not text.startswith(("<", "[")) else ""
        self.reads = re.compile(reads)
        self.accepts = re.compile(accepts)

    def printed(self, words: Sequence[str | None]) -> str:
        """Return the line of these words, one for each slot; an optional part with an empty word, or none, is left out."""
        if len(self._groups) == 1:
            return self._groups[0][0] % tuple(words)
        line = ""
        for number, (template, places) in enumerate(self._groups):
            if number % 2 and not all(words[place] for place in places):
                continue  # groups at odd places are those in brackets
            line += template % tuple(words[place] for place in places)
        return line


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
        sections: list[Section] = []
        for writer in self._writers:
            writer(value, sections)
        return sections

    @cached_property
    def _writers(self) -> list[Callable[[Any, list[Section]], None]]:
        """A function for each row that is printed, compiled once: it appends the row's statements of a value."""
        return [self._writer(row) for row in self.rows if row.prints]

    def _writer(self, row: Row) -> Callable[[Any, list[Section]], None]:
        inner, when = self._inner.get(id(row)), row.when
        if row.several:
            members_of = attrgetter(row.field)
            of_member = None if row.made is None else self._table(row).names_of_fields
            write_line = self._line(row, inner, of_member)

            def write_each(value: Any, sections: list[Section]) -> None:  # noqa: ANN401 - a value of any class
                members = members_of(value)
                for key, member in members.items() if row.by else enumerate(members):
                    if when is None or when(member):
                        write_line(value, key, member, sections)

            return write_each
        if row.made is not None and inner is not None:
            part_of, header = attrgetter(row.field), row.forms[0] if row.forms else None

            def write_part(value: Any, sections: list[Section]) -> None:  # noqa: ANN401
                member = part_of(value)
                if member is None or (when is not None and not when(value)):
                    return
                body = inner.printed(member)
                if header is None:
                    sections += body
                elif body:
                    sections.append(Section(header, body))

            return write_part
        write_own = self._line(row, None, None)

        def write(value: Any, sections: list[Section]) -> None:  # noqa: ANN401
            if when is None or when(value):
                write_own(value, None, value, sections)

        return write

    def _line(
        self, row: Row, inner: Statements[Any] | None, of_member: frozenset[str] | None
    ) -> Callable[[Any, object, Any, list[Section]], None]:
        """Return the function that appends the line of a value, or of an element with its key, in the first form that fits."""
        usual, constants = row.usual, tuple(row.sets.items())
        forms = [
            (form, [(slot, self._origin(row, slot, of_member), slot not in form.optional) for slot in form.slots])
            for form in self._forms[id(row)]
        ]

        def write(value: Any, key: object, member: Any, sections: list[Section]) -> None:  # noqa: ANN401
            for name, constant in constants:
                if getattr(member, name) != constant:
                    return
            for form, slots in forms:
                words: list[str | None] = []
                for slot, origin, required in slots:
                    word = (
                        getattr(member, slot)
                        if origin == "member"
                        else member
                        if origin == IT
                        else key
                        if origin == "key"
                        else None
                        if origin == "none"
                        else getattr(value, slot)
                    )
                    if word is None or word == usual:
                        if required:
                            break
                        words.append(None)
                    else:
                        words.append(row.codecs[slot].write(word))
                else:
                    sections.append(Section(form.printed(words), None if inner is None else inner.printed(member)))
                    return

        return write

    def _origin(self, row: Row, slot: str, of_member: frozenset[str] | None) -> str:
        """Return where the value of a slot is: the element itself, a field of it, its key, a field of the value around it, or nowhere."""
        if slot == IT:
            return IT
        if slot.startswith("_"):
            return "none"
        if not row.several or (of_member is not None and slot in of_member):
            return "member"
        return "key" if slot in row.by else "value"

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
            here.update({name: word for name, word in values.items() if name not in row.by})
            for name in row.field.split():
                if row.by:
                    here.setdefault(name, {})[_key(row, values)] = member
                elif row.codecs[IT].spreads:
                    here.setdefault(name, []).extend(member)
                else:
                    here.setdefault(name, []).append(member)
            return
        table = self._table(row)
        element_fields = {name: word for name, word in values.items() if name in table.names_of_fields}
        here.update({name: word for name, word in values.items() if name not in element_fields and name not in row.by})
        if row.by:
            member: dict[str, Any] = here.setdefault(row.field, {}).setdefault(_key(row, values), {})
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

    def commands(self) -> Iterator[tuple[Row, Form, Statements[Any] | None]]:
        """Yield the forms that the device takes, each with its row and the table of what stands below: the grammar of the command line.

        Rows without a source are not among them, and neither are forms that are only read.
        """
        for row in self.rows:
            if row.rows is not None and not row.forms:
                yield from self._inner[id(row)].commands()
            elif row.source:
                for form in self._forms[id(row)]:
                    yield row, form, self._inner.get(id(row))

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


def _key(row: Row, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a value of any class
    """Return the key of an element by the slots of its line; empty if the line has none of them."""
    return next((values[slot] for slot in row.by if slot in values), "")
