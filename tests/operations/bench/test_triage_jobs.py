"""What triage says of jobs: each warning by its meaning, hosts beside each other, ranks that did not arrive, failed ends."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from railweave.model.network.devices import InactivePart
from railweave.operations.bench.messages import MEANINGS, kind_of
from railweave.operations.bench.triage.frameworks import dump_text
from railweave.operations.bench.triage.triage import RULES, design_of, triage, triage_job
from railweave.operations.bench.triage.wire import Design
from tests.conftest import example
from tests.operations.bench.made_logs import DEVIATIONS, WARNINGS, Job, Odd, drawn_by, healthy, judged, made, mutated

if TYPE_CHECKING:
    from collections.abc import Sequence

HOSTS = ("node-a", "node-b", "node-c")


def said(text: str, file: str = "x") -> list[tuple[str, str]]:
    return [(one.finding.id, one.finding.where) for one in triage(text, file).diagnoses]


@pytest.mark.parametrize(("id_", "text"), WARNINGS)
def test_a_warning_by_its_meaning_at_its_host(id_: str, text: str) -> None:
    assert said(f"n7:11:22 [0] misc/x.cc:1 NCCL WARN {text}\n") in (
        [(id_, "n7")],
        [("run-wrong-gid", "n7"), (id_, "n7")],
    )


@pytest.mark.parametrize(
    "text",
    [
        "The moon is in the seventh house",
        "Flux of 12 units is odd",
        "Widget 7 lost its gauge on mlx5_0",
        "NET/IB : mystery 17",
    ],
)
def test_a_warning_without_a_rule_is_a_finding_that_says_so(text: str) -> None:
    line = f"n7:11:22 [0] misc/x.cc:1 NCCL WARN {text}\n"
    [found] = triage(line * 3, "x").diagnoses
    assert (found.finding.id, found.finding.severity, found.finding.where) == ("run-unknown-warning", "warning", "n7")
    assert found.finding.what == f"not known to railweave: {text}; 2 more"
    ended = triage(line + "n7: Test NCCL failure common.cu:908 'internal error'\n", "x").diagnoses
    assert [(one.finding.id, one.finding.severity) for one in ended] == [
        ("run-unknown-warning", "error"),
        ("run-ended-early", "error"),
    ]
    assert f"the first warning (n7, x:1): {text}" in ended[1].finding.what


def test_kinds_are_rules_and_fragments_name_their_source() -> None:
    rules = {rule.id for rule in RULES}
    assert {meaning.kind for meaning in MEANINGS} <= rules
    assert all(meaning.source for meaning in MEANINGS)
    assert kind_of("Call to ibv_modify_qp failed with error Invalid argument") == "run-call-failed"
    assert kind_of("NET/IB: read failed in ncclIbRoceGetVersionNum: No such device") == "run-call-failed"
    assert kind_of("NET/IB: could not find mr 0x7f12 inside cache of 3 entries") == "run-internal"
    assert kind_of("XML Mismatch : net / nic") == "run-topology"
    assert kind_of("NET/OFI Failure in plugin cleanup") == "run-plugin-failed"


@pytest.mark.parametrize("number", [*range(0, 118, 2), 3000114, 3000150, 4000074, 9000118, 11000157])
def test_a_planted_cause_is_found_behind_any_prefix(number: int) -> None:
    assert judged(made(number)) == ""


@pytest.mark.parametrize("number", range(8))
def test_healthy_logs_have_no_findings(number: int) -> None:
    assert judged(made(number, faulty=False)) == ""


@pytest.mark.parametrize(("id_", "odd"), DEVIATIONS)
def test_a_host_that_differs_is_named_across_the_files_of_ranks(id_: str, odd: Odd) -> None:
    """NCCL_DEBUG_FILE writes one file for each rank: what one host has otherwise shows only beside the others."""
    from dataclasses import replace

    job = Job(HOSTS, 2, "2.27.7+cuda12.9")
    ranks = healthy(job, drawn_by(1), replace(odd, host="node-b"))
    texts = [("\n".join(lines), f"nccl.{rank}.log") for rank, lines in enumerate(ranks)]
    found = [
        (one.finding.id, one.finding.where, one.finding.file)
        for result in triage_job(texts)
        for one in result.diagnoses
    ]
    assert {(id_, "node-b")} <= {one[:2] for one in found}
    assert {one[1] for one in found} == {"node-b"}
    assert {one[2] for one in found} <= {"nccl.2.log", "nccl.3.log"}


def test_two_jobs_are_not_compared() -> None:
    one, other = (
        "\n".join(line for lines in healthy(Job((host,), 2, version), drawn_by(seed)) for line in lines)
        for host, version, seed in (("a1", "2.27.7+cuda12.9", 1), ("b1", "2.21.5+cuda12.4", 2))
    )
    assert [result.diagnoses for result in triage_job([(one, "one.log"), (other, "other.log")])] == [(), ()]


@pytest.mark.parametrize(
    "before",
    [
        "16:34:43 ",
        "Nov 04 16:34:43 ",
        "2026-11-04T16:34:43 ",
        "04/Nov/2026:16:34:43 ",
        "[2026-11-04 16:34:43] ",
        "12:01:02.345 ",
    ],
)
def test_times_are_never_hosts(before: str) -> None:
    text = f"{before}NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n"
    assert said(text) == [("run-link-event", "x")]
    assert said(text.replace("NCCL WARN", "gpu-3:11:11 [0] NCCL WARN")) == [("run-link-event", "gpu-3")]


def test_lines_that_run_into_each_other_keep_their_hosts() -> None:
    text = (
        "node-a:1:1 [0] NCCL INFO Using network IB\nnode-b:2:2 [0] NCCL INFO Using network IB\n"
        "node-a:1:1 [0] NCCL INFO Channel 0node-b:2:2 [0] misc/x.cc:1 NCCL WARN Cuda failure 700 'illegal'\n0/0 : 1[0]\n"
    )
    assert said(text) == [("run-gpu-failed", "node-b")]


def test_a_ring_that_leaves_servers_too_often() -> None:
    lines = [line for lines in healthy(Job(HOSTS[:2], 2, "2.27.7+cuda12.9"), drawn_by(1)) for line in lines]
    text = "\n".join(lines).replace("0   1   2   3", "0   2   1   3")
    assert said(text) == [("run-ring-order", "x")]


def test_a_queue_pair_between_rails_is_named_with_the_design() -> None:
    design = Design(nics={"10.9.0.1": ("s1", "gpu0", "f", 0), "10.9.0.2": ("s2", "gpu1", "f", 1)})
    text = f"n1:1:2 [0] x.cc:1 NCCL WARN {WARNINGS[1][1]}\n"
    [found] = triage(text, "x", design).diagnoses
    assert "s1:gpu0 is on rail 0, s2:gpu1 on rail 1: rails apart" in found.finding.what
    assert "NCCL_CROSS_NIC=0" in found.finding.fix


DESIGNED = ("mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11")
"""The GPU NICs of the servers of the example h100-rlb."""


def job_log(devices: Sequence[str], hosts: Sequence[str], gpus: int = 8, *, setting: str = "") -> str:
    """A healthy job in which every host uses these devices."""
    lines = [line for lines in healthy(Job(tuple(hosts), gpus, "2.27.7+cuda12.9"), drawn_by(1)) for line in lines]
    using = " ".join(f"[{number}]{name}:1/RoCE" for number, name in enumerate(devices))
    kept = [
        re.sub(r"Using (\[\d\]\S+ ?)+\[RO\]", f"Using {using} [RO]", line) for line in lines if " pciPath=" not in line
    ]
    if setting:
        kept = [line.replace("NCCL_IB_TC set by environment to 106.", setting) for line in kept]
    return "\n".join(kept)


def missing_nics(text: str, name: str = "h100-rlb") -> list[tuple[str, str, str]]:
    """What is said of missing NICs beside an example's design: where, what and the fix."""
    findings = [diagnosis.finding for diagnosis in triage(text, "job.log", design_of(example(name))).diagnoses]
    return [(each.where, each.what, each.fix) for each in findings if each.id == "run-missing-nic"]


