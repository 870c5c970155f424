"""The page of a store of benchmarks: what it shows, that it loads nothing, and that odd stores make a page too."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from railweave.operations.bench.comparing.reported import reported
from railweave.operations.bench.comparing.rows import pairs_of
from railweave.operations.bench.page import MOST_CELLS, MOST_CURVES, bench_html, pair_map
from railweave.operations.store.records import Run
from tests.chromium import browser, program
from tests.operations.bench import made
from tests.operations.bench.test_comparing_rows import ODD
from tests.outputs.report.test_prediction_page import Page

MIB = 1 << 20
SIZES = [MIB << place for place in range(8)]


def all_kinds() -> list[Run]:
    """A mesh with a bad link, three runs of a collective, one that failed, training with two settings."""
    rates = [[(size, 99.0 - 20 * (place == 2)) for size in SIZES] for place in range(3)]
    return [
        *made.mesh(["leaf1:u1--spine1:leaf1"], servers=16, colors=4, noise=0.05),
        *(made.collective(1000 + place, several) for place, several in enumerate(rates)),
        made.pair(2000, "h00:gpu0_eth", "h01:gpu0_eth", None),
        made.training(3000, 900.0, flowset_table_size="2048"),
        made.training(3001, 1200.0, flowset_table_size="2048", background_pct="50"),
    ]


def baseline() -> list[Run]:
    return [made.collective(9000 + place, [(size, 98.0 + place) for size in SIZES]) for place in range(3)]


def test_the_page_shows_what_was_found() -> None:
    found = reported("runs.db", all_kinds(), baseline())
    page = Page(bench_html(found))
    words = "\n".join(page.words)
    data, whole = json.loads(page.data), found.to_json()
    assert data["predicted"]["pairs"] == whole["predicted"]["pairs"]
    assert data["predicted"]["rows"] == [
        row for row in whole["predicted"]["rows"] if row["verdict"] in {"worse", "failed"}
    ]
    assert page.charts == ["size", "size"]
    for text in (
        "something is slow",
        "link leaf1:u1--spine1:leaf1",
        "Runner-up: ",
        "Heat map of pairs",
        "Beside the baseline",
        "JCT [min]",
        "Model + background (50% traffic)",
        "flowset-table-size 2048",
        "status 12",
    ):
        assert text in words


def test_the_page_loads_nothing_and_is_the_same_again() -> None:
    made_ = [bench_html(reported("runs.db", all_kinds()[-300:], baseline())) for _ in range(2)]
    assert made_[0] == made_[1]
    assert all(one.startswith(("#", "data:")) for one in Page(made_[0]).loads)


def test_names_are_no_markup() -> None:
    run = made.collective(1, [(size, 1.0) for size in SIZES], operation="<script>alert(1)</script>")
    assert "<script>alert" not in bench_html(reported("<b>", [run]))


@pytest.mark.parametrize("runs", [[], *[[one] for one in ODD], ODD])
def test_odd_stores_make_a_page(runs: list[Run]) -> None:
    page = Page(bench_html(reported("odd.db", runs, ODD)))
    assert "NaN" not in page.data
    assert "Infinity" not in page.data
    assert not any(math.isnan(row.now or 0) for row in reported("odd.db", runs, ODD).regressions or ())


def test_large_meshes_are_drawn_by_server_and_by_leaf() -> None:
    assert "two NICs" in pair_map(pairs_of(made.mesh(servers=MOST_CELLS, colors=1)))[1]
    picture, about = pair_map(pairs_of(made.mesh(servers=MOST_CELLS + 2, colors=1)))
    assert "two leaves" in about
    assert picture.count("<text") == (MOST_CELLS + 2 + 3) // 4
    assert pair_map([]) == ("", "")


def test_many_curves_are_left_out_with_a_word() -> None:
    runs = [made.collective(place, [(MIB, 1.0), (2 * MIB, 2.0)], operation=f"x{place}") for place in range(MOST_CURVES)]
    page = Page(bench_html(reported("runs.db", runs)))
    assert len(page.charts) == MOST_CURVES
    assert f"{MOST_CURVES} more are left out" in " ".join(page.words)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 800])
def test_nothing_is_wider_than_the_window(tmp_path: Path, width: int) -> None:
    if program() is None:
        pytest.skip("no chromium here")
    (tmp_path / "page.html").write_text(bench_html(reported("runs.db", all_kinds(), baseline())))
    with browser() as chromium:
        for dark in (False, True):
            page = chromium.open(tmp_path / "page.html", width=width, height=900, dark=dark)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.errors == []
