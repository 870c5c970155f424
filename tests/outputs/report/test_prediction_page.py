"""The page of a prediction: what it shows is what was predicted, and it needs nothing from outside."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import railweave
from railweave.outputs.report.prediction.comparison import comparison_html
from railweave.outputs.report.prediction.page import between, prediction_html, size
from railweave.pages.charts import Axis, Line, lines, ticks
from railweave.prediction.simulation.compare import Comparison, Outcome
from railweave.prediction.simulation.job_run import JobPrediction
from tests.conftest import example

VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Texts of elements by class, charts by name, the data, and whether tags are closed in order."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.charts: list[str] = []
        self.data = ""
        self.loads: list[str] = []
        self.words: list[str] = []
        self.feed(markup)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if given.get("data-chart"):
            self.charts.append(str(given["data-chart"]))
        self.loads += [str(given[name]) for name in ("src", "href") if given.get(name)]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.data += data
        self.words.append(data)


@pytest.fixture(scope="module")
def found() -> JobPrediction:
    return railweave.simulate(
        example("h100-rlb"), "all-reduce", "16M", qps=4, nccl=["NCCL_IB_SPLIT_DATA_ON_QPS=1"]
    )  # so that nothing is marked


def test_the_page_shows_what_was_predicted(found: JobPrediction) -> None:
    page = Page(prediction_html(example("h100-rlb"), [found]))
    wanted = found.to_json()
    (data,) = json.loads(page.data)
    assert {key: data[key] for key in data} == {key: wanted[key] for key in wanted if key not in {"flows", "wall_s"}}
    words = "\n".join(page.words)
    assert f"{wanted['bus_bandwidth_GBps']:,.2f} GB/s" in words
    assert f"{wanted['time_us']:,.1f} us" in words
    assert f"busy for {wanted['bottleneck']['busy']:.1%}" in words
    assert page.charts == ["utilisation", "rates", "queues", "fct", "heatmap", "links"]
    assert "None in this run: ECN marks, PFC pauses and dropped packets." in words
    assert max(found.links["utilisation"]) == pytest.approx(
        max(float(one) for one in re.findall(r"(\d+\.\d)%", words.partition("Over the whole")[2])) / 100, abs=0.001
    )


def test_the_page_loads_nothing(found: JobPrediction) -> None:
    page = Page(prediction_html(example("h100-rlb"), [found]))
    assert all(one.startswith(("#", "data:")) for one in page.loads)


def test_the_same_result_gives_the_same_page(found: JobPrediction) -> None:
    assert prediction_html(example("h100-rlb"), [found]) == prediction_html(example("h100-rlb"), [found])


def test_a_comparison_says_who_wins(found: JobPrediction) -> None:
    other = railweave.simulate(example("h100-rlb"), "all-reduce", "16M", qps=4, settings={"host.post-cost": "3us"})
    result = Comparison("host.post-cost", (Outcome("3us", other), Outcome("750ns", found)))
    page = Page(comparison_html(example("h100-rlb"), result))
    assert json.loads(page.data)["winner"] == "750ns"
    assert any("host.post-cost=750ns wins" in one for one in page.words)
    assert page.charts.count("fct") == 2


def test_scales_are_round_and_reach_the_top() -> None:
    for most in (0.03, 0.7, 1, 4.2, 99, 100, 12_345):
        found = ticks(most)
        assert found[-1] >= most * 0.999
        assert 2 <= len(found) <= 7
    assert size(1 << 30) == "1G"
    assert size(1000) == "1000 bytes"


def test_lines_have_gaps_where_nothing_is_known() -> None:
    drawn = lines(Axis([1, 2, 3, 4], "us"), [Line("one", [1, None, 2, 3])], "KB", label="one")
    (path,) = re.findall(r'class="line c0" d="([^"]+)"', drawn)
    assert path.count("M") == 2


@pytest.mark.browser
def test_a_browser_draws_it(found: JobPrediction, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium here")
    (tmp_path / "page.html").write_text(prediction_html(example("h100-rlb"), [found]))
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    words += ["--window-size=1200,900", f"--screenshot={tmp_path / 'page.png'}", f"file://{tmp_path / 'page.html'}"]
    ended = subprocess.run(words, capture_output=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr[-500:]
    assert (tmp_path / "page.png").stat().st_size > 20_000


@pytest.mark.parametrize(
    ("low", "high", "said"), [(400.0, 400.0, "400.0"), (399.98, 400.0, "400.0"), (12.25, 400.0, "12.2 to 400.0")]
)
def test_a_range_of_one_number_is_one_number(low: float, high: float, said: str) -> None:
    assert between(low, high) == said
