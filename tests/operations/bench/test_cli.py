"""``railweave bench`` and the functions behind it."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from railweave.api import bench_import, bench_triage
from railweave.cli import main
from railweave.errors import SpecError
from railweave.operations.bench.runs import laid_beside, runs_of
from railweave.operations.store.store import opened
from railweave.prediction.collectives.job import Job, Nic, Server
from tests.conftest import EXAMPLES, example
from tests.operations.bench.said import FIXTURES, log_of, said


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["railweave", "bench", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert isinstance(stop.value.code, int)
    printed = capsys.readouterr()
    return stop.value.code, printed.out + printed.err


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda *words: run(capsys, monkeypatch, *words)


def test_import_show_export(bench: Any, tmp_path: Path) -> None:
    store, files = tmp_path / "runs.db", ["nccl-tests-2.19-groups-wrong.txt", "perftest-json-gbits.json"]
    paths = [FIXTURES / name for name in files]
    code, out = bench("import", *paths, "--store", store)
    assert code == 0
    assert "nccl-tests: send-recv on 4 GPUs on gpu-17, gpu-18, 17 numbers" in out
    assert "failed: 6 values were wrong" in out
    assert "perftest: write bandwidth on mlx5_0, 4 numbers" in out
    assert out.endswith("2 runs kept\n")
    assert bench("import", *paths, "--store", store) == (0, "0 runs kept; 2 were there already\n")
    code, out = bench("show", store)
    assert (code, out.splitlines()[-1]) == (0, "2 runs")
    id_ = out.splitlines()[1].split()[0]
    code, out = bench("show", store, "--run", id_[:6])
    assert "    NCCL (library): 2.30.5\n" in out
    cells = [line.split() for line in out.splitlines()]
    assert ["send-recv", "134,217,728", "in-place", "busbw_gbytes_per_s", "48.71"] in [line[:5] for line in cells]
    code, out = bench("show", store, "--json")
    shown = json.loads(out)["runs"]
    assert [one["tool"] for one in shown] == ["nccl-tests", "perftest"]
    code, out = bench("export", store, "-o", tmp_path / "all.json", "--json")
    assert (code, json.loads(out)["runs"]) == (0, 2)
    assert json.loads((tmp_path / "all.json").read_text())["runs"] == shown
    assert bench("export", store, "-o", tmp_path / "all.csv", "--run", id_)[0] == 0
    assert (tmp_path / "all.csv").read_text().count("\n") == 18
    code, out = bench("export", store, "-o", tmp_path / "all.txt")
    assert code == 2
    assert "ends in neither .csv nor .json" in out


def test_what_is_not_understood_is_said(bench: Any, tmp_path: Path) -> None:
    path = FIXTURES / "table-own-columns.csv"
    _, out = bench("import", path, "--store", tmp_path / "s.db")
    assert f"note: {path}:3: time_us is no number: n/a\n" in out


@pytest.mark.parametrize("content", ["hello\n", None])
def test_nothing_is_kept_where_one_file_is_wrong(bench: Any, tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "other.txt").write_text(content)
    code, out = bench(
        "import", FIXTURES / "perftest-send-lat.txt", tmp_path / "other.txt", "--store", tmp_path / "s.db"
    )
    assert code == 2
    assert "other.txt: " in out
    assert not (tmp_path / "s.db").exists()


def test_bytes_that_are_no_text_are_read_as_far_as_they_are(tmp_path: Path) -> None:
    data = (FIXTURES / "perftest-send-lat.txt").read_bytes()
    (tmp_path / "x.txt").write_bytes(data + b"\xff\xfe\x00\n")
    found = bench_import([tmp_path / "x.txt"], tmp_path / "s.db")
    assert (len(found.runs), len(found.files[0].notes)) == (1, 1)


def test_the_design_is_kept_with_a_run(bench: Any, tmp_path: Path) -> None:
    path, fabric = FIXTURES / "nccl-2.23-four-servers.log", EXAMPLES / "h100-rlb.yaml"
    code, out = bench("import", path, "--store", tmp_path / "s.db", "--fabric", fabric, "--json")
    found = json.loads(out)
    environment = found["runs"][0]["environment"]
    assert code == 0
    assert (environment["fabric"], len(environment["design_digest"])) == (str(fabric), 64)
    beside = {row["what"]: (row["logged"], row["assumed"], row["same"]) for row in found["beside"][str(path)]}
    order = "H100-01 H100-02 H100-03 H100-04"
    assert beside["order of servers"] == (order, order, True)
    assert beside["ranks"] == ("8", "32", False)
    assert beside["GPUDirect RDMA"] == ("all", "all", True)
    assert beside["all-reduce of 1073741824 bytes"][0] == "Ring Simple"
    _, out = bench("import", path, "--store", tmp_path / "t.db", "--fabric", fabric)
    assert "! ranks: 8; assumed 32" in out


def test_a_log_beside_the_job_that_it_is_of() -> None:
    nics = tuple(Nic(f"mlx5_{n}", n, 200_000) for n in range(2))
    servers = tuple(Server(f"H100-0{n}", nics, (0, 1)) for n in range(1, 5))
    rows = laid_beside(log_of("nccl-2.23-four-servers.log"), Job(servers))
    assert {row.what: row.same for row in rows} == {
        "library": True,
        "ranks": True,
        "servers": True,
        "order of servers": True,
        "network": True,
        "channels": True,
        "GPUDirect RDMA": True,
        "ring 0, by server": True,
        "all-reduce of 1073741824 bytes": True,
        "all-reduce of 8 bytes": True,
    }
    turned = laid_beside(log_of("nccl-2.23-four-servers.log"), Job(tuple(reversed(servers))))
    assert [row.what for row in turned if not row.same] == ["order of servers"]


def test_a_log_of_other_servers_is_not_laid_beside(tmp_path: Path) -> None:
    found = bench_import([FIXTURES / "nccl-2.27-sockets.log"], tmp_path / "s.db", fabric=example("h100-rlb"))
    assert found.beside == {}


def test_triage(bench: Any) -> None:
    code, out = bench("triage", FIXTURES / "perftest-status-12.txt", FIXTURES / "perftest-send-lat.txt")
    assert code == 1
    assert (
        "error [run-retries-exceeded] rocep56s0f1: no answer to all retries from 10.40.2.13 to 10.40.2.11, MTU 4096"
        in out
    )
    assert "    -> compare the MTU" in out
    assert "    | Failed status 12: wr_id 0 syndrom 0xa\n" in out
    assert out.endswith("1 error, 0 warnings, 0 notes\n")
    code, out = bench("triage", FIXTURES / "rccl-2.21-one-server-docker0.log", "--json")
    found = json.loads(out)["findings"]
    assert (code, [one["id"] for one in found]) == (0, ["run-bootstrap-interface", "run-no-intranet"])
    assert "docker0" in found[0]["evidence"]
    assert bench("triage", FIXTURES / "perftest-send-lat.txt") == (0, "0 errors, 0 warnings, 0 notes\n")
    tests = FIXTURES / "rccl-tests-reporter.csv"
    code, out = bench("triage", tests)
    assert (code, "no message from NCCL was found" in out, "0 errors" in out) == (0, True, False)
    assert "NCCL_DEBUG=INFO" in json.loads(bench("triage", tests, "--json")[1])["advice"][0]


def test_triage_of_a_folder_of_compressed_files_and_of_standard_input(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each form gives the findings of the plain file; what is no output of a benchmark in a folder is left out."""
    log = (FIXTURES / "perftest-status-12.txt").read_bytes()
    code, plain = bench("triage", FIXTURES / "perftest-status-12.txt")
    assert code == 1
    folder = tmp_path / "logs" / "host-1"
    folder.mkdir(parents=True)
    (folder / "run.log.gz").write_bytes(
        gzip.compress(log[:400]) + gzip.compress(log[400:])
    )  # as two parts of a rotated log
    (folder / "notes.txt").write_text("meet at noon\n")
    (folder / "picture.png").write_bytes(bytes(range(256)))
    code, out = bench("triage", tmp_path / "logs")
    assert code == 1
    assert "left out: 2 files of folders" in out
    assert (
        out.replace(str(folder / "run.log.gz"), "FILE").splitlines()[0]
        == plain.replace(str(FIXTURES / "perftest-status-12.txt"), "FILE").splitlines()[0]
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(log))))
    code, out = bench("triage", "-", "--json")
    assert code == 1
    assert {finding["file"] for finding in json.loads(out)["findings"]} == {"-"}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(log)))
    assert bench("import", "-", "--store", tmp_path / "runs.db")[0] == 0
    (folder / "run.log.gz").unlink()
    code, out = bench("triage", tmp_path / "logs")
    assert code == 2
    assert "notes.txt: no output of a benchmark is known in it" in out
    (folder / "cut.gz").write_bytes(gzip.compress(log)[:-20])
    code, out = bench("triage", folder / "cut.gz")
    assert code == 2
    assert "cut.gz: cannot be decompressed" in out
    assert "`zcat FILE | railweave bench triage -`" in " ".join(out.split())
    (folder / "blank.log").write_text("\n")
    code, out = bench("triage", folder / "blank.log")
    assert code == 2
    assert "blank.log: the file is empty" in out


