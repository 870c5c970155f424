"""``rdma-ping`` finds the plugin's program and hands every word on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from railweave.host import commands, probing
from railweave.host.failure import HostInputError


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / probing.PROGRAM
    file.write_text('#!/bin/sh\necho "$0: $*"\nexit 3\n')
    file.chmod(0o755)
    return file


def test_named(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAILWEAVE_RDMA_PING", str(program))
    words = ["host", "rdma-ping", "--server", "--port", "1", "--", "-h"]
    main = [sys.executable, "-c", "from railweave.cli import main; main()"]  # on its own: the program takes its place
    done = subprocess.run([*main, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, f"{program}: --server --port 1 -- -h\n")


def test_on_the_path(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAILWEAVE_RDMA_PING", raising=False)
    monkeypatch.setenv("PATH", str(program.parent))
    assert probing.find() == program


def test_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RAILWEAVE_RDMA_PING", str(tmp_path / "none"))
    with pytest.raises(HostInputError, match="no such program"):
        probing.find()
    monkeypatch.delenv("RAILWEAVE_RDMA_PING")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(probing, "_INSTALLED", ())
    monkeypatch.setattr(probing, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    assert commands.main(["rdma-ping", "host"]) == 2
    assert "cmake --install" in capsys.readouterr().err
