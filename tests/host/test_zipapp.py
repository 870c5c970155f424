"""The one-file form, on every Python that this machine has."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import railweave
from railweave.host import __version__, files, host_file
from railweave.host.checking import record
from railweave.host.checks import server as running
from railweave.host.checks.server import server as checked_server
from tests.host.machines import Written, healthy
from tests.host.machines.plans import plan as machine_plan
from tests.host.plans import Tool, dump, in_place, small
from tests.host.test_gids import slots, tree
from tests.netns import needs_root, server

HELP = """\
import contextlib, io, runpy, sys
program, *verbs = sys.argv[1:]
for verb in verbs:
    sys.argv = [program, *verb.split(), "--help"]
    said, code = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(program, run_name="__main__")
    except SystemExit as stop:
        code = stop.code
    print(verb, code or 0, "examples:" in said.getvalue())
"""
"""Asks for the help of each verb: in one process, for to start one takes a third of a second."""
VERSIONS = [f"3.{minor}" for minor in range(9, 16)]


def python(version: str) -> str:
    """A Python of this version that runs; the test is skipped where there is none."""
    places = [shutil.which(f"python{version}"), *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for place in filter(None, places):
        words = [place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() == version:
            return place
    pytest.skip(f"no Python {version} on the PATH or under ~/.pyenv")


@pytest.fixture(scope="module")
def zipapp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("zipapp") / "railweave-host.pyz"
    files.write_program(file)
    return file


def test_same_bytes(zipapp: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pyz"
    subprocess.run(
        [zipapp, "zipapp", again], check=True, capture_output=True
    )  # by its first line, and from within itself
    assert again.read_bytes() == zipapp.read_bytes()


def test_version() -> None:
    assert __version__ == railweave.__version__


@pytest.mark.parametrize("version", VERSIONS)
def test_without_root(version: str, zipapp: Path, tmp_path: Path) -> None:
    program = [python(version), "-I", "-W", "error", str(zipapp)]
    (tmp_path / "host.json").write_text(json.dumps(small("gpu0_eth")))
    sysfs = tree(tmp_path / "sys", {"mlx5_0": slots("fe80::1", "fc00:1:1:1::a")})

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run([*program, *words], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout

    verbs = [
        "plan",
        "apply",
        "undo",
        "check",
        "capture",
        "bundle",
        "show",
        "gids",
        "env",
        "zipapp",
        "setup",
        "capture-roce",
    ]
    asked = [*program[:-1], "-c", HELP, str(zipapp), *verbs]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == [f"{verb} 0 True" for verb in verbs], shown.stderr
    assert "examples:" in run("--help")
    host = ["--host-file", str(tmp_path / "host.json")]
    assert len(json.loads(run("plan", "--json", *host, code=1))["commands"]) == 6
    assert "fc00:1:1:1::a" in run("gids", "--sysfs", str(sysfs), *host)
    assert run("--version").strip() == __version__


@pytest.mark.parametrize("version", VERSIONS)
def test_checks_of_a_recorded_machine(version: str, zipapp: Path, tmp_path: Path) -> None:
    """Every check runs on every Python, and says of a recorded machine what it said of the machine."""
    file, document = machine_plan("h100-rlb", tmp_path)
    parts = healthy(document)
    parts.files["/sys/class/net/gpu3_eth/mtu"] = "1500"
    looked = checked_server(Written(parts), host_file.load(file), document)
    running.run(looked, running.chosen(()))
    record(looked.machine, tmp_path / "machine")
    words = [python(version), "-I", "-W", "error", str(zipapp), "check", "--capture", str(tmp_path / "machine")]
    done = subprocess.run([*words, "--host-file", str(file), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    results = json.loads(done.stdout)["results"]
    assert [(one["check"], one["of"]) for one in results if one["verdict"] == "failed"] == [("link-mtu", "gpu3_eth")]
    assert len({one["check"] for one in results}) == len(running.chosen(()))
    short = subprocess.run([*words, "--host-file", str(file), "--slurm"], capture_output=True, text=True, check=False)
    assert short.stdout == "railweave: link-mtu gpu3_eth: 1500\n"


@needs_root
@pytest.mark.parametrize("version", VERSIONS)
def test_with_root(version: str, zipapp: Path, tmp_path: Path) -> None:
    program = (python(version), "-I", "-W", "error", str(zipapp))
    plan = small("gpu0_eth")
    with server(["gpu0_eth"]) as host:
        tool = Tool(host, tmp_path, program)
        tool.plan(plan)
        before = dump(host)
        tool("apply")
        in_place(tool, plan)
        tool("undo")
        assert dump(host) == before
