"""Nothing that a terminal obeys, and no forged line, comes from a file's name or content."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from railweave.host.terminal import SafeStream, escaped

if TYPE_CHECKING:
    from pathlib import Path

NAME = "a\x1b[8mx\nerror: all is good\u202e\x1b]0;t\x07\x9b2J.yaml"
"""A file name that hides text, forges a line, reorders text, sets the window's title and clears the screen."""
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]")


@pytest.mark.parametrize(
    "words",
    [
        ["build", NAME, "-o", "out"],
        ["build", NAME + ".not-there", "-o", "out"],
        ["sim", NAME],
        ["flows", "--topology", "fat-tree:k=4", "--flows", NAME],
        ["bench", "import", NAME, "--store", "store.db"],
        ["bench", "run", NAME, "--store", "store.db"],
        ["check", NAME, "--fabric", NAME],
        ["host", "apply", NAME],
        ["host", "apply", "--host-file", NAME],
        ["unknown", NAME],
    ],
    ids=" ".join,
)
def test_a_terminal_obeys_no_file_name(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / NAME).write_text("x: 1\n")
    ended = subprocess.run(
        [sys.executable, "-m", "railweave", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    said = ended.stdout + ended.stderr
    assert not OBEYED.search(said)
    assert not any(line.startswith("error: all is good") for line in said.splitlines())


def test_own_colors_and_cleared_lines_pass_through_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    print("\r\x1b[K\x1b[31merror\x1b[0m\t\x1b[8mhidden\x1b[2J\rback\x07", file=SafeStream(sys.stdout))
    assert capsys.readouterr().out == "\r\x1b[K\x1b[31merror\x1b[0m\t\\x1b[8mhidden\\x1b[2J\\rback\\x07\n"


def test_an_escape_keeps_letters_of_every_script() -> None:
    assert json.loads(escaped(json.dumps("a\x7f"))) == "a\x7f", "JSON stays JSON"
    assert escaped("Straße 北\u200e\n") == "Straße 北\\u200e\\n"
