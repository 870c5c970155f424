"""Statements of a command line as rows of a table. One row prints, reads, checks and explains a statement.

A row has the pattern of a statement (its form), for example ``username <name> role <role>``. The words in angle brackets are slots
(placeholders). A codec converts the words in a slot to a field of a Python object, and back. This object is called the value.

A table (``Statements``) provides:

- ``printed``: the lines of a value, in the order of the rows.
- ``read``: the value that lines describe. Lines that match no row stay unknown.
- ``commands``: the grammar of the command line, each form with its row.
- ``names``: the names that lines define and use.
- ``statements``: every row with its forms. ``model.config.row_changes`` derives the disruptions of a changed line from the rows.
- ``since``: the lines whose statements the system has only since a given release.

A statement that does not affect the network also has a row (``ignored``), with the reason. A statement that can shut,
drain, filter, reorder or disable something must never have such a row.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import MISSING, dataclass, fields
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from railweave.model.config.sections import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.sections import SectionReader
    from railweave.model.config.tree import Disruption

T = TypeVar("T")

REST = "rest_"
"""The name of the slot (placeholder) for the rest of a flat statement: the words after the name of the list element.

A flat statement is one line about an element of a list. In ``neighbor leaf1 timers 3 9``, the rest is ``timers 3 9``.
"""
IT = "it"
"""The name of the slot (placeholder) that stands for a whole list element, for example an address in a list of addresses."""
KEPT = 4096
"""The number of lines for which a table caches the matching row and the values of the line's slots."""
SECTION = "section"
"""The name of the field that holds the configuration section from which a list element was read. Only some classes have this field.

If ``DeviceConfig`` cannot hold the element, a reader marks this section as not understood (``SectionReader.mark_unknown``).
"""


@dataclass(frozen=True)
class Codec:
    """The conversion between the words in a slot (placeholder) of a configuration line and the value that they represent.

    - ``accepts``: a regular expression for the words that the device accepts.
    - ``word``: a regular expression with which the reader finds the words. It may match more words than the device
      accepts.
    - ``read``: a function that returns the value of words; it raises ``ValueError`` or ``KeyError`` for invalid words.
    - ``write``: a function that returns the words of a value.
    - ``defines`` and ``refers``: the kind of object, such as a route-map, whose name the words define or use.
    """

    accepts: str
    read: Callable[[str], Any] = str
    write: Callable[[Any], str] = str
    word: str = r"\S+"
    defines: str = ""
    refers: str = ""
    shown_as: str = ""
    """The words or limits to show to people, such as ``1-60``. If empty, the name of the slot is shown."""
    spreads: bool = False
    """True if the words of the slot are several elements of a list. ``read`` then returns all of them."""


class Name(NamedTuple):
    """A name of an object, such as a route-map, in a configuration line.

    - ``kind``: the kind of the named object.
    - ``refers``: True if the line uses the name, False if the line defines the name.
    - ``path``: the lines above and the line itself, joined by `` / ``.
    """

    kind: str
    name: str
    path: str
    refers: bool


Changed = Literal["cut", "replaced", "removed"]
"""The way in which the system changes a statement that has one value.

- ``cut``: a new value replaces the old one, and the statement is removed by its words without the value, for example ``no mtu``.
- ``replaced``: a new value replaces the old one. The statement is removed by the whole line.
- ``removed``: the whole line is removed before a new value is set. This is also the choice if no document says that a new value replaces
  the old one.
"""


@dataclass(frozen=True)
class Row:
    """A row of a statement table: a statement, and how to print, read, check and explain it.

    Create rows with ``line``, ``each``, ``part``, ``under``, ``fixed`` or ``ignored``. The docstrings of these functions
    explain the fields.
    """

    forms: tuple[str, ...]
    also: tuple[str, ...] = ()
    codecs: Mapping[str, Codec] = dataclasses.field(default_factory=dict[str, Codec])
    source: str = ""
    reason: str = ""
    field: str = ""
    by: tuple[str, ...] = ()
    made: type | None = None
    rows: tuple[Row, ...] | None = None
    sets: Mapping[str, object] = dataclasses.field(default_factory=dict[str, object])
    usual: object = None
    when: Callable[[Any], bool] | None = None
    several: bool = False
    flat: bool = False
    prints: bool = True
    since: str = ""
    """The first release that has the statement. If empty, every supported release has the statement."""
    disrupts: tuple[Disruption, ...] | None = None
    """The disruptions that a change of the statement causes. None means the disruptions of the table."""
    changed: Changed = "cut"
    """The way in which a change of the statement is made, if the statement has one value (see ``Changed``)."""


