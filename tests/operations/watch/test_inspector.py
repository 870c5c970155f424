"""NCCL Inspector's records of running jobs, followed while they are written.

The records are of NCCL 2.30.7's own Inspector (tests/operations/bench/instruments/README.md).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from pathlib import Path

import pytest

import railweave
from railweave.errors import InputError
from railweave.operations.bench.inspector import InspectorRecord
from railweave.operations.bench.lines import utf8
from railweave.operations.store.records import Prediction
from railweave.operations.watch.app import app
from railweave.operations.watch.exposition import families_of, prometheus_text
from railweave.operations.watch.inspector import following
from railweave.operations.watch.inspector.following import FORGOTTEN_S, Follower
from railweave.operations.watch.inspector.instruments import SILENT_S, JobInstruments
from railweave.operations.watch.inspector.predictor import Answer, Predictor
from railweave.operations.watch.starting import folder_of
from tests.conftest import EXAMPLES, example
from tests.operations.bench.test_instruments import JOB, text_of
from tests.operations.watch.test_console import asked
from tests.operations.watch.traffic import network_watched

FILES = sorted(JOB.glob("*.jsonl"))
NOW = time.time()
BAND = Prediction("all-reduce", 1, "", "busbw_gbytes_per_s", 47.0, 42.0, 53.0, "")
SLOW = "communicator DP Group 2 of 4 ranks: all-reduce of 256M gets 23.8 GB/s"


def write(folder: Path, *, job: str = "4711") -> Path:
    """Write the records of a job, a file for each server."""
    (folder / job).mkdir(parents=True)
    for file in FILES:
        (folder / job / f"{file.stem}-pid1.log").write_bytes(file.read_bytes())
    return folder / job


def instruments(folder: Path) -> JobInstruments:
    return JobInstruments(folder, example("h100-rlb"), every_s=10)


def answer_all(of_job: JobInstruments, answer: Answer) -> None:
    """Have an answer for every condition that is wanted."""
    for question in of_job.predictor._wanted:
        of_job.predictor.answers[question] = answer


def outcomes(of_job: JobInstruments) -> dict[str, str]:
    return {row.name: row.outcome for row in of_job.rows}


def read(follower: Follower, now: float = NOW) -> list[InspectorRecord]:
    return [record for growth in follower.look(now) for record in growth.records]


def line(number: int) -> str:
    given = json.loads(FILES[0].read_text().splitlines()[0])
    given["coll_perf"]["coll_sn"] = number
    return json.dumps(given) + "\n"


def numbers(records: list[InspectorRecord]) -> list[int | None]:
    return [record.number for record in records]


def test_a_slow_communicator_is_an_anomaly_with_its_rail_and_links(tmp_path: Path) -> None:
    of_job = instruments(tmp_path)
    of_job.look(NOW)
    assert (of_job.rows, of_job.findings) == ((), ())
    write(tmp_path)
    of_job.look(NOW)
    assert outcomes(of_job) == {
        "default pg": "not-seen",  # it has no peers, and is not predicted yet
        "DP Group 2": "wrong",
        **{f"DP Group {rail}": "right" for rail in (0, 1, 3, 4, 5, 6, 7)},
    }
    [finding] = of_job.findings
    assert (finding.id, finding.severity, finding.where) == (
        "run-communicator-slow",
        "warning",
        "h100-rlb 0x51d2c0de002",
    )
    assert finding.what.startswith(f"{SLOW}, the median of 8 similar communicators is 47.9; on H100-01, H100-02")
    assert "rails 3" in finding.what
    assert "H100-03:gpu2_eth--stripe2-leaf3:et-0/0/16:0" in finding.what
    slow = of_job.rows[0]
    assert (slow.job, slow.seen, slow.busbw, slow.named_places["rails"]) == (
        "4711",
        4,
        pytest.approx(23.826, abs=0.001),
        "3",
    )


def test_what_lies_below_its_band_is_an_anomaly_and_what_has_none_is_not_seen(tmp_path: Path) -> None:
    write(tmp_path)
    of_job = instruments(tmp_path)
    of_job.look(NOW)
    answer_all(of_job, BAND)
    of_job.look(NOW)
    world = next(row for row in of_job.rows if row.name == "default pg")
    assert (world.outcome, world.why) == (
        "not-seen",
        "above its predicted band, and fewer than 3 similar communicators",
    )
    answer_all(of_job, Prediction("all-reduce", 1, "", "", 600.0, 550.0, 650.0, ""))
    of_job.predictor.answers.update(
        dict.fromkeys(of_job.predictor.answers, Prediction("all-reduce", 1, "", "", 600.0, 550.0, 650.0, ""))
    )
    of_job.look(NOW)
    below = [each.what for each in of_job.findings if each.id == "communicator-below-prediction"]
    assert len(below) == 8
    assert "all-reduce of 1G gets 384.8 GB/s, predicted 600.0 (550.0 to 650.0)" in " ".join(below)
    # slower than its peers and than its band: one anomaly
    assert [each.id for each in of_job.findings].count("run-communicator-slow") == 1
    # a little below: the job's own load may do that
    of_job.predictor.answers.update(
        dict.fromkeys(of_job.predictor.answers, Prediction("", 1, "", "", 430.0, 400.0, 460.0, ""))
    )
    of_job.look(NOW)
    world = next(row for row in of_job.rows if row.name == "default pg")
    assert (world.outcome, world.why) == ("right", "4% below its band, as a job's own load may cause")
    # no band: nothing to compare with
    of_job.predictor.answers.update(
        dict.fromkeys(of_job.predictor.answers, Prediction("", 1, "", "", 430.0, 430.0, 430.0, ""))
    )
    of_job.look(NOW)
    world = next(row for row in of_job.rows if row.name == "default pg")
    assert (world.outcome, world.predicted, world.low) == ("not-seen", 430.0, None)
    assert "no similar measurement was published" in world.why


def test_silence_is_not_seen_and_the_anomaly_stays_until_the_job_is_forgotten(tmp_path: Path) -> None:
    job = write(tmp_path)
    of_job = instruments(tmp_path)
    of_job.look(NOW)
    of_job.look(NOW + SILENT_S + 1)
    assert set(outcomes(of_job).values()) == {"not-seen"}
    assert of_job.rows[0].why == "no record for 121 s"
    assert [finding.id for finding in of_job.findings] == ["run-communicator-slow"]
    for file in job.iterdir():  # the end of a job
        file.unlink()
    job.rmdir()
    of_job.look(NOW + FORGOTTEN_S + 1)
    assert (of_job.rows, of_job.findings, of_job.follower.files) == ((), (), {})


def test_a_folder_that_hangs_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    of_job = instruments(tmp_path)
    of_job.look(NOW)
    now = time.monotonic()
    monkeypatch.setattr("railweave.operations.watch.inspector.instruments.monotonic", lambda: now + SILENT_S + 1)
    assert {(row.outcome, row.why) for row in of_job.rows} == {("not-seen", "it could not be read for 121 s")}
    assert {finding.id for finding in of_job.findings} == {"run-communicator-slow", "inspector-not-read"}


def test_records_of_some_ranks_are_not_seen(tmp_path: Path) -> None:
    job = write(tmp_path)
    (job / "H100-04-pid1.log").unlink()
    of_job = instruments(tmp_path)
    of_job.look(NOW)
    assert {(row.outcome, row.busbw, row.hosts) for row in of_job.rows} == {("not-seen", None, ())}
    assert {row.why for row in of_job.rows} == {
        "the same operation was recorded by 3 of 4 ranks",
        "the same operation was recorded by 24 of 32 ranks",
    }
    assert not of_job.findings


def test_jobs_are_not_compared_with_each_other(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, job="4712")
    of_job = instruments(tmp_path)
    of_job.look(NOW)
    assert [row.job for row in of_job.rows if row.outcome == "wrong"] == ["4711", "4712"]
    assert {row.why for row in of_job.rows if row.outcome == "right"} == {"like 8 similar communicators"}


def test_files_are_read_from_where_the_last_look_ended(tmp_path: Path) -> None:
    follower, file = Follower(tmp_path), tmp_path / "a.log"
    file.write_text(line(0) + line(1)[:100])
    assert numbers(read(follower)) == [0]
    assert numbers(read(follower)) == []
    with file.open("a") as more:
        more.write(line(1)[100:] + line(2))
    assert numbers(read(follower)) == [1, 2]
    assert follower.counts.not_understood == 0
    # truncated, and written anew
    file.write_text(line(3))
    assert numbers(read(follower)) == [3]
    # written anew, and longer than before
    file.write_text("".join(line(number) for number in range(10, 16)))
    assert numbers(read(follower)) == [10, 11, 12, 13, 14, 15]
    # rotated: another file under the same name
    file.rename(tmp_path / "b.old")
    file.write_text(line(20))
    assert sorted(number or 0 for number in numbers(read(follower))) == [10, 11, 12, 13, 14, 15, 20]
    file.unlink()
    assert numbers(read(follower)) == []
    assert [Path(path).name for path in follower.files] == ["b.old"]


def test_each_record_is_read_once_however_files_are_written(tmp_path: Path) -> None:
    drawn = random.Random(57)  # noqa: S311 - repeatable
    follower, file = Follower(tmp_path), tmp_path / "a.log"
    data = "".join(line(number) for number in range(200)).encode()
    found: list[int | None] = []
    with file.open("wb", buffering=0) as more:
        while data:
            size = drawn.choice((1, 7, 300, 700, 5000))
            more.write(data[:size])
            data = data[size:]
            found += numbers(read(follower))
    assert found == list(range(200))
    assert (follower.counts.skipped_bytes, follower.counts.not_understood) == (0, 0)


def test_a_file_that_grows_faster_than_it_is_read_is_read_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LEAST_SHARE", 2000)
    monkeypatch.setattr(following, "LOOK_BYTES", 2000)
    follower, file = Follower(tmp_path), tmp_path / "a.log"
    file.write_text("".join(line(number) for number in range(100)))
    assert numbers(read(follower)) == [97, 98, 99]
    assert follower.counts.skipped_bytes == file.stat().st_size - 2000
    assert follower.counts.not_understood == 0
    # a line that is longer than the share is skipped whole
    with file.open("a") as more:
        more.write('{"header": ' + " " * 5000)
    assert numbers(read(follower)) == []
    with file.open("a") as more:
        more.write("\n" + line(100))
    assert numbers(read(follower)) == [100]
    assert follower.counts.not_understood == 0
    # several files in turn: no file waits forever
    for name in ("b.log", "c.log"):
        (tmp_path / name).write_text("".join(line(number) for number in range(100)))
    assert [len(read(follower)) for _ in range(3)] == [3, 3, 0]


def test_old_files_and_files_of_others_are_left_alone(tmp_path: Path) -> None:
    old = tmp_path / "old.log"
    old.write_text(line(0))
    os.utime(old, (NOW - FORGOTTEN_S - 1,) * 2)
    (tmp_path / "core").write_bytes(os.urandom(10_000))
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "link.log").symlink_to(old)
    os.mkfifo(tmp_path / "pipe.log")
    follower = Follower(tmp_path)
    assert read(follower) == []
    assert (follower.counts.read_bytes, follower.unreadable) == (0, {})
    with old.open("a") as more:
        more.write(line(1))
    (tmp_path / "empty.log").write_text(line(2))
    assert sorted(number or 0 for number in numbers(read(follower))) == [1, 2]


def test_what_is_not_understood_is_counted(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    (tmp_path / "a.log").write_text(line(0) + "{broken\n" + line(1).replace("coll_sn", "coll_number"))
    assert len(read(follower)) == 2
    assert follower.counts.not_understood == 2
    assert "a.log:2: not understood: {broken" in follower.notes[0]


def test_files_are_known_again_when_their_folder_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "inspector"
    folder.mkdir()
    (folder / "a.log").write_text(line(1))
    follower = Follower(folder)
    assert numbers(read(follower)) == [1]
    folder.rename(tmp_path / "away")
    assert read(follower) == []
    assert follower.why
    (tmp_path / "away").rename(folder)
    assert read(follower) == []
    with (folder / "a.log").open("a") as file:
        file.write(line(2))
    assert numbers(read(follower)) == [2]


def test_names_that_cannot_be_encoded_are_replaced() -> None:
    assert utf8("job\udcff \ud800x") == "job? ?x"
    assert utf8("ä→") == "ä→"


def test_a_folder_that_vanishes_is_an_anomaly(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    write(folder)
    of_job = instruments(folder)
    of_job.look(NOW)
    folder.rename(tmp_path / "away")
    of_job.look(NOW)
    found = {finding.id: finding.what for finding in of_job.findings}
    assert found["inspector-not-read"] == f"{folder}: No such file or directory"
    assert "run-communicator-slow" in found
    (tmp_path / "away").rename(folder)
    of_job.look(NOW)
    assert [finding.id for finding in of_job.findings] == ["run-communicator-slow"]


def prometheus(host: int, rate: float, **labels: str) -> str:
    """Metrics of a server's GPU 0 for an all-reduce of 256 MB of a communicator of one server, as the form of NCCL 2.30 has them."""
    usual = {"version": "v5.1", "slurm_job_id": "77", "node": f"H100-0{host}", "gpu": "GPU0", "comm_name": f"DP {host}"}
    usual |= {"n_nodes": "1", "nranks": "1", "collective": "AllReduce", "message_size": "256-257MB"}
    texts = ",".join(f'{name}="{text}"' for name, text in (usual | labels).items())
    return f"nccl_bus_bandwidth_gbs{{{texts}}} {rate}\nnccl_collective_exec_time_microseconds{{{texts}}} 1000\n"


