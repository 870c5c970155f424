"""docs/start/design.md, from start to end: every block marked ``sh``, in order, with the edits that stand between them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "start" / "design.md"


def blocks() -> list[tuple[str, str]]:
    """The page's blocks in order, each with its language."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def run(script: str, folder: Path) -> str:
    """What a block prints on standard output. It succeeds; ``diff`` alone says by 1 that something differs."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == script.startswith("railweave diff"), f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def edit(fabric: Path, lines: str) -> None:
    """Do what the page says with a block of YAML: the line of management is replaced, others are added."""
    old = fabric.read_text().splitlines(keepends=True)
    key = lines.split(":", maxsplit=1)[0]
    fabric.write_text("".join(line for line in old if not line.startswith(f"{key}:")) + lines)


@pytest.mark.slow
def test_every_command_of_the_page(tmp_path: Path) -> None:
    fabric = tmp_path / "rail-256.yaml"
    said: list[str] = []
    for language, text in blocks():
        if language == "sh":
            said.append(run(text, tmp_path))
        else:
            assert language == "yaml"
            edit(fabric, text)
    sized, first, second, paths, checked, down, predicted, compared, *partial, copied, changed, last = said
    assert "16 leaves, 2 spines" in sized
    assert "0 errors, 2 warnings" in first
    assert "0 errors, 0 warnings" in second
    assert (tmp_path / "out" / "report.html").exists()
    assert (tmp_path / "rail-256.lock").exists()
    assert "spine1" in paths
    assert "spine1" not in down
    assert ": 0 errors" in checked
    assert "bus bandwidth" in predicted
    assert (tmp_path / "prediction.html").exists()
    assert (tmp_path / "comparison.html").exists()
    assert re.search(r"^rlb ", compared, re.MULTILINE)
    assert all("0 errors" in one for one in partial)
    assert copied == ""
    assert "8 switches changed" in changed, "those of one row"
    assert "gpu-33" in changed
    assert "0 errors, 0 warnings" in last
    assert "All variants take the same time, to 0.5%" in compared, "as the page says"
    assert "They differ with" in compared


def test_pictures_of_the_page_are_there() -> None:
    pictures = re.findall(r"\]\((\.\./images/[^)]+)\)", PAGE.read_text())
    assert len(pictures) == 3
    assert all((PAGE.parent / one).is_file() for one in pictures)
