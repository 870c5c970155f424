"""Exceptions of quality of service for single ports: rendered, read back, and refused where they cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave import api
from railweave.checks.run import run_checks
from railweave.checks.subject import Subject
from railweave.device.build import device_config
from railweave.errors import InputError
from tests.conftest import EXAMPLES
from tests.systems.there_and_back import lost

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.network.model import Network


def _network(tmp_path: Path, ports: str, nos: str = "junos") -> Network:
    text = (EXAMPLES / "frontend-mixed.yaml").read_text(encoding="utf-8")
    file = tmp_path / "ports.yaml"
    file.write_text(f"{text}\noverrides:\n  devices:\n{ports}\n", encoding="utf-8")
    return api.load(file, device=[f":{nos}"])


TESTER = "    frontend-leaf1: {ports: {et-0/0/30: {pfc: false}, et-0/0/8: {qos: false}}}"


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic", "dell_sonic"])
def test_exceptions_come_back(tmp_path: Path, nos: str) -> None:
    leaf = device_config(_network(tmp_path, TESTER, nos), "frontend-leaf1")
    of = {one.peer: one for one in leaf.interfaces if one.kind == "server"}
    assert leaf.qos is not None
    paused = {port for one in leaf.qos.profiles for port in one.ports}
    assert of["tester1"].name in leaf.qos.ports
    assert of["tester1"].name not in paused
    assert of["H100-01"].name not in {*leaf.qos.ports, *paused}
    assert of["H100-02"].name in paused
    assert lost(leaf) == []


def test_a_server_whose_port_does_not_pause_is_told(tmp_path: Path) -> None:
    found = [one for one in run_checks(Subject.of(_network(tmp_path, TESTER)), slow=False) if one.severity == "error"]
    assert [(one.id, one.where) for one in found] == [("qos-disagree", "H100-01:mgmt_eth at frontend-leaf1 et-0/0/8")]


def test_exceptions_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing is on port 'et-0/0/29' of frontend-leaf1"):
        _network(tmp_path, "    frontend-leaf1: {ports: {et-0/0/29: {pfc: false}}}")
    with pytest.raises(InputError, match="has other quality of service than its far end, frontend-spine1"):
        _network(tmp_path, "    frontend-leaf1: {ports: {et-0/0/0: {pfc: false}}}")
    with pytest.raises(InputError, match="pfc on a port without qos"):
        _network(tmp_path, "    frontend-leaf1: {ports: {et-0/0/30: {pfc: true, qos: false}}}")
