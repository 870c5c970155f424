"""NCCL's own instruments: Inspector, RAS and diagnostics.

Records of the Inspector and answers of RAS are of NCCL 2.30.7's own code, run without a GPU: instruments/README.md says how. The lines
``NCCL DIAG`` are of NCCL 2.31's user guide (``docs/userguide/source/troubleshooting``) alone: no release with them could be run.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import railweave
from railweave.api import bench_check, bench_compare, bench_import, bench_triage
from railweave.operations.bench.gpu_nics import gpu_nics, nics_of
from railweave.operations.bench.inspector import communicators
from railweave.operations.bench.read import read
from railweave.operations.bench.triage.triage import triage, triage_job
from tests.conftest import EXAMPLES

OUTPUTS = Path(__file__).parent / "instruments"
JOB = OUTPUTS / "job"
FABRIC = EXAMPLES / "h100-rlb.yaml"


def text_of(name: str) -> str:
    """The text of an output."""
    return (OUTPUTS / name).read_text()


def _lines(name: str = "H100-01.jsonl") -> list[str]:
    return (JOB / name).read_text().splitlines()


def test_a_record_is_read_with_the_size_that_nccl_tests_prints() -> None:
    record = read(_lines()[0], "x").inspector[0]
    assert (record.communicator, record.name, record.ranks, record.nodes) == ("0x51d2c0de000", "DP Group 0", 4, 4)
    assert (record.host, record.rank, record.operation, record.number) == ("H100-01", 0, "all-reduce", 0)
    assert (record.size_bytes, record.time_us, record.source) == (268435456, 8400.0, "kernel_gpu")
    assert record.busbw == pytest.approx(2 * 3 / 4 * 268435456 / 8400e-6 / 1e9, rel=1e-6)
    of_a_rank = json.loads(_lines()[0])
    of_a_rank["coll_perf"] |= {"coll": "AllGather", "coll_msg_size_bytes": 1 << 20}
    assert read(json.dumps(of_a_rank), "x").inspector[0].size_bytes == 4 << 20


def test_a_bandwidth_that_the_inspector_does_not_compute_is_absent() -> None:
    given = json.loads(_lines()[0])
    given["coll_perf"] |= {"coll": "Invalid", "coll_algobw_gbs": 0.0, "coll_busbw_gbs": 0.0}
    record = read(json.dumps(given), "x").inspector[0]
    assert (record.operation, record.busbw, record.time_us) == ("Invalid", None, 8400.0)


def test_verbose_records_of_many_channels_are_read_whole() -> None:
    given = json.loads(text_of("inspector-2.30-verbose.jsonl"))
    trace = given["coll_perf"]["event_trace_ts"]["kernel_events"]
    given["coll_perf"]["event_trace_ts"]["kernel_events"] = [trace[0] | {"channel_id": each} for each in range(64)]
    text = json.dumps(given)
    assert len(text) > 8_000
    result = read(f"{text}\n", "x")
    assert (len(result.inspector), result.notes, result.inspector[0].name) == (1, (), "")


def test_unknown_fields_versions_and_lines_are_reported() -> None:
    given = json.loads(_lines()[0])
    given["metadata"]["inspector_output_format_version"] = "v9.0"
    given["coll_perf"]["graphCaptured"] = True
    text = "\n".join([json.dumps(given), json.dumps(given), _lines()[1][:200], '{"header": {}, "other_perf": {}}'])
    result = triage(text, "x")
    shown = [diagnosis.finding.what for diagnosis in result.diagnoses if diagnosis.finding.severity == "info"]
    assert [sentence.partition(":")[0] for sentence in shown] == [
        "not understood",
        "not understood",
        "field coll_perf.graphCaptured is not known (2 records); fields with known names were read",
        "format version v9.0 is not known (2 records); fields with known names were read",
    ]
    assert len(result.read.inspector) == 2


def test_the_time_of_an_operation_is_that_of_the_rank_that_waited_least() -> None:
    records = [
        record for host in range(1, 5) for record in read((JOB / f"H100-0{host}.jsonl").read_text(), "x").inspector
    ]
    whole = next(communicator for communicator in communicators(records) if communicator.ranks == 32)
    assert whole.hosts == ("H100-01", "H100-02", "H100-03", "H100-04")
    [row] = whole.measured
    shortest = [
        min(record.time_us or 0 for record in records if record.ranks == 32 and record.number == number)
        for number in (0, 1)
    ]
    assert (row.operations, row.seen, row.time_us) == (2, 32, sum(shortest) / 2)
    assert max(record.time_us or 0 for record in records if record.ranks == 32) > sum(shortest) / 2


def test_communicators_of_one_gpu_a_server_are_joined_with_their_rail() -> None:
    network = railweave.load(FABRIC)
    records = [
        record for host in range(1, 5) for record in read((JOB / f"H100-0{host}.jsonl").read_text(), "x").inspector
    ]
    of_job = communicators(records)
    nics = dict(zip((communicator.name for communicator in of_job), nics_of(of_job, gpu_nics(network)), strict=True))
    assert len(nics["default pg"]) == 32
    assert [nic.nic for nic in nics["DP Group 2"]] == [f"H100-0{n}:gpu2_eth" for n in range(1, 5)]
    assert {nic.rail for nic in nics["DP Group 2"]} == {3}
    assert nics["DP Group 2"][0].link == "H100-01:gpu2_eth--stripe1-leaf3:et-0/0/16:0"
    # without the records of a communicator of all GPUs, the GPU of a process is unknown, and no rail is named
    alone = communicators(record for record in records if record.ranks == 4)
    assert nics_of(alone, gpu_nics(network)) == [()] * 8
    # and so if a server's records are missing
    part = communicators(record for record in records if record.host != "H100-04")
    assert [communicator.hosts for communicator in part] == [()] * 9


def test_planes_are_named() -> None:
    network = railweave.load(EXAMPLES / "two-planes.yaml")
    nics = gpu_nics(network).nics[network.servers[0].name.lower(), 0]
    assert {nic.plane for nic in nics} == {"plane1", "plane2"}
    assert {nic.rail for nic in nics} == {1, 9}


def test_a_slow_communicator_is_found_with_its_rail_and_links() -> None:
    results = bench_triage([JOB], fabric=FABRIC)
    [diagnosis] = [diagnosis for result in results for diagnosis in result.diagnoses]
    assert diagnosis.finding.id == "run-communicator-slow"
    assert "DP Group 2 of 4 ranks: all-reduce of 256M gets 23.8 GB/s" in diagnosis.finding.what
    assert "rails 3, NICs H100-01:gpu2_eth" in diagnosis.finding.what
    assert "H100-03:gpu2_eth--stripe2-leaf3:et-0/0/16:0" in diagnosis.finding.what
    assert "DP Group 2" in diagnosis.evidence
    [without] = [diagnosis for result in bench_triage([JOB]) for diagnosis in result.diagnoses]
    assert "rail" not in without.finding.what


def test_each_communicator_is_stored_and_laid_beside_its_prediction(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    imported = bench_import([JOB], store, fabric=FABRIC)
    assert len(imported.runs) == 9
    assert not bench_import([JOB], store, fabric=FABRIC).runs
    slow = next(run for run in imported.runs if "DP Group 2" in run.title)
    assert dict(slow.facts)["rails"] == "3"
    assert slow.hosts == ("H100-01", "H100-02", "H100-03", "H100-04")
    assert slow.began.startswith("2026-12-01T00:29")
    rows = {
        dict(row.key.labels).get("communicator"): row
        for row in bench_compare(store, predicted=True, fabric=FABRIC).rows
    }
    verdicts = {name: row.verdict for name, row in rows.items()}
    assert verdicts.pop("DP Group 2") == "worse"
    assert set(verdicts.values()) == {"same"}
    assert dict(rows["DP Group 2"].key.labels)["rail"] == "3"


def test_a_number_is_checked_without_a_fabric_file() -> None:
    result = bench_check([JOB], gpus=8, nic="cx7")
    assert sorted(number.outcome for number in result.numbers) == [*["right"] * 8, "wrong"]


def test_metrics_for_prometheus_are_joined_by_gpu() -> None:
    result = read(text_of("inspector-2.30-gpu2.prom"), "x")
    assert result.notes == ()
    by_name = {record.operation: record for record in result.inspector}
    assert set(by_name) == {"all-reduce", "all-gather", "reduce", "send"}
    record = by_name["all-reduce"]
    assert (record.host, record.gpu, record.size_bytes, record.size_range) == ("H100-01", 2, None, "256-257MB")
    assert (record.time_us, record.busbw) == (16900.0, pytest.approx(23.826, abs=0.01))
    [one_server] = communicators([replace(each, nodes=1, ranks=1) for each in result.inspector])
    [nics] = nics_of([one_server], gpu_nics(railweave.load(FABRIC)))
    assert [(nic.nic, nic.rail) for nic in nics] == [("H100-01:gpu2_eth", 3)]


def test_unknown_metrics_and_labels_for_prometheus_are_reported() -> None:
    text = text_of("inspector-2.30-gpu2.prom")
    more = (
        text.replace('version="', 'qp="4",version="') + 'nccl_proxy_step{node="n"} 3\nnccl_bus_bandwidth_gbs broken\n'
    )
    notes = [str(note) for note in read(more, "x").notes]
    assert [note.partition(": ")[2].partition(":")[0] for note in notes] == [
        "not understood",
        "not understood",
        "label qp is not known; labels with known names were read",
    ]


def test_answers_of_ras() -> None:
    assert triage(text_of("ras-2.30-healthy.txt"), "x").diagnoses == ()
    shown = {
        name: [(diagnosis.finding.where, diagnosis.finding.what) for diagnosis in triage(text_of(name), "x").diagnoses]
        for name in ("ras-2.30-stopped.txt", "ras-2.30-stopped.json", "ras-2.30-finalized.txt")
    }
    assert shown == {
        "ras-2.30-stopped.txt": [
            ("127.0.0.1", "process 5578 (GPU 0) is not answering"),
            ("127.0.0.1", "rank 3 has no data of the communicator (INCOMPLETE)"),
        ],
        "ras-2.30-stopped.json": [("127.0.0.1", "rank 3 (process 5578) is not answering")],
        "ras-2.30-finalized.txt": [("127.0.0.1", "rank 3 has status FINALIZE, others RUNNING")],
    }


def test_what_is_not_known_in_an_answer_of_ras_is_reported() -> None:
    text = text_of("ras-2.30-healthy.txt") + "Temperatures\n"
    [line] = triage(text, "x").diagnoses
    assert (line.finding.id, line.finding.what) == ("run-report-not-understood", "not understood: Temperatures")
    answer = json.loads(text_of("ras-2.30-stopped.json"))
    answer["communicators"][0]["ranks"][0]["progress"] = 3
    diagnoses = triage(json.dumps(answer), "x").diagnoses
    assert [each.finding.what for each in diagnoses if each.finding.severity == "info"] == [
        "field rank.progress is not known; fields with known names were read"
    ]


def test_events_of_monitor_mode() -> None:
    """The form is of NCCL 2.30.7's source (rasClientsNotifyEvent) and user guide; it was not run."""
    text = "[2026-11-30 13:07:07] PEER_CONNECTED: Process 4 on node 10.0.0.5 managing GPU 0 connection established successfully\n"
    text += "[2026-11-30 13:08:07] PEER_DEAD: Process 1524345 on node 10.0.0.4 managing GPU 1 \n"
    [diagnosis] = triage(text, "x").diagnoses
    assert (diagnosis.finding.where, diagnosis.finding.what) == (
        "10.0.0.4",
        "process 1524345 (GPU 1) is gone (PEER_DEAD)",
    )


