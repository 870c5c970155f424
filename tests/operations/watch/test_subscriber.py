"""A target over TLS: subscribed to with a user's name, down when it ends or hangs, back by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from railweave.live.reach.failure import ReachError
from railweave.live.reach.gnmi import Gnmi
from railweave.live.reach.target import MachineLogin, Password
from railweave.live.reach.target import Target as Reach
from railweave.model.state import telemetry as openconfig
from railweave.model.state.telemetry import Series, Subscription
from railweave.operations.watch import setting_up
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.setting_up import Subscriber, silent_after
from railweave.operations.watch.stream import Stream
from tests.operations.watch.gnmi_target import PASSWORD, USER, Leaf, Target, certificates, server_credentials

STATE = "/interfaces/interface[name=et-0/0/1:0]/state"
PATHS = (
    Subscription("/interfaces/interface/state/oper-status", "on_change"),
    Subscription("/interfaces/interface/state/counters"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("certificates")
    certificates(found)
    return found


def way(folder: Path, monkeypatch: pytest.MonkeyPatch, password: str = PASSWORD) -> MachineLogin:
    monkeypatch.setenv("WATCHER", password)
    return MachineLogin("127.0.0.1", USER, password=Password("env", "WATCHER"), certificates=folder / "ca.pem")


@asynccontextmanager
async def target(folder: Path) -> AsyncIterator[Target]:
    made = Target(
        "a-leaf", [[Leaf(f"{STATE}/oper-status", "UP")], [Leaf(f"{STATE}/counters/in-octets", 0, 500)]], login=True
    )
    made.credentials = server_credentials(folder)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def reach(own: MachineLogin, limit_s: float = 5) -> Reach:
    return Reach("a-leaf", (), own, limit_s, limit_s)


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not what():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def subscribed(one: Target, own: MachineLogin, paths: Any = PATHS) -> AsyncIterator[Subscriber]:
    stream = Stream("a-leaf", Layout(openconfig.series))
    telemetry: Any = SimpleNamespace(SUBSCRIPTIONS=paths, ENCODING="proto")
    made = Subscriber(stream, telemetry, partial(Gnmi.opened, reach(own), one.port), every_s=0.05)
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.wait([task])


def test_numbers_come_and_changes_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with target(folder) as one, subscribed(one, way(folder, monkeypatch)) as made:
            await until(lambda: made.stream.updates > 5)
            assert made.reached.up
            one.set(f"{STATE}/oper-status", "DOWN")
            await until(
                lambda: (made.stream.end_round(0) or made.stream.last().get(Series("port_up", "et-0/0/1:0"))) == 0
            )
            assert made.stream.last()[Series("in_octets", "et-0/0/1:0")] >= 500

    asyncio.run(run())


def test_a_target_that_ends_is_down_and_comes_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with target(folder) as one, subscribed(one, way(folder, monkeypatch)) as made:
            await until(lambda: made.reached.up)
            made.stream.end_round(0)
            await one.stop()
            await until(lambda: not made.reached.up)
            assert made.stream.last() == {}, "what it said last is not its state"
            await one.start()
            await until(lambda: made.reached.up)
            assert made.reached.tries >= 1

    asyncio.run(run())


def test_a_target_that_hangs_is_down(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with target(folder) as one, subscribed(one, way(folder, monkeypatch)) as made:
            await until(lambda: made.reached.up)
            one.paused = True
            await until(lambda: not made.reached.up)
            assert "nothing came for" in made.reached.why
            one.paused = False
            await until(lambda: made.reached.up)

    monkeypatch.setattr(setting_up, "silent_after", lambda *_: 0.4)
    asyncio.run(run())


def test_an_interval_and_a_little_more() -> None:
    assert silent_after(10, 0) == pytest.approx(13), "with the connection's own end, `up 0` within 15 s"
    assert silent_after(2, 10) == pytest.approx(13), "a system that tells less often is given longer"


def test_paths_that_are_refused_are_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target may refuse a call for one path of it. It is then asked path by path, and the others go on."""
    import grpc

    class Picky(Target):
        async def subscribe(self, requests: Any, context: Any) -> Any:
            first = await anext(aiter(requests))

            async def rest() -> AsyncIterator[bytes]:
                yield first

            if b"oper-status" in first:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "path oper-status is not supported")
            async for one in super().subscribe(rest(), context):
                yield one

    async def run() -> None:
        made = Picky("a-leaf", [[Leaf(f"{STATE}/counters/in-octets", 0, 500)]])
        made.credentials = server_credentials(folder)
        await made.start()
        async with subscribed(made, way(folder, monkeypatch)) as one:
            await until(lambda: one.reached.up)
            assert list(one.reached.refused) == [PATHS[0].path]
            assert "not supported" in one.reached.refused[PATHS[0].path]
        await made.stop()

    asyncio.run(run())


def test_models_and_encodings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> tuple[tuple[str, ...], tuple[str, ...]]:
        async with target(folder) as one:
            connection = await Gnmi.opened(reach(way(folder, monkeypatch)), one.port)
            try:
                return await connection.capabilities()
            finally:
                await connection.close()

    assert asyncio.run(run()) == (("openconfig-interfaces 3.0.0",), ("json_ietf", "proto"))


def failure(folder: Path, own: MachineLogin, port: int | None = None) -> ReachError:
    async def run() -> None:
        async with target(folder) as one:
            connection = await Gnmi.opened(reach(own, 2), port or one.port)
            try:
                await connection.capabilities()
            finally:
                await connection.close()

    with pytest.raises(ReachError) as caught:
        asyncio.run(run())
    return caught.value


def test_who_is_not_let_in_or_not_trusted(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = way(folder, monkeypatch)
    assert failure(folder, way(folder, monkeypatch, "another word")).kind == "login"
    good = way(folder, monkeypatch)
    certificates(tmp_path)
    assert failure(folder, replace(good, certificates=tmp_path / "ca.pem")).kind == "host key"
    assert failure(folder, replace(good, certificates=tmp_path / "names")).kind == "host key"
    assert failure(folder, replace(good, address="localhost")).kind == "host key", "a name must be the certificate's"
    assert failure(folder, good, 9).kind == "unreachable"
    assert failure(folder, replace(good, address="192.0.2.1", tls=False)).kind == "not asked", "a password in clear"
    assert failure(folder, replace(good, jump=good)).kind == "not asked"