NAMED = ("H100-01", "H100-02")


def test_a_nic_that_all_hosts_lack_is_missing_beside_the_design() -> None:
    assert missing_nics(job_log(DESIGNED, NAMED)) == []
    text = job_log(DESIGNED[:-1], NAMED)
    assert triage(text, "job.log").diagnoses == ()  # nothing to compare with
    [(where, what, fix)] = missing_nics(text)
    assert where == "job.log"
    assert what == "7 NICs in use (mlx5_11 is missing), and the design has 8 for GPUs: on 2 hosts (H100-01, H100-02)"
    assert "rdma link" in fix
    [(where, what, _)] = missing_nics(job_log(DESIGNED[:-2], ["h100-02.cluster.example"]))
    assert where == "h100-02.cluster.example"
    assert what == "6 NICs in use (mlx5_10, mlx5_11 are missing), and the design has 8 for GPUs"


def test_a_missing_nic_is_counted_where_names_are_not_the_designed_ones() -> None:
    other = [f"rocep{slot}s0" for slot in range(8)]
    assert missing_nics(job_log(other, NAMED)) == []
    [(_, what, _)] = missing_nics(job_log(other[:7], NAMED))
    assert what.startswith("7 NICs in use, and the design has 8 for GPUs")
    [(where, what, _)] = missing_nics(job_log(DESIGNED[:7], ["container-7"]))  # as all servers of the design
    assert (where, what) == ("container-7", "7 NICs in use (mlx5_11 is missing), and the design has 8 for GPUs")


