"""Rules about packet buffers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import designed

import railweave
from railweave.analysis.checks.buffers import lossless_queue_full
from railweave.analysis.checks.subject import Subject
from railweave.model.catalog import in_force
from railweave.model.device.build import device_config

FABRIC = """\
name: one-leaf
fabrics:
  backend:
    topology: {{stripes: 1, leaves_per_stripe: 1}}
    leaf: {{{leaf}}}
    load_balancing: {{mode: ecmp}}
    qos: {{{qos}}}
servers:
  - {{names: "gpu-[1-2]", model: h100-8gpu-cx7}}
"""
EOS, JUNOS = "device: arista-7060dx5-64s, nos: eos", "device: qfx5240-64od"


def said(folder: Path, leaf: str, qos: str) -> list[str]:
    path = folder / "one-leaf.yaml"
    path.write_text(FABRIC.format(leaf=leaf, qos=qos))
    network = railweave.load(path)
    assert lossless_queue_full.check is not None
    with in_force(network.catalog):
        return [one.what for one in lossless_queue_full.check(Subject.of(network))]


@pytest.mark.parametrize(
    ("leaf", "qos", "full"),
    [
        (EOS, "", True),
        (EOS, "classes: {no-loss: {dynamic_threshold: 10}}, buffers: {ingress_dynamic_threshold: 2}", False),
        (JUNOS, "", False),
        (JUNOS, "classes: {no-loss: {dynamic_threshold: 7}}", True),
    ],
)
def test_a_lossless_queue_that_fills_before_ports_pause_is_named(
    tmp_path: Path, leaf: str, qos: str, full: bool
) -> None:
    found = said(tmp_path, leaf, qos)
    assert bool(found) == full
    if full:
        assert "no-loss" in found[0]
        assert "15 ports" in found[0]


def test_an_egress_side_that_is_left_to_eos_changes_nothing(tmp_path: Path) -> None:
    """EOS has one pool and no partition of the egress side: Junos's own shares are not its own."""
    (plain,) = said(tmp_path, EOS, "")
    assert said(tmp_path, EOS, "buffers: {egress: system}") == [plain]
    fill = "classes: {no-loss: {ecn: {min_fill: 20, max_fill: 40}}}"
    marks = [
        device_config(designed(tmp_path, FABRIC.format(leaf=EOS, qos=qos))[0], "stripe1-leaf1").qos
        for qos in (fill, f"{fill}, buffers: {{egress: system}}")
    ]
    assert marks[0] == marks[1]
    held = said(tmp_path, JUNOS, "classes: {no-loss: {dynamic_threshold: 7}}")
    assert said(tmp_path, JUNOS, "classes: {no-loss: {dynamic_threshold: 7}}, buffers: {egress: system}") != held
