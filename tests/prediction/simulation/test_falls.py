"""The remark on a size with less bus bandwidth than a smaller one."""

from __future__ import annotations

from pathlib import Path

import pytest

import railweave
from railweave.prediction.simulation import falls
from railweave.prediction.simulation.seeds import predictions_of

FABRIC = """
name: falls
fabrics:
  backend:
    topology: {stripes: 1, servers_per_stripe: 4, spines: 8, links_per_spine: 1}
    leaf: {device: qfx5240-64od}
    load_balancing: {mode: dlb-flowlet}
servers:
  - {names: "gpu-[001-004]", model: dgx-h100}
"""


@pytest.fixture
def fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four servers on a leaf. A rise of less than half counts as a fall, too, as none of this network's sizes falls for certain."""
    monkeypatch.setattr(falls, "FALL", -0.5)
    file = tmp_path / "falls.yaml"
    file.write_text(FABRIC)
    return file


def remarks(fabric: Path, size: str, **given: object) -> list[list[str]]:
    """The remarks on each size that say what would be quicker."""
    network = railweave.load(fabric)
    found = predictions_of(network, {"collective": "all-reduce", "size": size, **given})
    return [[one for one in job.steps[0].prediction.remarks if "less bus bandwidth" in one] for job in found]


def test_a_fall_names_the_choice_and_what_would_be_quicker(fabric: Path) -> None:
    ((), (said,)) = remarks(fabric, "32M,64M")
    assert said.startswith(
        "64M has less bus bandwidth than 32M: the library's own estimates choose NVLSTree Simple; Ring LL128"
    )
    own, ring = (
        railweave.simulate(fabric, "all-reduce", "64M", nccl=nccl).time_ps for nccl in ({}, {"NCCL_ALGO": "Ring"})
    )
    quicker = own / ring - 1
    assert ("would be no quicker" if quicker < falls.LEAST else f"would be {quicker:.0%} quicker") in said


@pytest.mark.parametrize(
    ("size", "nccl"),
    [("64M,32M", {}), ("64M", {}), ("32M,64M", {"NCCL_ALGO": "NVLSTree"}), ("32M,64M", {"NCCL_PROTO": "Simple"})],
)
def test_no_remark_on_a_single_or_smaller_size_or_a_choice_of_the_operator(
    fabric: Path, size: str, nccl: dict[str, str]
) -> None:
    assert not any(remarks(fabric, size, nccl=nccl))
