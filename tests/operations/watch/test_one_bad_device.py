"""What one device says ends neither the watch nor the check of the others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from railweave.errors import RailweaveError
from railweave.live.collect.plan import CollectTarget
from railweave.live.collect.queries import ask_all
from railweave.live.fleet.running import Answer, _take
from railweave.live.reach import command, failure
from railweave.live.reach.command import Command
from railweave.live.reach.failure import ReachError, limited
from railweave.live.reach.gnmi import Gnmi
from railweave.live.reach.gnmi_messages import message, path_message
from railweave.live.reach.target import MachineLogin, Target
from railweave.model.state.question import Question
from railweave.model.state.telemetry import Series, Subscription
from railweave.operations.watch.collector import Collector, WatchedDevice
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.setting_up import SubscriptionState
from railweave.operations.watch.stream import Stream
from railweave.operations.watch.validator import look
from railweave.systems import system, systems
from railweave.systems.reading import read_state
from tests.operations.watch.test_anomalies import validator_and_states

OCTETS = Series("in_octets", "et-0/0/1:0")


class Source:
    """``run`` does what it is told to, once; then it lasts."""

    def __init__(self, stream: Stream, first: BaseException | float | None) -> None:
        self.reached = SubscriptionState()
        self.stream = stream
        self.first = first
        self.begun = 0

    async def run(self) -> None:
        self.begun += 1
        if isinstance(self.first, BaseException) and self.begun == 1:
            raise self.first
        self.reached.turn(up=True)
        await asyncio.sleep(3600)


def device(name: str, first: BaseException | float | None = None) -> WatchedDevice:
    stream = Stream(name, Layout(lambda _: OCTETS))
    return WatchedDevice(name, "junos", "leaf", stream, [Source(stream, first)])


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), RecursionError(), OverflowError("too large"), ExceptionGroup("two", [TypeError("y"), KeyError()])],
)
def test_a_source_that_fails_makes_one_device_silent_and_begins_again(error: Exception) -> None:
    one, two = device("leaf1", error), device("leaf2")
    collector = Collector([one, two], None, every_s=0.02)
    whys: list[str] = []
    collector.after_each_step(lambda _: whys.append(one.reached.why))

    async def run() -> None:
        task = asyncio.create_task(collector.run())
        while one.sources[0].begun < 2:  # type: ignore[attr-defined]
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(run())
    assert any("cannot be read" in why for why in whys) or "cannot be read" in one.reached.why or one.reached.up
    assert two.sources[0].begun == 1  # type: ignore[attr-defined]


def test_a_library_that_is_missing_ends_the_watch() -> None:
    collector = Collector([device("leaf1", RailweaveError("it needs a library"))], None, every_s=0.02)
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(collector.run())
    assert isinstance(caught.value.exceptions[0], RailweaveError)


def test_a_round_that_cannot_be_read_is_one_devices() -> None:
    one, two = device("leaf1"), device("leaf2")
    two.stream.offer([(OCTETS, 5)], 1, 1.0)
    one.stream.offer([(OCTETS, object())], 1, 1.0)  # type: ignore[list-item]
    one.stream.end_round = lambda _: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    collector = Collector([one, two], None, every_s=10)
    asyncio.run(collector.step(2.0))
    assert list(collector.rates) == ["leaf2"]
    assert "cannot be read: ZeroDivisionError" in one.reached.why


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 400, "9" * 5000, "1e999", '"' + "9" * 400 + '"'])
def test_a_counter_of_400_digits_is_no_number(number: str) -> None:
    stream = Stream("leaf1", Layout(lambda _: OCTETS))
    update = message("Update")(path=path_message("/a/b"), val=message("TypedValue")(json_val=number.encode()))
    stream.take(_raw(update), 1.0)
    stream.offer([(Series("out_octets", "x"), int("9" * 400)), (Series("out_pkts", "x"), 7)], 1, 1.0)
    stream.end_round(2.0)
    assert OCTETS not in stream.last()
    assert Series("out_octets", "x") not in stream.last()


def _raw(update: Any) -> Any:
    sent = message("Notification")(timestamp=1, update=[update])
    return message("RawNotification").FromString(sent.SerializeToString())


@pytest.mark.parametrize("depth", [400, 900, 100_000])
def test_json_that_is_nested_without_end_is_not_read(depth: int) -> None:
    table = '{"a":' * depth + "1" + "}" * depth
    stream = Stream("leaf1", Layout(lambda _: None))
    stream.take(
        _raw(message("Update")(path=path_message("/a"), val=message("TypedValue")(json_ietf_val=table.encode()))), 1.0
    )
    for nos in systems():
        reader = system(nos).state
        for question in [] if reader is None else ("bgp", "interfaces", "lldp", "version"):
            assert read_state("leaf1", nos, {question: table}).device == "leaf1"


def test_what_is_no_protobuf_ends_the_subscription_alone() -> None:
    async def data() -> AsyncIterator[bytes]:
        yield b"\xff\xff\xff"

    class Call:
        def __aiter__(self) -> AsyncIterator[bytes]:
            return data()

        def cancel(self) -> None: ...

    channel = SimpleNamespace(stream_stream=lambda _: lambda *_, **__: Call())
    gnmi = Gnmi(channel, Target("leaf1", (), MachineLogin("127.0.0.1", "x", {})), ())  # type: ignore[arg-type]

    async def run() -> None:
        async for _ in gnmi.subscribed([Subscription("/a", "ports", "sample")], "proto", 10):
            pass

    with pytest.raises(ReachError, match="no gNMI"):
        asyncio.run(run())


def test_an_answer_that_cannot_be_read_is_one_devices() -> None:
    class Transport:
        def __init__(self, name: str) -> None:
            self.name = name

        async def ask(self, _: Question) -> str:
            if self.name == "leaf1":
                raise RecursionError
            return "good"

        async def close(self) -> None: ...

    async def opened(target: Target, _: str) -> Transport:
        return Transport(target.name)

    question = Question("version", "text", {"ssh": "show version"})
    asked = [
        CollectTarget(Target(name, ("ssh",), MachineLogin("x", "x")), "junos", (question,))
        for name in ("leaf1", "leaf2")
    ]
    kept: list[str] = []
    found = asyncio.run(
        ask_all(
            asked, lambda name, _, __: kept.append(name), at_once=2, attempts=1, done=lambda _: None, open_by=opened
        )  # type: ignore[arg-type]
    )
    assert [one.status for one in found] == ["failed", "answered"]
    assert found[0].error == "the answer cannot be read: RecursionError"
    assert kept == ["leaf2"]


def test_an_output_without_end_is_ended() -> None:
    class Endless:
        async def read(self, n: int) -> bytes:
            return b"x" * n

    with pytest.raises(ReachError, match="longer than"):
        asyncio.run(limited(Endless()))


def test_a_command_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure, "MOST_BYTES", 1 << 20)
    with pytest.raises(ReachError, match="longer than"):
        asyncio.run(Command({}, limit=600).ran("yes"))


def test_a_command_is_ended_though_its_pipe_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio stops reading a pipe that nobody empties, and then never hears that the program is gone."""

    async def gives_up(stream: asyncio.StreamReader) -> bytes:
        while not stream._paused:  # type: ignore[attr-defined]
            await asyncio.sleep(0)
        raise failure.endless()

    monkeypatch.setattr(failure, "limited", gives_up)
    with pytest.raises(ReachError, match="longer than"):
        asyncio.run(Command({}, limit=600).ran("yes"))


