"""Training jobs on racks that are NVLink domains: groups of up to 72 GPUs stay on NVLink."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import railweave
from railweave.errors import InputError
from tests.prediction.simulation.test_domains import FAULT, racks

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.prediction.simulation.training.answer import JobResult

MODEL = (
    "{layers: 4, hidden: 9216, heads: 72, kv_heads: 72, ffn: 16384, vocabulary: 32000, sequence: 4096, "
    "experts: EXPERTS, top_k: 2}"
)
JOB = """
name: job
model: {model}
parallel: {{{parallel}}}
batch: {{global: 216}}
"""


def predicted(folder: Path, parallel: str, experts: int = 0, scenario: str = "") -> JobResult:
    file = folder / "job.yaml"
    model = MODEL.replace("experts: EXPERTS, top_k: 2", f"experts: {experts}, top_k: {2 if experts else 0}")
    file.write_text(JOB.format(model=model, parallel=parallel))
    faults = folder / "faults.yaml"
    faults.write_text(f"faults:\n{scenario}\n")
    (job,) = railweave.simulate_training(racks(), file, scenario=faults if scenario else None).jobs
    return job


@pytest.mark.parametrize(("parallel", "experts"), [("tensor: 72", 0), ("expert: 72", 72), ("tensor: 8, expert: 9", 72)])
def test_tensor_and_expert_groups_of_a_rack_stay_on_nvlink(parallel: str, experts: int, tmp_path: Path) -> None:
    job = predicted(tmp_path, parallel, experts)
    assert {communication.kind for communication in job.graph.communications} == {"DP", *(["EDP"] if experts else [])}


def test_groups_that_divide_racks_unevenly_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="differ in GPUs, NICs or rails"):
        predicted(tmp_path, "expert: 54", 54)


def test_a_lost_switch_tray_slows_the_groups_inside(tmp_path: Path) -> None:
    fault = FAULT.format(at="0us", domain="stripe1-domain2", more="")
    whole, slower = (predicted(tmp_path, "tensor: 72", scenario=faults) for faults in ("", fault))
    assert slower.step_ps > whole.step_ps


def test_it_says_that_no_step_on_these_gpus_was_compared(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB.format(model="llama3-8b", parallel="tensor: 8"))
    assert "no published step on GB200" in railweave.simulate_training(racks(), file).to_text()
