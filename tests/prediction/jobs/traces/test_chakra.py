"""Execution traces of Chakra: what they say, when it runs, and what is wrong with odd ones."""

from __future__ import annotations

import gzip
import random
import resource
import sys
from pathlib import Path

import pytest

from railweave.errors import InputError, OutputError, SpecError
from railweave.prediction.jobs.run import exposed
from railweave.prediction.jobs.traces.chakra_read import framed, messages
from railweave.prediction.jobs.traces.traced import classes_of, read_trace, slots_of
from tests.prediction.jobs.traces.files import node, stepped, write

MS = 10**9
ALL = {"comm": "ALL_REDUCE", "comm_size": 1 << 20}


def test_fields_have_the_numbers_of_the_schema(tmp_path: Path) -> None:
    """A file written byte by byte, as the schema of Chakra numbers fields: mlcommons/chakra, et_def.proto."""

    def text(field: int, value: bytes) -> bytes:
        return bytes([field << 3 | 2, len(value)]) + value

    computing = b"\x08\x07" + text(2, b"gemm") + b"\x18\x04" + b"\x38\x0c"  # id 7, name, type 4, 12 us
    attributes = [
        text(1, b"comm_type") + b"\x48\x07",  # int64_val, field 9: REDUCE_SCATTER
        text(1, b"comm_size") + b"\x48\x80\x20",  # 4096
        text(1, b"is_cpu_op") + b"\xd8\x01\x00",  # bool_val, field 27
        text(1, b"pg_name") + b"\xea\x01\x01" + b"5",  # string_val, field 29
    ]
    sent = b"\x08\x08\x18\x07" + text(5, b"\x07") + b"".join(text(10, one) for one in attributes)
    content = b"".join(framed(one) for one in (text(1, b"0.0.4"), computing, sent))
    for rank in range(2):
        (tmp_path / f"a.{rank}.et").write_bytes(content)
    (tmp_path / "comm_group.json").write_text('{"5": [1, 0]}')
    trace = read_trace(tmp_path)
    first, second = trace.ranks[0].nodes
    assert (first.number, first.name, first.kind, first.time_ps) == (7, "gemm", "compute", 12 * 10**6)
    assert (second.kind, second.collective, second.size_bytes, second.after) == (
        "collective",
        "reduce-scatter",
        4096,
        (0,),
    )
    assert trace.groups[second.group] == (1, 0)


def test_what_waits_for_what(tmp_path: Path) -> None:
    """1 ms, a collective of 5, meanwhile 2 ms of computing, then 3: 1 + 5 + 3."""
    rank = [
        node(1, "COMP", 1000), node(2, "COMM_COLL", after=[1], **ALL), node(3, "COMP", 2000, [1]), node(4, "COMP", 3000, [2, 3]),
    ]  # fmt: skip
    graph, times = stepped(write(tmp_path, [rank] * 4), 5 * MS)
    assert times.step_ps == 9 * MS
    assert graph.classes == 1
    (found,) = exposed(graph, times)
    assert found == {"compute": 6 * MS, "all-reduce": 3 * MS}


def test_computing_of_a_rank_goes_one_after_another(tmp_path: Path) -> None:
    rank = [node(1, "COMP", 1000), node(2, "COMP", 1000), node(3, "COMP", 1000, is_cpu_op=True)]
    assert stepped(write(tmp_path, [rank]))[1].step_ps == 2 * MS


def test_a_collective_waits_for_the_slowest_rank(tmp_path: Path) -> None:
    ranks = [[node(1, "COMP", 1000 * (1 + rank)), node(2, "COMM_COLL", after=[1], **ALL)] for rank in range(3)]
    graph, times = stepped(write(tmp_path, ranks), MS)
    assert graph.classes == 3
    assert times.step_ps == 4 * MS
    assert len([op for op in graph.ops if op.communication is not None]) == 1