def test_storage_nics_do_not_take_the_place_of_a_missing_one() -> None:
    servers = [server.name for server in example("arista-h200-512").servers[:2]]
    every = [f"mlx5_{number}" for number in range(10)]
    assert missing_nics(job_log(every, servers), "arista-h200-512") == []
    [(_, what, _)] = missing_nics(job_log([name for name in every if name != "mlx5_3"], servers), "arista-h200-512")
    assert what.startswith("9 NICs in use (mlx5_3 is missing), and the design has 8 for GPUs")


def test_a_part_of_the_servers_gpus_uses_its_part_of_the_nics() -> None:
    """Four GPUs of eight in a container, the NICs of one tenant, and a NIC whose leaf is drained."""
    assert missing_nics(job_log(DESIGNED[:4], NAMED, gpus=4)) == []
    [(_, what, _)] = missing_nics(job_log(DESIGNED[:3], NAMED, gpus=4))
    assert what.startswith("3 NICs in use, and the design has 4 for GPUs")
    tenants = [server.name for server in example("evpn-gpu-isolation").servers[:2]]
    assert missing_nics(job_log(["mlx5_4", "mlx5_5"], tenants), "evpn-gpu-isolation") == []
    [(_, what, _)] = missing_nics(job_log(["mlx5_5"], tenants), "evpn-gpu-isolation")
    assert what.startswith("1 NIC in use (mlx5_4 is missing), and the design has 2 for GPUs")
    network = example("h100-rlb")
    leaf = next(nic.leaf for nic in network.servers[0].nics if nic.rdma == "mlx5_11")
    drained = replace(network, not_active=(InactivePart(leaf, "drained"),))
    assert triage(job_log(DESIGNED[:-1], NAMED[:1]), "job.log", design_of(drained)).diagnoses == ()


def test_a_setting_that_leaves_a_designed_nic_out_is_named() -> None:
    setting = f"NCCL_IB_HCA set by environment to ={','.join(DESIGNED[:-1])}"
    [(_, what, fix)] = missing_nics(job_log(DESIGNED[:-1], NAMED, setting=setting))
    assert "; NCCL_IB_HCA is =mlx5_0,mlx5_3" in what
    assert "nccl.env" in fix
    for harmless in ("NCCL_IB_HCA set by environment to mlx5", "NCCL_IB_HCA set by environment to ^mlx5_1:1"):
        [(_, what, fix)] = missing_nics(job_log(DESIGNED[:-1], NAMED, setting=harmless.replace("mlx5_1:1", "bond")))
        assert "NCCL_IB_HCA" not in what
        assert "rdma link" in fix


