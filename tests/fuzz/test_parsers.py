"""No input makes a parser raise anything but an error that says where, and most inputs get past its first check."""

from __future__ import annotations

import pytest

from tests.fuzz.driver import Parser, run
from tests.fuzz.parsers import PARSERS


def _marks(parser: Parser) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(reason=parser.known, strict=True)] if parser.known else []


@pytest.mark.slow
@pytest.mark.parametrize("parser", [pytest.param(parser, marks=_marks(parser), id=parser.name) for parser in PARSERS])
def test_odd_inputs_are_read_or_refused(parser: Parser) -> None:
    tally = run(parser, count=parser.inputs, first=bool(parser.known))
    assert not tally.failures, "\n".join(tally.failures.values())
    assert tally.share > parser.least, f"{tally.passed} of {tally.inputs} inputs pass the first check"
