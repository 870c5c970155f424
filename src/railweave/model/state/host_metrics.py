"""The metrics of a server: the counters of its NICs and of the net plugin, from ``railweave-host metrics --json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.question import Question
from railweave.model.state.telemetry import METRICS, Series
from railweave.model.state.values import Answers, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


HOST_METRICS = Question("host-metrics", "json", {"ssh": "railweave-host metrics --json"})
"""The request for a server's metrics. It is separate from the request ``HOST`` for the server's other state.

The program on the server takes the designed NICs, and the priority whose counters it reports, from ``host.json``.
"""
_GAUGES = {
    "up": "nic_up",
    "speed_bytes_per_second": "nic_speed",
    "planned_speed_bytes_per_second": "nic_planned_speed",
}
_NET = {"bytes": "bytes", "resent": "resent", "errors": "errors"}
_WAYS = {"send": "net_sent", "receive": "net_received"}


def host_numbers(device: str, texts: Mapping[str, str]) -> Iterator[tuple[Series, float]]:
    """Yield (series, number) for every number in one server's metrics. ``texts`` holds the answers by question.

    The port of a series is the Linux interface or the RDMA device. Unreadable parts raise no error.
    """
    shown = Answers(device, texts).tree(HOST_METRICS.name)
    if shown is None:
        return
    for nic in shown.all("nics"):
        yield from _of_nic(nic)
    sums: dict[Series, float] = {}
    for way in shown.all("net"):  # ways to several leaves are one here: a series is of a NIC and a path color
        for series, number in _of_plugin(way):
            sums[series] = sums.get(series, 0) + number
    yield from sums.items()


def _of_nic(nic: Value) -> Iterator[tuple[Series, float]]:
    name = nic.get("netdev").text()
    if name is None:
        return
    numbers = {metric: nic.get(key).number() for key, metric in _GAUGES.items()}
    counted = nic.get("counters")
    numbers |= {f"nic_{key}": counted.get(key).number() for key in counted.keys}
    for metric, number in numbers.items():
        if number is not None and metric in METRICS:
            yield Series(metric, name), number


def _of_plugin(way: Value) -> Iterator[tuple[Series, float]]:
    device, color = way.get("device").text(), way.get("color").integer()
    start = _WAYS.get(way.get("direction").text() or "")
    if device is None or color is None or start is None:
        return
    for key, suffix in _NET.items():
        number = way.get(key).number()
        if number is not None:
            yield Series(f"{start}_{suffix}", device, str(color)), number