def test_links_between_gpus_are_named_by_the_maker() -> None:
    """A log of RCCL is about AMD's GPUs: no NVLink, no tools of NVIDIA."""
    warning = "n1:1:2 [0] p2p.cc:1 NCCL WARN {}IpcGetMemHandle failed : invalid argument\n"
    for version, call, link, tool in (
        ("NCCL version 2.27.7+cuda12.9", "cuda", "NVLink", "nvidia-smi"),
        ("RCCL version : 2.22.3-HEAD:d79dab4", "hip", "XGMI", "rocm-smi"),
    ):
        text = f"n1:1:2 [0] NCCL INFO {version}\n" + warning.format(call)
        (finding,) = [each.finding for each in triage(text, "x").diagnoses if each.finding.id == "run-nvlink"]
        assert link in finding.why
        assert tool in finding.fix
        assert ("nvidia" in finding.fix, "NVLink" in finding.why) == (link == "NVLink", link == "NVLink")


def test_failures_of_perftest() -> None:
    assert said(" Port number 1 state is Down\n Couldn't set the link layer\n")[0] == ("run-port-down", "x")
    assert said("initializing CUDA\nCouldn't allocate MR\n")[0] == ("run-peer-memory", "x")
    assert said("Couldn't allocate MR\n")[0] == ("run-memory-locked", "x")
    assert said("Couldn't post send: qp 0 scnt=0 \n Failed to complete run_iter_bw function successfully\n") == [
        ("run-ended-early", "x")
    ]


def test_vendor_codes_by_driver() -> None:
    text = "n1:1:2 [0] x.cc:1 NCCL WARN NET/IB: Got completion from peer a<1> with status=10 opcode=0 len=0 vendor err 9 (Recv) hca ionic_2\n"
    [found] = triage(text, "x").diagnoses
    assert "status 10 ionic_2, REM_ACCESS_ERR, vendor error 9 (ionic: remote access)" in found.finding.what


WATCHDOG = (
    "node-{host}: [rank{rank}]:[E515 18:36:47.3 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=241, OpType=ALLREDUCE, NumelIn=6, NumelOut=6, Timeout(ms)=600000) ran for 600086 milliseconds before timing out.\n"
)
STATUS = (
    "node-{host}: [rank{rank}]:[E515 18:36:47.3 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by "
    "watchdog at work sequence id: {at} PG status: last enqueued work: {sent}, last completed work: {done}\n"
)


def test_a_rank_that_did_not_join() -> None:
    text = "".join(
        WATCHDOG.format(host=1, rank=rank) + STATUS.format(host=1, rank=rank, at=241, sent=315, done=240)
        for rank in (0, 1)
    )
    text += STATUS.format(host=2, rank=8, at=240, sent=239, done=239)
    [found] = triage(text, "x").diagnoses
    assert (found.finding.id, found.finding.where, found.finding.line) == ("run-rank-missing", "node-2", 5)
    assert "rank 8 did not join operation 241 (ALLREDUCE, 6 elements)" in found.finding.what
    assert "for which ranks 0, 1 waited" in found.finding.what
    desync = "             [7] finished collective #182, but didn't join collective #183 (count from 1)\n"
    [found] = triage(text[: text.index("node-2")] + desync, "x").diagnoses
    assert (found.finding.where, found.finding.what) == (
        "rank-7",
        "rank 7 finished collective #182, but didn't join collective #183",
    )


