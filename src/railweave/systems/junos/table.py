"""Statement tables of Junos: the rows of ``model.config.statements``, with the words of ``set`` lines as patterns.

Marks in the pattern of a statement control how it is printed. The reader ignores them, because ``set`` lines do not have
them:

- `` / `` ends a block, as in ``system / login / user <name>``. Blocks with the same words are one block.
- A placeholder at the end is the statement's value, as in ``class <role>``. In ``version = v2``, the words after `` = ``
  are the value.
- ``[ <it> ]`` is a list, as in ``authentication-order [ <it> ]``. It holds all elements of the field.
- `` : `` ends the words that identify a one-line statement, as in ``class <name> : queue-num <queue>``. If a pattern
  ends with this mark, the statements below it are on the same line.

If a configuration has the header of a block, the object that the block describes exists. A block without statements is
printed as its header only.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from railweave.model.config.sections import Section
from railweave.model.config.statements import IT, SECTION, Statements
from railweave.systems.junos.tree import Statement, set_paths
from railweave.systems.junos.words import Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from railweave.model.config.sections import SectionReader
    from railweave.model.config.statements import Codec, Row

T = TypeVar("T")

MARKS = frozenset({"/", ":", "=", "[", "]"})
ANY_WORD = frozenset({r"\S+", ".+"})
Words = tuple[str, ...]


@dataclass(frozen=True)
class Path:
    """The pattern of a statement as words: the blocks around the statement, the words that identify it, and its values.

    - ``listed``: True if the values are a list.
    - ``key``: the number of words that identify a one-line statement; 0 for any other statement.
    - ``inline``: True if the statements below it are on the same line.
    """

    blocks: tuple[Words, ...]
    words: Words
    values: Words = ()
    listed: bool = False
    key: int = 0
    inline: bool = False

    @property
    def every(self) -> Words:
        """All words of the pattern, except the values of a list."""
        head = tuple(word for block in self.blocks for word in block) + self.words
        return head if self.listed else head + self.values


def _slot(word: str) -> str:
    """Return the name of a placeholder (``name`` for ``<name>``), or an empty text for any other word."""
    return word[1:-1] if word.startswith("<") and word.endswith(">") else ""


def _path(form: str, row: Row) -> Path:
    *blocks, last = (tuple(part.split()) for part in form.split(" / "))
    plain, above = tuple(word for word in last if word not in MARKS), tuple(blocks)
    if ":" in last:
        return Path(above, plain, key=last.index(":"), inline=last[-1] == ":")
    at = next((last.index(mark) for mark in ("=", "[") if mark in last), None)
    if at is None and not row.several and len(last) > 1 and _slot(last[-1]):
        at = len(plain) - 1
    at = len(plain) if at is None else at
    return Path(above, plain[:at], plain[at:], listed="[" in last)


@lru_cache(maxsize=1024)
def _fits(codec: Codec, word: str) -> bool:
    return codec.word in ANY_WORD or re.fullmatch(codec.word, word) is not None


def _ends(word: Word, path: Words, codecs: Mapping[str, Codec], *, held: bool) -> Iterator[tuple[Word, dict[str, Any]]]:
    """Yield (last word, values by placeholder) for each path below ``word`` that matches the pattern ``path``.

    ``codecs`` has the codec of each placeholder, which converts words to values. If ``held`` is True and the last placeholder matches
    several
    words, only the value in effect is yielded.
    """
    if not path:
        yield word, {}
        return
    first, rest = path[0], path[1:]
    slot = _slot(first)
    if not slot:
        below = word.below.get(first)
        if below is not None:
            yield from _ends(below, rest, codecs, held=held)
        return
    holds = word.holds() if held and not rest else None
    for below in [holds] if holds is not None else [] if held and not rest else list(word.below.values()):
        codec = codecs[slot]
        if not _fits(codec, below.text):
            continue
        try:
            value = codec.read(below.text)
        except (ValueError, KeyError):
            continue
        for end, values in _ends(below, rest, codecs, held=held):
            yield end, values if slot.startswith("_") else {slot: value, **values}


class _There(dict[str, Any]):
    """The fields of a nested object that exists in the text. Unlike a plain dict, such an object counts as true even if it has no fields."""

    def __bool__(self) -> bool:
        return True


class Tree(Statements[T]):
    """A statement table whose statements form a tree. It converts objects of the class ``made`` to statements and back."""

    def _inner(self, row: Row) -> Tree[Any] | None:
        return cast("Tree[Any] | None", self._below(row))

    # Printing

    def tree(self, value: T) -> list[Statement]:
        """Return the statements for the object ``value``, in the order of the table's rows."""
        statements: list[Statement] = []
        self.add(statements, value)
        return statements

    def add(self, statements: list[Statement], value: T) -> None:
        """Append the statements for ``value`` to ``statements``. If a block exists already, new statements for the block are added to it."""
        for write in self._prints:
            write(value, statements)

    @cached_property
    def _prints(self) -> list[Callable[[Any, list[Statement]], None]]:
        return [self._print_of(row) for row in self.rows if row.prints]

    def _print_of(self, row: Row) -> Callable[[Any, list[Statement]], None]:
        """Return a function that appends the statements of one table row. Its parameters are the object and the list to extend."""
        inner, when, write = self._inner(row), row.when, self._writer_of(row)
        of = attrgetter(row.field) if row.field else None

        def write_all(value: Any, into: list[Statement]) -> None:  # noqa: ANN401 - a value of any class
            assert of is not None  # noqa: S101 - a row of several elements has their field
            members = of(value)
            for key, member in members.items() if row.by else enumerate(members):
                if when is None or when(member):
                    write(value, key, member, into)

        def write_one(value: Any, into: list[Statement]) -> None:  # noqa: ANN401 - a value of any class
            member = value if inner is None or of is None else of(value)
            if member is None or (when is not None and not when(value)):
                return
            if inner is None or row.forms:
                write(value, None, member, into)
            else:
                inner.add(into, member)

        return write_all if row.several else write_one

    def _writer_of(self, row: Row) -> Callable[[Any, object, Any, list[Statement]], None]:
        """Return a function that appends one statement of a table row: for the object itself, or for one element of a field.

        The function uses the first pattern of the row whose placeholders all have values.
        """
        inner, several, constants = self._inner(row), row.several, tuple(row.sets.items())
        fields = self._tables[id(row)].names_of_fields if row.made is not None else frozenset[str]()
        forms = [
            (path, [self._filler(row, words, fields) for words in (*path.blocks, path.words, path.values)])
            for path in (_path(form, row) for form in row.forms)
        ]

        def write(value: Any, key: object, member: Any, into: list[Statement]) -> None:  # noqa: ANN401 - a value of any class
            if any(getattr(member, name) != constant for name, constant in constants):
                return
            for path, fillers in forms:
                filled = [fill(value, key, member) for fill in fillers]
                if None in filled:
                    continue
                *blocks, words, values = cast("list[Words]", filled)
                body = None if inner is None else inner.tree(member)
                if not several and body == []:
                    return  # a part of which nothing is printed
                for block in blocks:
                    into = _block(into, block)
                if path.inline:
                    words, body = (
                        (*words, *(word for statement in body or () for word in (*statement.words, *statement.values))),
                        None,
                    )
                same = (
                    path.listed
                    and several
                    and next((statement for statement in into if statement.words == words), None)
                )
                if same:
                    same.values += values
                else:
                    into.append(Statement(words, values, body or None, path.listed, path.key))
                return

        return write

    def _filler(self, row: Row, words: Words, fields: frozenset[str]) -> Callable[[Any, object, Any], Words | None]:
        """Return a function that replaces the placeholders in ``words`` by the values of an object.

        The function returns None if a value is None or the default; the statement is then not printed. ``fields`` are the
        fields of the element's class.
        """
        if not any(map(_slot, words)):
            return lambda value, key, member: words  # noqa: ARG005 - a value, its key and an element, as below
        places = [(word, _slot(word), self._origin(row, _slot(word), fields)) for word in words]
        usual, codecs = row.usual, row.codecs

        def fill(value: Any, key: object, member: Any) -> Words | None:  # noqa: ANN401 - a value of any class
            texts: list[str] = []
            for word, slot, origin in places:
                if not slot:
                    texts.append(word)
                    continue
                held = (
                    getattr(member, slot)
                    if origin == "member"
                    else member
                    if origin == IT
                    else key
                    if origin == "key"
                    else getattr(value, slot)
                )
                if held is None or held == usual:
                    return None
                texts.append(codecs[slot].write(held))
            return tuple(texts)

        return fill

    def printed(self, value: T) -> list[Section]:
        """Return the statements for ``value`` as lines: the words after ``set``."""
        return [Section(" ".join(path)) for statement in self.tree(value) for path in set_paths(statement)]

    # Reading

    def value(self, top: Word) -> T:
        """Return the object that the words below ``top`` describe, and mark these words as understood."""
        return self.build(self.of_words(top, {}))

    @cached_property
    def _reads(self) -> list[tuple[Row, Path, Tree[Any] | None, frozenset[str]]]:
        """The patterns to read, each as (row, pattern, table for the words below it or None, required fields of an element)."""
        needed = {id(entry.row): entry.needed for entries in self._entries.values() for entry in entries}
        return [
            (row, _path(form, row), self._inner(row), needed.get(id(row), frozenset()))
            for row in self.rows
            for form in (*row.forms, *row.also) or ("",)
        ]

    def of_words(self, top: Word, collected: dict[str, Any]) -> dict[str, Any]:
        """Return ``collected``, extended by the fields that the words below ``top`` set. ``build`` makes an object of the result."""
        for row, path, inner, needed in self._reads:
            if not row.forms and inner is not None:
                below = inner.of_words(top, collected.get(row.field) or {})
                if below:
                    collected[row.field] = below
                continue
            for end, values in _ends(top, path.every, row.codecs, held=not row.several and inner is None):
                if path.listed:
                    for member, keys in _ends(end, path.values, row.codecs, held=False):
                        self._keep(row, None, member, keys, needed, collected)
                else:
                    if path.inline and inner is not None:
                        end.spread(inner.on_line)
                    self._keep(row, inner, end, values, needed, collected)
        return collected

    @cached_property
    def on_line(self) -> dict[str, int]:
        """The number of values after each word that begins a statement on a shared line, such as 1 for ``queue-num``."""
        return {path.every[0]: len(path.every) - 1 for _, path, _, _ in self._reads}

    def _keep(
        self,
        row: Row,
        inner: Tree[Any] | None,
        end: Word,
        values: dict[str, Any],
        needed: frozenset[str],
        collected: dict[str, Any],
    ) -> None:
        """Mark the last word of a statement (``end``) as understood, and store the statement's values in ``collected``.

        ``inner`` is the table for the words below the statement, or None. If a required field of an element (``needed``) is missing, the
        word
        is marked as not understood.
        """
        if row.reason:
            end.mark("irrelevant")
        elif not row.several:
            end.mark()
            if inner is not None:
                inner.of_words(end, collected.setdefault(row.field, _There()))
            collected.update(values)
            collected.update({} if inner is not None else row.sets)
        else:
            names = frozenset({IT}) if row.made is None else self._tables[id(row)].names_of_fields
            key = next((values[slot] for slot in row.by if slot in values), None)
            collected.update(
                {slot: value for slot, value in values.items() if slot not in names and slot not in row.by}
            )
            end.mark()
            if row.made is None:
                if inner is not None:
                    inner.of_words(end, {})
                if row.by:
                    collected.setdefault(row.field, {})[key] = values[IT]
                else:
                    collected.setdefault(row.field, []).append(values[IT])
                return
            member: dict[str, Any] = dict(collected.get(row.field, {}).get(key, {})) if row.by else {}
            member |= {slot: value for slot, value in values.items() if slot in names}
            member |= row.sets
            if SECTION in names:
                member.setdefault(SECTION, end)
            if inner is not None:
                inner.of_words(end, member)
            if not needed <= member.keys():
                end.mark_unknown()
            elif row.by:
                collected.setdefault(row.field, {})[key] = member
            else:
                collected.setdefault(row.field, []).append(member)

    def read(self, sections: Iterable[Section], reader: SectionReader) -> T:
        """Return the object that the lines ``sections`` describe. The header of each section is read like a ``set`` line.

        ``reader`` records which lines are understood.
        """
        top = Word("")
        ends: list[tuple[Section, Word]] = []

        def add(those: Iterable[Section], above: Word) -> None:
            for section in those:
                words = [word for word in shlex.split(section.line) if word not in MARKS]
                ends.append((section, above.add(words, 0, 0)))
                add(section.body or (), ends[-1][1])

        add(sections, top)
        value = self.value(top)
        for section, end in ends:
            if end.kind == "understood":
                reader.mark_understood(section)
            elif end.kind == "irrelevant":
                reader.mark_irrelevant(section)
        return value


def _block(into: list[Statement], words: Words) -> list[Statement]:
    """Return the statements in the block with the words ``words``. If ``into`` does not have this block, the block is added to ``into``."""
    for statement in reversed(into):
        if statement.words == words and statement.children is not None:
            return statement.children
    children: list[Statement] = []
    into.append(Statement(words, children=children))
    return children
