"""A network and how its devices are reached, as devices that are watched: which are subscribed to, which are asked, and how often."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from railweave.errors import RailweaveError
from railweave.model.state.host_metrics import host_numbers
from railweave.model.state.host_state import read_host
from railweave.model.state.telemetry import PORTS_BY_SNMP
from railweave.operations.watch.collector import Watched
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.measured import said
from railweave.operations.watch.poller import Poller
from railweave.operations.watch.snmp import SnmpSource
from railweave.operations.watch.stream import Stream
from railweave.operations.watch.subscriber import Subscriber
from railweave.systems import system
from railweave.systems.reading import read_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from railweave.live.collect.asking import Open
    from railweave.live.collect.plan import Asked
    from railweave.live.reach.target import Target
    from railweave.model.state.telemetry import Series

AT_ONCE = 16
"""Devices that are asked at the same time."""


def watched(
    asked: Sequence[Asked],
    roles: Mapping[str, str],
    *,
    every_s: float,
    rarely_s: float,
    open_by: Open,
) -> list[Watched]:
    """The devices, each with what gets its numbers. Raises ``RailweaveError`` where a library is missing.

    They begin one after another within one interval, and so their samples do not come all at once either.
    """
    layouts: dict[str, Layout] = {}
    gate = asyncio.Semaphore(AT_ONCE)
    found: list[Watched] = []
    for number, one in enumerate(asked):
        later = number * every_s / len(asked)
        telemetry = system(one.system).telemetry if one.system else None
        if one.system not in layouts:
            layouts[one.system] = Layout(telemetry.series if telemetry else lambda _: None)
        name = one.target.name
        device = Watched(name, one.system, roles.get(name, ""), Stream(name, layouts[one.system]))
        device.streams = bool(telemetry and telemetry.SUBSCRIPTIONS and one.target.way.gnmi)
        if telemetry and device.streams:
            port = one.target.way.gnmi_port or telemetry.PORT
            device.sources.append(
                Subscriber(
                    device.stream, telemetry, partial(_opened, one.target, port), every_s=every_s, begin_after_s=later
                )
            )
        # What a subscription gives is not asked for at every interval; a system that streams but may not is asked rarely.
        quick = telemetry.QUICK if telemetry and (device.streams or not telemetry.SUBSCRIPTIONS) else frozenset[str]()
        take = _read if one.system else _read_server
        device.sources.append(
            Poller(
                one,
                device.stream,
                partial(take, device),
                quick=quick,
                every_s=every_s,
                rarely_s=rarely_s,
                begin_after_s=later,
                open_by=open_by,
                gate=gate,
                measure=not device.streams,
            )
        )
        if one.system and one.target.way.snmp is not None:
            columns = (*(telemetry.SNMP if telemetry else ()), *(() if device.streams else PORTS_BY_SNMP))
            if columns:
                device.others.append(
                    SnmpSource(one.target, device.stream, columns, _walk, every_s=every_s, begin_after_s=later)
                )
        found.append(device)
    return found


def _read(device: Watched, texts: Mapping[str, str]) -> Iterator[tuple[Series, float]]:
    device.asked = read_state(device.name, device.system, texts)
    return said(device.asked)


def _read_server(device: Watched, texts: Mapping[str, str]) -> Iterator[tuple[Series, float]]:
    device.host = read_host(device.name, texts)
    return host_numbers(device.name, texts)


async def _walk(target: Target, oid: str) -> Mapping[tuple[int, ...], int | str]:
    try:
        from railweave.live.reach.snmp import column
    except ModuleNotFoundError as error:
        raise RailweaveError(
            f"asking devices by SNMP needs {error.name}, which is not installed: pip install 'railweave[watch]'"
        ) from None
    return await column(target, oid)


async def _opened(target: Target, port: int) -> Any:  # noqa: ANN401 - a Gnmi
    try:
        from railweave.live.reach.gnmi import Gnmi
    except ModuleNotFoundError as error:
        raise RailweaveError(
            f"subscribing to devices needs {error.name}, which is not installed: pip install 'railweave[watch]'"
        ) from None
    return await Gnmi.opened(target, port)
