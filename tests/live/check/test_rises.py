"""By how much counters rose: each frame and packet once, and nothing said of counters that were cleared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave import api
from railweave.analysis.expect import Expected, expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.live.check.counters import rises, total, worst
from railweave.model.device.build import device_config
from railweave.model.state.device_state import DeviceState
from railweave.model.state.ports import Errors, PfcCounters, Queue
from tests.live.check.perfect import perfect
from tests.operations.tune.network import FABRIC


@pytest.fixture(scope="module")
def leaf(tmp_path_factory: pytest.TempPathFactory) -> Expected:
    path: Path = tmp_path_factory.mktemp("rises") / "fabric.yaml"
    path.write_text(FABRIC)
    network = api.load(path)
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    return expected(network, configs["stripe1-leaf1"], ControlPlane(configs.values()).routes())


def changed(
    state: DeviceState, port: str, *, dropped: int = 0, marked: int = 0, pfc: tuple[int, int] = (0, 0), crc: int = 0
) -> DeviceState:
    assert state.queues is not None
    assert state.pfc is not None
    assert state.interfaces is not None
    known = state.queues[port]
    egress = {number: Queue(None, 0, dropped, marked) for number in known.egress}
    paused = {priority: PfcCounters(*pfc) for priority in state.pfc[port]}
    interface = replace(state.interfaces[port], errors=Errors(in_crc=crc, in_resource=0))
    return replace(
        state,
        queues={**state.queues, port: replace(known, egress=egress)},
        pfc={**state.pfc, port: paused},
        interfaces={**state.interfaces, port: interface},
    )


def ports(leaf: Expected) -> tuple[str, str]:
    """A port of a server, and one of a spine."""
    kinds = {one.kind: one.name for one in reversed(leaf.ports)}
    return kinds["server"], kinds["fabric"]


def test_what_rises_is_summed_with_its_worst(leaf: Expected) -> None:
    then, (server, spine) = perfect(leaf), ports(leaf)
    now = changed(changed(then, server, dropped=3, crc=2), spine, dropped=5, marked=7)
    found = list(rises(leaf, then, now))
    assert (total(found, "drops"), total(found, "marks"), total(found, "errors")) == (8, 7, 2)
    assert str(worst(found, "drops")) == f"stripe1-leaf1 {spine}: packets dropped by queue 4 rose by 5"
    assert worst(found, "pauses") is None
    assert total(found, "pauses") == 0


def test_each_pause_counts_once(leaf: Expected) -> None:
    """A frame from another switch is counted there, as sent."""
    then, (server, spine) = perfect(leaf), ports(leaf)
    assert total(rises(leaf, then, changed(then, spine, pfc=(100, 4))), "pauses") == 4
    assert total(rises(leaf, then, changed(then, server, pfc=(100, 4))), "pauses") == 104


def test_a_counter_that_was_cleared_says_nothing(leaf: Expected) -> None:
    then, (server, _) = perfect(leaf), ports(leaf)
    found = list(rises(leaf, changed(then, server, dropped=9), changed(then, server, dropped=2)))
    assert next(one.count for one in found if one.kind == "drops" and one.port == server) is None
    assert total(found, "drops") == 0


def test_a_switch_without_queues_has_no_drops_rather_than_none_dropped(leaf: Expected) -> None:
    then = replace(perfect(leaf), queues=None)
    assert total(rises(leaf, then, then), "drops") is None
