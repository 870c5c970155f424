"""``railweave check --live``: switches and servers are asked over real protocols, and compared at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave import api
from railweave.analysis.expect.hosts import expected_host
from railweave.cli.app import app
from railweave.errors import InputError
from railweave.model.state.capture import read_capture
from tests.live.check.said.host import answer
from tests.live.collect.test_collect import FABRIC, access_file, designed, devices, started
from tests.live.reach.stand_ins import PASSWORD, StandIns, trusting

__all__ = ["devices"]


def test_a_living_network_is_asked_and_compared(devices: StandIns, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)
    network = designed("frr")
    leaf, server = network.switches[0].name, network.servers[0].name
    words = "railweave-host show --json"
    by_name = {
        leaf: started(devices, "frr", leaf),
        server: devices.ssh({words: answer(expected_host(network, server)).replace('"mtu": 9000', '"mtu": 1500', 1)}),
    }
    access = access_file(tmp_path, by_name, trusting(tmp_path, *by_name.values()))
    asked = ["--ask", leaf, "--ask", server, "--access", access, "--device", ":frr", "-q"]
    result = CliRunner().invoke(app, ["check", str(FABRIC), "--live", *map(str, asked), "-o", str(tmp_path / "kept")])
    assert result.exit_code == 1, result.output
    assert f"error [nic-mtu-differs] {server} " in result.output
    assert f"2 of {len(network.switches) + 1} devices answered" in result.output
    assert "[device-silent]" not in result.output  # what was not asked is a note
    assert set(read_capture(tmp_path / "kept").devices) == {leaf, server}
    found = api.check(FABRIC, live=True, access=access, ask=[server], only=["nic-mtu-differs"])
    assert [one.where.split()[0] for one in found.findings] == [server]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "exactly one of: CAPTURE, --live, --lab"),
        ({"live": True, "lab": True}, "exactly one of: CAPTURE, --live, --lab"),
        ({"live": True, "capture": "x"}, "exactly one of: CAPTURE, --live, --lab"),
        ({"capture": "x", "servers": True}, "say how devices are asked"),
        ({"lab": True, "access": "x"}, "say how devices are asked"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        api.check(FABRIC, **given)  # type: ignore[arg-type]
