"""Clients of the console and senders of syslog: as many as there are descriptors for, and none for ever."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from railweave.operations.watch import app, descriptors, syslog
from railweave.operations.watch.descriptors import BACKLOG, MOST, connections
from railweave.operations.watch.syslog import Syslog

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def _page(_: Any) -> PlainTextResponse:
    return PlainTextResponse("a page")


async def _events(_: Any) -> StreamingResponse:
    async def stream() -> AsyncGenerator[bytes]:
        while True:
            yield b"data: x\n\n"
            await asyncio.sleep(3600)

    return StreamingResponse(stream(), media_type="text/event-stream")


@contextlib.asynccontextmanager
async def served(most: int) -> AsyncIterator[tuple[int, type[app.LimitedProtocol]]]:
    own = app.limited(most)
    application = Starlette(routes=[Route("/", _page), Route("/events", _events)])
    config = uvicorn.Config(
        application,
        http=own,
        ws="none",
        backlog=BACKLOG,
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listens:
        task = asyncio.create_task(server._serve([listens]))
        while not server.started:
            await asyncio.sleep(0)
        try:
            yield listens.getsockname()[1], own
        finally:
            server.should_exit = server.force_exit = True
            await task


async def _asked(port: int, what: bytes = ASK) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(what)
    return reader, writer


def test_who_asks_gets_in_while_others_only_hold_connections() -> None:
    async def run() -> None:
        async with served(8) as (port, own):
            held = [await _asked(port, b"GET / HT") for _ in range(100)]
            reader, writer = await _asked(port)
            assert (await reader.readuntil(b"a page")).startswith(b"HTTP/1.1 200")
            assert len(own.opened) <= 8
            gone = [await one.read() for one, _ in held[:80]]
            assert set(gone) == {b""}, "the first are cut off"
            for _, one in (*held, (reader, writer)):
                one.close()

    with contextlib.suppress(ConnectionResetError):
        asyncio.run(run())


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX: ", ASK + b"GET"])
def test_a_request_that_does_not_come_is_not_waited_for(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "HEADERS_S", 0.05)

    async def run() -> None:
        async with served(8) as (port, own):
            reader, writer = await _asked(port, sent)
            with contextlib.suppress(ConnectionResetError):
                await reader.read()  # ends
            assert not own.opened
            writer.close()

    asyncio.run(run())


def test_a_stream_of_events_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "STREAM_S", 0.05)
    monkeypatch.setattr(app, "ANSWER_S", 0.05)

    async def run() -> None:
        async with served(8) as (port, own):
            reader, writer = await _asked(port, b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"data: x" in await reader.readuntil(b"data: x")
            with contextlib.suppress(ConnectionResetError):
                await reader.read()
            assert not own.opened
            writer.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("soft", "hard", "devices", "most"),
    [
        (1024, 1024, 20, MOST),
        (1024, 1024, 100, 84),
        (1024, 1024, 1000, 8),
        (256, 4096, 100, MOST),
        (-1, -1, 10_000, MOST),
    ],
)
def test_collection_has_its_descriptors_first(soft, hard, devices, most, monkeypatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(descriptors.resource, "setrlimit", lambda _, limits: raised.append(limits))
    assert connections(devices) == most
    assert all(high == hard and low <= hard for low, high in raised)


def test_a_stranger_to_syslog_makes_room_for_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syslog, "MESSAGE_S", 3600.0)

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        own = Syslog("127.0.0.1", port, {"leaf1": "192.0.2.1"}, most=3)
        task = asyncio.create_task(own.run())
        held: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        while len(held) < 10:
            try:
                held.append(await _asked(port, b"<"))
            except OSError:  # it does not listen yet
                await asyncio.sleep(0)
        ends = [await one.read() for one, _ in held[:7] if not await _reset(one)]
        assert set(ends) <= {b""}
        _, writer = await _asked(port, b"<14>1 - leaf1 x - - - hello\n")
        while not own.events("leaf1"):
            await asyncio.sleep(0)
        for one in (*(each for _, each in held), writer):
            one.close()
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(run())


async def _reset(reader: asyncio.StreamReader) -> bool:
    try:
        return bool(await reader.read())
    except ConnectionResetError:
        return True
