"""The page of ``railweave init --gpus --html``: the chosen fabric drawn, its alternatives compared, nothing loaded."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.test_init_sizing import run


def test_the_page_draws_the_choice_and_compares_shapes(tmp_path: Path) -> None:
    page = tmp_path / "sizing.html"
    run(str(tmp_path / "new"), "--gpus", "256", "--html", str(page))
    html = page.read_text()
    assert 'class="rw"' in html
    assert 'data-device="backend/stripe1"' in html
    assert "<th>two-tier (chosen)</th>" in html
    assert "<th>rail-planes</th>" in html
    assert html.count('class="bar-value"') == 3 * 2  # switches, cables and optics of either shape
    assert "Not one-leaf: 256 NICs on a switch of 128 ports." in html
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert "<script" not in html
