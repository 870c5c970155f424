"""The program behind the table of both engines where ``auto`` changes, at a limit that takes a moment; docs/validation.md has the real one."""

from __future__ import annotations

import pytest
from benchmarks.validation import boundary
from benchmarks.validation.boundary import CASES, DOCUMENT, MODES, Apart, Case, both, row, table

LIMIT = 1_000_000


@pytest.fixture
def lower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines change at ``LIMIT``, and small cases have half of it at most."""
    for module in ("boundary", "choice", "collective"):
        place = "benchmarks.validation" if module == "boundary" else "railweave.prediction.simulation"
        inner = "engines.choice" if module == "choice" else module
        monkeypatch.setattr(f"{place}.{inner}.MOST_PACKET_HOPS", LIMIT)
    monkeypatch.setattr("railweave.prediction.simulation.agreement.SMALL_PACKET_HOPS", LIMIT // 2)
    monkeypatch.setattr(boundary, "FIRST_BYTES", 4 << 20)


@pytest.mark.parametrize(
    ("collective", "mode"), [("all-gather", "DLB"), ("broadcast", "by color"), ("send-recv", "ECMP")]
)
@pytest.mark.usefixtures("lower")
def test_both_engines_are_asked_just_above_the_limit(collective: str, mode: str) -> None:
    found = both(Case(4, collective, mode))
    assert LIMIT < found.packet_hops < 1.1 * LIMIT
    assert found.taken == "flow"
    assert found.auto_ps == found.flows_ps
    assert abs(found.off) < 0.1


def test_the_table_says_which_is_furthest() -> None:
    near = Apart(1 << 30, 201_000_000, 99_000_000, 100_100_000, 100_000_000, "flow", steady=True, marked=0)
    far = Apart(1 << 30, 201_000_000, 60_000_000, 97_000_000, 100_000_000, "packet", steady=False, marked=5_000)
    lines = table({CASES[0]: near, CASES[7]: far})
    assert lines[2] == row(CASES[0], near)
    assert lines[2].endswith("| 1G | 201.0 M | 100 us | 0 k | -1.00% | flows | +0.10% |")
    assert "100 us, to the end | 5 k | -40.00% | packets after all | -3.00%" in lines[3]
    assert lines[-1].startswith(
        "Not run when this was written: all-reduce of 4 servers (ECMP, DLB, DLB per packet, sprayed); "
    )
    assert lines[-2] == f"Furthest with 4 servers: 3.00% ({CASES[7].collective}, {CASES[7].mode})."


def test_no_row_of_the_document_is_off_by_more_than_a_tenth() -> None:
    text = DOCUMENT.read_text()
    rows = text.partition(boundary.BEGIN)[2].partition(boundary.END)[0].splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in rows if line.startswith("| ")][1:]
    shown = {Case(int(one[0]), one[1], one[2]) for one in cells}
    assert shown <= set(CASES)
    assert {case.mode for case in shown if case.servers == 4} == set(MODES)
    assert {case.servers for case in shown} == {4, 32}
    assert max(abs(float(one[-1].rstrip("%"))) for one in cells) < 10