def test_prometheus_form_is_read_again_each_time_it_is_written(tmp_path: Path) -> None:
    files = [tmp_path / f"nccl_inspector_metrics_{host}.prom" for host in range(1, 5)]
    for host, file in enumerate(files, 1):
        file.write_text(prometheus(host, 200 if host == 4 else 400))
    of_job = instruments(tmp_path)
    of_job.look(NOW)
    assert outcomes(of_job) == {"DP 1": "right", "DP 2": "right", "DP 3": "right", "DP 4": "wrong"}
    assert {row.job for row in of_job.rows} == {"77"}
    assert of_job.findings[0].where == "H100-04 DP 4"
    assert "rails 1, NICs H100-04:gpu0_eth" in of_job.findings[0].what
    files[3].write_text("")  # about to be written: what was there before holds
    of_job.look(NOW)
    assert outcomes(of_job)["DP 4"] == "wrong"
    files[3].write_text(prometheus(4, 390) + prometheus(4, 390, message_size="1-2GB").splitlines()[0][:-40])
    of_job.look(NOW)
    assert outcomes(of_job)["DP 4"] == "right"
    files[3].unlink()  # the end of the process
    of_job.look(NOW)
    assert "DP 4" not in outcomes(of_job)


def test_prometheus_form_of_the_tests_of_bench(tmp_path: Path) -> None:
    (tmp_path / "gpu2.prom").write_text(text_of("inspector-2.30-gpu2.prom"))
    of_job = instruments(tmp_path)
    of_job.look(NOW)
    assert of_job.follower.counts.not_understood == 0
    assert {(row.outcome, row.seen, row.ranks) for row in of_job.rows} == {("not-seen", 1, 4)}


