"""``mpirun.sh --hosts``: which servers, in which order of ranks."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from railweave.outputs.rendering.host.cluster import cluster_files
from tests.conftest import example


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cluster")
    for name, text in cluster_files(example("h100-rlb")).items():
        (path / name).write_text(text)
    return path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    script = str(folder / "mpirun.sh")
    return subprocess.run(["bash", script, *words, "--dry-run"], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("asked", "hosts"),
    [
        ("stripes-alternate", "H100-01,H100-03,H100-02,H100-04"),
        ("H100-04,H100-[01-02]", "H100-04,H100-01,H100-02"),
        ("H100-[01,03]", "H100-01,H100-03"),
    ],
)
def test_servers_in_the_order_that_is_asked(folder: Path, asked: str, hosts: str) -> None:
    done = run(folder, "--hosts", asked)
    words = shlex.split(done.stdout)
    assert done.returncode == 0, done.stderr
    assert words[words.index("--host") + 1] == ",".join(f"{name}:8" for name in hosts.split(","))
    assert words[words.index("-np") + 1] == str(8 * len(hosts.split(",")))


def test_the_first_of_the_hostfile(folder: Path) -> None:
    words = shlex.split(run(folder, "--hosts", "2").stdout)
    assert words[words.index("-np") + 1] == "16"
    assert "--hostfile" in words


@pytest.mark.parametrize("asked", ["H100-09", "H100-01,H100-01", "9", "0", "H100-[01", ","])
def test_what_cannot_be_is_refused(folder: Path, asked: str) -> None:
    done = run(folder, "--hosts", asked)
    assert done.returncode == 2
    assert done.stderr.strip()
    assert not done.stdout