def line(
    form: str | Sequence[str],
    source: str,
    *,
    also: Sequence[str] = (),
    sets: Mapping[str, object] | None = None,
    usual: object = None,
    when: Callable[[Any], bool] | None = None,
    prints: bool | None = None,
    since: str = "",
    disrupts: tuple[Disruption, ...] | None = None,
    changed: Changed = "cut",
    **codecs: Codec,
) -> Row:
    """Return a row for a statement about fields of the object that the table describes (the value).

    The slots (placeholders) of ``form`` name the fields that the statement contains. ``sets`` holds the fields that the statement
    sets to a constant. ``source`` is the public document that describes the statement. Without a source, the statement is only
    read; ``prints`` overrides this. ``Row`` explains ``since``, ``disrupts`` and ``changed``. The statement is printed if all of
    these hold:

    - Every slot outside brackets has a value other than None and ``usual``.
    - Every field of ``sets`` has the given constant.
    - ``when`` returns true.

    If there are several forms, the first whose slots all have values is printed. The forms in ``also`` mean the same, but
    are only read.
    """
    return Row(
        _forms(form), tuple(also), codecs, source, sets=sets or {}, usual=usual, when=when,
        prints=bool(source) if prints is None else prints, since=since, disrupts=disrupts,
        changed=changed,
    )  # fmt: skip


def each(
    form: str | Sequence[str],
    field: str,
    source: str,
    made: type | None = None,
    rows: Sequence[Row] | None = None,
    *,
    by: str | Sequence[str] = (),
    flat: bool = False,
    also: Sequence[str] = (),
    sets: Mapping[str, object] | None = None,
    when: Callable[[Any], bool] | None = None,
    prints: bool | None = None,
    since: str = "",
    disrupts: tuple[Disruption, ...] | None = None,
    changed: Changed = "cut",
    **codecs: Codec,
) -> Row:
    """Return a row whose statement is printed for each element of ``field``, a tuple or mapping.

    - ``sets``: the fields of an element that the statement sets to a constant.
    - ``made``: the class of the elements; None if the element itself is the value of the slot ``it``.
    - ``rows``: if given, each element is a section that contains these statements. Without ``made``, one of these
      statements has the slot ``it``.
    - ``flat``: the elements have no section. Instead, each statement in ``rows`` follows the form on the same line, for
      example ``neighbor <name> timers 3 9``.
    - ``by``: names of slots, for a ``field`` that is a mapping. The first of these slots that a line has holds the key of the element;
      lines with equal keys describe one element. Without ``by``, the field is a tuple.

    A slot that is not a field of the element is a field of the object that contains the element. ``line`` explains ``source``,
    ``also``, ``when``, ``since``, ``disrupts``, ``changed`` and the remaining parameters.
    """
    inner = None if rows is None else tuple(rows)
    keys = (by,) if isinstance(by, str) else tuple(by)
    return Row(
        _forms(form), tuple(also), codecs, source, field=field, by=keys, made=made, rows=inner, sets=sets or {}, when=when, several=True, flat=flat,
        prints=bool(source) if prints is None else prints, since=since, disrupts=disrupts,
        changed=changed,
    )  # fmt: skip


def part(
    field: str,
    made: type,
    rows: Sequence[Row],
    form: str = "",
    source: str = "",
    *,
    when: Callable[[Any], bool] | None = None,
    disrupts: tuple[Disruption, ...] | None = None,
) -> Row:
    """Return a row for the statements about the object in ``field``, one field of the object that the table describes.

    - ``made``: the class of the object in ``field``.
    - ``rows``: its statements. They are below the header ``form`` or, if ``form`` is empty, among the other statements.
    - ``when``: the object is printed if this function returns true for the object that contains it.

    The field is None if no statement is present. ``source`` is the document that describes the header, and ``Row`` explains ``disrupts``.
    """
    forms = _forms(form) if form else ()
    return Row(forms, source=source, field=field, made=made, rows=tuple(rows), when=when, disrupts=disrupts)


