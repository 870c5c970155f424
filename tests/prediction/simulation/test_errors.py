"""How sure a prediction says it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import railweave
from railweave.prediction.simulation.errors import TABLE, Band, band, groups, how_near
from railweave.prediction.simulation.seeds import over_seeds

EXAMPLE = Path(__file__).parents[3] / "examples/h100-rlb.yaml"


def of(**given: object) -> Band:
    asked = {"library": "RCCL", "collective": "all-reduce", "engine": "packet", "servers": 4, "size_bytes": 1 << 30}
    return band(1_000_000_000, **{**asked, **given})  # type: ignore[arg-type]


def test_every_group_of_the_committed_table_can_be_read() -> None:
    rows = json.loads(TABLE.read_text())
    assert len(groups()) == len(rows) > 0
    for one in groups():
        assert one.rows > 0
        assert one.median_abs_percent <= one.p90_abs_percent <= one.max_abs_percent
        assert one.servers[0] <= one.servers[1]
        assert one.bytes[0] <= one.bytes[1]


def test_a_question_like_published_rows_has_their_error() -> None:
    found = of()
    assert found.outside == ""
    assert found.error is not None
    assert found.low_ps < 1_000_000_000 < found.high_ps
    assert "RCCL's all-reduce" in found.compared


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"servers": 64}, "(here 64)"),
        ({"size_bytes": 1 << 40}, "(here 1,099,511,627,776)"),
        ({"others": "faults"}, "without faults"),
    ],
)
def test_beyond_them_it_says_so_and_takes_the_nearest(given: dict[str, object], said: str) -> None:
    found = of(**given)
    assert said in found.outside
    assert found.error == of().error


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


def test_what_was_never_compared_has_no_error() -> None:
    for given in ({"collective": "broadcast"}, {"engine": "flow"}):
        found = of(**given)
        assert found.error is None
        assert "not known" in found.outside
        assert "between" not in found.to_text()


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
