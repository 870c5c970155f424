"""One device killed in the middle, one with another host key, one late, one with garbage: the others finish, the finding is right.

Over each protocol; and the stand-ins answer clients that are not ours alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from lxml import etree
from ncclient import manager
from ncclient.operations import RPCError

from railweave import api
from railweave.live.collect.access_file import AccessFile
from railweave.model.state.capture import read_capture
from tests.live.collect.test_collect import access_file, designed, said
from tests.live.reach.stand_ins import PASSWORD, USER, StandIn, StandIns, stand_ins, trusting

WAYS = (("junos", "ssh"), ("junos", "netconf"), ("eos", "eapi"), ("sonic", "ssh"))
GARBAGE = "garbage \x01{[<&"


@pytest.fixture
def devices() -> Iterator[StandIns]:
    with stand_ins() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize(("nos", "protocol"), WAYS)
def test_the_others_finish_and_the_finding_is_right(
    devices: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nos: str, protocol: str
) -> None:
    monkeypatch.setenv("READER", PASSWORD)
    network = designed(nos)
    good, killed, stranger, slow, late, garbage = names = [one.name for one in network.switches][:6]
    others_are_done = threading.Event()
    faults: dict[str, dict[str, object]] = {
        killed: {"cut_after": 3},
        slow: {"held": others_are_done},
        late: {"held": threading.Event()},
    }
    start = devices.web if protocol == "eapi" else devices.ssh
    by_name: dict[str, StandIn] = {}
    for name in names:
        answers = said(nos, name, protocol)
        given = dict.fromkeys(answers, GARBAGE) if name == garbage else answers
        by_name[name] = start(given, **faults.get(name, {}))
    known = trusting(tmp_path, *(one for name, one in by_name.items() if name != stranger))
    key = by_name[good].key.export_public_key().decode()
    known.write_text(known.read_text() + f"[127.0.0.1]:{by_name[stranger].port} {key}\n")
    access = access_file(tmp_path, by_name, known, attempts=2, answer_seconds=600)
    text = yaml.safe_load(access.read_text())
    text["defaults"]["protocols"] = [protocol]
    access.write_text(yaml.safe_dump(text))
    # The late one alone has little time: the others have all that a loaded machine takes.
    target = AccessFile.target
    monkeypatch.setattr(
        AccessFile,
        "target",
        lambda self, name, *rest: replace(target(self, name, *rest), **({"answer_s": 0.2} if name == late else {})),
    )
    done: list[str] = []

    def progress(words: str) -> None:
        done.append(words.partition(": ")[0])
        if set(done) >= set(names) - {slow}:
            others_are_done.set()

    result = api.collect(network, tmp_path / "capture", access=access, only=names, progress=progress)
    rows = {one.device: one for one in result.outcomes}
    assert rows[good].status == "answered", rows[good]
    assert rows[slow].status == "answered", rows[slow]
    assert done[-1] == slow  # nobody waited for it
    assert (rows[killed].status, rows[killed].kind) == ("partly", "lost")
    assert (rows[late].status, rows[late].kind) == ("failed", "late")
    if protocol != "eapi":
        assert (rows[stranger].status, rows[stranger].kind) == ("failed", "host key")
        assert by_name[stranger].asked == []
    meta = read_capture(tmp_path / "capture").meta.devices
    assert meta[killed].error
    found = api.check(network, tmp_path / "capture")
    told = {(one.id, one.where.split()[0]) for one in found.findings}
    assert ("device-silent", late) in told
    assert ("device-silent", killed) not in told
    assert (("device-silent", stranger) in told) == (protocol != "eapi")
    assert not any(device == good and rule in {"question-not-answered", "answer-not-read"} for rule, device in told)
    unread = {device for rule, device in told if rule in {"answer-not-read", "question-not-answered"}}
    if protocol == "eapi":  # what is no JSON-RPC is no answer at all
        assert ("device-silent", garbage) in told
    else:
        assert garbage in unread
    silent = next(one for one in found.findings if (one.id, one.where) == ("device-silent", late))
    assert "no answer within" in silent.what


def test_openssh_gets_the_same_answer(devices: StandIns, tmp_path: Path) -> None:
    device = devices.ssh({"show version": "one\ntwo\n"})
    known = trusting(tmp_path, device)
    tell = tmp_path / "tell"
    tell.write_text(f"#!/bin/sh\necho {PASSWORD}\n")
    tell.chmod(0o700)
    words = ["ssh", "-F", "none", "-p", str(device.port), "-o", f"UserKnownHostsFile={known}"]
    words += ["-o", "StrictHostKeyChecking=yes", "-o", "PreferredAuthentications=password", f"{USER}@127.0.0.1"]
    ask = {**os.environ, "SSH_ASKPASS": str(tell), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    done = subprocess.run(
        [*words, "show version"], env=ask, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n"), done.stderr
    refused = subprocess.run(
        [*words, "show x"], env=ask, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert (refused.returncode, refused.stdout) == (1, "% Invalid input: show x\n")
    known.write_text(f"[127.0.0.1]:{device.port} {devices.ssh({}).key.export_public_key().decode()}")
    done = subprocess.run(
        [*words, "show version"], env=ask, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 255
    assert "Host key verification failed" in done.stderr


@pytest.mark.parametrize("chunked", [True, False])
def test_ncclient_gets_the_same_answer(devices: StandIns, chunked: bool) -> None:
    body = "<system-information><host-name>leaf1 &amp; x</host-name></system-information>"
    device = devices.ssh({"show system information": body, "get-configuration set": "set a\n"}, chunked=chunked)
    login = {
        "username": USER,
        "password": PASSWORD,
        "hostkey_verify": False,
        "allow_agent": False,
        "look_for_keys": False,
    }
    with manager.connect(host="127.0.0.1", port=device.port, timeout=300, **login) as session:
        asked = etree.Element("command", format="xml")
        asked.text = "show system information"
        assert body in session.dispatch(asked).xml
        assert "set a" in session.dispatch(etree.Element("get-configuration", format="set")).xml
        wrong = etree.Element("command", format="xml")
        wrong.text = "show nonsense"
        with pytest.raises(RPCError, match="Invalid input"):
            session.dispatch(wrong)


def test_curl_gets_the_same_answer(devices: StandIns) -> None:
    device = devices.web({"show version": '{"modelName": "x"}', "openconfig-lldp:lldp/interfaces": '{"a": 1}'})
    call = {
        "jsonrpc": "2.0",
        "method": "runCmds",
        "id": 1,
        "params": {"version": 1, "cmds": ["show version"], "format": "json"},
    }
    words = ["curl", "--silent", "--user", f"{USER}:{PASSWORD}"]
    here = f"http://127.0.0.1:{device.port}"
    done = subprocess.run(
        [*words, "--data", json.dumps(call), f"{here}/command-api"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["result"] == [{"modelName": "x"}]
    done = subprocess.run(
        [*words, f"{here}/restconf/data/openconfig-lldp:lldp/interfaces"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"a": 1}