def dump(rank: int, last: int) -> dict[str, object]:
    entry = {
        "process_group": ["0", "default_pg"],
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[1024]],
        "is_p2p": False,
    }
    entries = [
        entry | {"collective_seq_id": n, "state": "completed" if n < 5 else "started"} for n in range(1, last + 1)
    ]
    return {
        "version": "2.4",
        "nccl_version": "2.21.5",
        "pg_config": {"0": {"ranks": "[0, 1, 2]"}},
        "pg_status": {},
        "entries": entries,
    }


def test_dumps_of_the_flight_recorder() -> None:
    texts = [(json.dumps(dump(rank, 4 if rank == 2 else 5)), f"nccl_trace_rank_{rank}") for rank in range(3)]
    pickled = dump_text(pickle.dumps(dump(1, 5), 2))
    assert pickled is not None
    texts[1] = pickled, texts[1][1]
    [found] = [one for result in triage_job(texts) for one in result.diagnoses]
    assert (found.finding.where, found.finding.file) == ("rank-2", "nccl_trace_rank_2")
    assert "rank 2 did not join operation 5 (all_reduce, [[1024]])" in found.finding.what
    silent = triage_job(texts[:2])
    assert ["rank 2 reports nothing" in one.finding.what for result in silent for one in result.diagnoses] == [True]


def test_no_code_of_a_pickle_runs() -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return print, ("ran",)

    assert dump_text(pickle.dumps(Evil())) is None
    assert dump_text(b"\x80\x02 broken") is None


RAS = """Job summary
===========

INCOMPLETE
  Missing communicator data from 1 job process
  Process 3487984 on node 10.1.0.13 managing GPU 5

Warnings
========

#0-0 (fa93daea854b060b) MISMATCH
  Communicator ranks have different AllGather operation counts
  30 ranks have launched up to operation 641
  2 ranks have launched up to operation 640
  Rank 12 -- GPU 4 managed by process 323032 on node 10.1.0.24
  Rank 13 -- GPU 5 managed by process 323033 on node 10.1.0.24
"""


def test_answers_of_ras_and_of_the_inspector() -> None:
    assert [(one.finding.where, one.finding.what) for one in triage(RAS, "x").diagnoses] == [
        ("10.1.0.13", "process 3487984 (GPU 5) is not answering"),
        ("10.1.0.24", "rank 12 launched up to operation 640, others 641"),
        ("10.1.0.24", "rank 13 launched up to operation 640, others 641"),
    ]
    records = [
        {
            "header": {"id": "0x1", "rank": rank, "n_ranks": 2},
            "metadata": {"hostname": f"n{rank}"},
            "coll_perf": {"coll_sn": number},
        }
        for rank, last in ((0, 9), (1, 4))
        for number in range(last + 1)
    ]
    [found] = triage("\n".join(map(json.dumps, records)), "x").diagnoses
    assert (found.finding.severity, found.finding.where) == ("warning", "n1")
    assert found.finding.what == "rank 1 last completed operation 4, others 9"


def test_answers_of_ras_as_json() -> None:
    ranks = [
        {
            "rank": rank,
            "host": f"10.1.0.{rank}",
            "status": {"init_state": 0, "async_error": 2 * (rank == 3)},
            "collective_counts": {"AllReduce": 641 - (rank == 1), "Broadcast": 7},
        }
        for rank in range(4)
    ]
    gone = {"rank": 4, "host": "10.1.0.9", "pid": 77, "status": {"unresponsive": True, "considered_dead": False}}
    communicator = {"hash": "0x1", "size": 5, "missing_ranks_count": 1, "ranks": ranks, "missing_ranks": [gone]}
    text = json.dumps({"nccl_version": "2.30.7", "communicators_count": 1, "communicators": [communicator]}, indent=2)
    assert sorted((one.finding.where, one.finding.what) for one in triage(text, "x").diagnoses) == [
        ("10.1.0.1", "rank 1 launched up to AllReduce 640, others 641"),
        ("10.1.0.3", "rank 3 has the error 2 (ncclResult_t)"),
        ("10.1.0.9", "rank 4 (process 77) is not answering"),
    ]
    healthy = communicator | {"ranks": ranks[:1], "missing_ranks": []}
    result = triage(json.dumps({"nccl_version": "2.30.7", "communicators": [healthy]}), "x")
    assert (result.diagnoses, result.known) == ((), True)