def test_a_command_is_ended_though_another_holds_its_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(command, "ENDING_S", 0.01)
    with pytest.raises(ReachError, match="longer than"):
        asyncio.run(Command({}, limit=600).ran("sh -c 'setsid sleep 2 > /dev/null & exec yes'"))


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"results": []}, "checked nothing"),
        ({"results": [{}]}, "no verdict"),
        ({"results": [{"check": "nic-mac", "verdict": "FAILED"}]}, "no verdict"),
        ({"results": [{"check": "nic-mac", "verdict": "ok"}, {"check": "nic-mac"}]}, "no verdict"),
        ({"results": {"a": 1}}, "did not print"),
        ({}, "did not print"),
        ([], "did not print"),
        ("[" * 100_000, "did not print"),
    ],
)
def test_a_server_that_says_nothing_is_not_good(document: object, why: str) -> None:
    answer = Answer("gpu-1", "x")
    _take(answer, document if isinstance(document, str) else json.dumps(document), {})
    assert why in answer.error
    assert answer.verdicts == ()


def test_a_server_that_says_something_is_taken_at_its_word() -> None:
    answer = Answer("gpu-1", "x")
    _take(answer, json.dumps({"results": [{"check": "nic-mac", "verdict": "ok", "of": "eth0"}]}), {})
    assert (answer.error, len(answer.verdicts)) == ("", 1)


def test_a_state_that_cannot_be_compared_is_a_device_that_does_not_answer() -> None:
    validator, states = validator_and_states()
    name = next(iter(states))
    broken: Mapping[str, Any] = {**states, name: replace(states[name], bgp=(None,))}  # type: ignore[arg-type]
    now = replace(look([], {}, 100.0), states=broken)
    found = validator.findings(now)
    silent = [one for one in found if one.id == "device-silent" and one.where == name]
    assert [one.what for one in silent if "cannot be compared" in one.what]
    assert all(one.where != "fabric" for one in found)
