"""The how-to on predictions is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "start" / "simulate.md"


def test_the_blocks_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 5
    exec("\n".join(blocks), {"__name__": "howto"})  # noqa: S102 - the page's own code
    assert "a spine dies under an all-reduce" in (tmp_path / "out" / "dead-spine.html").read_text()
