"""Numbers that are negative, too large or none are named with their line and left out, in every form."""

from __future__ import annotations

import json
import re

import pytest

from railweave.operations.bench.read import read
from railweave.operations.bench.runs import runs_of
from tests.operations.bench.said import text_of

ODD = {
    "-391.40": "negative: left out",
    "-1": "negative: left out",
    "18446744073709551615": "too large: left out",
    "1e400": "too large: left out",
    "inf": "too large: left out",
    "nan": "no number",
    "39l.40": "no number",
    "391,40": "no number",
    "********": "no number",
    "0x1f": "no number",
}


def checked(text: str, name: str, what: str, line: int, gone: float) -> None:
    """One number is named, at its line; neither it nor the number in whose place it stands is kept, and all others are."""
    found = read(text, name)
    assert [(note.line, note.what) for note in found.notes] == [(line, what)]
    values = [one.value for run in runs_of(found, "", "") for one in run.samples]
    assert values
    assert gone not in values
    assert all(0 <= one < 2.0**53 for one in values)


@pytest.mark.parametrize("odd", ODD)
def test_text_of_perftest(odd: str) -> None:
    text = text_of("perftest-write-bw-bidirectional-rocm.txt").replace("752.42", odd)
    line = next(number for number, one in enumerate(text.split("\n"), 1) if odd in one.split())
    checked(text, "x", f"BW average[Gb/sec] is {ODD[odd]}", line, 752.42)


@pytest.mark.parametrize("odd", [one for one in ODD if "," not in one])
def test_json_of_perftest(odd: str) -> None:
    text = text_of("perftest-json-gbits.json").replace("391.95", odd)
    line = next(number for number, one in enumerate(text.split("\n"), 1) if "BW_peak" in one)
    checked(text, "x", f"BW_peak is {ODD[odd]}", line, 391.95)


@pytest.mark.parametrize("odd", ODD)
def test_text_of_nccl_tests(odd: str) -> None:
    text = text_of("nccl-tests-2.13-reduce_scatter_perf.txt")
    row = next(one for one in text.split("\n") if one.strip()[:1].isdigit())
    gone = row.split()[5]
    changed = text.replace(row, row.replace(f" {gone} ", f" {odd} ", 1))
    checked(
        changed, "reduce_scatter.txt", f"out-of-place time is {ODD[odd]}", text.split("\n").index(row) + 1, float(gone)
    )


@pytest.mark.parametrize("odd", [-5600.25, "-1", 1e300, "39l", [1], True])
def test_json_of_nccl_tests(odd: object) -> None:
    given = json.loads(text_of("nccl-tests-2.17-all_reduce.json"))
    gone = given["results"][0]["out_of_place"]["time"]
    given["results"][0]["out_of_place"]["time"] = odd
    kind = "negative: left out" if str(odd)[0] == "-" else "too large: left out" if odd == 1e300 else "no number"
    checked(json.dumps(given), "all_reduce.json", f"result 1: out_of_place time is {kind}", 0, gone)


@pytest.mark.parametrize("odd", [one for one in ODD if "," not in one])
def test_the_reporter_of_rccl_tests(odd: str) -> None:
    checked(text_of("rccl-tests-reporter.csv").replace("181.91", odd), "x.csv", f"algbw is {ODD[odd]}", 2, 181.91)


@pytest.mark.parametrize("odd", [one for one in ODD if "," not in one])
def test_tables(odd: str) -> None:
    text = f"size_bytes,bandwidth_gbps,time_us,model\n1024,{odd},2.5,A\n1024,391.0,2.5,B\n"
    checked(text, "x.csv", f"bandwidth_gbps is {ODD[odd]}", 2, 391.4)


@pytest.mark.parametrize("size", ["-1024", "99999999999999999999", "10.5"])
def test_a_size_of_a_table_that_is_none_leaves_its_row_out(size: str) -> None:
    found = read(f"size_bytes,time_us\n{size},2.5\n1024,3.5\n", "x.csv")
    assert found.table is not None
    assert [one.value for one in found.table.measurements] == [3.5]
    assert [note.line for note in found.notes] == [2]
    assert found.notes[0].what.startswith("a row is left out: its size")


def test_a_quantity_of_somebodys_own_may_be_negative() -> None:
    found = read("quantity,value,unit\npower_margin,-3.5,dB\n", "x.csv").table
    assert found is not None
    assert [(one.quantity, one.value) for one in found.measurements] == [("power_margin_db", -3.5)]


def test_columns_of_one_name_are_two_columns() -> None:
    found = read("size_bytes,time_us,time_us\n1024,2.5,7.5\n", "x.csv").table
    assert found is not None
    assert [(one.value, one.labels) for one in found.measurements] == [(2.5, (("time_us (column 3)", "7.5"),))]


@pytest.mark.parametrize("odd", [-4.9, "39l", 1e300])
def test_training(odd: object) -> None:
    text = text_of("mllog-gpt3-steps.log").replace("4.912", json.dumps(odd))
    found = read(text, "x")
    assert [step.seconds for step in found.trainings[0].steps] == [4.905, 4.931]
    assert [(note.line, note.what.partition(" is ")[0]) for note in found.notes] == [(8, "time of a step")]


def test_training_that_ends_before_it_starts() -> None:
    text = text_of("mllog-gpt3-steps.log")
    began = re.search(r'"time_ms": (\d+)(?=[^\n]*"run_start")', text)
    assert began
    found = read(text.replace(began[0], f"{began[0]}000"), "x")
    assert found.trainings[0].seconds_to_train is None
    assert found.notes[-1].what == "the time to train is left out: negative, the run ends before it starts"