def test_triage_of_what_is_no_output_of_a_benchmark_is_bad_use(bench: Any) -> None:
    code, out = bench("triage", EXAMPLES / "h100-rlb.yaml")
    assert code == 2
    assert "no output of a benchmark is known in it" in " ".join(out.split())
    code, out = bench("triage", FIXTURES / "perftest-status-12.txt", EXAMPLES / "h100-rlb.yaml")
    assert code == 2
    assert "1 error" in out, "what others have is said all the same"


def test_triage_with_the_design() -> None:
    network = example("h100-rlb")
    address = network.servers[0].nics[0].addresses[0].address
    [found] = bench_triage([FIXTURES / "perftest-write-bw-4.5-mb.txt"], fabric=network)
    assert "10.20.1.11 is in no network of the design" in found.diagnoses[0].finding.what
    assert ":" in address


def test_a_missing_file(bench: Any, tmp_path: Path) -> None:
    code, out = bench("triage", tmp_path / "nowhere.log", "--json")
    assert (code, json.loads(out)["problems"][0]["file"]) == (2, str(tmp_path / "nowhere.log"))
    with pytest.raises(SpecError, match="there is no such file"), opened(tmp_path / "nowhere.db"):
        pass


def test_the_store_is_a_plain_sqlite_file(tmp_path: Path) -> None:
    bench_import([FIXTURES / "nccl-tests-2.13-reduce_scatter_perf.txt"], tmp_path / "s.db")
    with sqlite3.connect(tmp_path / "s.db") as store:
        rows = store.execute(
            "SELECT value FROM samples WHERE quantity = 'busbw_gbytes_per_s' AND place = 'in-place' ORDER BY size_bytes"
        ).fetchall()
    assert [value for (value,) in rows] == [209.68, 256.98, 279.64, 297.1]


def test_a_run_has_what_the_log_beside_it_says() -> None:
    first, second = runs_of(said("job-two-tests-with-log.txt"), "d", "now")
    for one in (first, second):
        assert one.tool == "nccl-tests"
        assert dict(one.facts)["GPUDirect RDMA"] == "all"
        assert one.hosts == ("h100-01", "h100-02")
