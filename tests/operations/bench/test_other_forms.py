"""MLPerf logs, tables, and what is none of all forms."""

from __future__ import annotations

import pytest

from railweave.operations.bench.mllog import Block, Step
from railweave.operations.bench.read import read
from tests.operations.bench.said import said, text_of


def test_steps_of_a_language_model() -> None:
    [run] = said("mllog-gpt3-steps.log").trainings
    assert (run.benchmark, run.status, run.seconds_to_train) == ("gpt3", "success", 17.25)
    assert run.steps == (Step(8, 2048, 4.912), Step(9, 4096, 4.905), Step(10, 6144, 4.931))
    assert run.blocks == (Block(11, 15.0, 6144),)
    assert (run.throughput, run.accuracies) == (415.9, ((12, 2.71),))
    assert dict(run.settings) == {
        "submission_benchmark": "gpt3",
        "submission_org": "example",
        "global_batch_size": "2048",
        "tensor_parallelism": "8",
    }


def test_a_run_that_was_aborted_and_a_line_that_was_cut() -> None:
    found = said("mllog-bert-aborted.log")
    [run] = found.trainings
    assert (run.benchmark, run.status, run.seconds_to_train) == ("bert", "aborted", 39.0)
    assert (run.blocks, run.steps, run.accuracies) == ((Block(7, 30.5, None),), (), ((8, 0.6981),))
    assert [(note.line, note.what.partition(":")[0]) for note in found.notes] == [(6, "not JSON behind ")]


def test_a_second_run_after_the_end_of_the_first() -> None:
    found = read(text_of("mllog-gpt3-steps.log") * 2, "x").trainings
    assert [len(run.steps) for run in found] == [3, 3]


def test_a_table_with_units_in_its_columns() -> None:
    found = said("table-own-columns.csv")
    assert found.table is not None
    assert [
        (one.line, one.operation, one.size_bytes, one.place, one.quantity, one.value, dict(one.labels))
        for one in found.table.measurements
    ] == [
        (2, "all-reduce", 1 << 30, "in-place", "busbw_gbytes_per_s", 371.2, {"qps": "4", "note": "first"}),
        (2, "all-reduce", 1 << 30, "in-place", "time_us", 5423.1, {"qps": "4", "note": "first"}),
        (3, "all-reduce", 1 << 30, "out-of-place", "busbw_gbytes_per_s", 370.4, {"qps": "4"}),
    ]
    assert [str(note) for note in found.notes] == ["table-own-columns.csv:3: time_us is no number: n/a"]


TABLE_12 = """\
row_id,nodes,gpus,qps_per_connection,split_data_on_qps,collective,message_size,avg_busbw,unit,source,table
t12-4u-2q-ar,4,32,2,1,all_reduce,average over unstated sizes,379.499,GB/s,rdma-aware-load-balancing.txt,Table 12
t12-4u-4q-a2a,4,32,4,1,all_to_all,average over unstated sizes,43.552,GB/s,rdma-aware-load-balancing.txt,Table 12
"""
"""Two rows of Table 12 in the columns that the project keeps them in."""


def test_rows_of_table_12() -> None:
    found = read(TABLE_12, "t.csv")
    assert found.notes == ()
    assert found.table is not None
    assert [(one.operation, one.quantity, one.value, one.size_bytes) for one in found.table.measurements] == [
        ("all-reduce", "average_busbw_gbytes_per_s", 379.499, None),
        ("all-to-all", "average_busbw_gbytes_per_s", 43.552, None),
    ]
    labels = dict(found.table.measurements[0].labels)
    assert (labels["qps_per_connection"], labels["message_size"]) == ("2", "average over unstated sizes")


@pytest.mark.parametrize(
    ("head", "row", "quantity", "value"),
    [
        ("metric,workload,value,unit", "JCT,DLRM,3.53,s", "completion_time_s", 3.53),
        ("metric,workload,value,unit", "JCT,X,401.2,ms", "completion_time_s", 0.4012),
        ("message_bytes,bw_avg,unit", "65536,390.1,Gb/s bidirectional sum", "bandwidth_gbps", 390.1),
        ("quantity,value,unit", "one_way_delay,245,us", "one_way_delay_us", 245.0),
        ("quantity,value,unit", "psn_window,512,packets", "psn_window_packets", 512.0),
    ],
)
def test_units(head: str, row: str, quantity: str, value: float) -> None:
    table = read(f"{head}\n{row}\n", "t.csv").table
    assert table is not None
    [found] = table.measurements
    assert (found.quantity, found.value) == (quantity, pytest.approx(value))


@pytest.mark.parametrize("text", ["hello\nworld\n", "{}", "[1, 2]", "a,b\n1,2\n", "\x00\x01", "# a shell script\n"])
def test_what_is_none_of_these_is_said_to_be_so(text: str) -> None:
    found = read(text, "x")
    assert found.empty
    assert len(found.notes) == 1
    assert found.notes[0].what.startswith("no output of perftest")


def test_nothing_is_nothing() -> None:
    assert read("", "x").notes == ()
    assert read("", "x").empty