def under(
    form: str, source: str, *rows: Row, when: Callable[[Any], bool] | None = None, since: str = "", **codecs: Codec
) -> Row:
    """Return a row for the header ``form``. The statements ``rows`` below it describe the same object as the header itself.

    The header is printed if ``when`` returns true and all its slots have values. A header without slots is printed if
    one of the statements is printed. ``source`` is the document that describes the header, and ``since`` its first release.
    """
    return Row((form,), codecs=codecs, source=source, rows=rows, when=when, since=since)


def fixed(
    form: str, source: str, when: Callable[[Any], bool] | None = None, disrupts: tuple[Disruption, ...] | None = None
) -> Row:
    """Return a row for the constant statement ``form``, which sets no field.

    The statement is printed if ``when`` returns true for the object that the table describes. ``source`` is the document that
    describes the statement, and ``Row`` explains ``disrupts``.
    """
    return Row((form,), source=source, when=when, disrupts=disrupts)


def ignored(form: str, reason: str, source: str = "", **codecs: Codec) -> Row:
    """Return a row for a statement of the pattern ``form`` that is read but never printed, because it does not affect the network.

    ``reason`` explains why, and ``source`` is the document that describes the statement.
    """
    return Row((form,), codecs=codecs, source=source, reason=reason, prints=False)


def _forms(form: str | Sequence[str]) -> tuple[str, ...]:
    return (form,) if isinstance(form, str) else tuple(form)


_PIECES = re.compile(r"(<\w+>|[\[\]{}|])")


_FIRST_WORD = re.compile(r"[^\s<>\[\]{}|]+(?=\s|$|[\[{] )")
"""A regular expression for the first word of a form (statement pattern), if every line of the form begins with the same word."""
_GROUPS = {"[": "(?:", "]": ")?", "{": "(?:", "|": "|", "}": ")*"}


def _shown(piece: str, codecs: Mapping[str, Codec]) -> str:
    """Return ``piece``, a word or slot of a form, as people see it. A slot appears as its limits or words, for example ``<1-60>``.

    ``codecs`` holds the codec of each slot.
    """
    shown_as = codecs[piece[1:-1]].shown_as if piece.startswith("<") else ""
    return f"<{shown_as}>" if shown_as else piece


class Form:
    """A pattern of a statement, for printing, reading and checking lines. Its text consists of words and:

    - ``<slot>``: a value. A value whose slot name begins with ``_`` is read and ignored.
    - ``[ port <port>]``: an optional part.
    - ``{ port <port>| vrf <_vrf>}``: options in any order, only in forms that are never printed.
    """

    def __init__(self, text: str, codecs: Mapping[str, Codec]) -> None:
        self.raw, self.codecs = text, codecs
        self.slots: list[str] = []
        self.optional: set[str] = set()
        self._groups: list[tuple[str, list[int]]] = []
        reads, depth, template, places = "", 0, "", list[int]()
        for piece in _PIECES.split(text):
            if piece in "[]" and piece:
                self._groups.append((template, places))
                template, places = "", []
                depth += 1 if piece == "[" else -1
                reads += _GROUPS[piece]
            elif piece in _GROUPS:
                depth += (piece == "{") - (piece == "}")
                reads += _GROUPS[piece]
            elif piece.startswith("<"):
                slot = piece[1:-1]
                codec = codecs[slot]
                places.append(len(self.slots))
                template += "%s"
                self.slots.append(slot)
                if depth:
                    self.optional.add(slot)
                reads += f"(?:{codec.word})" if slot.startswith("_") else f"(?P<{slot}>{codec.word})"
            else:
                template += piece.replace("%", "%%")
                reads += re.escape(piece)
        self._groups.append((template, places))
        first = _FIRST_WORD.match(text)
        self.begins = first[0] if first else ""
        self.reads = reads
        """The pattern by which the reader finds a line of the form."""

    @cached_property
    def text(self) -> str:
        """The form as text for people, with the limits or words of each slot."""
        return _PIECES.sub(lambda piece: _shown(piece[0], self.codecs), self.raw)

    @cached_property
    def accepts(self) -> re.Pattern[str]:
        """The pattern of lines that the device accepts. It is compiled at the first use, because only the grammar needs it."""
        return re.compile(
            "".join(
                f"(?:{self.codecs[piece[1:-1]].accepts})"
                if piece.startswith("<")
                else _GROUPS.get(piece) or re.escape(piece)
                for piece in _PIECES.split(self.raw)
            )
        )

    def filled(self, texts: Mapping[str, str]) -> str:
        """Return a line of the form with the given text in each slot, by slot name. The optional parts are included."""
        return self.printed([texts[slot] for slot in self.slots])

    def printed(self, words: Sequence[str | None]) -> str:
        """Return a line of the form. ``words`` holds the text of each slot in order; None leaves out the optional part with this slot."""
        if len(self._groups) == 1:
            return self._groups[0][0] % tuple(words)
        line = ""
        for number, (template, places) in enumerate(self._groups):
            if number % 2 and not all(words[place] for place in places):
                continue  # groups at odd places are those in brackets
            line += template % tuple(words[place] for place in places)
        return line


