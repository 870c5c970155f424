"""A table has the rows of one test: halves of both ends, second tables and tests that ran at once never add to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from railweave.operations.bench.comparing.reported import compare_predicted
from railweave.operations.bench.read import ParsedText, read
from railweave.operations.bench.runs import runs_of
from railweave.operations.store.records import Prediction, Run
from tests.operations.bench.said import text_of

if TYPE_CHECKING:
    from railweave.operations.bench.nccl_tests import NcclTests
    from railweave.operations.bench.perftest import Perftest

RULE = "-" * 87 + "\n"
HEAD = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"


def title(device: str) -> str:
    """The beginning of a test."""
    return (
        f"{RULE}                    Send Bidirectional BW Test\n Dual-port       : OFF\t\tDevice         : {device}\n"
        f" Mtu             : 4096[B]\n{RULE}"
    )


def row(gbps: float, size: int = 8388608) -> str:
    """A row of a table."""
    return f" {size}    1000             {gbps + 1:.2f}             {gbps:.2f} \t\t   0.011538\n"


BOTH = (
    f"{title('mlx5_1')}{HEAD}{row(774.32)}{{rule}}\n Local results: \n{{rule}}{HEAD}{row(387.2)}{{rule}}\n"
    f" Remote results{{colon}}\n{{rule}}{HEAD}{row(387.12)}{RULE}"
)
"""``--report-both`` of a bidirectional test; versions differ in lines of dashes."""
OBJECT = '"MsgSize": 8388608,\n"n_iterations": 1000,\n"BW_peak": {0}.70,\n"BW_average": {0}.20,\n"MsgRate": {1}\n'
INFO = '"test_info": {\n"test": "Send_Bidirectional_BW_Test",\n"Device": "mlx5_1"\n},\n'
BOTH_JSON = (
    f"{{\n{INFO}"
    f'"results": {{\n{OBJECT.format(774, 0.011538)}}},\n'
    f'"results_local": {{\n{OBJECT.format(387, 0.00577)}}},\n'
    f'"results_remote": {{\n{OBJECT.format(386, 0.005768)}}}\n}}\n'
)


def rows_of(test: Perftest) -> list[tuple[str | None, float | None]]:
    """Halves and bandwidths."""
    return [(one.half, one.bandwidth_gbps) for one in test.rows]


def runs(found: ParsedText) -> list[Run]:
    """What the store would get."""
    return runs_of(found, "digest", "2026-01-01T00:00:00+00:00")


@pytest.mark.parametrize("rule", ["", RULE])
@pytest.mark.parametrize("colon", ["", ": ", ":"])
def test_halves_of_both_ends_are_not_rows_of_the_test(rule: str, colon: str) -> None:
    found = read(BOTH.format(rule=rule, colon=colon), "x")
    assert found.notes == ()
    [test] = found.perftests
    assert rows_of(test) == [(None, 774.32), ("local", 387.2), ("remote", 387.12)]
    assert [(row.half, row.bandwidth_gbps) for row in read(BOTH_JSON, "x").perftests[0].rows] == [
        (None, 774.2),
        ("local", 387.2),
        ("remote", 386.2),
    ]


@pytest.mark.parametrize("text", [BOTH.format(rule=RULE, colon=":"), BOTH_JSON])
def test_a_prediction_is_laid_beside_the_sum_alone(text: str) -> None:
    [run] = runs(read(text, "x"))
    operation = "send bidirectional bandwidth"
    assert {one.operation for one in run.samples} == {
        operation,
        f"{operation}, local half",
        f"{operation}, remote half",
    }
    predicted = Prediction(operation, 8388608, "", "bandwidth_gbps", 774.0, 765.0, 783.0, "x")
    compared = compare_predicted([replace(run, predictions=(predicted,))])
    assert [(one.key.operation, one.verdict, round(one.now or 0)) for one in compared.rows] == [
        (operation, "same", 774)
    ]


def test_a_second_table_of_a_half_is_left_out() -> None:
    found = read(BOTH.format(rule="", colon=":") + f" Local results:\n{HEAD}{row(99.0)}", "x")
    assert [rows_of(test) for test in found.perftests] == [[(None, 774.32), ("local", 387.2), ("remote", 387.12)]]
    assert [note.what for note in found.notes] == ["a row is left out: a second table of local results"]


@pytest.mark.parametrize("end", ["", RULE])
def test_a_table_without_a_title_is_a_run_of_its_own(end: str) -> None:
    found = read(f"{title('mlx5_1')}{HEAD}{row(774.0)}{end}{HEAD}{row(99.0)}", "x").perftests
    assert [(test.device, rows_of(test)) for test in found] == [("mlx5_1", [(None, 774.0)]), ("", [(None, 99.0)])]


def test_a_table_under_a_heading_that_is_not_understood_is_left_out() -> None:
    found = read(f"{title('mlx5_1')}{HEAD}{row(774.0)}\n Results of the other kind\n{HEAD}{row(99.0)}{RULE}", "x")
    assert [rows_of(test) for test in found.perftests] == [[(None, 774.0)]]
    assert [note.what for note in found.notes] == [
        "not understood",
        "a row is left out: the heading 'Results of the other kind' of its table is not understood",
    ]


def test_what_follows_the_end_of_a_table_is_no_row() -> None:
    found = read(f"{title('mlx5_1')}{HEAD}{row(774.0)}{RULE}{row(99.0)}", "x")
    assert [rows_of(test) for test in found.perftests] == [[(None, 774.0)]]
    assert len(found.notes) == 1


def test_a_column_of_what_was_asked_for_that_is_not_known_leaves_its_rows_out() -> None:
    head = HEAD.replace("#iterations", "#iterations #color")
    found = read(f"{title('mlx5_1')}{head} 8388608 1000 2 775.00 774.00 0.011538\n", "x")
    assert [rows_of(test) for test in found.perftests] == [[]]
    assert [note.what for note in found.notes] == ["a row is left out: its column #color is not understood"]


AT_ONCE = {
    "titles, then tables": title("mlx5_3") + title("mlx5_4") + HEAD + RULE + HEAD + row(391.38) + row(195.7) + RULE,
    "a table each": title("mlx5_3") + title("mlx5_4") + HEAD + row(391.38) + RULE + HEAD + row(195.7) + RULE,
    "headers after their titles": title("mlx5_3") + HEAD + title("mlx5_4") + HEAD + row(391.38) + row(195.7) + RULE,
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_rows_of_tests_that_ran_at_once_are_nobodys(name: str) -> None:
    gid = " local address: LID 0000 QPN 0x0048 PSN 0x59e1b\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:77:03:109\n"
    found = read(AT_ONCE[name].replace(HEAD, gid + HEAD), "x")
    assert [(test.device, test.rows) for test in found.perftests] == [("mlx5_3", ()), ("mlx5_4", ())]
    assert found.perftests[1].local_gid == ""
    assert len(found.notes) == 2
    assert all("tests of mlx5_3, mlx5_4 ran at once" in note.what for note in found.notes)


def test_tests_one_after_the_other_keep_their_rows() -> None:
    server = f"{title('mlx5_3')}{HEAD}{RULE}"  # of a test in one direction: no rows
    found = read(server + title("mlx5_4") + HEAD + row(391.0) + RULE + title("mlx5_5") + HEAD + row(390.0) + RULE, "x")
    assert found.notes == ()
    assert [[one for _, one in rows_of(test)] for test in found.perftests] == [[], [391.0], [390.0]]
    infinite = read(title("mlx5_4") + HEAD + row(391.0) + row(390.0), "x")  # a row for each time that it prints
    assert [rows_of(test) for test in infinite.perftests] == [[(None, 391.0), (None, 390.0)]]


def test_results_of_json_that_are_repeated_or_not_known() -> None:
    twice = read(
        f'{{\n{INFO}"results": {{\n{OBJECT.format(774, 0.011538)}}},\n"results": {{\n{OBJECT.format(99, 0.001475)}}}\n}}\n',
        "x",
    )
    assert [rows_of(test) for test in twice.perftests] == [[(None, 774.2)], [(None, 99.2)]]
    other = read(BOTH_JSON.replace("results_local", "results_port2"), "x")
    assert [rows_of(test) for test in other.perftests] == [[(None, 774.2), ("remote", 386.2)]]
    assert [note.what for note in other.notes] == ["results are left out: what 'results_port2' has is not known"]
    several = read(BOTH_JSON * 2, "x").perftests
    assert [len(test.rows) for test in several] == [3, 3]


TABLE = text_of("nccl-tests-2.16-alltoall-unchecked.txt")
NCCL_HEAD = next(line for line in TABLE.splitlines() if line.startswith("#") and "busbw" in line)
NCCL_ROW = next(line for line in TABLE.splitlines() if line.strip()[:1].isdigit())


def nccl(text: str) -> tuple[tuple[NcclTests, ...], list[str]]:
    """Runs and notes."""
    found = read(text, "alltoall.txt")
    return found.nccl_tests, [note.what for note in found.notes]


def test_a_second_table_of_nccl_tests_is_a_run_of_its_own() -> None:
    [alone], _ = nccl(TABLE)
    for more in (f"{NCCL_HEAD}\n{NCCL_ROW}\n", f"{NCCL_ROW}\n"):
        found, _ = nccl(TABLE + more)
        assert [len(run.rows) for run in found] == [len(alone.rows), 1]
        assert found[1].ranks == ()


def test_rows_under_a_header_of_nccl_tests_that_is_not_understood_are_left_out() -> None:
    found, notes = nccl(TABLE.replace(NCCL_HEAD, "#  size  count  kind  time  algbw  busbw  #wrong"))
    assert [run.rows for run in found] == [()]
    assert notes[0] == "a row is left out: its header is not understood (# size count kind time algbw busbw #wrong)"


def test_a_column_of_nccl_tests_that_is_not_known_tells_rows_apart() -> None:
    fields = NCCL_ROW.split()
    rows = "".join(f"  {' '.join([*fields, stream])}\n" for stream in ("1", "2"))
    found = read(
        TABLE.replace(NCCL_HEAD, f"{NCCL_HEAD} stream").replace(NCCL_ROW, "").rsplit("\n#", 1)[0], "alltoall.txt"
    )
    head = TABLE[: TABLE.index(NCCL_ROW)].replace(NCCL_HEAD, f"{NCCL_HEAD} stream")
    found = read(head + rows, "alltoall.txt")
    assert [row.others for row in found.nccl_tests[0].rows] == [(("stream", "1"),), (("stream", "2"),)]
    labels = {one.labels for one in runs(found)[0].samples}
    assert len(labels) == 2


def test_a_field_of_the_reporter_that_is_not_known_tells_rows_apart() -> None:
    text = text_of("rccl-tests-reporter.csv")
    lines = text.splitlines()
    wide = "\n".join([f"{lines[0]},stream", *(f"{line},{n}" for n in (1, 2) for line in lines[1:3])])
    found = read(wide, "x.csv").nccl_tests
    assert [row.others for row in found[0].rows] == [(("stream", "1"),), (("stream", "2"),)]
    again = read("\n".join([*lines, lines[1]]), "x.csv").nccl_tests  # a record that is there twice is not one less
    assert sum(len(run.rows) for run in again) == sum(len(run.rows) for run in read(text, "x.csv").nccl_tests) + 1
