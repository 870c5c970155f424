"""``bench report`` and ``bench compare`` as they are called."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.api import bench_compare, bench_report
from railweave.cli import main
from railweave.operations.bench.page import bench_html
from railweave.operations.store.records import Run
from railweave.operations.store.store import opened
from tests.operations.bench import made

MIB = 1 << 20


def store(path: Path, runs: list[Run]) -> str:
    with opened(path, make=True) as found:
        found.add(runs)
    return str(path)


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["railweave", "bench", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, printed.out + printed.err


def test_compare_exits_1_where_a_row_is_worse(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, other = made.collective(1, [(MIB, 98.0)]), made.collective(2, [(MIB, 50.0)])
    both = store(tmp_path / "both.db", [one, other])
    a, b = f"{both}#{one.id[:6]}", f"{both}#{other.id}"
    for words, code in (((a, b), 1), ((b, a), 0), ((a, other.id[:8]), 1), ((a, b, "--tolerance", "0.6"), 0)):
        assert call(monkeypatch, capsys, "compare", *words)[0] == code
    for words, code in (((a,), 0), ((b,), 1), ((both,), 1)):
        assert call(monkeypatch, capsys, "compare", "--predicted", *words)[0] == code
    unpredicted = store(tmp_path / "unpredicted.db", [replace(one, predictions=())])
    code, out = call(monkeypatch, capsys, "compare", "--predicted", unpredicted, "--json")
    assert (code, json.loads(out)["good"]) == (1, False), "an empty comparison is not a good result"
    code, out = call(monkeypatch, capsys, "compare", a, b, "--json")
    found = json.loads(out)
    assert (code, found["good"], found["beside"]) == (1, False, "runs")
    assert {row["verdict"] for row in found["rows"]} == {"worse"}
    assert found["rows"][0]["ratio"] == pytest.approx(50 / 98, abs=1e-4)
    _, out = call(monkeypatch, capsys, "compare", a, b)
    cells = [re.split(" {2,}", line.strip()) for line in out.splitlines()]
    assert ["32 GPUs", "all-reduce", "1M", "in-place", "busbw GB/s", "98", "50", "0.51", "1", "1", "worse"] in cells
    assert cells[0] == (
        ["where", "of", "size", "place", "quantity", "before", "measured", "ratio", "runs before", "runs", "verdict"]
    )
    assert out.endswith("2 rows: 2 worse.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("S",), "there must be one of B and --predicted"),
        (("S", "S", "--predicted"), "there must be one of B and --predicted"),
        (("S#ffffffffffffffff", "--predicted"), "no run of"),
        (("S", "S", "--tolerance", "1"), "the tolerance 1 is out of range"),
        (("S", "nowhere.db"), "there is no such file"),
    ],
)
def test_wrong_words(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: tuple[str, ...],
    said: str,
) -> None:
    there = store(tmp_path / "s.db", [made.collective(1, [(MIB, 98.0)])])
    code, out = call(monkeypatch, capsys, "compare", *(one.replace("S", there, 1) for one in words))
    assert code == 2
    assert said in " ".join(out.split())


def test_report_writes_a_page_and_says_what_is_slow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    now = store(tmp_path / "now.db", made.mesh(["h03:gpu0_eth"], servers=12))
    before = store(tmp_path / "before.db", made.mesh(servers=12))
    page = tmp_path / "page.html"
    code, out = call(monkeypatch, capsys, "report", now, "-o", str(page), "--baseline", before)
    assert code == 0
    assert (
        "slow: NIC h03:gpu0_eth (or link h03:gpu0_eth--leaf0:p03, server h03): the 22 pairs that cross it get 50% of the usual"
        in out
    )
    assert "NIC h03:gpu0_eth" in page.read_text()
    code, out = call(monkeypatch, capsys, "report", now, "-o", str(page), "--json")
    found = json.loads(out)
    assert (code, found["good"], found["runs"]) == (0, False, 132)
    assert found["predicted"]["pairs"]["suspects"][0]["name"] == "h03:gpu0_eth"
    assert found["regressions"] is None
    assert call(monkeypatch, capsys, "report", now, "-o", str(tmp_path / "page.txt"))[0] == 2


def test_a_run_of_the_same_store_as_the_baseline(tmp_path: Path) -> None:
    runs = [made.collective(place, [(MIB, rate), (2 * MIB, rate)]) for place, rate in enumerate((98.0, 60.0, 61.0))]
    there = store(tmp_path / "s.db", runs)
    found = bench_report(there, baseline=runs[0].id)
    assert [one.id for one in found.runs] == [runs[1].id, runs[2].id]
    assert {row.verdict for row in found.regressions or ()} == {"too few repeats"}
    assert len(found.curves[0].earlier) == 2
    assert bench_compare(f"{there}#{runs[0].id}", runs[1].id).good is False


def test_a_band_of_no_width_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A collective without published rows has no band, not one from 100 to 100."""
    run = made.collective(1, [(MIB, 98.0)])
    bare = tuple(replace(one, low=one.value, high=one.value) for one in run.predictions)
    there = store(tmp_path / "s.db", [replace(run, predictions=bare)])
    _, out = call(monkeypatch, capsys, "compare", there, "--predicted")
    head, row = (re.split(" {2,}", line.strip()) for line in out.splitlines()[:2])
    cells = dict(zip(head, row, strict=True))
    assert [cells[name] for name in ("predicted", "at least", "at most", "measured")] == ["100", "–", "–", "98"]
    row = bench_html(bench_report(there)).partition("busbw GB/s")[2].partition("</tr>")[0]
    assert re.findall(r'class="number">([^<]*)<', row)[:4] == ["100", "–", "–", "98"]


def test_host_memory_that_is_slower_than_gpu_memory_is_explained_by_interleaving(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The figures of the Thor2 guide, section 5.1, question 8."""
    host = made.pair(1, "a:eth1", "b:eth1", 235.0, 0.0, memory="host")
    gpu = made.pair(2, "a:eth1", "b:eth1", 320.0, 0.0, memory="gpu")
    near = made.pair(3, "a:eth1", "b:eth1", 300.0, 0.0, memory="host")
    a, b, c = (store(tmp_path / f"{run.id}.db", [run]) for run in (host, gpu, near))
    note = "235 Gb/s from host memory, 320 Gb/s from GPU memory"
    for words in ((a, b), (b, a)):
        _, out = call(monkeypatch, capsys, "compare", *words)
        assert note in out
        assert "set it to Auto in the BIOS; `railweave host check --only system-memory-interleaving`" in out
    _, out = call(monkeypatch, capsys, "compare", b, c)
    assert "host memory" not in out
    slow = replace(host, settings=(*host.settings, ("Number of qps", "2")))
    _, out = call(monkeypatch, capsys, "compare", store(tmp_path / "qps.db", [slow]), b)
    assert "host memory" not in out
    both = bench_report(store(tmp_path / "both.db", [host, gpu]))
    assert any(note in line for line in both.notes)