DIAGNOSTICS = """\
node0:24563 NCCL DIAG === NCCL Diagnostics ===
node0:24563 NCCL DIAG [OK]   p2p: verified P2P access in both directions between every GPU pair (56 peer accesses)
node0:24563 NCCL DIAG [INFO] net bw: cross-nic rank 3 (node0): 265.1 Gbit/s, >30% off median 391.5 Gbit/s in comm 0x7a3f
NCCL DIAG [WARM] ecc: unknown tag
node0:24563 NCCL DIAG NCCL diagnostics completed in 245.3 ms across 8 ranks
"""


def test_nccl_s_diagnostics() -> None:
    """The form is of NCCL 2.31's documentation alone."""
    result = triage(DIAGNOSTICS, "x")
    assert [(each.finding.id, each.finding.where, each.finding.line) for each in result.diagnoses] == [
        ("run-nccl-diagnostics", "node0", 3),
        ("run-report-not-understood", "x", 4),
    ]
    assert result.diagnoses[0].finding.what.startswith("net bw: cross-nic rank 3")
    assert [each.passed for each in result.read.diagnostics] == [True, False]


def test_the_rank_in_a_communicator_is_not_the_rank_of_the_job() -> None:
    """Rank 0 of a communicator of rail 3 may be on any server: an error of the job's rank 1 stays at its own server."""
    log = (
        "H100-01:100:100 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 commId 0xab - Init START\n"
        "[1,1]<stdout>:H100-02:200:200 [0] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 0 busId 1000 commId 0xab - Init START\n"
        "[1,1]<stderr>:[Rank 0]: Rank 1 failed to pass monitoredBarrier in 30000 ms\n"
    )
    given = json.loads(_lines("H100-04.jsonl")[0])
    given["header"]["rank"] = 1
    results = triage_job([(log, "log"), (json.dumps(given), "inspector")])
    [place] = [
        (each.finding.where, each.finding.what)
        for result in results
        for each in result.diagnoses
        if each.finding.id == "run-rank-missing"
    ]
    assert place == ("H100-02", "rank 1 did not reach the barrier")
    # without the log's mapping, no server is named: the Inspector's rank is of another communicator
    alone = triage_job([(log.splitlines()[2].partition(">:")[2], "log"), (json.dumps(given), "inspector")])
    assert [each.finding.where for result in alone for each in result.diagnoses] == ["rank-1"]


