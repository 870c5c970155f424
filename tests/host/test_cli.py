"""``railweave host`` hands everything on, and the room imports nothing else of railweave."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from railweave.cli import main
from tests.host.plans import SOURCE, designed

ROOM = SOURCE / "railweave" / "host"


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A function that runs the verb in this process, as the installed command runs it."""

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr("sys.argv", ["railweave", "host", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert isinstance(stop.value.code, int)
        return subprocess.CompletedProcess(words, stop.value.code, *capfd.readouterr())

    return call


def test_words_are_handed_on(run: Run, tmp_path: Path) -> None:
    assert run("--help").stdout.startswith("usage: railweave host")
    assert run("apply", "-h").stdout.startswith("usage: railweave host apply")
    assert run().returncode == 2
    done = run("plan", "--host-file", str(tmp_path / "none"))
    assert (done.returncode, done.stderr[:6]) == (2, "error:")
    done = run("undo", "--", "--help")
    assert (done.returncode, done.stderr) == (2, "error: railweave host undo runs no command: -- --help\n")


@pytest.mark.parametrize("file", sorted(ROOM.glob("*.py")), ids=lambda file: file.stem)
def test_the_room_stands_alone(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(), feature_version=(3, 9))):
        if isinstance(node, ast.Import):
            assert {name.name.split(".")[0] for name in node.names} <= sys.stdlib_module_names
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1 or (node.module or "").split(".")[0] in sys.stdlib_module_names


def env(run: Run, folder: Path, host: str, *words: str) -> subprocess.CompletedProcess[str]:
    file = folder / "host.json"
    file.write_text(json.dumps(designed("evpn-gpu-isolation", host)))
    return run("env", "--host-file", str(file), "--sysfs", str(folder), *words)


def test_each_tenant_has_its_own_environment(run: Run, tmp_path: Path) -> None:
    """EVPN test report, "GPU Isolation": GPUs of one server in several tenants; a job gets those of its own alone."""
    found = env(run, tmp_path, "H100-01", "--tenant", "tenant-2", "--json")
    variables = json.loads(found.stdout)
    assert found.returncode == 0
    assert variables["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert variables["NCCL_IB_HCA"] == "=mlx5_4:1,mlx5_5:1"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "give --tenant tenant-1 or tenant-2 or tenant-3"),
        (("--tenant", "tenant-9"), "its NICs are of tenant-1, tenant-2, tenant-3"),
    ],
)
def test_a_tenant_that_is_not_there_is_refused(run: Run, words: tuple[str, ...], why: str, tmp_path: Path) -> None:
    done = env(run, tmp_path, "H100-01", *words)
    assert done.returncode == 2
    assert why in done.stderr
