"""docs/start/run.md, from start to end: every block marked ``sh``, in order, and what the page shows of its output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from railweave.live.lab import life
from tests.conftest import ROOT, frr_root
from tests.live.lab.machine import needs_lab, needs_nft

PAGE = ROOT / "docs" / "start" / "run.md"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
LIMIT_S = 180
"""How long the network may take to look as the page shows it: it is asked again until then."""


def blocks() -> list[tuple[str, str]]:
    return [(found[1], found[2]) for found in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]


def test_the_page_has_what_is_run_and_what_it_prints() -> None:
    assert [marked for marked, _ in blocks()].count("sh") == 10


@needs_lab
@needs_nft
@pytest.mark.slow
def test_a_network_is_proved_broken_and_proved_again(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    variables = {**os.environ, "PATH": f"{_programs(tmp_path)}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    if (root := frr_root()) is not None:
        variables["RAILWEAVE_FRR_ROOT"] = str(root)
    page = blocks()
    try:
        for place, (marked, text) in enumerate(page):
            shown = next((after for kind, after in page[place + 1 : place + 2] if not kind), None)
            if marked == "yaml":
                (folder / "fabric.yaml").write_text(text, encoding="utf-8")
            elif marked == "sh":
                until = time.monotonic() + LIMIT_S
                while True:
                    code, said = _run(text, folder, variables)
                    if shown is None or said == shown or time.monotonic() > until:
                        break
                    time.sleep(1)
                if found := re.match(r"lab=(\S+)", said):
                    variables["lab"] = found[1]
                if shown is None:
                    assert code == 0, said
                else:
                    assert said == shown
                    assert code == int("error [" in shown)
    finally:
        life.down(folder / "fabric.yaml")


def _run(script: str, folder: Path, variables: dict[str, str]) -> tuple[int, str]:
    """How a block ends, and what it prints on standard output; the variable that it sets, where it does."""
    told = '\necho "lab=$lab"' if script.startswith("lab=") else ""
    done = subprocess.run(
        ["bash", "-e", "-c", script + told], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout or done.stderr


def _programs(tmp_path: Path) -> Path:
    """A folder with ``railweave`` of this checkout, and a ``sudo`` that root does not need."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = f'exec {sys.executable} -c "from railweave.cli import main; main()" "$@"'
    for name, text in (("railweave", program), ("sudo", 'exec "$@"')):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder
