"""What a lab is made of, before anything is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.errors import LabError
from railweave.live.lab import life, names
from railweave.live.lab.overlay import Overlay
from railweave.live.lab.plan import MOST_CHARACTERS, make_plan
from railweave.systems import system
from tests.conftest import example


def test_every_cable_joins_the_interfaces_that_the_configurations_name() -> None:
    plan = make_plan(example("h100-rlb"), None)
    assert len(plan.wires) == len(plan.network.cables)
    for wire in plan.wires:
        if wire.a.device in plan.configs:
            text = system("frr").files(plan.configs[wire.a.device])["frr.conf"]
            assert f"interface {wire.a.interface}\n" in text
        assert plan.link(wire.b.device, wire.b.interface) == wire.link
        assert plan.interface(wire.b.device, wire.link) == wire.b.interface
    server = next(wire for wire in plan.wires if wire.a.device == "H100-01")
    assert (server.a.interface, server.a.mac, server.a.mtu) == ("gpu0_eth", "a0:88:c2:3b:50:66", 9000)
    assert server.b.mtu == 9216 - 14  # Junos counts the Ethernet header, Linux does not


def test_the_overlay_changes_timers_and_nothing_else() -> None:
    network = example("h100-rlb")
    plain, timed = make_plan(network, None), make_plan(network, Overlay())
    texts = [system("frr").files(plan.configs["stripe1-leaf1"])["frr.conf"].splitlines() for plan in (plain, timed)]
    changed = [(a.strip(), b.strip()) for a, b in zip(*texts, strict=True) if a != b]
    assert ("receive-interval 1000", "receive-interval 100") in changed
    assert ("ipv6 nd ra-lifetime 1800", "ipv6 nd ra-lifetime 16") in changed
    assert all("interval" in a or "lifetime" in a or "nd prefix" in a for a, _ in changed)
    assert "100 ms x 3" in Overlay().sentence()
    routes, other = plain.control_plane().routes(), timed.control_plane().routes()
    assert routes.equal(other)


def test_bfd_is_slower_where_there_are_more_sessions_than_the_machine_can_say_hello_for() -> None:
    assert Overlay().fitting(128) == Overlay()
    assert Overlay().fitting(768).bfd_interval_ms == 300
    assert Overlay().fitting(257).bfd_interval_ms == 101


def test_an_interface_that_linux_cannot_have_is_named() -> None:
    network = example("h100-rlb")
    server = network.servers[0]
    long = replace(server, nics=(replace(server.nics[0], netdev="e" * (MOST_CHARACTERS + 1)), *server.nics[1:]))
    with pytest.raises(LabError, match=f"{server.name}: {'e' * 16} is longer"):
        make_plan(replace(network, servers=(long, *network.servers[1:])), None)


def test_routers_outside_the_fabric_are_refused() -> None:
    with pytest.raises(LabError, match="frontend-ai-leaf1 has sessions with routers outside the fabric"):
        make_plan(example("aidc-three-fabrics"), None)


def test_labs_are_told_apart_by_their_path_and_not_by_how_it_is_written(tmp_path: Path) -> None:
    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    assert names.lab_id(one) != names.lab_id(other)
    assert names.lab_id(one) == names.lab_id(tmp_path / "x" / ".." / "a.yaml")
    assert names.lab_id(Path(names.lab_id(one))) == names.lab_id(one)  # as `lab status` shows it


def test_a_lab_that_does_not_fit_is_refused_with_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(example("h100-rlb"), None)
    monkeypatch.setattr("railweave.live.lab.life.ROUTER_KB", 10**9)
    monkeypatch.setattr("railweave.live.lab.life.SESSION_KB", 0)
    with pytest.raises(LabError, match=r"20 routers and 4 servers would take about 20000\.0 GB.*--slice"):
        life.check_fits(plan)
