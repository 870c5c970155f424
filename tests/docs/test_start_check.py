"""docs/start/check.md, from start to end: every block marked ``sh``, in order, and what the page shows of its output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "start" / "check.md"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_command_of_the_page(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}
    blocks = [(match[1], match[2]) for match in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
    assert [marked for marked, _ in blocks].count("sh") == 6
    printed = ""
    for marked, text in blocks:
        if marked == "sh":
            done = subprocess.run(
                ["bash", "-e", "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            printed = done.stdout
            assert done.returncode == text.startswith("railweave bench"), f"{text}\n{printed}\n{done.stderr}"
        elif not text.startswith(("scp", "railweave fleet")):
            assert [line for line in text.splitlines() if line not in printed] == []
    assert (tmp_path / "railweave-host.pyz").exists()
    assert (tmp_path / "out" / "hosts" / "H100-01" / "host.json").exists()
