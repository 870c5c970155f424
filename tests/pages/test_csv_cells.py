"""A text that a spreadsheet would take for a formula is marked in CSV files, and read back as it was."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.csv_cells import csv_cell, text_of_cell
from railweave.live.check.learnt import filled
from railweave.model.intent.inventory import read_inventory
from railweave.pages.table import Table, columns

FORMULA = '=HYPERLINK("http://example.net")'


@pytest.mark.parametrize("text", [FORMULA, "+1-800", "-2+3", "@SUM(A1)", "\tx", "\rx", "'=x", "''@x", "-x", "--x=1"])
def test_a_formula_is_marked(text: str) -> None:
    assert csv_cell(text) == f"'{text}"
    assert text_of_cell(f"'{text}") == text


@pytest.mark.parametrize(
    "value", ["", "-", "--", "-5.2", "+3", "-1,000.5", "-1e-9", "-5%", "it's", "'x", "a=b", -5, 2.5, None]
)
def test_all_else_stays(value: object) -> None:
    assert csv_cell(value) == value


@given(st.text(alphabet="=+-@\t\r'x1. "))
def test_every_text_is_read_back(text: str) -> None:
    written = csv_cell(text)
    assert isinstance(written, str)
    assert text_of_cell(written) == text


def test_a_table_is_read_back() -> None:
    rows = [["=1", -5, "-5"], ["@x", None, "'+"]]
    text = Table(columns("a", "b", "c"), rows).as_csv()
    assert text == "a,b,c\n'=1,-5,-5\n'@x,,''+\n"
    read = [list(map(text_of_cell, row)) for row in csv.reader(io.StringIO(text))][1:]
    assert read == [["=1", "-5", "-5"], ["@x", "", "'+"]]


def test_an_inventory_is_read_back(tmp_path: Path) -> None:
    text = "device,interface,serial\nleaf1,,\n"
    once = filled(text, {("leaf1", ""): {"serial": FORMULA}, ("-leaf2", ""): {"serial": "x"}})
    assert "'=HYPERLINK" in once
    assert "\n'-leaf2," in once
    assert filled(once, {}) == once
    path = tmp_path / "fabric.inventory.csv"
    path.write_text(once)
    items = read_inventory(path).items
    assert items["leaf1", ""].serial == FORMULA
    assert items["-leaf2", ""].serial == "x"
