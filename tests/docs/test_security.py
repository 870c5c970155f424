"""The page on security names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_attack_has_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "security.md").read_text()
    rows = text.partition("## Attacks")[2].partition("\n\nParsers")[0].splitlines()[4:]
    assert len(rows) > 15
    for row in rows:
        named = re.findall(r"`((?:tests|plugin)/[\w/.]+)`", row)
        assert named, row
        assert [name for name in named if not (ROOT / name).exists()] == []
