"""Faults are drawn again as they were drawn, are faults, and stand where they say."""

from __future__ import annotations

import re

import pytest

from tests.mutants import NAMED_BY, Kind, mutants
from tests.mutants.texts import added, is_whole, replaced, statements, swapped, without

DRAWN = 40
NOS = "dell_sonic"
"""The system whose faults the test draws; of others they are drawn by the same code from other tables."""


@pytest.mark.slow
def test_faults_of_a_seed_are_the_same_each_time() -> None:
    first, again, other = (list(mutants(NOS, seed, DRAWN)) for seed in (1, 1, 2))
    assert [(one.kind, one.what, one.places) for one in first] == [(one.kind, one.what, one.places) for one in again]
    assert [one.what for one in first] != [one.what for one in other]
    assert len({(one.what, *sorted(one.edits)) for one in first}) == DRAWN
    for one in first:
        for device, file, line in one.places:
            assert 1 <= line <= one.edits[device, file].count("\n")


def test_every_kind_has_a_rule_that_names_it() -> None:
    assert set(NAMED_BY) == set(Kind)
    assert all(re.fullmatch(r"[a-z-]+-differs", rule) for rules in NAMED_BY.values() for rule in rules)


SECTIONS = "a\n b 1\n  c\n exit\nexit\n!\nd\n"
BRACES = "a {\n    b 1;\n    c {\n        d;\n    }\n}\n"
JSON = '{\n  "A": {\n    "r": {\n      "x": "1",\n      "y": "2"\n    }\n  }\n}\n'


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (SECTIONS, ["a", "a / b 1", "a / b 1 / c", "d"]),
        (BRACES, ["a", "a / b 1", "a / c", "a / c / d"]),
        (JSON, ["A", "A / r", "A / r / x 1", "A / r / y 2"]),
    ],
)
def test_statements_of_each_form(text: str, paths: list[str]) -> None:
    assert [one.path for one in statements(text)] == paths


def test_a_statement_goes_with_what_stands_in_it() -> None:
    header = statements(SECTIONS)[0]
    assert without(SECTIONS, header) == ("d\n", 1)
    assert without(BRACES, statements(BRACES)[2]) == ("a {\n    b 1;\n}\n", 1)


def test_json_stays_json() -> None:
    last = statements(JSON)[3]
    for text, _ in (
        without(JSON, last),
        replaced(JSON, last, '      "y": "3"'),
        added(JSON, last, '      "z": "3"'),
        without(JSON, statements(JSON)[0]),
    ):
        assert is_whole(text) or text == "{\n}\n"


def test_two_statements_change_places() -> None:
    text = "a 1\na 2\nb\n"
    one, other, _ = statements(text)
    assert swapped(text, one, other) == ("a 2\na 1\nb\n", 2)
