"""The page of training jobs: its figures are the prediction's, and each stage is drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import railweave
from railweave.report.prediction.training import training_html
from tests.conftest import EXAMPLES


@pytest.mark.parametrize("name", ["dense", "two-jobs"])
def test_a_page_has_figures_and_stages(name: str, tmp_path: Path) -> None:
    found = railweave.simulate_training(EXAMPLES / "h100-rlb.yaml", EXAMPLES / "jobs" / f"{name}.yaml")
    page = training_html(found)
    for job in found.jobs:
        assert f"{job.step_ps / 1e9:,.1f} ms" in page
        assert f"{job.mfu:.1%}" in page
    drawn = re.findall(r'class="side">stage (\d+)<', page)
    assert [int(one) for one in drawn] == [number + 1 for job in found.jobs for number in range(job.graph.classes)]
    assert page.count("<rect") > 20
    for x, wide in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', page):
        assert 80 <= float(x) <= float(x) + float(wide) <= 1152
