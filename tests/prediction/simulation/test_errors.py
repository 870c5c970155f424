"""How sure a prediction says it is."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import railweave
from railweave.prediction.simulation.errors import (
    STUDENT,
    TABLE,
    Band,
    Kind,
    band,
    half_width,
    how_near,
    regime_of,
    results,
)
from railweave.prediction.simulation.seeds import over_seeds

EXAMPLE = Path(__file__).parents[3] / "examples/h100-rlb.yaml"
RINGS = Kind("RCCL", "all-reduce", "bandwidth", "MI300X", "Ring", several=False)


def of(kind: Kind = RINGS, **changed: object) -> Band:
    asked = {"engine": "packet", "servers": 4, "size_bytes": 1 << 30}
    return band(1_000_000_000, kind, **{**asked, **changed})  # type: ignore[arg-type]


def test_every_error_of_the_committed_table_can_be_read() -> None:
    rows = json.loads(TABLE.read_text())
    assert len(results()) == len(rows) > 50
    for one in results():
        assert one.servers > 0
        assert one.bytes > 0
        assert abs(one.off) < math.log(6)
        assert one.kind.alone == (one.servers == 1)


@given(st.lists(st.floats(0.001, 2), min_size=1, max_size=60))
def test_a_band_holds_nine_of_ten_of_the_errors_it_is_made_of(offs: list[float]) -> None:
    half = half_width(offs)
    assert sum(off <= half for off in offs) >= 0.9 * len(offs) - 1
    if len(offs) > len(STUDENT):
        assert half in offs


def test_few_errors_give_a_wider_band() -> None:
    assert half_width([0.1] * 2) > half_width([0.1] * 5) > half_width([0.1] * 19) > half_width([0.1] * 30)
    assert half_width([0.1, -0.1] * 4) == half_width([0.1] * 8)


@pytest.mark.parametrize(
    ("asked", "regime"),
    [
        (("all-reduce", 1 << 20, 4, 0.5), "latency"),
        (("all-reduce", 1 << 30, 4, 0.0), "bandwidth"),
        (("all-reduce", 1 << 27, 4, 0.0), "latency and bandwidth"),
        (("all-reduce", 1 << 30, 4, 0.2), "congestion"),
        (("all-reduce", 1 << 30, 4, None), "bandwidth"),
        (("all-to-all", 1 << 30, 4, 0.0), "congestion"),
        (("all-to-all", 1 << 30, 1, None), "bandwidth"),
    ],
)
def test_what_limits_a_collective(asked: tuple[str, int, int, float | None], regime: str) -> None:
    assert regime_of(*asked) == regime


def test_a_question_like_published_rows_has_their_error() -> None:
    found = of()
    assert found.known
    assert found.outside == ""
    assert found.low_ps < 1_000_000_000 < found.high_ps
    assert "RCCL's all-reduce on MI300X" in found.compared


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"servers": 64}, "(here 64)"),
        ({"size_bytes": 1 << 40}, "(here 1,099,511,627,776)"),
        ({"others": "faults"}, "without faults"),
    ],
)
def test_beyond_them_it_says_so(changed: dict[str, Any], said: str) -> None:
    found = of(**changed)
    assert said in found.outside
    assert found.error == of().error


def test_another_gpu_is_named() -> None:
    assert "(here MI999)" in of(replace(RINGS, gpu="MI999")).outside


@pytest.mark.parametrize("kind", [replace(RINGS, collective="broadcast"), replace(RINGS, domains=True)])
def test_what_was_never_compared_has_the_widest_band_of_its_regime(kind: Kind) -> None:
    found = of(kind)
    assert not found.known
    assert "was not compared" in found.outside
    assert found.error >= of().error


def test_congestion_was_compared_with_packets_only() -> None:
    kind = Kind("NCCL", "all-to-all", "congestion", "H100", "Ring", several=False)
    packets, flows = (of(kind, engine=engine) for engine in ("packet", "flow"))
    assert flows.error >= packets.error == flows.of_packets
    assert "only with packets" in flows.outside
    assert packets.known
    assert not flows.known


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (4, "all of 4 rows were within this error"),
        (5, "the 90th percentile of the errors of 5 rows"),
        (9, "the 90th percentile of the errors of 9 rows"),
        (10, "nine of ten of 10 rows were within this error"),
    ],
)
def test_nine_of_ten_are_counted_of_no_fewer_than_ten(count: int, said: str) -> None:
    assert how_near(count, f"{count} rows") == said


def test_seeds_widen_the_band() -> None:
    one, several = of(), of().with_seeds((900_000_000, 1_000_000_000, 1_500_000_000))
    assert several.low_ps < one.low_ps
    assert several.high_ps > one.high_ps
    assert "3 seeds from 900.0 to 1500.0 us" in several.to_text()
    assert "seeds give the same time" in one.with_seeds((5, 5)).to_text()


@pytest.mark.slow
def test_several_seeds_give_the_median_and_all_times() -> None:
    network = railweave.load(EXAMPLE)
    found = over_seeds(network, {"collective": "all-to-all", "size": "64M", "qps": 1}, 3)
    times = found.seeds_ps
    assert len(times) == 3
    assert found.time_ps == sorted(times)[1]
    told = found.steps[0].prediction.band
    assert told is not None
    assert told.seeds_ps == times
    assert found.to_json()["band"]["seeds_us"] == [one / 1e6 for one in times]
    assert told.low_ps <= min(times) <= max(times) <= told.high_ps
