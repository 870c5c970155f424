"""A grid of predictions: what is asked, its slopes, measured points, its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import railweave
from railweave.errors import InputError
from railweave.outputs.report.prediction.comparison import grid_html
from railweave.prediction.simulation.grid import Dimension, Grid, dimensions, grid, read_points
from railweave.prediction.simulation.varied import values_of
from tests.conftest import example


def test_dimensions_have_lists_and_ranges() -> None:
    found = dimensions("size=1M..4M nccl.buffsize=4M,8M qps=1..8")
    assert [one.name for one in found] == ["size", "nccl.buffsize", "qps"]
    assert found[0].values == ("1048576", "2097152", "4194304")
    assert found[2].values == ("1", "2", "4", "8")
    assert found[2].numbers == (1.0, 2.0, 4.0, 8.0)
    assert found[1].numbers is None
    assert values_of("size", "1M,2M") == ["1M", "2M"]


def test_servers_are_values_though_their_lists_have_commas() -> None:
    hosts, processes = dimensions("hosts=H100-[01-02,04],4,stripes-alternate per-host=1..8")
    assert hosts == Dimension("hosts", ("H100-[01-02,04]", "4", "stripes-alternate"))
    assert processes.numbers == (1.0, 2.0, 4.0, 8.0)
    assert values_of("hosts", "H100-01,H100-03;H100-[01-04]") == ["H100-01,H100-03", "H100-[01-04]"]
    assert values_of("hosts", "1..4") == ["1", "2", "4"]


@pytest.mark.parametrize(
    ("varied", "said"),
    [
        ({"hosts": ["2", "H100-[03-05]"]}, r"hosts=H100-\[03-05\]: there is no server 'H100-05'"),
        ({"hosts": ["2", "9"]}, "hosts=9: 9 servers"),
        ({"hosts": ["2", "H100-01,H100-01"]}, "hosts=H100-01,H100-01: H100-01 is named twice"),
        ({"hosts": ["2", "4"], "per-host": [1, 3]}, "per-host=3: 3 processes cannot share 8 GPUs evenly"),
        ({"per-host": [0, 1]}, "per-host=0: 0 processes"),
        ({"per-host": ["one", 1]}, "per-host=one is not a whole number"),
        ({"hosts": []}, "no values"),
        ({}, "nothing to vary"),
    ],
)
def test_servers_and_processes_that_cannot_be_are_named_before_anything_runs(
    varied: dict[str, list[int | str]], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "railweave.prediction.simulation.grid.comparison", lambda *_, **__: pytest.fail("something was run")
    )
    with pytest.raises(InputError, match=f"--compare: .*{said}"):
        railweave.simulate_grid(example("h100-rlb"), varied, "all-reduce", "1M")


def test_servers_given_for_all_variants_are_told_by_their_own_option() -> None:
    with pytest.raises(InputError, match="--hosts: 9 servers"):
        railweave.simulate_grid(example("h100-rlb"), {"per-host": [1, 8]}, hosts="9")


@pytest.mark.slow
def test_a_grid_of_servers_and_processes_is_what_each_alone_is(tmp_path: Path) -> None:
    network = example("mi300x-leaf-24")
    names = [one.name for one in network.servers]
    path = tmp_path / "points.csv"
    path.write_text(f'hosts,per-host,time_us\n"{",".join(names)}",8,80\n')
    varied = {"hosts": [names[0], ",".join(names)], "per-host": [1, 8]}
    found = railweave.simulate_grid(network, varied, "all-to-all", "1M", measured=path)
    assert found.complete
    for cell in found.cells:
        alone = railweave.simulate(
            network, "all-to-all", "1M", hosts=cell.values["hosts"], per_host=int(cell.values["per-host"])
        )
        assert cell.answer.time_ps == alone.time_ps
    assert len({cell.time_us for cell in found.cells}) == 4
    assert f"hosts={','.join(names)}" in found.to_text()
    assert "  measured" in found.to_text()
    assert found.to_text().startswith("time us"), "a table has a unit"
    assert found.to_json()["compare"] == {"hosts": [names[0], ",".join(names)], "per-host": ["1", "8"]}
    page = grid_html(network, found)
    assert page.count('data-chart="grid"') == 1
    assert page.count("<circle") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("size=1M qps=1 qps=2", "twice"),
        ("hosts= qps=2", "NAME=a,b,c"),
        ("size=1M qps", "NAME=a,b,c"),
        ("seed=1..1000000000 qps=1..128 size=1..1G", "at most"),
    ],
)
def test_what_is_no_grid_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        dimensions(text)


def test_points_are_read_with_their_lines(tmp_path: Path) -> None:
    bare = Grid((Dimension("size", ("1048576",)), Dimension("qps", ("1", "4"))), ())
    path = tmp_path / "points.csv"
    path.write_text("size,qps,time_us,what\n1M,4,12.5,kept\n")
    (point,) = read_points(path, bare)
    assert point.values == {"size": "1048576", "qps": "4"}
    assert point.time_us == 12.5
    for row in ("1M,4,fast", "1M", "4"):
        path.write_text(f"qps,time_us,size\n{row}\n")
        with pytest.raises(InputError, match=r"points.csv:2: the row needs a number"):
            read_points(path, bare)
    path.write_text(f'size,qps,time_us\n1M,4,12.5\n1M,4,"{"1" * 200_000}')
    with pytest.raises(InputError, match=r"points.csv:2: not a table: field larger than"):
        read_points(path, bare)


@pytest.mark.slow
def test_a_grid_has_lines_slopes_points_and_a_page(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("size,qps,bus_bandwidth_GBps\n64M,4,100\n")
    network = example("h100-rlb")
    wanted = dimensions("size=64M,256M qps=1,4 host.ack-every=1,4")
    found = grid(network, wanted, {"collective": "all-gather"}, measured=path)
    assert found.complete
    assert len(found.cells) == 8
    assert found.across.name == "size"
    assert found.by is not None
    assert found.by.name == "qps"
    assert found.apart == [{"host.ack-every": "1"}, {"host.ack-every": "4"}]
    for fixed in found.lines():
        small, large = found.line(fixed)
        fit = found.fit(fixed)
        assert fit is not None
        between = (256 - 64) * 2**20 * 31 / 32 / (large.time_us - small.time_us) / 1e3
        assert fit.bus_gbytes == pytest.approx(between)
    (point,) = found.measured
    assert point.time_us == pytest.approx(2**26 * 31 / 32 / 100 / 1e3)
    page = grid_html(network, found)
    assert page.count('data-chart="grid"') == 2
    assert page.count("<circle") == 2
    data = json.loads(re.search(r'id="result">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert len(data["cells"]) == 8
    assert "slope GB/s" in found.to_text()


def test_a_file_of_points_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv.* no such file"):
        grid(
            example("h100-rlb"), dimensions("size=1M,2M"), {"collective": "all-gather"}, measured=tmp_path / "none.csv"
        )
