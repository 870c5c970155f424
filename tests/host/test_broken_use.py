"""Ends that no one plans: no room for the output, an interrupt while modules are loaded, times and names that are none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from railweave.errors import InputError
from railweave.host import files
from railweave.live.collect.access_file import read_access
from railweave.live.fleet.running import named_servers
from tests.host.plans import SOURCE

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE)}
HOST = [sys.executable, "-m", "railweave.host"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("more", [(), ("--json",), ("--slurm",)])
def test_output_without_room_is_an_error_in_one_line(more: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        words = [*HOST, "check", "--generic", "--only", "system-memlock", "--only", "nic-present", *more]
        done = subprocess.run(words, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("railweave: not seen")]
    assert (done.returncode, lines) == (1, ["error: the result cannot be printed: No space left on device"])


@pytest.mark.parametrize("form", ["package", "zipapp"])
def test_an_interrupt_while_modules_are_loaded_is_no_traceback(form: str, tmp_path: Path) -> None:
    """A module that the program loads late sends the signal: it comes before `main` can."""
    words = HOST
    if form == "zipapp":
        files.write_program(tmp_path / "railweave-host.pyz")
        words = [sys.executable, str(tmp_path / "railweave-host.pyz")]
    (tmp_path / "tarfile.py").write_text(
        f"import os, time\nos.kill(os.getpid(), {int(signal.SIGINT)})\ntime.sleep(9)\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{SOURCE}"}
    done = subprocess.run([*words, "check"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("time", ["0", "0s", "0m"])
def test_a_watch_of_no_time_is_refused(time: str) -> None:
    done = subprocess.run(
        [*HOST, "check", "--generic", "--watch", time], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "nothing grows in no time" in done.stderr) == (2, True)


@pytest.mark.parametrize("name", ["a;b", "root@", "x:99999", "hosts:", "-h", "10", "a b;c", "h..-"])
def test_words_that_name_no_server_are_refused_before_any_is_asked(name: str, tmp_path: Path) -> None:
    """A fabric file or another YAML file in place of a host list would be asked word by word."""
    file = tmp_path / "hosts"
    file.write_text(f"H100-[01-02]\n{name}\n")
    with pytest.raises(InputError, match="is not the name of a server"):
        named_servers(str(file), read_access(None))
    file.write_text("H100-[01-02],gpu_1.example.net\n10.0.0.1 fe80::1%eth0 # ten\n")
    assert [task.target.name for task in named_servers(str(file), read_access(None))] == [
        "H100-01",
        "H100-02",
        "gpu_1.example.net",
        "10.0.0.1",
        "fe80::1%eth0",
    ]
