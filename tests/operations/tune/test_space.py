"""The study file and its knobs: what is wrong is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.errors import SpecError
from railweave.model.intent.reading.source import read_source
from railweave.model.intent.study import read_study
from railweave.operations.tune.space import Knob, Space, _values, short_names, space_of
from tests.operations.tune.studies import STUDY, study

MIN_FILL = "fabrics.backend.qos.classes.no-loss.ecn.min_fill: [1, 5, 20, 40, 70]"


def space(path: Path) -> Space:
    file = read_study(path)
    source = read_source(file.fabric)
    return space_of(file, source.document, source.spec)


def test_knobs_and_what_the_file_has_of_them(tmp_path: Path) -> None:
    found = space(study(tmp_path))
    assert [one.values for one in found.knobs] == [(1, 5, 20, 40, 70), (1, 4)]
    assert found.own_values == (1, 1)
    assert found.own_choice == (0, 0)
    assert found.size == 10


def test_a_default_counts_as_the_file_s_own_value(tmp_path: Path) -> None:
    text = STUDY.replace(MIN_FILL, "fabrics.backend.load_balancing.dlb.egress_quantization.max: 30..90 step 10")
    found = space(study(tmp_path, text))
    assert found.own_values == (50, 1)
    assert found.knobs[0].values == (30, 40, 50, 60, 70, 80, 90)


def test_units_of_a_range_and_of_the_file_are_compared(tmp_path: Path) -> None:
    text = STUDY.replace(MIN_FILL, "fabrics.backend.load_balancing.dlb.inactivity_interval: 64us..256us step 64us")
    found = space(study(tmp_path, text))
    assert found.knobs[0].values == ("64us", "128us", "192us", "256us")
    assert found.own_choice == (1, 0)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (
            "fabrics.backend.qos.classes.no-loss.ecn.min_fil: 5..9",
            "has no field 'min_fil'\n    did you mean 'min_fill'",
        ),
        ("hosts.nccl.qps: [1, 2]", "hosts has no field 'nccl'\n    write hosts.job.qps_per_connection"),
        ("fabrics.front.mtu.fabric: [1500, 9000]", "fabrics has no 'front'\n    it has backend"),
        ("fabrics.backend.qos.classes.no-loss.ecn: [1, 2]", "has fields of its own"),
        ("name.x: [1, 2]", "name has no fields: 'x' leads nowhere"),
        ("fabrics.backend.qos.classes.no-loss.ecn.min_fill: 20..180 step 20", "180 is not allowed there"),
        ("fabrics.backend.qos.classes.no-loss.ecn.min_fill: 20-80", "'20-80' is not a range"),
        ("fabrics.backend.qos.classes.no-loss.ecn.min_fill: 80..20", "has no values between its ends"),
        ("fabrics.backend.load_balancing.dlb.inactivity_interval: 64us..1ms", "has several units"),
        ("fabrics.backend.load_balancing.mode: [ecmp, ecm]", "ecm is not allowed there"),
        ("hosts.job.qps_per_connection: [2]", "a knob needs two values"),
        ("hosts.job.qps_per_connection: 1..99999", "at most 10,000"),
    ],
)
def test_a_knob_that_cannot_be_is_told_at_its_line(tmp_path: Path, line: str, wrong: str) -> None:
    path = study(tmp_path, STUDY.replace(MIN_FILL, line).replace("  hosts.job.qps_per_connection: [1, 4]\n", ""))
    with pytest.raises(SpecError) as stop:
        space(path)
    assert f"{path}:7: " in str(stop.value)
    assert wrong in str(stop.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "wrong"),
    [
        ("fabric: bed.yaml", "fabric: bet.yaml", 2, "there is no file"),
        ("fabric: bed.yaml", f"fabric: {'bed' * 100}.yaml", 2, "there is no file"),
        ("trials: 6", "trial: 6", 9, "trials"),
        ("seeds: 2", "goals: 2", 10, "goal"),
        ("goal:\n", "goal:\n  job: j.yaml\n", 4, "a job and collectives"),
        ("goal:\n", "goal:\n  objectives: [fairness]\n", 4, "fairness is defined only between jobs"),
        ("search: {", "search: {sampler: cma-es, ", 0, ""),
        ("tenant: tenant-3}", "tenant: tenant-3, size_: 1}", 5, "size_"),
    ],
)
def test_a_study_file_that_cannot_be_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, wrong: str
) -> None:
    path = study(tmp_path, STUDY.replace(old, new))
    if not line:
        assert read_study(path).study.search.sampler == "cma-es"
        return
    with pytest.raises(SpecError) as stop:
        read_study(path)
    assert f"{path}:{line}: " in str(stop.value)
    assert wrong in str(stop.value)


def test_cma_es_takes_one_objective(tmp_path: Path) -> None:
    text = STUDY.replace("search: {", "search: {sampler: cma-es, ").replace(
        "goal:\n", "goal:\n  objectives: [speed, marks]\n"
    )
    with pytest.raises(SpecError, match="CMA-ES takes one objective"):
        read_study(study(tmp_path, text))


def test_names_are_as_short_as_can_be_told_apart() -> None:
    assert short_names(["a.b.min", "a.c.min", "a.max"]) == {"a.b.min": "b.min", "a.c.min": "c.min", "a.max": "max"}


@pytest.mark.parametrize(
    ("value", "place"),
    [("1us", 0), ("1000ns", 0), ("1ms", 2), (2, 1), ("2us", 1), ("2ms", None), ("1%", None), (True, None)],
)
def test_a_value_is_found_by_its_number_and_unit(value: object, place: int | None) -> None:
    assert Knob("timer", ("timer",), ("1us", "2us", "1ms"), ordered=True).place(value) == place


def test_values_are_in_order_by_what_they_mean() -> None:
    assert _values(["1us", "500us", "1ms"])[1]
    assert _values(["512KiB", "1MiB"])[1]
    assert not _values(["1M", "1us"])[1]


@pytest.mark.parametrize(
    ("values", "same"),
    [
        (["100ns", "0.1us"], "'100ns' and '0.1us'"),
        (["1us", "2us", "0.001 ms"], "'1us' and '0.001 ms'"),
        (["1KiB", "1024B"], "'1KiB' and '1024B'"),
        ([5, "5"], "5 and '5'"),
        ([1, 2, 1.0], "1 and 1.0"),
        (["ecmp", "ecmp"], "'ecmp' and 'ecmp'"),
    ],
)
def test_values_that_mean_the_same_are_refused(values: list[str | int | float], same: str) -> None:
    with pytest.raises(ValueError, match=f"each once: {same} are the same"):
        _values(tuple(values))


@pytest.mark.parametrize("values", [["100ns", "100us"], [True, 1], ["1M", "1024K"], ["1KB", "1KiB"], [1, "1us"]])
def test_values_that_mean_different_things_are_taken(values: list[str | int | bool]) -> None:
    assert _values(tuple(values))[0] == tuple(values)


def test_values_that_a_field_reads_as_the_same_are_refused(tmp_path: Path) -> None:
    """The field counts in microseconds, so a number without a unit is a time, too."""
    text = STUDY.replace(MIN_FILL, "fabrics.backend.load_balancing.dlb.inactivity_interval: [64us, 128us, 128]")
    with pytest.raises(SpecError, match="'128us' and 128 are the same"):
        space(study(tmp_path, text))
    assert not _values(["1ms", "2us"])[1]
    assert not _values(["1us", "2%"])[1]
