"""Logs of NCCL as traces: calls, communicators, groups of calls, times, and what is wrong with odd ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from railweave.errors import InputError, SpecError
from railweave.prediction.jobs.traces.traced import read_trace
from tests.prediction.jobs.traces.files import stepped

MS = 10**9


def init(rank: int, ranks: int, name: str = "0x77aa", comm: int = 0) -> str:
    """As 2.18 to 2.28 write it: four GPUs on each server."""
    host, gpu = f"node{rank // 4}", rank % 4
    return (
        f"{host}:{100 + rank}:{100 + rank} [0] NCCL INFO ncclCommInitRank comm 0x55{comm + rank:04x} rank {rank} nranks {ranks} "
        f"cudaDev 0 nvmlDev {gpu} busId 1b000 commId {name} - Init COMPLETE"
    )


def call(rank: int, ranks: int, name: str, count: int, turn: int = 0, *, comm: int = 0, root: int = 0, type_: int = 7, stream: int = 1, time: str = "") -> str:  # fmt: skip
    host = f"node{rank // 4}"
    return (
        f"{time}{host}:{100 + rank}:{200 + rank} [0] NCCL INFO {name}: opCount {turn:x} sendbuff 0x7f0000 recvbuff 0x7f1000 count {count} "
        f"datatype {type_} op 0 root {root} comm 0x55{comm + rank:04x} [nranks={ranks}] stream 0x9{stream:03x}"
    )


def log(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "nccl.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_calls_are_counted_as_nccl_tests_does(tmp_path: Path) -> None:
    names = ("AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "Broadcast")
    lines = [init(r, 8) for r in range(8)]
    lines += [call(r, 8, name, 1000, turn, type_=9) for turn, name in enumerate(names) for r in range(8)]
    trace = read_trace(
        log(tmp_path, "NCCL version 2.28.3+cuda12.9", *lines, "node0:100:200 [0] NCCL INFO something else")
    )
    assert [(one.collective, one.size_bytes) for one in trace.ranks[5].nodes] == [
        ("all-reduce", 2000), ("all-gather", 16000), ("reduce-scatter", 16000), ("all-to-all", 16000), ("broadcast", 2000),
    ]  # fmt: skip
    assert trace.hosts == (*((("node0"), g) for g in range(4)), *(("node1", g) for g in range(4)))
    assert any("has no times" in one for one in trace.notes)
    _, times = stepped(tmp_path / "nccl.log", MS)
    assert times.step_ps == 5 * MS


def test_communicators_that_cross_go_on_together(tmp_path: Path) -> None:
    """Two communicators of two ranks each way, on a stream of their own: nothing says that one waits for the other."""
    lines: list[str] = []
    for rank in range(4):
        row, column = f"0xa{rank // 2}", f"0xb{rank % 2}"
        lines += [
            init(rank, 2, row, 0x100).replace(f"rank {rank} ", f"rank {rank % 2} "),
            init(rank, 2, column, 0x200).replace(f"rank {rank} ", f"rank {rank // 2} "),
        ]
    for rank in range(4):
        lines += [call(rank, 2, "AllReduce", 64, comm=0x100), call(rank, 2, "AllGather", 64, comm=0x200, stream=2)]
    graph, times = stepped(log(tmp_path, *lines), MS)
    assert times.step_ps == MS
    assert graph.classes == 1
    assert {one.groups for one in graph.communications} == {((0, 1), (2, 3)), ((0, 2), (1, 3))}


def test_messages_of_a_group_do_not_wait_for_each_other(tmp_path: Path) -> None:
    lines = [init(r, 2) for r in range(2)]
    lines += [call(r, 2, name, 10, 4, root=1 - r) for r in range(2) for name in ("Recv", "Send")]
    lines += [call(r, 2, "Send", 10, 4, root=r) for r in range(2)]  # to itself
    _, times = stepped(log(tmp_path, *lines), MS)
    assert times.step_ps == MS


def test_messages_to_everybody_are_an_all_to_all(tmp_path: Path) -> None:
    lines = [init(r, 4) for r in range(4)]
    lines += [call(r, 4, name, 10, 4, root=peer) for r in range(4) for peer in range(4) for name in ("Send", "Recv")]
    trace = read_trace(log(tmp_path, *lines))
    assert [(one.collective, one.size_bytes) for one in trace.ranks[0].nodes] == [("all-to-all", 160)]


def test_times_of_a_log_with_fractions_are_kept(tmp_path: Path) -> None:
    lines = [init(r, 2) for r in range(2)]
    times = ("[2026-01-02 03:04:05.000000] ", "[2026-01-02 03:04:05.020000] ", "[2026-01-02 03:04:05.021000] ")
    lines += [call(r, 2, "AllReduce", 10, turn, time=time) for turn, time in enumerate(times) for r in range(2)]
    trace = read_trace(log(tmp_path, *lines))
    assert any("no sooner" in one for one in trace.notes)
    # the second is made at 20 ms; the third 1 ms after it, and waits for it on its stream
    assert stepped(tmp_path / "nccl.log", 5 * MS)[1].step_ps == (20 + 5 + 5) * MS


def test_a_log_that_ends_within_calls(tmp_path: Path) -> None:
    lines = [*(init(r, 2) for r in range(2)), *(call(r, 2, "AllReduce", 10, t) for t in range(3) for r in range(2))]
    trace = read_trace(log(tmp_path, *lines[:-1]))
    assert [len(one.nodes) for one in trace.ranks] == [2, 2]
    assert any("1 calls are left out, because not every rank" in one for one in trace.notes)


def test_a_folder_of_logs_and_lines_of_two_processes_in_one(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"nccl.{rank}").write_text(f"(Worker pid=1) {init(rank, 2)}\n{call(rank, 2, 'AllReduce', 5)}\n")
    assert len(read_trace(tmp_path).ranks) == 2
    both = log(
        tmp_path,
        init(0, 2),
        init(1, 2),
        call(0, 2, "AllReduce", 5) + call(1, 2, "AllReduce", 5).replace("INFO ", "INFO [3] "),
    )
    assert [len(one.nodes) for one in read_trace(both).ranks] == [1, 1]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ([], "nccl.log: the file has no NCCL call"),
        ([call(0, 2, "AllReduce", 1)], "nccl.log:1: no earlier line gives the rank of communicator 0x550000 of node0"),
        ([init(0, 2), call(0, 2, "AllReduce", 1)], "nccl.log:2: its communicator has 2 ranks, and the log has no call of rank 1"),
        ([init(0, 1), call(0, 1, "AllReduce", 1, type_=55)], "nccl.log:2: NCCL has no datatype 55"),
        ([init(0, 1), call(0, 1, "Send", 1, root=7)], "nccl.log:2: its communicator has no rank 7"),
        ([init(0, 2), init(1, 2), call(0, 2, "AllReduce", 1), call(1, 2, "AllReduce", 2)], "nccl.log:4: it is all-reduce of 8 bytes; the other side, "),
    ],
)  # fmt: skip
def test_what_is_wrong_names_file_and_line(tmp_path: Path, lines: list[str], what: str) -> None:
    with pytest.raises(SpecError) as error:
        stepped(log(tmp_path, *lines))
    assert what in str(error.value)


def test_odd_lines_end_in_words(tmp_path: Path) -> None:
    text = "\n".join(
        [*(init(r, 2) for r in range(2)), *(call(r, 2, "AllReduce", 10, t) for t in range(3) for r in range(2))]
    )
    chance = random.Random(3)  # noqa: S311 - not for secrets
    path = tmp_path / "nccl.log"
    for _ in range(200):
        data = bytearray(text.encode())
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 9)] = chance.randbytes(chance.randint(0, 4))
        path.write_bytes(data)
        try:
            stepped(path, MS)
        except InputError as error:
            assert "nccl.log" in str(error)  # noqa: PT017 - which of them is chance
