"""What is the same for many ports, cables or NICs is asked once, and what a design does not use is not asked at all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.design.cabling import cables
from railweave.model.device import build
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file
from railweave.prediction.simulation.model.fabric import packet_fabric
from tests.conftest import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable


def counting(monkeypatch: pytest.MonkeyPatch, calls: Counter[str], owner: object, name: str) -> None:
    """Count the calls of a function."""
    function: Callable[..., object] = getattr(owner, name)

    def counted(*given: object, **named: object) -> object:
        calls[name] += 1
        return function(*given, **named)

    monkeypatch.setattr(owner, name, counted)


def test_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    counting(monkeypatch, calls, cables, "joins")
    network, _ = design_file(EXAMPLES / "h100-rlb.yaml")
    nics = sum(len(server.nics) for server in network.servers)
    assert min(nics, len(network.cables)) > 30
    assert calls["joins"] == len({(cable.a.optic, cable.b.optic) for cable in network.cables}) < 4
    for owner, name in (
        (Network, "between_sites"),
        (Network, "job_family"),
        (build, "_pauses"),
        (build, "isis_config"),
    ):
        counting(monkeypatch, calls, owner, name)
    configs = [device_config(network, switch.name) for switch in network.switches]
    assert not calls["between_sites"] + calls["_pauses"] + calls["isis_config"]
    plane = ControlPlane(configs)
    packet_fabric(network, plane.configs, plane.routes())
    assert calls["job_family"] < nics
