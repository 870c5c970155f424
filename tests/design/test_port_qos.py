"""Exceptions of quality of service for single ports: rendered, read back, and refused where they cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave import api
from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.errors import InputError
from railweave.model.device.build import device_config
from tests.conftest import EXAMPLES
from tests.systems.there_and_back import lost

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network


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
    findings = run_checks(Subject.of(_network(tmp_path, TESTER)), slow=False)
    assert [one.id for one in findings if one.severity == "error"] == []
    found = [one for one in findings if one.id == "qos-port-exception"]
    assert [one.where for one in found] == ["H100-01:mgmt_eth at frontend-leaf1 et-0/0/8"]
    assert "the port has no quality of service (`qos: false`)" in found[0].what
    assert "overrides.devices.frontend-leaf1.ports" in found[0].fix
    assert "H100-01's administrator" in found[0].fix


def test_a_server_port_that_does_not_pause_is_a_warning(tmp_path: Path) -> None:
    lines = "    frontend-leaf1: {ports: {et-0/0/8: {pfc: false}}}"
    findings = run_checks(Subject.of(_network(tmp_path, lines)), slow=False)
    assert [one.id for one in findings if one.severity == "error"] == []
    (found,) = [one for one in findings if one.id == "qos-port-exception"]
    assert found.what == "the port does not pause (`pfc: false`), and the NIC has PFC on for priority 3"


def test_exceptions_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no cable is connected to port 'et-0/0/29' of frontend-leaf1"):
        _network(tmp_path, "    frontend-leaf1: {ports: {et-0/0/29: {pfc: false}}}")
    with pytest.raises(InputError, match="has a different quality of service than the far end, frontend-spine1"):
        _network(tmp_path, "    frontend-leaf1: {ports: {et-0/0/0: {pfc: false}}}")
    with pytest.raises(InputError, match="pfc is on for a port without qos"):
        _network(tmp_path, "    frontend-leaf1: {ports: {et-0/0/30: {pfc: true, qos: false}}}")
