"""Lossless classes that do not get what they are for are told when the fabric is designed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import designed

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
name: small
fabrics:
  backend:
    topology: {{stripes: 1, spines: 2}}
    leaf: {{device: qfx5240-64od{leaf}}}
    qos: {qos}
servers: [{{names: "gpu-[1-2]", model: h100-8gpu-cx7}}]
"""
NEW = {"lossless-no-dscp", "lossless-no-share", "marked-on-one-tier", "lossless-pool-idle"}


def told(folder: Path, qos: str = "{}", leaf: str = "") -> dict[str, str]:
    network, _ = designed(folder, FILE.format(qos=qos, leaf=leaf))
    return {one.id: one.what for one in network.findings if one.id in NEW}


@pytest.mark.parametrize(
    ("qos", "leaf", "said"),
    [
        (
            "{classes: {storage: {queue: 5, lossless: true, pfc_priority: 4, transmit_percent: 1}, no-loss: {bandwidth: 80}}}",
            "",
            {"lossless-no-dscp": "lossless class storage has no DSCP"},
        ),
        (
            "{classes: {storage: {queue: 5, dscp: [18], lossless: true, pfc_priority: 4}}}",
            "",
            {"lossless-no-share": "lossless class storage has no `bandwidth`; NICs give it 7 %"},
        ),
        (
            "{}",
            ", qos: {classes: {no-loss: {ecn: null}}}",
            {"marked-on-one-tier": "spine switches mark class no-loss (ECN), and leaf switches do not"},
        ),
        (
            "{pfc: {ports: server}}",
            "",
            {
                "lossless-pool-idle": "spine switches send pause frames on no port, but reserve 80 % of their buffer for lossless classes and "
                "10 % for all others"
            },
        ),
        ("{}", "", {}),
    ],
)
def test_what_a_class_lacks_is_told(tmp_path: Path, qos: str, leaf: str, said: dict[str, str]) -> None:
    assert told(tmp_path, qos, leaf) == said


def test_the_remedy_of_idle_buffers_is_accepted(tmp_path: Path) -> None:
    buffers = "{lossless: 5, headroom: 5, lossy: 90, egress_lossless: 5, egress_lossy: 85, egress_multicast: 10}"
    spine = f"}}\n    spine: {{device: qfx5240-64od, qos: {{pfc: {{ports: server}}, buffers: {buffers}}}"
    assert told(tmp_path, "{pfc: {ports: server}}", spine) == {}
