"""The bottleneck of a collective (the busiest link, NIC proxy or GPU link), and the fraction of time that it is busy.

A proxy is the thread of the collective library that posts the messages of a NIC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.program import Program
    from railweave.prediction.simulation.engines.traffic import Traffic
    from railweave.prediction.simulation.model.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Ideal:
    """The shortest possible times of a collective in ps, one for each of two limits: the NICs, and the links inside servers.

    - ``nics_ps``: the time in which the busiest NIC sends or receives its message bytes at line rate, without headers. 0 if
      no byte leaves a server.
    - ``servers_ps``: the time that the links between the GPUs of a server (NVLink, Infinity Fabric) need, including launch.
    - ``link``: the name of the links between GPUs, from the server models.
    """

    nics_ps: int
    servers_ps: int
    link: str

    @classmethod
    def of(cls, wiring: Wiring, traffic: Traffic, servers_ps: int, link: str) -> Ideal:
        """Return the ideal times for a collective's traffic, without background traffic.

        ``wiring`` has the numbered nodes, ports and cables. ``servers_ps`` and ``link`` are the values of these fields.
        """
        pairs = traffic.pairs[traffic.messages[:, 0].astype(np.int64), :2]
        carried = traffic.messages[:, 1].astype(np.float64)
        ports = wiring.first_port[: len(wiring.nics)]
        mbps = wiring.cables[wiring.port_cable[ports], 2].astype(np.float64)
        busiest = max(
            (np.bincount(pairs[:, side], weights=carried, minlength=len(mbps)) * 8e6 / mbps).max() for side in (0, 1)
        )
        return cls(int(busiest), servers_ps, link)

    @property
    def time_ps(self) -> int:
        """The shortest possible time in ps under both limits: the longer of the two times."""
        return max(self.nics_ps, self.servers_ps, 1)

    def to_text(self, time_ps: int, program: Program) -> str:
        """Return two lines for people about a collective that took ``time_ps``.

        The first line has the ideal time and bus bandwidth. The second has three percentages: the ideal time, the time of the NICs and the
        time of the links inside servers, each divided by ``time_ps``. ``program`` has the messages of the collective.
        """
        nics = f"{self.nics_ps / time_ps:.1%} of the NICs' line rate" if self.nics_ps else "no byte leaves a server"
        return (
            f"  ideal          {self.time_ps / 1e6:.1f} us, {program.bus_bandwidth_gbytes(self.time_ps):.2f} GB/s\n"
            f"  reached        {self.time_ps / time_ps:.1%} of the ideal: {nics}, "
            f"{self.servers_ps / time_ps:.1%} of the bound of the links inside servers ({self.link})"
        )

    def to_json(self, time_ps: int, program: Program) -> dict[str, Any]:
        """Return a JSON object with the ideal time and bandwidth, and three fractions of ``time_ps``, the time that the collective took.

        The fractions are the ideal time, the time of the NICs and the time of the links inside servers, each divided by ``time_ps``.
        ``program`` has the messages of the collective.
        """
        return {
            "time_us": self.time_ps / 1e6,
            "bus_bandwidth_GBps": program.bus_bandwidth_gbytes(self.time_ps),
            "share_reached": round(self.time_ps / time_ps, 4),
            "share_of_line_rate": round(self.nics_ps / time_ps, 4) if self.nics_ps else None,
            "share_of_server_bound": round(self.servers_ps / time_ps, 4),
        }


@dataclass(frozen=True)
class Load:
    """The busy times in ps of the busiest link, the busiest proxy (the thread that posts a NIC's messages) and the links inside servers.

    ``link`` and ``proxy`` are the names of the busiest link and the busiest proxy.
    """

    link: str
    link_ps: int
    proxy: str
    proxy_ps: int
    server_ps: int

    @classmethod
    def of(
        cls,
        wiring: Wiring,
        sent_bytes: NDArray[np.float64],
        traffic: Traffic,
        post_cost_ps: int,
        floor_ps: int,
        nic_of: NDArray[np.int64] | None = None,
        used: NDArray[np.bool_] | None = None,
    ) -> Load:
        """Return the load of a finished run in which each port sent ``sent_bytes``.

        - ``post_cost_ps``: the time in ps that a proxy needs to post one message.
        - ``floor_ps``: the busy time of the links inside servers.
        - ``nic_of``: for each port of a NIC, the port that represents the whole NIC, because one proxy posts for all ports of a NIC. None
          means that each port has its own proxy.
        - ``used``: for each port, True if the job's messages use it (``collective.job_links``). Other links cannot delay the job. None
          means all ports.

        ``wiring`` has the numbered nodes, ports and cables, and ``traffic`` has the messages.
        """
        # a frame's bytes, without the 20 of preamble and gap: for full packets half a percent less than the wire is busy
        rates = wiring.cables[wiring.port_cable, 2].astype(np.float64)
        busy = sent_bytes * 8e6 / rates
        if used is not None:
            busy = np.where(used, busy, 0.0)
        port = int(busy.argmax())
        posted = traffic.pairs[traffic.messages[:, 0].astype(np.int64), 0]
        posts = np.bincount(posted if nic_of is None else nic_of[posted], minlength=len(wiring.nics))
        nic = int(posts.argmax())
        return cls(wiring.port_link(port), int(busy[port]), wiring.nics[nic], int(posts[nic]) * post_cost_ps, floor_ps)


@dataclass(frozen=True)
class Bottleneck:
    """The busiest part of a run (a link, a proxy, or the links inside servers), and the kind of the next busiest part.

    ``what`` is the name of the busiest part. ``busy`` and ``next_busy`` are fractions of the time. If no part is busy nearly all the time,
    latency or congestion is the bottleneck.
    """

    kind: str
    what: str
    busy: float
    next_kind: str
    next_busy: float

    def to_text(self) -> str:
        """Return one line for people: the kind, name and busy fraction of the bottleneck, and the next busiest kind."""
        return (
            f"{self.kind} {self.what}, busy {self.busy:.1%} of the time (next: {self.next_kind}, {self.next_busy:.1%})"
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with the kind, name and busy fraction of the bottleneck, and the kind and fraction of the next busiest part."""
        return {
            "kind": self.kind,
            "what": self.what,
            "busy": round(self.busy, 4),
            "next": {"kind": self.next_kind, "busy": round(self.next_busy, 4)},
        }


def bottleneck(load: Load, time_ps: int) -> Bottleneck:
    """Return the bottleneck of a run that took ``time_ps``. ``load`` has the busy times of its busiest parts.

    If a run was stopped early, its bytes and its time are estimates, and their quotient may exceed 1 by a percent or two. Therefore, a busy
    fraction is limited to 1.
    """
    parts = sorted(
        [
            (load.link_ps / time_ps, "link", load.link),
            (load.proxy_ps / time_ps, "proxy", load.proxy),
            (load.server_ps / time_ps, "server", "links between the GPUs of a server"),
        ],
        reverse=True,
    )
    (busy, kind, name), (next_busy, next_kind, _) = parts[0], parts[1]
    return Bottleneck(kind, name, min(busy, 1.0), next_kind, min(next_busy, 1.0))