def test_ranks_with_different_operations() -> None:
    prints = (
        "CollectiveFingerPrint(SequenceNumber=12, OpType={}, TensorShape=[10], TensorDeviceTypes=TensorOptions("
        + "x" * 400
        + "))"
    )
    line = f"Detected mismatch between collectives on ranks. Rank 3 is running collective: {prints.format('ALLREDUCE')}, but Rank 0 is running collective: {prints.format('BROADCAST')}."
    [diagnosis] = triage(f"[rank3]: RuntimeError: {line}\n", "x").diagnoses
    assert (diagnosis.finding.id, diagnosis.finding.where) == ("run-rank-missing", "rank-3")
    assert "OpType=ALLREDUCE" in diagnosis.finding.what


def test_nothing_to_judge_says_what_to_set() -> None:
    text = "# nThread 1 nGpus 1 minBytes 8\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 22.6\n"
    [result] = triage_job([(text, "x")])
    assert not result.diagnoses or all(one.finding.id == "run-ended-early" for one in result.diagnoses)
    [unknown] = triage_job([("hello\nworld\n", "x")])
    assert not unknown.known
    assert "NCCL_DEBUG=INFO" in unknown.advice


def test_mutated_logs_raise_no_error() -> None:
    for number in range(150):
        triage(mutated(number), "x")


def test_of_two_interfaces_none_is_the_usual_one() -> None:
    lines = [
        f"n{place}:7:9 [0] NCCL INFO Bootstrap : Using {name}:10.0.0.{place}<0>"
        for place, name in enumerate(("eno1", "eth0"))
    ]
    [diagnosis] = triage("\n".join(lines), "job.log").diagnoses
    assert (diagnosis.finding.id, diagnosis.finding.where) == ("run-bootstrap-interface", "job.log")
    assert "eno1 on n0; eth0 on n1" in diagnosis.finding.what
    lines.append("n2:7:9 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>")
    [diagnosis] = triage("\n".join(lines), "job.log").diagnoses
    assert diagnosis.finding.where == "n0"


def test_names_of_networks_may_have_blanks() -> None:
    """``AWS Libfabric`` is the name that the OFI plugin gives itself."""
    log = """\
ip-7:812:901 [0] NCCL INFO Using network AWS Libfabric
ip-7:812:901 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/0/GDRDMA
ip-7:812:901 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/2(3)/GDRDMA/Shared
ip-7:812:901 [0] NCCL INFO Channel 02/0 : 0[c1000] -> 8[c1000] [send] via NET/AWS Libfabric/1 comm 0x7f12 nRanks 16
ip-7:812:901 [0] NCCL INFO Channel 03/0 : 0[0] -> 8[0] [send] via NET/AWS Libf
"""
    result = triage(log, "x")
    assert result.read.log is not None
    assert [network.text for network in result.read.log.networks] == ["AWS Libfabric"]
    channels = [(channel.through, channel.device, channel.gdr, channel.proxy) for channel in result.read.log.channels]
    assert channels == [
        ("AWS Libfabric", 0, True, None),
        ("AWS Libfabric", 2, True, 3),
        ("AWS Libfabric", 1, False, None),
    ]
    assert [diagnosis.finding.what for diagnosis in result.diagnoses] == [
        "1 of 3 connections go over the network without GPUDirect RDMA"
    ]


HANGING = """\
[rank{rank}]:[E1105 02:07:08.408 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum={sequence}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600033 milliseconds before timing out.
[rank{rank}]:[E1105 02:07:08.465 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Exception (either an error or \
timeout) detected by watchdog at work: {sequence}, last enqueued NCCL work: {sequence}, last completed NCCL work: {done}.
"""


