"""The stand-ins that change take a change from clients that are not ours: what our own client does there is what others do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pyeapi
import pytest
from ncclient import manager
from ncclient.operations import RPCError
from pyeapi.client import Node
from pyeapi.eapilib import CommandError

from tests.live.reach.stand_ins import PASSWORD, USER, StandIns, stand_ins
from tests.operations.deploy.eos_box import EosBox
from tests.operations.deploy.junos_box import JunosBox


@pytest.fixture
def devices() -> Iterator[StandIns]:
    with stand_ins() as found:
        yield found


def went_back(box: EosBox | JunosBox) -> bool:
    end = time.monotonic() + 60
    while box.waits and time.monotonic() < end:
        time.sleep(0.02)
    return not box.waits


def test_ncclient_changes_junos(devices: StandIns) -> None:
    old, new = "set system host-name old", "set system host-name new"
    box = JunosBox([old])
    device = devices.ssh({}, calls=box)
    login = {"username": USER, "password": PASSWORD, "hostkey_verify": False, "allow_agent": False}
    where = {"host": "127.0.0.1", "port": device.port, "timeout": 120, "device_params": {"name": "junos"}}
    connected: Any = manager.connect(**where, **login, look_for_keys=False)
    with connected as session:
        with session.locked("candidate"):
            session.load_configuration(action="set", config=["delete system host-name", new])
            assert f"+ {new}" in session.compare_configuration().xpath("//configuration-output")[0].text
            session.commit(check=True)
            session.commit(confirmed=True, timeout="120", comment="first")
        said = session.rpc("<get-commit-information/>").xpath("//commit-history")[0]
        assert said.findtext("log") == "first"
        assert said.findtext("comment") == "commit confirmed, rollback in 2mins"
        assert box.waits
        session.commit()
        assert not box.waits
        assert box.running == [new]
        box.scale = 0.01
        with session.locked("candidate"):
            session.rollback(1)
            session.commit(confirmed=True, timeout="600")
        assert went_back(box)
        assert box.running == [new]
        with session.locked("candidate"):
            session.rollback(1)
            box.candidate_refused = True
            with pytest.raises(RPCError, match="not within range"):
                session.commit()
            session.discard_changes()
        assert box.running == [new]


def test_pyeapi_changes_eos(devices: StandIns) -> None:
    box = EosBox(text_of("old"))
    port = devices.web({}, commands=box).port

    def login() -> Node:
        there = pyeapi.connect(transport="http", host="127.0.0.1", username=USER, password=PASSWORD, port=port)
        return Node(there)

    node = login()
    node.configure_session()
    node.config(["hostname new"])
    assert "+hostname new" in node.diff()
    assert box.running == text_of("old")
    node.config(["commit timer 00:10:00"])
    name = next(iter(box.sessions))
    said = login().enable("show configuration sessions detail")[0]["result"]
    assert said["commitTimerSessionName"] == name
    assert box.running == text_of("new")
    login().run_commands([f"configure session {name} commit"])
    assert not box.waits
    assert not box.sessions
    box.scale = 0.001
    node.config(["hostname newer", "commit timer 00:10:00"])
    assert went_back(box)
    assert box.running == text_of("new")
    with pytest.raises(CommandError, match="invalid command"):
        node.config(["nonsense"])
    node.abort()
    assert not box.sessions


def text_of(name: str) -> str:
    return f"!\nhostname {name}\n!\nend\n"
