"""The measurements of a run as tables: dicts from column names to columns of equal length, for any data-frame library."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.prediction.simulation.engines.run import NEVER, Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave._sim import Series
    from railweave.prediction.simulation.engines.traffic import Traffic
    from railweave.prediction.simulation.model.wiring import Wiring

Columns = dict[str, Any]
"""A table as columns of equal length, by name: numpy arrays for numbers, lists for text."""

INTERVALS = 100
"""The approximate number of intervals in the time series of a run."""

MOST_ROWS = 4_000_000
"""The approximate limit on the rows of time series. The engine's own limit is 10 million."""

FINEST_PS = 10**6

TABLES = ("links", "flows", "series", "queues", "rates")
"""The names of the tables of a run, and of the properties of ``PacketCounts`` that return them."""


def interval_ps(wiring: Wiring, traffic: Traffic) -> int:
    """Return the interval in ps at which a run records time series: 1, 2 or 5 times a power of ten.

    A run of the expected length has about a hundred such intervals, or fewer in a very large network. ``wiring`` has the numbered nodes,
    ports and cables, and ``traffic`` has the messages.
    """
    sources = traffic.pairs[traffic.messages[:, 0].astype(np.int64), 0].astype(np.int64)
    carried = np.bincount(sources, traffic.messages[:, 1].astype(np.float64), len(wiring.nics))
    rates = wiring.cables[wiring.port_cable[wiring.first_port[: len(wiring.nics)]], 2].astype(np.float64)
    expected = float((carried * 8e6 / rates).max(initial=0))
    intervals = min(INTERVALS, MOST_ROWS // (len(wiring.port_cable) + len(traffic.pairs)) + 1)
    least = max(expected / intervals, FINEST_PS)
    power = 10 ** int(np.floor(np.log10(least)))
    return next(int(power * step) for step in (1, 2, 5, 10) if power * step >= least)


@dataclass(frozen=True, eq=False)
class PacketCounts:
    """The counters of a finished run, and the tables made from these counters.

    - ``own_pairs``: the number of queue pairs of the job. In arrays by queue pair, the job's queue pairs come before those of background
      traffic.
    - ``arrivals``: the time in ps at which each message arrived. ``sent_bytes``: the bytes that each port sent.
    - ``ports``, ``raw``: counters by port, and time series, of the packet engine; None if there are none. ``counted_ps`` is the time up to
      which the counters count.
    - ``time_ps``: the time of the collective. ``every_ps``: the interval of the time series.
    """

    wiring: Wiring
    traffic: Traffic
    own_pairs: int
    arrivals: NDArray[np.uint64]
    sent_bytes: NDArray[np.float64]
    ports: dict[str, NDArray[np.uint64]] | None
    raw: Series | None
    time_ps: int
    counted_ps: int
    every_ps: int
    slower: NDArray[np.float64]
    """For each port, the average factor by which its link was slower than designed."""
    used: NDArray[np.bool_] | None = None
    """For each port, True if the job's messages use it. None without background traffic."""

    @classmethod
    def of(
        cls,
        wiring: Wiring,
        traffic: Traffic,
        own_pairs: int,
        run: Run,
        time_ps: int,
        every_ps: int,
        slower: NDArray[np.float64],
        used: NDArray[np.bool_] | None = None,
    ) -> PacketCounts:
        """Return the counters of a run. All arguments except ``run`` are the values of the fields with the same names."""
        return cls(
            wiring,
            traffic,
            own_pairs,
            run.arrivals,
            run.sent_bytes,
            run.ports,
            run.series,
            time_ps,
            run.counted_ps,
            every_ps,
            slower,
            used,
        )

    @cached_property
    def _nodes(self) -> list[str]:
        return [*self.wiring.nics, *self.wiring.switches]

    @cached_property
    def _ends(self) -> tuple[list[str], list[str], list[str]]:
        """Three lists of names with one member for each port: its link, the node that sends on it, and the node at the other end."""
        wiring = self.wiring
        owner = np.searchsorted(wiring.first_port, np.arange(len(wiring.port_cable)), side="right") - 1
        ends = wiring.cables[wiring.port_cable, :2].astype(np.int64)
        peer = np.where(ends[:, 0] == owner, ends[:, 1], ends[:, 0])
        names = self._nodes
        return (
            [wiring.links[row] for row in wiring.port_cable.tolist()],
            [names[node] for node in owner.tolist()],
            [names[node] for node in peer.tolist()],
        )

    def _of_ports(self, ports: NDArray[Any]) -> Columns:
        places = ports.tolist()
        link, near, far = self._ends
        return {
            "link": [link[port] for port in places],
            "from": [near[port] for port in places],
            "to": [far[port] for port in places],
        }

    @cached_property
    def links(self) -> Columns:
        """The table of links, with a row for each link and direction.

        ``utilisation`` is the number of bytes sent, divided by the bytes that the link could send during the collective. It is limited to
        1, because both numbers are estimates in a run that was stopped early. Marks, drops, pauses and queues exist only for the packet
        engine. If a packet run was stopped early, they cover only the part before the stop.
        """
        rate = self.wiring.cables[self.wiring.port_cable, 2].astype(np.float64)
        columns: Columns = {
            **self._of_ports(np.arange(len(rate))),
            "rate_gbps": rate / 1e3,
            "tx_bytes": self.sent_bytes,
            "utilisation": np.minimum(self.sent_bytes * 8e6 / rate * self.slower / self.time_ps, 1.0),
        }
        if self.ports is None:
            return columns
        counted = ("ecn_ce_packets", "dropped_packets", "pfc_tx", "pfc_rx")
        return {
            **columns,
            **{name: self.ports[name] for name in counted},
            "paused_us": self.ports["paused_ps"] / 1e6,
            "most_queued_bytes": self._most_queued(),
        }

    def _most_queued(self) -> NDArray[np.uint64]:
        """Return the largest number of bytes that waited at each port, sampled at the ends of intervals.

        The numbers are 0 if no time series were collected.
        """
        most = np.zeros(len(self.wiring.port_cable), np.uint64)
        if self.raw is not None and "ports" in self.raw:
            np.maximum.at(most, self.raw["ports"]["port"], self.raw["ports"]["queued_bytes"])
        return most

    def _of_pairs(self, pairs: NDArray[Any]) -> Columns:
        ends = self.traffic.pairs[pairs]
        return {
            "queue_pair": pairs.astype(np.int64),
            "src": [self.wiring.nics[host] for host in ends[:, 0].tolist()],
            "dst": [self.wiring.nics[host] for host in ends[:, 1].tolist()],
        }

    @cached_property
    def flows(self) -> Columns:
        """The table of the job's queue pairs, with their bytes and the time when the last byte arrived (NaN if it never arrived)."""
        messages = self.traffic.messages[: len(self.arrivals)]
        which = messages[:, 0].astype(np.int64)
        last = np.zeros(self.own_pairs, np.uint64)
        np.maximum.at(last, which, self.arrivals)
        return {
            **self._of_pairs(np.arange(self.own_pairs)),
            "bytes": np.bincount(which, messages[:, 1].astype(np.float64), self.own_pairs).astype(np.int64),
            "fct_us": np.where(last == NEVER, np.nan, last / 1e6),
        }

    def flows_json(self) -> list[dict[str, Any]]:
        """Return the queue pairs that carry the job's data, as JSON objects. Their ``fct_us`` is None if some data never arrived."""
        flows = self.flows
        ends = zip(flows["src"], flows["dst"], flows["bytes"].tolist(), flows["fct_us"].tolist(), strict=True)
        return [
            {"src": src, "dst": dst, "bytes": size, "start_us": 0.0, "fct_us": None if isnan(end) else end}
            for (src, dst, size, end), data in zip(ends, self.traffic.data[: self.own_pairs].tolist(), strict=True)
            if data
        ]

    @cached_property
    def series(self) -> Columns:
        """The time series of ports, with a row for each interval, link and direction that the engine recorded."""
        if self.raw is None or "ports" not in self.raw:
            return {}
        raw = self.raw["ports"]
        return {
            "time_us": raw["time_ps"] / 1e6,
            **self._of_ports(raw["port"]),
            "utilisation": raw["utilisation"],
            "queued_bytes": raw["queued_bytes"],
            "ecn_ce_packets": raw["ecn_ce_packets"],
            "dropped_packets": raw["dropped_packets"],
            "pfc_tx": raw["pfc_tx"],
            "pfc_rx": raw["pfc_rx"],
            "paused_us": raw["paused_ps"] / 1e6,
        }

    @cached_property
    def queues(self) -> Columns:
        """The time series of switch queues, with a row for each recorded time and each queue that is not empty at that time."""
        if self.raw is None or "queues" not in self.raw:
            return {}
        raw = self.raw["queues"]
        return {
            "time_us": raw["time_ps"] / 1e6,
            **self._of_ports(raw["port"]),
            "class": raw["class"],
            "queued_bytes": raw["queued_bytes"],
        }

    @cached_property
    def rates(self) -> Columns:
        """The time series of queue pairs, including background, with a row for each interval in which a queue pair has data in flight.

        - ``rate_gbps``: the rate that congestion control allows.
        - ``delivered_bytes``: the bytes that arrived in the interval.
        """
        if self.raw is None or "queue_pairs" not in self.raw:
            return {}
        raw = self.raw["queue_pairs"]
        return {
            "time_us": raw["time_ps"] / 1e6,
            **self._of_pairs(raw["queue_pair"].astype(np.int64)),
            "background": raw["queue_pair"] >= self.own_pairs,
            "delivered_bytes": raw["delivered_bytes"],
            "rate_gbps": raw["rate_mbps"] / 1e3,
        }