def test_groups_of_alike_ranks_are_one_communication(tmp_path: Path) -> None:
    ranks = [
        [node(1, "COMM_COLL", **ALL, pg_name=str(1 + rank // 2)), node(2, "COMM_COLL", after=[1], **ALL, pg_name=str(5 + rank % 2))]
        for rank in range(4)
    ]  # fmt: skip
    graph, times = stepped(write(tmp_path, ranks, {"1": [0, 1], "2": [2, 3], "5": [0, 2], "6": [1, 3]}), MS)
    assert graph.classes == 1
    assert [one.groups for one in graph.communications] == [((0, 1), (2, 3)), ((0, 2), (1, 3))]
    assert times.step_ps == 2 * MS


def test_a_ring_of_messages_is_one_class_and_a_chain_is_not(tmp_path: Path) -> None:
    def send(rank: int, to: int) -> list[object]:
        return [node(2, "COMM_SEND", after=[1], comm_dst=to, comm_size=100, comm_src=rank)]

    def receive(rank: int, source: int) -> list[object]:
        return [node(3, "COMM_RECV", comm_src=source, comm_dst=rank, comm_size=100), node(4, "COMP", 2000, [3])]

    ring = [[node(1, "COMP", 1000), *send(r, (r + 1) % 4), *receive(r, (r - 1) % 4)] for r in range(4)]
    graph, times = stepped(write(tmp_path / "ring", ring), 5 * MS)
    assert graph.classes == 1
    assert times.step_ps == (1 + 5 + 2) * MS
    assert sorted(graph.communications[0].groups) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    chain = [[node(1, "COMP", 1000, [4] if r else []), *(send(r, r + 1) if r < 3 else []), *(receive(r, r - 1) if r else [])] for r in range(4)]  # fmt: skip
    graph, times = stepped(write(tmp_path / "chain", chain), 5 * MS)
    assert graph.classes == 4
    assert times.step_ps == (4 * 1 + 3 * 5 + 3 * 2) * MS


def test_two_ranks_that_first_send_do_not_wait_for_each_other(tmp_path: Path) -> None:
    ranks = [
        [node(1, "COMM_SEND", comm_dst=1 - r, comm_size=8), node(2, "COMM_RECV", after=[1], comm_src=1 - r, comm_size=8)]
        for r in range(2)
    ]  # fmt: skip
    assert stepped(write(tmp_path, ranks), MS)[1].step_ps == MS


def test_collectives_of_a_group_go_one_after_another(tmp_path: Path) -> None:
    rank = [node(n, "COMM_COLL", comm=comm, comm_size=8) for n, comm in enumerate(("ALL_GATHER", "ALL_REDUCE"))]
    assert stepped(write(tmp_path, [rank] * 2), MS)[1].step_ps == 2 * MS


def test_ranks_that_wait_for_each_other_for_ever(tmp_path: Path) -> None:
    """Two groups of the same ranks, which one does in one order and one in the other."""
    ranks = [
        [node(n, "COMM_COLL", after=range(n), **ALL, pg_name=name) for n, name in enumerate(order)]
        for order in ("12", "21")
    ]
    with pytest.raises(SpecError) as error:
        stepped(write(tmp_path, ranks, {"1": [0, 1], "2": [0, 1]}))
    assert "trace.0.et: node 0 (comm_coll0): it waits for itself, through " in str(error.value)


def test_sizes_are_counted_as_nccl_tests_does(tmp_path: Path) -> None:
    rank = [node(n, "COMM_COLL", comm=comm, comm_size=1000) for n, comm in enumerate(("ALL_GATHER", "REDUCE_SCATTER", "ALL_TO_ALL", "BARRIER", "REDUCE"))]  # fmt: skip
    trace = read_trace(write(tmp_path, [rank] * 8))
    assert [(one.collective, one.size_bytes) for one in trace.ranks[3].nodes] == [
        ("all-gather", 8000), ("reduce-scatter", 1000), ("all-to-all", 1000), ("all-reduce", 4), ("broadcast", 1000),
    ]  # fmt: skip
    assert any("reduce is run as a broadcast" in one for one in trace.notes)


def test_a_node_without_a_duration_takes_what_the_gpu_takes(tmp_path: Path) -> None:
    graph, _ = stepped(write(tmp_path, [[node(1, "COMP", num_ops=10**12, tensor_size=1), node(2, "COMP", num_ops=1, tensor_size=10**9)]]))  # fmt: skip
    from railweave.prediction.jobs.kernels import gpus

    gpu = gpus()["H100"]
    computed, moved = (op.time_ps for op in graph.ops)
    assert computed == pytest.approx(1e12 / (gpu.bf16_tflops * gpu.gemm), rel=1e-9)
    assert moved == pytest.approx(1e9 / (gpu.memory_tbytes_per_s * gpu.memory), rel=1e-9)


def test_groups_of_pytorch_and_files_of_gzip(tmp_path: Path) -> None:
    groups = node(1, "METADATA")
    groups.inputs.values = '[\'[{"pg_name": "7", "ranks": [0, 1]}, {"pg_name": "8", "ranks": []}]\']'
    rank = [groups, node(2, "COMM_COLL", **ALL, pg_name="7"), node(3, "COMM_COLL", **ALL, pg_name="8")]
    folder = write(tmp_path, [rank] * 2)
    for file in list(folder.glob("*.et")):
        (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    trace = read_trace(folder)
    assert [trace.groups[one.group] for one in trace.ranks[0].nodes if one.kind == "collective"] == [(0, 1), (0, 1)]
    slots = slots_of(trace)
    assert classes_of(trace, slots).of == (0, 0)


TWICE = [node(1, "COMM_COLL", **ALL), node(2, "COMM_COLL", **ALL)]


@pytest.mark.parametrize(
    ("ranks", "what"),
    [
        ([[node(1, "COMP", 1, [2]), node(2, "COMP", 1, [1])]], "trace.0.et: node 1 (comp1): it waits for itself, through node 2"),
        ([[node(1, "COMP"), node(1, "COMP")]], "trace.0.et: node 1 (comp1): another node has the same number"),
        ([[node(1, "COMM_COLL", comm_size=1)]], "trace.0.et: node 1 (comm_coll1): it has no comm_type"),
        ([[node(1, "COMM_COLL", comm_type=77, comm_size=1)]], "node 1 (comm_coll1): its comm_type is 77"),
        ([[node(1, "COMM_COLL", comm="ALL_REDUCE", comm_size=-1)]], "its comm_size is -1"),
        ([[node(1, "COMM_COLL", comm="ALL_REDUCE", comm_size="4")]], "its comm_size is 4"),
        ([[node(1, "COMM_SEND", comm_size=1)], [], []], "it has no comm_dst"),
        ([[node(1, "COMM_SEND", comm_size=1, comm_dst=9)], []], "its comm_dst is 9"),
        ([[node(1, "COMM_SEND", comm_size=1, comm_dst=1)], []], "node 1 (comm_send1): send-recv of 1 bytes has no counterpart in"),
        ([[node(1, "COMM_SEND", comm_size=1, comm_dst=1, comm_src=1)], []], "its comm_src is rank 1, and the file is of rank 0"),
        ([TWICE, TWICE[:1]], "trace.0.et: node 2 (comm_coll2): all-reduce of 1,048,576 bytes has no counterpart in"),
        ([TWICE, [TWICE[0], node(9, "COMM_COLL", comm="ALL_REDUCE", comm_size=5)]], "trace.1.et: node 9 (comm_coll9): it is all-reduce of 5 bytes; the other side,"),
        ([[node(1, "COMP", 10**14)]], "53 days"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_file_and_node(tmp_path: Path, ranks: list[list[object]], what: str) -> None:
    with pytest.raises(SpecError) as error:
        stepped(write(tmp_path, ranks))
    assert what in str(error.value)


@pytest.mark.parametrize(
    ("groups", "what"),
    [
        ({"1": [0, 0]}, "comm_group.json: group '1': it contains a rank twice"),
        ({"1": [0, 9]}, "comm_group.json: group '1': it contains rank 9; the trace has 2 ranks"),
        ({"1": "all"}, "comm_group.json: group '1': it is not a list of ranks"),
        ({"1": [1]}, "node 1 (comm_coll1): rank 0 is not in its group '1', ranks 1"),
        ({"2": [0, 1]}, "node 1 (comm_coll1): the ranks of its group '1' are not given"),
    ],
)
def test_groups_that_cannot_be(tmp_path: Path, groups: dict[str, list[int]], what: str) -> None:
    with pytest.raises(SpecError) as error:
        read_trace(write(tmp_path, [[node(1, "COMM_COLL", **ALL, pg_name="1")]] * 2, groups))
    assert what in str(error.value)


def test_files_that_are_not_all_there(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"no file is called NAME\.RANK\.et"):
        read_trace(tmp_path)
    write(tmp_path, [[]] * 3)
    (tmp_path / "trace.1.et").unlink()
    with pytest.raises(SpecError, match="the file of rank 1 is missing"):
        read_trace(tmp_path)
    (tmp_path / "trace.1.et").write_bytes(b"\x05ab")
    with pytest.raises(SpecError, match=r"trace\.1\.et: the file ends within message 1"):
        read_trace(tmp_path / "trace")
    (tmp_path / "other.0.et").write_bytes(b"")
    with pytest.raises(SpecError, match="the folder has several traces: other, trace"):
        read_trace(tmp_path)


def test_without_protobuf_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path, [[node(1, "COMP", 5)]])
    messages.cache_clear()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "google.protobuf.descriptor_pb2", None)
        with pytest.raises(OutputError, match=r"pip install 'railweave\[traces\]'"):
            read_trace(folder)
    assert read_trace(folder).nodes == 1


def test_odd_bytes_end_in_words(tmp_path: Path) -> None:
    """Files with bytes changed, taken out or doubled are read, or refused with the file's name."""
    ranks = [
        [node(1, "COMP", 5), node(2, "COMM_COLL", after=[1], **ALL, pg_name="1"), node(3, "COMM_SEND", comm_dst=1 - r, comm_size=8), node(4, "COMM_RECV", comm_src=1 - r, comm_size=8)]
        for r in range(2)
    ]  # fmt: skip
    folder = write(tmp_path, ranks, {"1": [0, 1]})
    whole = (folder / "trace.1.et").read_bytes()
    chance = random.Random(7)  # noqa: S311 - not for secrets
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
        (folder / "trace.1.et").write_bytes(data)
        try:
            stepped(folder, MS)
        except InputError as error:
            refused += 1
            assert ".et" in str(error)  # noqa: PT017 - which of them, and how many, is chance
    assert refused > 100


def test_a_small_trace_is_read_where_memory_is_limited(tmp_path: Path) -> None:
    """One read of the most that a trace may have, 2 GiB, would take them before the file is looked at."""
    folder = write(tmp_path, [[node(1, "COMP", 100)]])
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (512 << 20), before[1]))
    try:
        assert len(read_trace(folder).ranks) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
