"""``railweave host show``: what a server has, in a namespace of its own, and with an RDMA device that is files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from railweave.host import show
from railweave.host.commands import main
from railweave.host.machine import ThisMachine
from railweave.model.state.host_state import read_host
from tests.host.test_gids import slots, tree


def test_what_is_shown_is_what_the_reader_of_answers_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sysfs = tree(tmp_path, {"mlx5_0": slots("fc00:1:1:1::a")})
    port = sysfs / "class/infiniband/mlx5_0/ports/1"
    (port / "state").write_text("4: ACTIVE\n")
    for folder, name, value in (
        ("counters", "port_rcv_data", "12"),
        ("hw_counters", "packet_seq_err", "3"),
        ("hw_counters", "lifespan", "x"),
    ):
        (port / folder).mkdir(exist_ok=True)
        (port / folder / name).write_text(f"{value}\n")
    assert main(["show", "--json", "--sysfs", str(sysfs)]) == 0
    text = capsys.readouterr().out
    shown = json.loads(text)
    state = read_host("here", {"host": text})
    assert state.notes == ()
    assert state.host_name == shown["host"]
    assert state.interfaces is not None
    assert state.interfaces["lo"].mtu == 65536
    assert state.rules
    assert state.gids
    assert {one.device for one in state.gids} == {"mlx5_0"}
    assert state.rdma is not None
    assert [(one.active, one.counters) for one in state.rdma] == [(True, {"port_rcv_data": 12, "packet_seq_err": 3})]
    assert main(["show", "--sysfs", str(sysfs)]) == 0
    assert capsys.readouterr().out.startswith("lo ")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ('#!/bin/sh\necho \'{"lldp": {"interface": []}}\'\n', None),
        ("#!/bin/sh\necho 'unable to connect to lldpd' >&2\nexit 1\n", "unable to connect to lldpd"),
        ("#!/bin/sh\necho nonsense\n", "no JSON"),
    ],
)
def test_lldp_is_asked_where_its_daemon_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str | None
) -> None:
    program = tmp_path / "lldpcli"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setattr(show, "_LLDP", (str(program), *show._LLDP[1:]))
    shown = show.state_document(ThisMachine(tmp_path))
    if says is None:
        assert (shown["lldp"], shown["notes"]) == ({"lldp": {"interface": []}}, [])
    else:
        assert shown["lldp"] is None
        assert says in shown["notes"][0]
    monkeypatch.setattr(show, "_LLDP", (str(tmp_path / "none"),))
    assert "lldpcli is not there" in show.state_document(ThisMachine(tmp_path))["notes"][0]
