"""The page of training jobs: its figures are the prediction's, and each stage is drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import railweave
from railweave.outputs.report.prediction.training import training_html
from tests.conftest import EXAMPLES


def test_what_python_asks_is_what_the_command_asks(tmp_path: Path) -> None:
    dead = tmp_path / "dead.yaml"
    dead.write_text(
        "background: {share: 20%, to: inter-stripe}\nfaults:\n  - {at: 0us, kind: device-down, device: spine1}\n"
    )
    fabric, jobs = EXAMPLES / "h100-rlb.yaml", EXAMPLES / "jobs"
    (alone,) = railweave.simulate_training(fabric, jobs / "experts.yaml").jobs
    found = railweave.simulate_training(
        fabric, jobs / "experts.yaml", scenario=dead, others=jobs / "two-jobs.yaml", check_packets=True
    )
    assert found.own_jobs == 1
    assert len(found.jobs) == 3
    assert found.jobs[0].step_ps > alone.step_ps
    assert found.jobs[0].checked
    assert "faults" in found.jobs[0].band.outside
    assert "background" in found.jobs[0].band.outside
    assert any("share 4 servers" in note for note in found.notes)
    (slower,) = railweave.simulate_training(fabric, jobs / "experts.yaml", background="share=50%", engine="packet").jobs
    assert slower.alone_ps > alone.step_ps


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
