"""Whether this machine can run a lab, and labs that go away with their test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from railweave.live.lab import life, slicing
from railweave.live.lab.life import LabStart
from railweave.live.lab.overlay import Overlay
from railweave.live.lab.running import Running
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from tests.conftest import frr_root


def _reason() -> str:
    if os.geteuid() != 0:
        return "a lab needs root (sudo make test)"
    if frr_root() is None and not shutil.which("mmdebstrap"):
        return "there is no FRR: neither .validators/frr (sudo make validators) nor mmdebstrap"
    return ""


needs_lab = pytest.mark.skipif(bool(_reason()), reason=_reason() or "-")
needs_nft = pytest.mark.skipif(shutil.which("nft") is None, reason="the nft command is not there: install nftables")
"""Without nft, packet filters are not seen, and no network is right."""


def bring_up(
    fabric: Path, network: Network, part: str = "", configs: dict[str, DeviceConfig] | None = None
) -> LabStart:
    """A lab with the lab's own timers; the path of ``fabric`` is its name, and need not be there."""
    return life.up(fabric, network, part=part, overlay=Overlay(), frr_root=frr_root(), configs=configs)


@contextmanager
def lab(
    fabric: Path, network: Network, part: str = "", configs: dict[str, DeviceConfig] | None = None
) -> Iterator[tuple[LabStart, Running]]:
    """A lab that is up, and gone afterwards."""
    try:
        made = bring_up(fabric, network, part, configs)
        _, running = life.attach(fabric, configs)
        with running:
            yield made, running
    finally:
        life.down(fabric)


def part_of(network: Network, text: str) -> Network:
    """A slice of a network."""
    return slicing.sliced(network, slicing.parse(text))