def test_a_rank_that_alone_hangs_in_an_operation_is_named() -> None:
    log = "".join(
        HANGING.format(rank=rank, sequence=sequence, done=sequence - 1)
        for rank, sequence in ((0, 4211), (9, 4210), (4, 4211))
    )
    [diagnosis] = triage(log, "x").diagnoses
    assert (diagnosis.finding.id, diagnosis.finding.where) == ("run-rank-missing", "rank-9")
    assert "operation 4210" in diagnosis.finding.what
    assert "ranks 0, 4 completed" in diagnosis.finding.what


@pytest.mark.parametrize(
    ("line", "id_", "severity", "where"),
    [
        ("libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.", "run-memory-locked", "error", "x"),
        ("n1:8:8 [0] nccl_net_ofi_init:7 NCCL WARN NET/OFI Could not find ncclGetVersion symbol", "run-library-missing", "warning", "n1"),
        ("n1:8:8 [0] NCCL WARN NET/IB : Got completion from peer 10.1.1.2<4> with stat", "run-completion-failed", "error", "n1"),
        ("b1:1:1 [0] misc/socket.cc:480 NCCL WARN Call to socket failed: Too many open files", "run-call-failed", "error", "b1"),
        ("[17.2] [k1:22 :0]  ib_mlx5_log.c:171  UCX  ERROR Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81)", "run-retries-exceeded", "error", "k1"),
        ("[17.2] [k1:22:1]   select.c:642  UCX  ERROR   no active messages transport to <no debug data>: Unsupported operation", "run-ended-early", "error", "k1"),
    ],
)  # fmt: skip
def test_single_lines(line: str, id_: str, severity: str, where: str) -> None:
    findings = [diagnosis.finding for diagnosis in triage(line + "\n", "x").diagnoses]
    assert (findings[0].id, findings[0].severity, findings[0].where) == (id_, severity, where)
    assert {finding.id for finding in findings} <= {id_, "run-ended-early"}


def test_the_last_error_of_an_exception_is_a_warning() -> None:
    """Without NCCL_DEBUG the exception of PyTorch is the only place where NCCL's warning stands."""
    log = """\
[rank12]: torch.distributed.DistBackendError: NCCL error in: /x/ProcessGroupNCCL.cpp:2251, unhandled system error, NCCL version 2.26.2
[rank12]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.
[rank12]: Last error:
[rank3]: Last error:
[rank12]: socketPollConnect: connect to 10.8.3.4<43355> returned Connection timed out, exceeded error retry count after 35 attempts
[rank3]: NET/IB : Got completion from peer 10.1.1.5<34310> with status=12 opcode=0 len=0 vendor err 129 (Recv)
Last error:

Traceback
"""
    findings = [diagnosis.finding for diagnosis in triage(log, "x").diagnoses]
    assert [(finding.id, finding.line) for finding in findings] == [
        ("run-retries-exceeded", 6),
        ("run-call-failed", 5),
        ("run-ended-early", 1),
    ]
    assert "(rank 12)" in findings[1].what
    assert "the first warning (x:5): socketPollConnect" in findings[2].what


def test_the_last_warning_in_a_failure_of_nccl_tests_counts_once() -> None:
    warning = "socketStartConnect: Connect to 10.0.0.4<56849> failed : Connection refused"
    failure = f"h1: Test NCCL failure common.cu:958 'unhandled system error (run with NCCL_DEBUG=INFO for details) / {warning}'"
    for log, line in ((failure, 1), (f"h1:7:9 [0] misc/socket.cc:484 NCCL WARN {warning}\n{failure}", 1)):
        findings = [diagnosis.finding for diagnosis in triage(log, "x").diagnoses]
        assert [(finding.id, finding.where, finding.line) for finding in findings[:1]] == [
            ("run-call-failed", "h1", line)
        ]
        assert [finding.id for finding in findings[1:]] == ["run-ended-early"]
        assert "firewall" in findings[0].fix
        assert "times" not in findings[0].what
    assert [diagnosis.finding.id for diagnosis in triage(failure.replace(warning, ""), "x").diagnoses] == [
        "run-ended-early"
    ]
