"""Rules for changing configuration lines: the lines that a new line replaces, and the traffic or sessions that a change disrupts.

The rules are derived from statement tables, which describe one statement per row (``model.config.statements``).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railweave.model.config.section_tree import name_of_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.model.config.section_tree import LineRules
    from railweave.model.config.statements import Changed, Form, Row, Statements
    from railweave.model.config.tree import Disruption

PORT = "port"
"""The value of ``Codec.defines`` for a slot that holds the name of a port, as in the header of the port's section.

A changed line below such a header disrupts only this port.
"""


def with_rows(rules: LineRules, tables: Sequence[Statements[Any]]) -> LineRules:
    """Return ``rules``, extended by the rules that statement tables imply: the lines that a new line replaces, and the effects of a change.

    In each list of patterns, those of ``rules`` come before those of ``tables``.
    """
    patterns = dict(pattern for table in tables for pattern in _patterns(table))
    replaced = (pattern for pattern, changed in patterns.items() if changed != "removed")
    cut = (pattern for pattern, changed in patterns.items() if changed == "cut")
    return with_disruptions(replace(rules, replaced=(*rules.replaced, *replaced), cut=(*rules.cut, *cut)), tables)


def with_disruptions(rules: LineRules, tables: Iterable[Statements[Any]]) -> LineRules:
    """Return ``rules``, extended by the disruptions that a change of a statement in ``tables`` causes. The new disruptions come first."""
    rows = (row for table in tables for row in _disruptions(table, rules, "", table.disrupts or ()))
    return replace(rules, disruptions=(*rows, *rules.disruptions))


def _patterns(table: Statements[Any]) -> Iterator[tuple[str, Changed]]:
    """Yield (pattern of the statement's lines, ``cut``, ``replaced`` or ``removed``) for each statement that can have only one value.

    ``LineRules`` explains the patterns, and ``Changed`` explains the words.
    """
    for row, forms, inner in table.statements():
        if inner is not None:
            yield from _patterns(inner)
        elif row.prints and not row.reason and (row.by or not row.several):
            for form in forms:
                line = "".join("*" if piece[1:-1] in row.by else piece for piece in re.split(r"(<\w+>)", form.raw))
                before, value, after = line.partition("<")
                begin, end = before.rpartition(" ")[0], after.partition(">")[2].partition(" ")[2]
                if value:
                    has_more = not end or re.search(r"[<\[]", end)
                    yield f"{begin} ..." if has_more else f"{begin} = {end}", row.changed


def _disruptions(
    table: Statements[Any], rules: LineRules, above: str, usual: tuple[Disruption, ...]
) -> Iterator[Disruption]:
    for row, forms, inner in table.statements(also=True):
        names = dict.fromkeys(name for form in forms for name in _names(form, row, rules))
        here = f"{above}(?:{'|'.join(names)})"
        if inner is not None:  # behind a header, a tree names the lines that open its section
            here += "(?: [^/]*)?"
        for effect in usual if row.disrupts is None else row.disrupts:
            yield replace(effect, statement=f"{effect.statement}{here}$")
        if inner is not None:
            yield from _disruptions(inner, rules, f"{here} / ", usual)


def _names(form: Form, row: Row, rules: LineRules) -> Iterator[str]:
    """Yield regular expressions for the names that lines of the statement pattern ``form`` have in a configuration tree.

    Such a name is usually the line without its value, for example ``mtu``. If ``rules`` name the line in this way, there are two
    expressions: for this name, and for the whole line. Otherwise there is one, for the whole line. ``row`` is the table row of
    ``form``.
    """
    marks = {slot: f"<{slot}>" for slot in form.slots}
    line = form.filled(marks)
    name = " ".join(filter(None, name_of_line(line, rules)))
    patterns: list[str] = [re.escape(name), form.reads] if name != line else [form.reads]
    for slot, mark in marks.items():
        codec = form.codecs[slot]
        word = codec.accepts if re.fullmatch(codec.word, "a / b") else codec.word
        group = f"(?P<{PORT}>{word})" if codec.defines == PORT and len(row.forms) == 1 else f"(?:{word})"
        read, marked = f"(?P<{slot}>{codec.word})", re.escape(mark)
        patterns = [pattern.replace(read, group).replace(marked, group) for pattern in patterns]
    yield from patterns