@dataclass(frozen=True, eq=False)
class _Entry:
    """One statement pattern (form) of a table's row, with the regular expression of its lines and the table for the lines below (``inner``).

    A row can describe an object in a field of the value, without a header. Then ``path`` holds the name of this field. If
    such objects are nested, it holds the names of all fields, the outermost first.
    """

    pattern: str
    row: Row
    inner: Statements[Any] | None
    path: tuple[str, ...] = ()

    @cached_property
    def needed(self) -> frozenset[str]:
        """The names of fields that have no default, so that a line must give them. A line without one of them is unknown."""
        made = self.row.made
        if made is None or not dataclasses.is_dataclass(made):
            return frozenset()
        usual = (each for each in fields(made) if each.default is MISSING and each.default_factory is MISSING)
        return frozenset(each.name for each in usual) - self.row.sets.keys()

    @cached_property
    def reads(self) -> re.Pattern[str]:
        """The pattern of the form's lines. It is compiled at the first use, because only reading needs it."""
        return re.compile(self.pattern)


class Statements(Generic[T]):
    """A table of rows that describe objects of the class ``made``.

    ``disrupts`` lists the disruptions that a change causes, for rows whose own ``disrupts`` is None. A table without this list leaves the
    disruptions of such rows unknown.
    """

    def __init__(
        self, made: type[T] | None, rows: Iterable[Row], disrupts: tuple[Disruption, ...] | None = None
    ) -> None:
        self.made = made
        self.disrupts = disrupts
        self.rows = tuple(rows)
        self._tables: dict[int, Statements[Any]] = {}
        """The table for the lines below each row, by the row's ``id``. The table of a row without ``rows`` is empty."""
        self._forms: dict[int, list[Form]] = {}
        self._entries: dict[str, list[_Entry]] = {}
        for row in self.rows:
            self._add(row)

    def _add(self, row: Row) -> None:
        if row.made is not None or row.rows is not None:
            self._tables[id(row)] = type(self)(row.made, row.rows or ())  # type: ignore[arg-type] - of another class than this one
        inner = self._below(row)
        if inner is not None and not row.field:
            self._tables |= inner._tables  # noqa: SLF001 - of its own class
        if inner is not None and not row.forms:  # a part without a header: its lines are among these
            self._tables |= inner._tables  # noqa: SLF001 - of its own class
            for begins, entries in inner._entries.items():  # noqa: SLF001 - of its own class
                mine = self._entries.setdefault(begins, [])
                mine += [dataclasses.replace(entry, path=(row.field, *entry.path)) for entry in entries]
            return
        self._forms[id(row)] = [Form(text, row.codecs) for text in row.forms]
        for form in (*self._forms[id(row)], *(Form(text, row.codecs) for text in row.also)):
            pattern = f"{form.reads} (?P<{REST}>.+)" if row.flat else form.reads
            self._entries.setdefault(form.begins, []).append(_Entry(pattern, row, inner))

    def _below(self, row: Row) -> Statements[Any] | None:
        """Return the table for the lines below a row's statement or, for a flat row, for the words after it on the same line.

        Return None if there are no such lines or words.
        """
        return None if row.rows is None else self._tables[id(row)]

    @cached_property
    def names_of_fields(self) -> frozenset[str]:
        """The names of the fields of the class ``made``."""
        return frozenset(each.name for each in fields(self.made)) if self.made is not None else frozenset()  # type: ignore[arg-type] - a data class, which no type says

    # Printing

    def printed(self, value: T) -> list[Section]:
        """Return the statements that describe ``value``, an object of the class ``made``, as lines and sections, in the order of the rows."""
        sections: list[Section] = []
        for writer in self._writers:
            writer(value, sections)
        return sections

    @cached_property
    def _writers(self) -> list[Callable[[Any, list[Section]], None]]:
        """One function for each printed row. It takes an object and a list, and appends the row's statements about the object to the list."""
        return [self._writer(row) for row in self.rows if row.prints]

    def _writer(self, row: Row) -> Callable[[Any, list[Section]], None]:
        inner, when = self._below(row), row.when
        if row.several:
            members_of = attrgetter(row.field)
            of_member = None if row.made is None else self._tables[id(row)].names_of_fields
            write_line = self._line(row, inner, of_member)

            def write_each(value: Any, sections: list[Section]) -> None:  # noqa: ANN401 - a value of any class
                members = members_of(value)
                for key, member in members.items() if row.by else enumerate(members):
                    if when is None or when(member):
                        write_line(value, key, member, sections)

            return write_each
        if inner is not None and not row.codecs:
            part_of, header = attrgetter(row.field) if row.field else None, row.forms[0] if row.forms else None

            def write_part(value: Any, sections: list[Section]) -> None:  # noqa: ANN401 - a value of any class
                member = value if part_of is None else part_of(value)
                if member is None or (when is not None and not when(value)):
                    return
                body = inner.printed(member)
                if header is None:
                    sections += body
                elif body:
                    sections.append(Section(header, body))

            return write_part
        write_own = self._line(row, inner, None)

        def write(value: Any, sections: list[Section]) -> None:  # noqa: ANN401 - a value of any class
            if when is None or when(value):
                write_own(value, None, value, sections)

        return write

    def _line(
        self, row: Row, inner: Statements[Any] | None, of_member: frozenset[str] | None
    ) -> Callable[[Any, object, Any, list[Section]], None]:
        """Return the function that appends a row's line to a list of sections. It uses the first form whose slots all have values.

        The function takes the object that the table describes, the key and the element of its field, and the list. ``inner`` is the
        table for the lines below, and ``of_member`` holds the names of the element's fields.
        """
        usual, constants = row.usual, tuple(row.sets.items())
        forms = [
            (form, [(slot, self._origin(row, slot, of_member), slot not in form.optional) for slot in form.slots])
            for form in self._forms[id(row)]
        ]

        def write(value: Any, key: object, member: Any, sections: list[Section]) -> None:  # noqa: ANN401 - a value of any class
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
                    text, body = form.printed(words), None if inner is None else inner.printed(member)
                    if row.flat:
                        sections += [Section(f"{text} {below.line}", below.body) for below in body or ()]
                    else:
                        sections.append(Section(text, body))
                    return

        return write

    def _origin(self, row: Row, slot: str, of_member: frozenset[str] | None) -> str:
        """Return the place from which the content of a slot is taken. ``of_member`` holds the names of the element's fields.

        - ``it``: the list element itself;
        - ``member``: a field of the element or, for a row without list elements, of the object that the table describes;
        - ``key``: the element's key;
        - ``value``: a field of the object that contains the element;
        - ``none``: nothing, because the slot is only read.
        """
        if slot == IT:
            return IT
        if slot.startswith("_"):
            return "none"
        if not row.several or (of_member is not None and slot in of_member):
            return "member"
        return "key" if slot in row.by else "value"

    # Reading

    def read(self, sections: Iterable[Section], reader: SectionReader) -> T:
        """Return the object of the class ``made`` that sections describe. ``reader`` records which lines are understood."""
        return self.build(self.collect(sections, reader))

    def collect(
        self, sections: Iterable[Section], reader: SectionReader, into: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the fields that sections describe, by name. ``build`` turns them into an object.

        ``reader`` records which lines are understood. ``into`` holds fields of sections that were read before; the new fields are
        added to it.
        """
        collected: dict[str, Any] = {} if into is None else into
        for section in sections:
            self._take(section, reader, collected)
        return collected

    def _take(self, section: Section, reader: SectionReader, collected: dict[str, Any]) -> None:
        """Store the values of a line (``section``) in ``collected``, if a row matches the line, and mark the line in ``reader``.

        The line is marked as understood, or as irrelevant if its row has a reason (``ignored``). ``collected`` is by field name.
        """
        entry, values = self._entry(section.line)
        last, words = entry, values
        while REST in words:
            last, words = words[REST]
        if entry is None or last is None or (section.body and last.inner is None and not last.row.reason):
            return  # unknown, or a plain statement with lines below it
        if last.row.reason:
            reader.mark_irrelevant(section)
        else:
            reader.mark_understood(section)
        self._store(entry, values, collected, section, reader)

    def _store(
        self, entry: _Entry, values: dict[str, Any], collected: dict[str, Any], section: Section, reader: SectionReader
    ) -> None:
        row, inner, here = entry.row, entry.inner, collected
        for name in entry.path:
            here: dict[str, Any] = here.setdefault(name, {})
        if not row.several:
            if inner is not None:
                here.update(values)
                below: dict[str, Any] = here.setdefault(row.field, {}) if row.field else here
                inner.collect(section.body or (), reader, below)
            elif not row.reason:
                here.update(values)
                here.update(row.sets)
            return
        keys = [values[slot] for slot in row.by if slot in values] or [""]
        names = frozenset({IT}) if row.made is None else self._tables[id(row)].names_of_fields
        here.update({name: word for name, word in values.items() if name not in names and name not in {*row.by, REST}})
        if row.made is None:
            if inner is not None:  # the element is the slot of a line below
                below = {}
                inner.collect(section.body or (), reader, below)
                values = values | below
            for name in row.field.split() if IT in values else ():
                if row.by:
                    here.setdefault(name, {})[keys[0]] = values[IT]
                else:
                    spreads = IT in row.codecs and row.codecs[IT].spreads
                    here.setdefault(name, []).extend(values[IT] if spreads else (values[IT],))
            return
        if row.by:
            member: dict[str, Any] = here.setdefault(row.field, {}).setdefault(keys[0], {})
        else:
            member = {}
            here.setdefault(row.field, []).append(member)
        member.update({name: word for name, word in values.items() if name in names})
        member.update(row.sets)
        if SECTION in names:
            member[SECTION] = section
        if inner is not None and REST in values:
            below_entry, below_values = values[REST]
            inner._store(below_entry, below_values, member, section, reader)  # noqa: SLF001 - of its own class
        elif inner is not None:
            inner.collect(section.body or (), reader, member)

    @cached_property
    def _entry(self) -> Callable[[str], tuple[_Entry | None, dict[str, Any]]]:
        """The function that returns the row of a line and the values of its slots (see ``_parsed``).

        It caches its latest results, because the lines of ports and devices are often the same.
        """
        return lru_cache(maxsize=KEPT)(self._parsed)

    def _parsed(self, text: str) -> tuple[_Entry | None, dict[str, Any]]:
        """Return (row that matches a line or None, values by slot). The row is an ``_Entry``.

        A flat statement is one line about an element of a list, for example ``neighbor leaf1 timers 3 9``. The value of its slot ``REST``
        is
        a pair of the same kind, for the words after the element's name (``timers 3 9``).
        """
        first = text.split(" ", 1)[0]
        for entry in (*self._entries.get(first, ()), *self._entries.get("", ())):
            match = entry.reads.fullmatch(text)
            if match is None:
                continue
            words, codecs = match.groupdict(), entry.row.codecs
            values: dict[str, Any] = {}
            if entry.row.flat and entry.inner is not None:
                values[REST] = entry.inner._entry(words.pop(REST))  # noqa: SLF001 - of its own class
                if values[REST][0] is None:
                    continue
            try:
                values |= {slot: codecs[slot].read(word) for slot, word in words.items() if word is not None}
            except (ValueError, KeyError):
                continue
            if entry.needed <= values.keys():
                return entry, values
        return None, {}

    def build(self, values: dict[str, Any]) -> T:
        """Return the object built from ``values``, the collected fields by name. A field without a statement keeps its default."""
        assert self.made is not None  # noqa: S101 - only values of a class are built
        return self.made(**self._built(self.rows, dict(values)))

    def _built(self, rows: Iterable[Row], values: dict[str, Any]) -> dict[str, Any]:
        built: set[str] = set()
        for row in rows:
            if not row.field and row.rows is not None:
                values = self._built(row.rows, values)
            if row.field not in values or row.field in built:
                continue
            built.add(row.field)
            value: Any = values[row.field]
            if row.made is None:
                if row.several and not row.by:
                    values[row.field] = tuple(value)
                continue
            table: Statements[Any] = self._tables[id(row)]
            if not row.several:
                given = table._built(table.rows, dict(value))
                if given:
                    values[row.field] = row.made(**given)
                else:
                    del values[row.field]  # its headers alone say nothing
            elif row.by:
                values[row.field] = {key: table.build(inner) for key, inner in value.items()}
            else:
                values[row.field] = tuple(table.build(inner) for inner in value)
        return values

    # Checking

    def statements(self, *, also: bool = False) -> Iterator[tuple[Row, list[Form], Statements[Any] | None]]:
        """Yield (row, its forms, table for the lines below or None if no lines can be below).

        A flat row (``each``) describes list elements in one line each. In place of the flat row, each of its inner rows is yielded,
        with forms for the whole line, for example ``neighbor <name> timers <keepalive> <hold>``. With ``also``, forms that are only
        read are included.
        """
        for row in self.rows:
            inner = self._below(row)
            if inner is not None and not row.forms:
                yield from inner.statements(also=also)
                continue
            forms = [*self._forms[id(row)], *(Form(text, row.codecs) for text in (row.also if also else ()))]
            if inner is None or not row.flat:
                yield row, forms, inner
                continue
            for below, statements, deeper in inner.statements(also=also):
                pairs = [(form, statement) for form in forms for statement in statements]
                codecs = [{**form.codecs, **statement.codecs} for form, statement in pairs]
                joined = (f"{form.raw} {statement.raw}" for form, statement in pairs)
                yield below, list(map(Form, joined, codecs)), deeper

    def commands(self) -> Iterator[tuple[Row, Form, Statements[Any] | None]]:
        """Yield (row, form, table for the lines below or None) for each form that the device's command line accepts.

        Rows without a source, and forms that are only read, are left out.
        """
        for row, forms, inner in self.statements():
            if row.source:
                yield from ((row, form, inner) for form in forms)

    @cached_property
    def begins(self) -> frozenset[str]:
        """The first words of the table's top-level lines. They include "" if a line can begin with the content of a slot."""
        return frozenset(self._entries)

    @cached_property
    def releases(self) -> frozenset[str]:
        """The releases that are the first to have a statement of this table, or of a table for the lines below."""
        here = frozenset(row.since for row in self.rows if row.since)
        return here.union(*(table.releases for table in self._tables.values()))

    def since(
        self, sections: Iterable[Section], releases: Collection[str], above: str = ""
    ) -> Iterator[tuple[str, str]]:
        """Yield (path of the line, release) for each line whose statement was introduced in one of ``releases``.

        ``above`` is put before the paths.
        """
        for section in sections:
            entry, values = self._entry(section.line)
            while entry is not None:
                if entry.row.since in releases:
                    yield f"{above}{section.line}", entry.row.since
                if entry.inner is not None and section.body:
                    yield from entry.inner.since(section.body, releases, f"{above}{section.line} / ")
                entry, values = values.get(REST, (None, {}))

    def names(self, sections: Iterable[Section], above: str = "") -> Iterator[Name]:
        """Yield the names that lines define and use, in the order of the lines. ``above`` is put before the paths of the lines."""
        for section in sections:
            entry, values = self._entry(section.line)
            yield from self._names(entry, values, section, f"{above}{section.line}")

    def _names(self, entry: _Entry | None, values: Mapping[str, Any], section: Section, path: str) -> Iterator[Name]:
        if entry is None:
            return
        for slot, codec in entry.row.codecs.items():
            if values.get(slot) and (codec.defines or codec.refers):
                yield Name(codec.defines or codec.refers, codec.write(values[slot]), path, bool(codec.refers))
        if entry.inner is not None and REST in values:
            below_entry, below_values = values[REST]
            yield from entry.inner._names(below_entry, below_values, section, path)  # noqa: SLF001 - of its own class
        elif entry.inner is not None and section.body:
            yield from entry.inner.names(section.body, f"{path} / ")
