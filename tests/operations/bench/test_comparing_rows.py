"""Rows of runs beside earlier runs and beside predictions: verdicts that respect repeats, and no false alarm."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from railweave.operations.bench.comparing.curves import against_prediction, curves
from railweave.operations.bench.comparing.regressions import (
    adjusted,
    chance_of_slower,
    regressions,
    student_tail,
    usual_deviation,
)
from railweave.operations.bench.comparing.reported import (
    NOTHING_IN_COMMON,
    compare_predicted,
    compare_runs,
    completion_tables,
)
from railweave.operations.bench.comparing.rows import Key, Number, numbers, ratio
from railweave.operations.bench.read import read
from railweave.operations.bench.runs import runs_of
from railweave.operations.store.records import Prediction, Run, Sample
from tests.operations.bench import made

MIB = 1 << 20


@pytest.mark.parametrize(
    ("t", "freedom", "tail"),
    [
        (6.314, 1, 0.05),
        (2.015, 5, 0.05),
        (31.821, 1, 0.01),
        (4.541, 3, 0.01),
        (1.660, 100, 0.05),
        (2.345, 200, 0.01),
        (0, 3, 0.5),
        (-2.015, 5, 0.95),
    ],
)
def test_the_tail_of_student_s_t_is_that_of_tables(t: float, freedom: float, tail: float) -> None:
    assert student_tail(t, freedom) == pytest.approx(tail, rel=0.01)


def test_chances_of_many_questions() -> None:
    assert adjusted([0.01, 0.04, 0.5]) == pytest.approx([0.03, 0.08, 0.5])
    assert adjusted([]) == []
    assert usual_deviation([[1.0], [0.0, 2.0]]) is None
    assert chance_of_slower([100.0], [50.0], None) == 1.0


KEYS = [Key("32 GPUs", "all-reduce", size, "", "busbw_gbytes_per_s") for size in range(1, 41)]


def side(chance: random.Random, repeats: int, slow: float = 1.0, noise: float = 0.05) -> dict[Key, list[Number]]:
    """Numbers of 40 rows, of which one may be slow."""
    return {
        key: [
            Number(str(run), 100 * (slow if key is KEYS[7] else 1) * math.exp(chance.gauss(0, noise)))
            for run in range(repeats)
        ]
        for key in KEYS
    }


@pytest.mark.slow
def test_no_false_alarm_and_a_third_less_is_found() -> None:
    """Of 60 comparisons of 40 rows with three runs each and 5 % of noise, in which nothing is wrong, at most 3 may say so."""
    chance = random.Random(1)  # noqa: S311 -- noise, no secret
    alarms = sum(any(row.bad for row in regressions(side(chance, 3), side(chance, 3))) for _ in range(60))
    assert alarms <= 3
    found = [regressions(side(chance, 3), side(chance, 3, 0.7)) for _ in range(20)]
    assert sum(rows[7].verdict == "worse" for rows in found) >= 19


def test_few_repeats_say_so() -> None:
    chance = random.Random(2)  # noqa: S311 -- noise, no secret
    for repeats in ((1, 1), (1, 5), (5, 1)):
        rows = regressions(side(chance, repeats[0]), side(chance, repeats[1], 0.5))
        assert rows[7].verdict == "too few repeats"
        assert rows[7].repeats == repeats
        assert not any(row.bad for row in rows)


def test_steps_of_one_run_are_no_repeats() -> None:
    steps = [Sample("training step", None, "", "step_time_s", 0.5 + 0.01 * place) for place in range(100)]
    (several,) = numbers([made.run("mllog", "training of bert", samples=tuple(steps))]).values()
    assert [one.value for one in several] == [pytest.approx(0.995)]


def test_more_is_better_or_less_is() -> None:
    assert ratio(replace(KEYS[0], quantity="busbw_gbytes_per_s"), 100, 50) == 0.5
    assert ratio(replace(KEYS[0], quantity="time_us"), 100, 200) == 0.5
    assert ratio(KEYS[0], 0, 1) is None
    assert ratio(replace(KEYS[0], quantity="time_us"), 1, 0) is None


def test_small_sizes_are_compared_by_their_time() -> None:
    def one(size: int, bus: float, time: float) -> tuple[Sample, Sample]:
        return Sample("x", size, "", "busbw_gbytes_per_s", bus), Sample("x", size, "", "time_us", time)

    keys = list(numbers([made.run("nccl-tests", "x", samples=(*one(8, 0.0, 30.0), *one(MIB, 50.0, 40.0)))]))
    assert [(key.size_bytes, key.quantity) for key in keys] == [(8, "time_us"), (MIB, "busbw_gbytes_per_s")]


def test_runs_beside_earlier_ones() -> None:
    before = [made.collective(1, [(MIB, 80.0), (2 * MIB, 90.0)])]
    now = [made.collective(2, [(MIB, 80.0), (2 * MIB, 40.0), (4 * MIB, 95.0)])]
    found = compare_runs(before, now)
    verdicts = {(row.key.size_bytes, row.key.place): row.verdict for row in found.rows}
    assert verdicts[MIB, "in-place"] == "same"
    assert verdicts[2 * MIB, "in-place"] == "worse", "one run on each side is enough for a cluster's CI"
    assert verdicts[4 * MIB, "in-place"] == "only now"
    assert not found.good
    assert compare_runs(before, now, tolerance=0.6).good
    assert compare_runs(before, [made.run("nccl-tests", "x")]).notes == (NOTHING_IN_COMMON,)
    assert compare_runs(before, before).good


def test_noise_of_repeated_runs_is_not_worse() -> None:
    """7 % less in the median of three runs that scatter by 20 % is chance."""
    before = [made.collective(place, [(MIB, rate)]) for place, rate in enumerate((70.0, 100.0, 125.0))]
    now = [made.collective(9 + place, [(MIB, rate)]) for place, rate in enumerate((75.0, 93.0, 120.0))]
    assert compare_runs(before, now).good


def test_runs_beside_their_prediction() -> None:
    """The band is 95 to 105: within 5 % of it is as predicted."""
    rates = {MIB: 91.0, 2 * MIB: 90.0, 4 * MIB: 111.0, 8 * MIB: 109.0}
    rows = compare_predicted([made.collective(1, rates.items())]).rows
    verdicts = {row.key.size_bytes: row.verdict for row in rows}
    assert verdicts == {MIB: "same", 2 * MIB: "worse", 4 * MIB: "better", 8 * MIB: "same"}
    assert {row.ratio for row in rows if row.key.size_bytes == MIB} == {0.91}


def test_times_beside_their_prediction() -> None:
    predicted = Prediction("training", None, "", "time_to_train_s", 100.0, 90.0, 110.0, "x")
    for seconds, verdict in ((100, "same"), (117, "worse"), (80, "better"), (115, "same")):
        (row,) = [
            row
            for row in against_prediction([replace(made.training(1, seconds), predictions=(predicted,))])
            if row.key.quantity == "time_to_train_s"
        ]
        assert row.verdict == verdict


def test_half_of_what_was_predicted_says_what_it_looks_like() -> None:
    (row, _) = compare_predicted([made.collective(1, [(MIB, 50.0)])]).rows
    assert "2 queue pairs share an uplink" in " ".join(row.likely)
    runs = made.mesh(["h03:gpu0_eth"], servers=16)
    bad = [row for row in compare_predicted(runs).rows if row.bad]
    assert bad
    assert all("It crosses NIC h03:gpu0_eth" in row.likely[0] for row in bad)
    assert any("a link of its path runs at half" in " ".join(row.likely) for row in bad)


def test_a_run_that_failed_is_worse() -> None:
    found = compare_predicted([made.pair(1, "a:x", "b:x", None)])
    assert [row.verdict for row in found.rows] == ["failed"]
    assert found.rows[0].likely == ("status 12",)
    assert not found.good
    assert not compare_runs([], [made.pair(1, "a:x", "b:x", None, expected=0)]).good


ODD: list[Run] = [
    made.run("perftest", "nothing"),
    made.run(
        "nccl-tests",
        "",
        samples=(Sample("", None, "", "", math.nan), Sample("x", 0, "", "busbw_gbytes_per_s", math.nan)),
    ),
    made.run(
        "nccl-tests", "x", samples=(Sample("x", 1, "", "busbw_gbytes_per_s", 0.0), Sample("x", 1, "", "time_us", 0.0))
    ),
    made.run("nccl-tests", "x", samples=(Sample("x", -5, "", "busbw_gbytes_per_s", -1.0),)),
    made.run(
        "table", "x", samples=(Sample("x", 1, "", "busbw_gbytes_per_s", math.inf, 1, (("qps", "x"), ("unit", "GB/s"))),)
    ),
    made.run("mllog", "", samples=(Sample("training", None, "", "completion_time_s", 1e-300),)),
    replace(
        made.collective(5, [(MIB, 1.0)]),
        predictions=(Prediction("all-reduce", MIB, "", "busbw_gbytes_per_s", math.nan, 0, -1, ""),),
    ),
    replace(made.collective(6, [(MIB, 1e308), (2 * MIB, 1e-308)])),
    made.pair(7, ":", "::", 1.0, links="-- a -- --b:c--d", color="-", round=""),
    made.run("perftest", "", settings=(("client", "a:b"), ("server", "c:d")), failures=("",)),
]


@pytest.mark.parametrize("runs", [[], *[[one] for one in ODD], ODD, [*ODD, *ODD]])
def test_odd_stores(runs: list[Run]) -> None:
    """Nothing raises, and what is no number is no row."""
    for found in (compare_predicted(runs), compare_runs(runs, ODD), compare_runs(ODD, runs)):
        assert found.verdict()
        assert found.to_json()["rows"] == [row.to_json() for row in found.rows]
        assert not any(
            math.isnan(value) for row in found.rows for value in (row.before or 0, row.now or 0, row.ratio or 0)
        )
    completion_tables(runs)
    curves(runs)


def test_completion_times_in_the_form_of_the_reports() -> None:
    told: dict[str, Any] = {"flowset_table_size": "2048", "inactivity_us": "128"}
    runs = [
        made.training(1, 900.0, **told),
        made.training(2, 960.0, **told),
        made.training(3, 1200.0, background_pct="50", **told),
    ]
    (table,) = completion_tables(runs)
    assert (table.model, table.what, table.unit) == ("bert", "time to train", "min")
    tuned = "flowset-table-size 2048 inactivity-interval 128"
    assert [(row.profile, row.tuned, row.seconds, row.runs) for row in table.rows] == [
        ("Only Model", tuned, 930.0, 2),
        ("Model + background (50% traffic)", tuned, 1200.0, 1),
    ]
    labels = (("background_pct_of_800g", "0"), ("flowset_table_size", "2048"))
    rows = made.run("table", "x", samples=(Sample("DLRM", None, "", "completion_time_s", 0.4, 1, labels),))
    assert [(one.model, one.unit) for one in completion_tables([rows])] == [("DLRM", "msec")]


def test_curves_have_earlier_runs_and_the_band() -> None:
    runs = [made.collective(place, [(MIB, 80.0 + place), (2 * MIB, 90.0)]) for place in range(3)]
    found = curves(runs, [made.collective(9, [(4 * MIB, 70.0), (MIB, 60.0)])])
    assert [one.place for one in found] == ["in-place", "out-of-place"]
    assert found[0].sizes == (MIB, 2 * MIB, 4 * MIB)
    assert found[0].now == (82.0, 90.0, None)
    assert [values for _, values in found[0].earlier] == [(60.0, None, 70.0), (80.0, 90.0, None), (81.0, 90.0, None)]
    assert found[0].predicted == ((100.0, 95.0, 105.0), (100.0, 95.0, 105.0), None)
    assert curves([made.collective(1, [(MIB, 1.0)])]) == [], "one size is no curve"


@pytest.mark.parametrize(
    ("planned", "asked", "verdict"),
    [("0.15", None, "same"), ("", None, "worse"), ("0.15", 0.05, "worse"), ("0.05", 0.2, "same"), ("x", None, "worse")],
)
def test_a_row_beside_its_prediction_may_be_as_far_off_as_its_plan_says(
    planned: str, asked: float | None, verdict: str
) -> None:
    run = made.pair(1, "a:nic0", "b:nic0", 390.0 * 0.87, **({"tolerance": planned} if planned else {}))
    [row] = against_prediction([run], asked)
    assert row.verdict == verdict
    assert row.to_json()["tolerance"] == (asked if asked is not None else 0.15 if planned == "0.15" else 0.05)


def test_a_column_that_is_not_known_tells_rows_of_a_table_apart() -> None:
    """Two models were one row with the mean of their times."""
    text = "metric,model,value,unit\nJCT,DLRM,3.53,s\nJCT,BERT,9.1,s\n"
    [run] = runs_of(read(text, "x.csv"), "", "")
    assert [(one.model, [row.seconds for row in one.rows]) for one in completion_tables([run])] == [
        ("DLRM", [3.53]),
        ("BERT", [9.1]),
    ]
    text = "metric,workload,gpu,fabric_id,value,unit\nJCT,DLRM,A100,a,3.5,s\nJCT,DLRM,A100,b,9.5,s\nJCT,DLRM,A100,b,9.7,s\n"
    [run] = runs_of(read(text, "x.csv"), "", "")
    (table,) = completion_tables([run])
    assert [(row.tuned, row.seconds, row.runs) for row in table.rows] == [
        ("fabric_id a", 3.5, 1),
        ("fabric_id b", 9.6, 2),
    ]
