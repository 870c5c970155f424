"""What is found of drawn faults, on every system; and that a network without faults has no findings, on every example."""

from __future__ import annotations

import pytest

from railweave.live.check import diagnose
from tests.conftest import SMALL
from tests.live.check.matrix import NETWORKS, PAGE, SYSTEMS, WITHOUT_LONG_HAUL, clean, run
from tests.retarget import LONG_HAUL


@pytest.mark.slow
@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_sample_of_faults_is_found_and_named(nos: str) -> None:
    row = run(nos, 60, 7)
    assert row.drawn == 60
    assert row.found >= 0.97 * row.drawn, row.missed
    assert row.named >= 0.9 * row.drawn, row.wrong


ALL = [
    pytest.param(name, nos, marks=[] if name in NETWORKS else pytest.mark.slow)
    for nos in SYSTEMS
    for name in SMALL
    if not (name == LONG_HAUL and nos in WITHOUT_LONG_HAUL)
]


@pytest.mark.parametrize(("name", "nos"), ALL)
def test_answers_of_a_network_as_designed_have_no_findings(name: str, nos: str) -> None:
    assert diagnose(clean(name, nos)) == []


def test_the_page_has_a_row_for_each_system() -> None:
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| `") and " %)" in line]
    assert [row[1].strip(" `") for row in rows] == list(SYSTEMS)
    for row in rows:
        assert int(row[3]) >= 500
        assert float(row[4].partition("(")[2].partition(" ")[0]) >= 97
        assert float(row[5].partition("(")[2].partition(" ")[0]) >= 90
