"""Routers whose control planes are protected: the network behaves as designed, and what servers have no business with is dropped."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from railweave.live.lab import assertions
from railweave.live.lab.frr import routers
from railweave.live.lab.kernel.namespace import entered
from railweave.live.lab.names import namespace
from railweave.live.lab.running import Running
from railweave.live.lab.state import Place
from railweave.model.device.build import device_config
from tests.conftest import example
from tests.live.lab.machine import lab, needs_lab, needs_nft, part_of
from tests.protection.test_sessions import guarded

pytestmark = needs_lab


@needs_nft
@pytest.mark.parametrize(("name", "part"), [("h100-rlb", "rails=1,spines=2"), ("evpn-server-isolation", "spines=2")])
def test_a_protected_network_behaves_as_designed(name: str, part: str, tmp_path: Path) -> None:
    network = part_of(guarded(example(name)), part)
    with lab(tmp_path / f"{name}.yaml", network) as (made, running):
        assert made.unsettled == ()
        outcomes = assertions.run(running)
        assert [one.id for one in outcomes if not one.passed] == [], [one.failures for one in outcomes]
        assert {device: _dropped(running, device) for device in running.plan.configs} == dict.fromkeys(
            running.plan.configs, 0
        )
        _a_server_gets_no_answer(running)


def _a_server_gets_no_answer(running: Running) -> None:
    """A server asks its gateway for SSH and BGP; before it asks, and after, nothing else is dropped."""
    leaf = next(one for one in running.plan.configs.values() if one.gateways)
    gateway = leaf.gateways[0]
    servers = [one for one in leaf.interfaces if one.kind == "server"]
    near = next(one for one in servers if one.name == gateway.port or (one.vlan and one.vlan == gateway.vlan_name))
    family = socket.AF_INET6 if gateway.addresses[0].family == "ipv6" else socket.AF_INET
    for port in (22, 179):
        with (
            entered(namespace(running.place.lab, near.peer)),
            socket.socket(family, socket.SOCK_STREAM) as asking,
        ):
            asking.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, near.peer_port.encode())
            asking.settimeout(0.3)  # a port that nobody listens on would answer with a reset at once
            with pytest.raises(TimeoutError):
                asking.connect((gateway.addresses[0].address, port))
    where = f"{leaf.name}@{gateway.vrf}" if gateway.vrf else leaf.name
    assert _dropped(running, where) >= 2


def _dropped(running: Running, space: str) -> int:
    with entered(namespace(running.place.lab, space)):
        command = ["nft", "list", "counter", "inet", "railweave", "dropped"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"packets (\d+)", text)
    assert found
    return int(found[1])


def test_without_nft_the_lab_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place("rw00000000")
    monkeypatch.setattr(Place, "router", lambda _, name: tmp_path / name)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (tmp_path / "spine1/etc/frr").mkdir(parents=True)
    (tmp_path / "spine1/etc/frr" / routers.FILE).write_text("")
    said: list[str] = []
    routers.load(place, [device_config(example("h100-rlb"), "spine1", "frr")], said.append)
    assert said == [routers.WITHOUT]
