"""``railweave host`` hands everything on, and the room imports nothing else of railweave."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.plans import SOURCE

ROOM = SOURCE / "railweave" / "host"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    main = "from railweave.cli import main; main()"
    return subprocess.run([sys.executable, "-c", main, "host", *words], capture_output=True, text=True, check=False)


def test_words_are_handed_on(tmp_path: Path) -> None:
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