def test_forks_name_the_communicator_and_the_exact_size(tmp_path: Path) -> None:
    """The labels of a fork of NCCL 2.30 (hatanp/nccl, plugins/profiler/inspector/inspector_prom.cc)."""
    more = {"comm_id": "0xab", "nranks": "4", "n_nodes": "4", "comm_name": "unknown", "timing_source": "kernel_gpu"}
    more |= {"message_size_bytes": str(256 << 20), "world_rank": "3", "local_rank": "0"}
    for host in range(1, 5):
        text = prometheus(host, 20.0 + host, **more, comm_rank=str(host - 1))
        text += text.splitlines()[0].replace("nccl_bus_bandwidth_gbs", "nccl_collective_count") + "\n"
        (tmp_path / f"{host}.prom").write_text(text)
    of_job = instruments(tmp_path)
    of_job.look(NOW)
    assert of_job.follower.counts.not_understood == 0
    [row] = of_job.rows
    assert (row.communicator, row.size_bytes, row.seen, row.busbw) == ("0xab", 256 << 20, 4, 24.0)
    assert row.hosts == ("H100-01", "H100-02", "H100-03", "H100-04")
    assert row.named_places["rails"] == "1"
    assert len(of_job.predictor._wanted) == 1


@pytest.mark.slow
def test_predictions_come_from_a_process_and_are_kept() -> None:
    async def predicted() -> Predictor:
        predictor = Predictor(railweave.load(EXAMPLES / "h100-rlb.yaml"))
        good = ("all-reduce", 256 << 20, (("hosts", "H100-01,H100-02"), ("gpus", 1), ("per_host", 1), ("nccl", ())))
        bad = ("all-reduce", 256 << 20, (("hosts", "H100-01,H100-02"), ("uneven", "3 ranks on 2 servers")))
        predictor.want([good, bad])
        task = asyncio.create_task(predictor.run())
        async with asyncio.timeout(240):
            while len(predictor.answers) < 2:
                await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        predictor.want([good, bad])
        assert not predictor._wanted
        answer = predictor.answer(good)
        assert isinstance(answer, Prediction)
        assert 40 < answer.low < answer.value < answer.high < 60
        assert "unlike numbers of ranks" in str(predictor.answer(bad))
        return predictor

    asyncio.run(predicted())


