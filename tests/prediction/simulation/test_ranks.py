"""The order of ranks, and how many processes each server has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import railweave
from railweave.errors import InputError
from railweave.model.network.devices import alternating, crossings, fewest_crossings
from tests.conftest import example

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20
STRIPES = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b"}


def run(**options: Any) -> railweave.JobPrediction:
    return railweave.simulate(example("h100-rlb"), "all-reduce", 128 * MIB, qps=1, watch=False, **options)


def test_a_ring_that_alternates_stripes_shares_its_uplinks() -> None:
    """With one queue pair both NICs of a leaf send over one uplink when every hop crosses the spines (Table 12: half rate)."""
    wanted: dict[str, Any] = {
        "settings": {"class.3.ecn": "off"},
        "nccl": {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"},
    }
    in_order = run(**wanted).steps[0].prediction
    found = run(hosts="stripes-alternate", **wanted).steps[0].prediction
    assert in_order.hosts == ("H100-01", "H100-02", "H100-03", "H100-04")
    assert found.hosts == ("H100-01", "H100-03", "H100-02", "H100-04")
    assert found.bus_bandwidth_gbytes == pytest.approx(in_order.bus_bandwidth_gbytes / 2, rel=0.05)
    assert "4 of 4 hops of a ring cross the spines, 2 would be enough" in found.to_text()
    assert "2 of 4 hops of a ring cross the spines" in in_order.to_text()


@pytest.mark.parametrize(
    ("asked", "hosts"),
    [
        ("H100-04,H100-[01-02]", ("H100-04", "H100-01", "H100-02")),
        ("2", ("H100-01", "H100-02")),
        ("H100-[03-04]", ("H100-03", "H100-04")),
    ],
)
def test_some_servers_in_any_order(asked: str, hosts: tuple[str, ...]) -> None:
    found = railweave.simulate(example("h100-rlb"), "all-gather", MIB, hosts=asked, watch=False)
    assert found.steps[0].prediction.hosts == hosts
    assert found.steps[0].prediction.to_json()["hosts"] == list(hosts)
    assert found.complete


@pytest.mark.parametrize("asked", ["H100-09", "H100-01,H100-01", "0", "5", "H100-[2-1]", "a,"])
def test_an_order_that_cannot_be(asked: str) -> None:
    with pytest.raises(InputError, match="--hosts"):
        run(hosts=asked)


def test_processes_that_cannot_share_the_gpus() -> None:
    with pytest.raises(InputError, match="3 processes cannot share 8 GPUs evenly"):
        run(per_host=3)


def test_a_scenario_says_the_order(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text("traffic: [{collective: all-reduce, size: 1M}]\nhosts: [H100-03, H100-01]\nper_host: 1\n")
    found = railweave.simulate(example("h100-rlb"), scenario=path, watch=False).steps[0].prediction
    assert found.hosts == ("H100-03", "H100-01")
    assert "1 process each" in found.order
    path.write_text("traffic: [{collective: all-reduce, size: 1M}]\nhosts: H100-07\n")
    with pytest.raises(InputError, match=r"case\.yaml:2"):
        railweave.simulate(example("h100-rlb"), scenario=path, watch=False)


def test_crossings_of_a_ring() -> None:
    order = alternating(STRIPES)
    assert order == ["a1", "b1", "a2", "b2", "a3"]
    assert crossings(order, STRIPES) == 4
    assert crossings(list(STRIPES), STRIPES) == fewest_crossings(list(STRIPES), STRIPES) == 2
    assert fewest_crossings(["a1", "a2"], STRIPES) == crossings(["a1", "a2"], STRIPES) == 0
