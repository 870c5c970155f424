"""Every row of every statement table, by generation: what is printed is read, and another value is another configuration.

Texts of slots are drawn from what the device takes. A slot whose name begins with ``_`` is read and dropped, and a row that is
``passed`` says nothing: they are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from railweave.model.config.sections import Section, SectionReader, flat
from railweave.model.config.statements import Codec, Form, Row, Statements
from railweave.systems import systems
from railweave.systems.statement_tables import tables

Place = tuple[tuple[Form, Row], ...]
"""A row with the headers above it, from the top."""


def places(table: Statements[Any], above: Place = ()) -> Iterator[Place]:
    """Every row that the device takes, with those above it."""
    for row, form, inner in table.commands():
        here = (*above, (form, row))
        yield here
        if inner is not None:
            yield from places(inner, here)


TABLES = {f"{nos}.{name}": table for nos in systems() for name, table in tables(nos).items()}
PLACES = {
    f"{name}: {' / '.join(form.text for form, _ in place)}": (TABLES[name], place)
    for name in TABLES
    for place in places(TABLES[name])
}


PARTS = st.one_of(
    st.integers(0, 7).map(str),
    st.integers(0, 6).flatmap(lambda low: st.integers(low, 7).map(lambda high: f"{low}-{high}")),
)
"""Parts of lists of numbers that every list takes."""

WORDS = {
    "list": st.lists(PARTS, min_size=1, max_size=4).map(",".join),
    "address": st.sampled_from(("192.0.2.1", "192.0.2.7", "2001:db8::1", "2001:db8::2")),
    "prefix": st.sampled_from(("192.0.2.0/24", "198.51.100.0/25", "2001:db8::/64", "2001:db8:1::/48")),
    "source": st.sampled_from(("any", "host 192.0.2.1", "host 2001:db8::1", "192.0.2.0/24", "2001:db8::/64")),
    "number": st.integers(1, 4_200_000_000).map(str),
    "secret": st.sampled_from(("<secret:a>", "<secret:b>", "<secret:c>")),
    "text": st.from_regex(r"[a-z]{1,4}[0-9]", fullmatch=True),
    "word": st.from_regex(r"[a-z]{1,4}[0-9]", fullmatch=True),
}
"""Texts of slots whose pattern takes much more than values, by what the codec says."""


@cache
def words_of(codec: Codec) -> st.SearchStrategy[str]:
    if codec.shown_as in WORDS:
        return WORDS[codec.shown_as]
    if limits := re.fullmatch(r"(\d+)-(\d+)", codec.shown_as):
        low, high = int(limits[1]), int(limits[2])
        unit = next(step for step in (1, 60, 1000) if readable(codec, str((low // step + 1) * step)))
        return st.integers(-(-low // unit), high // unit).map(lambda count: str(count * unit))
    if "|" in codec.shown_as:
        return st.sampled_from(codec.shown_as.split("|"))
    return st.from_regex(re.compile(codec.accepts, re.ASCII), fullmatch=True)


def is_only_header(row: Row) -> bool:
    """Whether a row is the header of the lines that say something: of the value itself, or of an element that is one of their slots."""
    return row.rows is not None and row.made is None and not (row.codecs.keys() - {*row.by})


def readable(codec: Codec, text: str) -> bool:
    try:
        codec.read(text)
    except (ValueError, KeyError):
        return False
    return True


def text_of(draw: st.DataObject, form: Form) -> tuple[str, dict[str, Any]]:
    """A line of a form, and the values of its slots."""
    texts: dict[str, str] = {}
    for slot in dict.fromkeys(form.slots):
        codec = form.codecs[slot]
        words = words_of(codec)
        texts[slot] = draw.draw(words.filter(partial(readable, codec)), label=slot)
    return form.filled(texts), {slot: form.codecs[slot].read(text) for slot, text in texts.items()}


def section_of(lines: list[str]) -> Section:
    head, *rest = lines
    return Section(head, [section_of(rest)] if rest else None)


def read(table: Statements[Any], lines: list[str]) -> tuple[Any, str]:
    """The value of lines each below the one before, and how the last of them was taken."""
    section = section_of(lines)
    reader = SectionReader([section])
    value = table.read([section], reader)
    return value, [understood for *_, understood in reader.lines()][-1]


@pytest.mark.parametrize("name", PLACES)
@settings(max_examples=4)
@given(data=st.data())
def test_what_is_read_is_printed_and_read_again(name: str, data: st.DataObject) -> None:
    table, place = PLACES[name]
    lines = [text_of(data, form)[0] for form, _ in place]
    value, understood = read(table, lines)
    assert understood
    if not all(row.prints for _, row in place):
        return
    printed = table.printed(value)
    reader = SectionReader(printed)
    assert table.read(printed, reader) == value
    assert [path for _, path, known in reader.lines() if not known] == []
    if not is_only_header(place[-1][1]) and not any(slot.startswith("_") for form, _ in place for slot in form.slots):
        assert place[-1][0].accepts.fullmatch(lines[-1])
        assert flat(printed)


@pytest.mark.parametrize("name", PLACES)
@settings(max_examples=4)
@given(data=st.data())
def test_another_value_is_another_configuration(name: str, data: st.DataObject) -> None:
    table, place = PLACES[name]
    form, row = place[-1]
    if (
        row.reason
        or is_only_header(row)
        or all(slot.startswith("_") or form.codecs[slot].accepts == form.codecs[slot].shown_as for slot in form.slots)
    ):
        return  # it says nothing, or has but one value
    above = [text_of(data, upper)[0] for upper, _ in place[:-1]]
    first, values = text_of(data, form)
    second, others = text_of(data, form)
    assume(
        {slot: value for slot, value in values.items() if slot[0] != "_"}
        != {slot: value for slot, value in others.items() if slot[0] != "_"}
    )
    old, new = read(table, [*above, first]), read(table, [*above, second])
    assert old[0] != new[0]


def test_rows_are_there() -> None:
    assert {name.partition(".")[0] for name in TABLES} >= {"dell_sonic", "frr", "junos", "sonic"}
    assert len(PLACES) > 60