def _metric(host: str, rate: float, **labels: str) -> str:
    """A metric of a server's GPU 0; ``labels`` are other labels than those of an all-reduce of 256 MB."""
    usual = {"node": host, "gpu": "GPU0", "comm_name": f"DP {host}", "n_nodes": "1", "nranks": "8"}
    kind = {} if "p2p_operation" in labels else {"collective": "AllReduce"}
    texts = usual | kind | {"message_size": "256-257MB"} | labels
    metric = "nccl_p2p_bus_bandwidth_gbs" if "p2p_operation" in labels else "nccl_bus_bandwidth_gbs"
    return f"{metric}{{" + ",".join(f'{name}="{text}"' for name, text in texts.items()) + f"}} {rate}\n"


def _slow_ones(**labels: str) -> list[str]:
    """The servers of slow communicators: of four servers, H100-04 has half the bandwidth of the others."""
    texts = [(_metric(f"H100-0{n}", 200 if n == 4 else 400, **labels), f"{n}.prom") for n in range(1, 5)]
    return [
        each.finding.where
        for result in triage_job(texts)
        for each in result.diagnoses
        if each.finding.id == "run-communicator-slow"
    ]


@pytest.mark.parametrize(
    ("labels", "slow"),
    [
        ({}, ["H100-04"]),
        ({"message_size": "0-4KB"}, []),
        ({"message_size": "8-9MB"}, []),
        ({"message_size": "1-2GB"}, ["H100-04"]),
        ({"message_size": "unknown"}, []),
        # the range is of one rank's part
        ({"message_size": "8-9MB", "collective": "AllGather"}, ["H100-04"]),
        ({"message_size": "1-2MB", "collective": "ReduceScatter"}, ["H100-04"]),
        ({"message_size": "4-5KB", "collective": "AllGather"}, []),
        ({"p2p_operation": "Send"}, []),
        ({"p2p_operation": "Recv"}, []),
        ({"comm_name": "unknown"}, ["H100-04"]),
    ],
)
def test_what_metrics_for_prometheus_are_compared(labels: dict[str, str], slow: list[str]) -> None:
    assert _slow_ones(**labels) == slow


