"""The page of a check says what is not known as what it is."""

from __future__ import annotations

import pytest

from railweave.live.check.counting import COLUMNS
from railweave.model.findings import Finding
from railweave.outputs.report.living import living_html
from railweave.pages.table import Table, columns
from tests.conftest import example


@pytest.mark.parametrize(
    ("answered", "found", "says"),
    [
        (20, 0, {'class="good">as designed'}),
        (3, 0, {'class="warning">not known: 17 of 20 devices'}),
        (3, 1, {'class="warning">not known: 17 of 20 devices', 'class="error">1 error'}),
    ],
)
def test_a_network_of_which_a_part_did_not_answer_is_not_as_designed(answered: int, found: int, says: set[str]) -> None:
    findings = [Finding("port-down", "error", "spine1 et-0/0/0", "it is down")] * found
    page = living_html(
        example("h100-rlb"), findings, Table(columns("Device"), []), (Table(COLUMNS, []), Table((), ())), 20, answered
    )
    known = {'class="good">as designed', 'class="warning">not known: 17 of 20 devices', 'class="error">1 error'}
    assert {one for one in known if one in page} == says
