"""Agents that answer SNMP without end, in the wrong order or with garbage: an error in time, and nothing fills the memory."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pysnmp.proto.api.v2c as v2c
import pytest
from pyasn1.codec.ber import decoder, encoder

from railweave.live.reach import snmp
from railweave.live.reach.failure import ReachError
from railweave.live.reach.target import MachineLogin, Password, Snmp, Target

COLUMN = "1.3.6.1.2.1.2.2.1.8"
Row = tuple[tuple[int, ...], Any]


@contextmanager
def agent(rows: Callable[[int], list[Row]], wait_s: float = 0) -> Iterator[int]:
    """An agent that answers the request number N (from 0) with ``rows(N)``; without rows, with garbage. Its port."""
    start = tuple(map(int, COLUMN.split(".")))
    ended = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        own.settimeout(0.1)

        def serve() -> None:
            number = 0
            while not ended.is_set():
                try:
                    data, asker = own.recvfrom(65535)
                except TimeoutError:
                    continue
                time.sleep(wait_s)
                message, _ = decoder.decode(data, asn1Spec=v2c.Message())
                reply = v2c.apiMessage.get_response(message)
                found = rows(number)
                number += 1
                v2c.apiPDU.set_varbinds(
                    v2c.apiMessage.get_pdu(reply), [((*start, *index), value) for index, value in found]
                )
                own.sendto(encoder.encode(reply) if found else b"\x30\x84\xff\xff\xff\xff" * 10, asker)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield own.getsockname()[1]
        finally:
            ended.set()
            thread.join()


def column(port: int, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, ...], int | str]:
    monkeypatch.setenv("COMMUNITY", "a-community")
    login = MachineLogin("127.0.0.1", "nobody", snmp=Snmp(Password("env", "COMMUNITY"), port=port))
    return asyncio.run(snmp.column(Target("a-leaf", (), login, 1, 1), COLUMN))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (lambda _: [((1,), v2c.Integer(1))], "not in ascending order"),
        (lambda number: [((100 - number,), v2c.Integer(1))], "not in ascending order"),
        (lambda _: [((2,), v2c.Integer(1)), ((1,), v2c.Integer(1))], "not in ascending order"),
        (lambda _: [], "does not answer"),
    ],
    ids=["the same row", "smaller rows", "smaller rows of an answer", "garbage"],
)
def test_an_agent_that_does_not_end_is_an_error(
    rows: Callable[[int], list[Row]], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agent(rows) as port, pytest.raises(ReachError, match=why):
        column(port, monkeypatch)


def test_a_column_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snmp, "COLUMN_S", 0.3)
    with (
        agent(lambda number: [((number,), v2c.Integer(1))], wait_s=0.05) as port,
        pytest.raises(ReachError, match="not read within"),
    ):
        column(port, monkeypatch)


def test_a_long_value_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    long = v2c.OctetString(b"\xff" * 60_000)

    with agent(lambda _: [((1,), long), ((2,), v2c.EndOfMibView())]) as port:
        assert {len(value) for value in column(port, monkeypatch).values() if isinstance(value, str)} == {snmp.LONGEST}


def test_an_unforeseen_error_is_one_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(_: object) -> int:
        raise RecursionError

    monkeypatch.setattr(snmp, "_plain", plain)
    with agent(lambda number: [((number,), v2c.Integer(1))]) as port, pytest.raises(ReachError, match="RecursionError"):
        column(port, monkeypatch)
