"""The disruptions of changed lines, from the rows of statement tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from railweave.model.config.section_tree import name_of_line
from railweave.model.config.tree import Disruption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.section_tree import LineRules
    from railweave.model.config.statements import Effect, Form, Row, Statements

PORT = "port"
"""The kind of names that ports have. A change of a line below the header of a port disrupts only this port."""


def disruptions(tables: Iterable[Statements[Any]], rules: LineRules) -> tuple[Disruption, ...]:
    """Return the disruptions that changes of the tables' statements cause. ``rules`` decide how a tree names a line."""
    return tuple(row for table in tables for row in _disruptions(table, rules, "", table.disrupts or ()))


def disruption(statement: str, effect: Effect) -> Disruption:
    """Return an effect as that of the statements whose path matches the pattern ``statement``."""
    return Disruption(
        statement, effect.what, effect.why, effect.source, effect.when, itself=effect.itself, value=effect.value
    )


def _disruptions(
    table: Statements[Any], rules: LineRules, above: str, usual: tuple[Effect, ...]
) -> Iterator[Disruption]:
    for row, forms, inner in table.statements(also=True):
        names = dict.fromkeys(name for form in forms for name in _names(form, row, rules))
        here = f"{above}(?:{'|'.join(names)})"
        if inner is not None:  # behind a header, a tree names the lines that make its section anew
            here += "(?: [^/]*)?"
        for effect in usual if row.disrupts is None else row.disrupts:
            yield disruption(f"{here}$", effect)
        if inner is not None:
            yield from _disruptions(inner, rules, f"{here} / ", usual)


def _names(form: Form, row: Row, rules: LineRules) -> Iterator[str]:
    """Yield patterns of the words by which a tree names lines of a form: the line without its value, or the whole line."""
    marks = {slot: f"<{slot}>" for slot in form.slots}
    line = form.filled(marks)
    name = " ".join(filter(None, name_of_line(line, rules)))
    for pattern in (re.escape(name), form.reads) if name != line else (form.reads,):
        for slot, mark in marks.items():
            codec = form.codecs[slot]
            word = codec.accepts if re.fullmatch(codec.word, "a / b") else codec.word
            group = f"(?P<{PORT}>{word})" if codec.defines == PORT and len(row.forms) == 1 else f"(?:{word})"
            pattern = pattern.replace(f"(?P<{slot}>{codec.word})", group).replace(re.escape(mark), group)  # noqa: PLW2901
        yield pattern
