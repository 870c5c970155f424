"""Switches that answer anything while they are changed: their wave goes back at once, and the error names the switch."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from railweave.api.deploying import deploy_apply, deploy_plan
from railweave.errors import SpecError
from railweave.live.fleet import transaction
from railweave.live.reach.change_session import Commands
from railweave.live.reach.failure import ReachError, UnreadableError
from railweave.live.reach.netconf import _MESSAGE, Netconf, _errors, output
from railweave.operations.deploy.changes import DeviceChange
from railweave.operations.deploy.device import Device
from railweave.operations.deploy.planning import host_files
from railweave.operations.deploy.rollout import StoppedError
from railweave.systems.transaction import ChangeRequest, RefusedError
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.eos_network import EosNetwork, eos_network, of_eos, runs
from tests.operations.deploy.test_rollout import SMALL

LARGER = SMALL.replace("stripes: 1", "stripes: 2").replace(
    "stripe: stripe1}", 'stripe: stripe1}\n  - {names: "gpu-[3-4]", model: dgx-h100-2gpu, stripe: stripe2}'
)
HOSTILE = {
    "nothing": "[]",
    "wrong types": '[5, [null], {"output": {"a": 1}}]',
    "a map": '{"a": 1}',
    "garbage": "garbage \x01{[<&",
    "deep": "[" * 100_000,
    "a long number": "[" + "9" * 10_000 + "]",
}


def hostile_after_commit(network: EosNetwork, name: str, answer: list[Any]) -> None:
    """Let a switch take its commit, and answer everything from then on with ``answer``."""
    device, inner = network.devices[name], network.devices[name].commands
    assert inner is not None
    committed = False

    def commands(words: list[str], form: str) -> list[Any] | str:
        nonlocal committed
        if committed:
            return answer
        found = inner(words, form)
        committed = any("commit timer" in one for one in words)
        return answer if committed else found

    device.commands = commands


def test_a_wave_goes_back_at_once_whatever_a_switch_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)
    fabric, other = tmp_path / "fabric.yaml", tmp_path / "other.yaml"
    fabric.write_text(of_eos(LARGER))
    other.write_text(of_eos(LARGER.replace("fc00::/16", "fd00::/16")))
    with eos_network(fabric, runs(other)) as network:
        path = tmp_path / "plan.json"
        plan = deploy_plan(fabric, live=True, access=network.access, allow_cut=["backend"])
        write_file(path, json.dumps(plan.to_json()), private=True)
        wave = next(wave.devices for wave in plan.waves if len(wave.devices) > 1)
        name, others = wave[0], wave[1:]
        before = {one: network.boxes[one].running for one in others}
        hostile_after_commit(network, name, [])
        with pytest.raises(StoppedError, match="so that their timers must") as stopped:
            deploy_apply(path, access=network.access, settle=0)
        assert name in str(stopped.value)
        assert not stopped.value.back
        assert {one: network.boxes[one].running for one in others} == before
        assert not any(network.boxes[one].waits for one in others)


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("nos", ["eos", "junos", "sonic"])
def test_no_answer_ends_more_than_its_device(nos: str, answer: str) -> None:
    """A commit whose answer is not understood may have been carried out: only a refusal leaves the device as it was."""

    class Hostile:
        async def execute(self, words: str, given: str = "") -> str:
            return answer

        async def close(self) -> None: ...

    async def open_by(name: str, protocol: str) -> Hostile:
        return Hostile()

    files = {"eos": "eos.conf", "junos": "junos.conf", "sonic": "config_db.json"}
    file = files[nos]
    change = DeviceChange("leaf1", nos, {file: ""}, {file: ("hostname leaf1",)}, after={file: ""})
    given = ChangeRequest("railweave-small-1-abcdef", {file: ("hostname leaf1",)}, {file: "{}"}, {file: "{}"})
    device = Device(change, given, open_by, attempts=1)  # type: ignore[arg-type]

    async def every() -> None:
        for work in (device.running, device.pending, device.rehearse, lambda: device.commit(60), device.confirm):
            with suppress(ReachError, RefusedError, SpecError):
                await work()
        assert not device.untouched
        with suppress(ReachError, RefusedError, SpecError):
            await device.go_back()

    asyncio.run(every())


def test_an_unreadable_answer_by_eapi_is_no_refusal() -> None:
    class Garbage:
        async def ran(self, *_: object) -> list[object]:
            raise UnreadableError("refused", "the answer is no JSON")

    with pytest.raises(UnreadableError):
        asyncio.run(Commands(Garbage()).execute("show version"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "<rpc-error " * 400_000,
        "<output " * 400_000,
        "<output>" * 400_000,
        "<rpc-error>" + "<error-message " * 400_000 + "</rpc-error>",
    ],
)
def test_a_reply_by_netconf_is_read_once(text: str) -> None:
    begun = time.monotonic()
    for error in _errors(text):
        _MESSAGE.search(error)
    output(text)
    assert time.monotonic() - begun < 2


def test_a_reply_by_netconf_in_chunks_of_a_byte_is_read_in_time() -> None:
    data = b"\n#1\nx" * 200_000 + b"\n##\n"

    class Out:
        at = 0

        async def read(self, n: int) -> bytes:
            self.at += n
            return data[self.at - n : self.at]

    session = Netconf([], SimpleNamespace(stdout=Out()), 60)  # type: ignore[arg-type]
    session._chunked = True
    begun = time.monotonic()
    assert asyncio.run(session._message()) == "x" * 200_000
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_server_that_answers_anything_is_one_server(kind: str) -> None:
    answers = {"gpu-1": HOSTILE[kind], "gpu-2": ""}

    class Session:
        def __init__(self, name: str) -> None:
            self.name = name

        async def execute(self, words: str, given: str = "") -> str:
            answer = answers[self.name]
            return f"{answer}\n{transaction._MARK}\n{answer}" if answer else ""

        async def close(self) -> None: ...

    async def open_to_change(name: str, _: str) -> Session:
        return Session(name)

    site = SimpleNamespace(open_to_change=open_to_change, at_once=2)
    texts, silent = host_files(site, list(answers), lambda *_: None)  # type: ignore[arg-type]
    assert set(texts) | set(silent) == set(answers)
    assert texts["gpu-2"] == {transaction.FILE: ""}
    assert "gpu-1" in silent or kind == "a map"