def test_what_is_served(tmp_path: Path) -> None:
    watching = network_watched(example("h100-rlb"))
    assert asked(app(watching), "/communicators").status_code == 404
    assert asked(app(watching), "/api/communicators").json()["error"].endswith("start with --inspector FOLDER")
    watching.inspector = instruments(tmp_path)
    watching.inspector.look(NOW)
    page = asked(app(watching), "/communicators").text
    assert "Not seen: no job wrote a record" in page
    assert 'href="/communicators"' in page
    write(tmp_path)
    watching.inspector.look(NOW)
    answer_all(watching.inspector, BAND)
    watching.inspector.look(NOW)
    page = asked(app(watching), "/communicators").text
    assert "9 collectives: 7 right, 1 wrong, 1 not-seen." in page
    assert "47.0 (42.0 to 53.0)" in page
    assert "links H100-01:gpu2_eth--stripe1-leaf3:et-0/0/16:0" in page
    first = asked(app(watching), "/api/communicators").json()[0]
    assert (first["outcome"], first["name"], first["busbw"], first["places"]["rails"]) == (
        "wrong",
        "DP Group 2",
        23.826,
        "3",
    )
    text = prometheus_text(families_of(watching, []))
    labels = 'job="4711",communicator="0x51d2c0de002",name="DP Group 2",collective="all-reduce",size="256M",ranks="4",rails="3",planes=""'
    assert f"railweave_nccl_bus_bandwidth_bytes_per_second{{{labels}}} 23825632000.0" in text
    assert f"railweave_nccl_least_predicted_bus_bandwidth_bytes_per_second{{{labels}}} 42000000000.0" in text
    assert 'railweave_nccl_collectives{outcome="not-seen"} 1' in text
    records = sum(len(file.read_text().splitlines()) for file in FILES)
    assert f"railweave_nccl_inspector_records_total {records}" in text


def test_an_anomaly_without_a_device_has_no_link_to_one(tmp_path: Path) -> None:
    write(tmp_path)
    watching = network_watched(example("h100-rlb"))
    watching.inspector = instruments(tmp_path)
    watching.inspector.look(NOW)
    asyncio.run(watching.look())
    listed = [anomaly for anomaly in watching.anomalies.listed() if anomaly.finding.id == "run-communicator-slow"]
    assert len(listed) == 1
    page = asked(app(watching), "/anomalies").text
    assert "h100-rlb 0x51d2c0de002</span>" in page
    assert "/devices/h100-rlb" not in page


def test_a_folder_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for given in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(InputError, match="--inspector"):
            folder_of("--inspector", str(given))
    assert folder_of("--inspector", str(tmp_path)) == tmp_path