def test_communicators_without_a_name_on_several_servers_are_left_out() -> None:
    text = "".join(_metric(f"H100-0{n}", 400, comm_name="unknown", n_nodes="2", nranks="16") for n in range(1, 5))
    result = read(text, "x")
    assert communicators(result.inspector) == []
    assert [(note.line, note.what.partition(":")[0]) for note in result.notes] == [
        (1, "the communicators of 4 records have no name and are of several servers")
    ]
    on_one = read("".join(_metric(f"H100-0{n}", 400, comm_name="unknown") for n in range(1, 5)), "x")
    assert on_one.notes == ()
    assert [each.title for each in communicators(on_one.inspector)] == [
        f"communicator without a name on H100-0{n} of 8 ranks" for n in range(1, 5)
    ]


@pytest.mark.parametrize("number", ["²", "٣", "9" * 5000, "9" * 19])
def test_an_odd_number_in_an_answer_of_ras_is_a_status(number: str) -> None:
    text = (
        "Job summary\n===\n\n#0-0 (ab) MISMATCH\n"
        f"  1 rank has launched up to operation {number}\n  Rank 3 -- GPU 0 managed by process 12 on node n1\n"
        "  7 ranks have launched up to operation 4\n\n"
    )
    [diagnosis] = [each for each in triage(text, "x").diagnoses if each.finding.id == "run-rank-missing"]
    assert diagnosis.finding.where == "n1"
    assert diagnosis.finding.what.startswith(f"rank 3 has status {number[:80]}")
    assert len(diagnosis.finding.what) < 200
