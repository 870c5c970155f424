"""PFC on ports of one kind only: rendered and read back on every system, and what follows for headroom and servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.errors import InputError
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.model.network.model import Network
from tests.conftest import designed
from tests.dual_stack import FABRICS
from tests.systems.there_and_back import lost, one_of_each_role


def pausing(folder: Path, ports: str, nos: str = "junos") -> Network:
    text = FABRICS["plain"].replace(
        "load_balancing: {mode: ecmp}", f"qos: {{pfc: {{ports: {ports}}}}}\n        load_balancing: {{mode: ecmp}}"
    )
    if nos != "junos":
        for model in ("qfx5240-64od", "qfx5240-64qd"):
            text = text.replace(f"{{device: {model}, release: 23.4X100-D31", "{device: " + MODELS[nos])
    return designed(folder, text)[0]


MODELS = {"eos": "arista-7060x6-64pe", "sonic": "z9864f-on, nos: sonic", "dell_sonic": "z9864f-on, nos: dell_sonic"}


@pytest.mark.parametrize("nos", ["junos", *MODELS])
@pytest.mark.parametrize("ports", ["server", "fabric"])
def test_only_some_ports_pause(tmp_path: Path, ports: str, nos: str) -> None:
    network = pausing(tmp_path, ports, nos)
    for name in one_of_each_role(network):
        config = device_config(network, name)
        assert config.nos == nos
        assert config.qos is not None
        if config.role == "spine" and ports == "server":
            assert not any(one.lossless for one in config.qos.classes.values())
        else:
            assert all(one.pauses == (one.kind == ports) for one in config.interfaces)
        assert lost(config) == []


def test_servers_are_not_paused_where_their_ports_do_not(tmp_path: Path) -> None:
    assert host_config(pausing(tmp_path, "server"), "h1").qos[0].lossless
    assert not host_config(pausing(tmp_path, "fabric"), "h1").qos[0].lossless


@pytest.mark.parametrize("ports", ["server", "fabric"])
def test_nothing_disagrees(tmp_path: Path, ports: str) -> None:
    network = pausing(tmp_path, ports)
    assert [one for one in run_checks(Subject.of(network)) if one.severity == "error"] == []


def test_both_ends_of_a_link_pause_or_neither(tmp_path: Path) -> None:
    text = FABRICS["plain"].replace(
        "spine: {device: qfx5240-64qd", "spine: {qos: {pfc: {ports: server}}, device: qfx5240-64qd"
    )
    with pytest.raises(
        InputError, match="spine switches send no pause frames on ports between switches, but leaf switches do"
    ):
        designed(tmp_path, text)
