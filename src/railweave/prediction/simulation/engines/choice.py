"""The choice of the engine for a run: the packet engine if the packets are few enough, else the flow engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from railweave._sim import HERE, LOSS, NO_GROUP, ONE_PORT, STORM
from railweave.errors import InputError, Option, Problem
from railweave.prediction.simulation.model.tables import nic_port
from railweave.prediction.simulation.settings import packets_acknowledged, payload_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.simulation.engines.traffic import Traffic
    from railweave.prediction.simulation.model.fabric import Arguments, FlowArguments
    from railweave.prediction.simulation.model.wiring import Wiring

MOST_PACKET_HOPS = 200_000_000
"""The largest number of packet hops (links that packets cross, added up) for which ``auto`` uses the packet engine.

Above it, a packet run would take about half a minute or longer.
"""

SECONDS_A_MESSAGE = {"packet": 4e-6, "flow": 20e-6}
SECONDS_A_HOP = 0.15e-6
BYTES_A_MESSAGE, BYTES_A_WAIT = 250, 66
LONG_S, LARGE_GB = 10, 2
"""The time in seconds and the memory in GB from which a run counts as long or large. Such a run is announced before it begins."""

MOST_LINKS = 64
"""The largest number of links of a path. A longer path is a loop."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine of a run and the reason for the choice (``why``).

    ``packet_hops`` is roughly the number of links that all packets cross, added up, for data and acknowledgements.
    """

    engine: Literal["packet", "flow"]
    packet_hops: int
    why: str


def choose(
    wanted: str,
    wiring: Wiring,
    arguments: Arguments | FlowArguments,
    traffic: Traffic,
    *,
    others: bool = False,
    most: int | None = None,
) -> Choice:
    """Return the engine for a run. ``wanted`` is packet, flow or auto.

    - ``others``: True if there is background traffic.
    - ``most``: the largest number of packet hops for which ``auto`` uses packets. None means ``MOST_PACKET_HOPS``.

    ``wiring`` has the numbered nodes, ports and cables, and ``arguments`` has the engine's arguments. Raises ``InputError`` if ``wanted``
    is none of the three names, and if it is ``flow`` but there is background traffic or a fault that flows cannot model.
    """
    hops = packet_hops(wiring, arguments, traffic)
    about = f"about {hops / 1e6:,.1f} M packet hops"
    if others and wanted == "flow":
        fix = "leave out --engine flow, or the background"
        raise InputError(
            [
                Problem(
                    Option("--engine"),
                    "the flow engine cannot model background traffic, which is limited to a rate",
                    fix,
                )
            ]
        )
    unknown = np.isin(arguments["changes"][:, 1], [LOSS, STORM]).any()
    if unknown and wanted == "flow":
        fix = "leave out --engine flow, or those faults"
        raise InputError([Problem(Option("--engine"), "the flow engine cannot model lost packets and PFC storms", fix)])
    if others and wanted == "auto":
        return Choice("packet", hops, f"{about}; the flow engine cannot model background traffic")
    if wanted in {"packet", "flow"}:
        return Choice("packet" if wanted == "packet" else "flow", hops, f"asked for; {about}")
    if wanted != "auto":
        raise InputError([Problem(Option("--engine"), f"{wanted!r} is not an engine", "use packet, flow or auto")])
    most = MOST_PACKET_HOPS if most is None else most
    limit = f"{most // 10**6} M"
    if hops <= most:
        return Choice("packet", hops, f"{about}; flows are used above {limit}")
    if unknown:
        return Choice(
            "packet", hops, f"{about}, above {limit}, but the flow engine cannot model lost packets and PFC storms"
        )
    return Choice("flow", hops, f"{about}, above {limit}")


def forecast(engine: str, hops: int, messages: int, waits: int) -> str:
    """Return a sentence with the approximate time and memory of a run. Return "" if the run is short and small.

    ``engine`` is packet or flow. ``hops`` is the number of packet hops (links that packets cross, added up), and ``waits`` the number of
    pairs of messages in which one waits for the other. The figures are for a 2-core AMD EPYC and may be wrong by a factor of two.
    """
    seconds = messages * SECONDS_A_MESSAGE[engine] + (hops * SECONDS_A_HOP if engine == "packet" else 0)
    gigabytes = (messages * BYTES_A_MESSAGE + waits * BYTES_A_WAIT) / 1e9 + 0.1
    if seconds < LONG_S and gigabytes < LARGE_GB:
        return ""
    return f"about {max(1, round(seconds))} s and {gigabytes:.1f} GB by {engine}s: {messages:,} messages of queue pairs"


def whole_flows(wiring: Wiring, arguments: Arguments | FlowArguments, traffic: Traffic, messages: int) -> Choice:
    """Return the choice of the flow engine for a collective that has too many messages to run them separately.

    ``traffic`` has all bytes of a connection in one message. ``messages`` is the number of messages without this merging. ``wiring`` has
    the numbered nodes, ports and cables, and ``arguments`` has the engine's arguments.
    """
    hops = packet_hops(wiring, arguments, traffic)
    why = f"about {hops / 1e6:,.1f} M packet hops, in {messages / 1e6:,.1f} M messages: one flow per connection and queue pair"
    return Choice("flow", hops, why)


def packet_hops(wiring: Wiring, arguments: Arguments | FlowArguments, traffic: Traffic) -> int:
    """Return the number of links that all packets and acknowledgements cross in total if nothing is lost.

    ``wiring`` has the numbered nodes, ports and cables, ``arguments`` has the engine's arguments, and ``traffic`` has the messages.
    """
    mtu = payload_bytes(arguments["parameters"])
    every = packets_acknowledged(arguments["parameters"])
    packets = np.maximum(-(-traffic.messages[:, 1].astype(np.int64) // mtu), 1)
    both_ways = packets + -(-packets // every)
    links = links_crossed(wiring, arguments)
    return int((both_ways * links[traffic.messages[:, 0].astype(np.int64)]).sum())


def links_crossed(wiring: Wiring, arguments: Arguments | FlowArguments) -> NDArray[np.int64]:
    """Return, for each queue pair, the number of links from source to destination.

    If there are several paths, only one is followed: it takes the first link of every next-hop group. ``wiring`` has the numbered nodes,
    ports and cables, and ``arguments`` has the engine's arguments.
    """
    src, dst, to, _ = arguments["queue_pairs"].astype(np.int64).T
    if "column" in arguments:
        to = arguments["column"].astype(np.int64)[to]
    ports = nic_port(wiring)
    hosts = len(wiring.nics)
    group, groups, members = arguments["group"], arguments["groups"], arguments["members"]
    crossed = np.ones(len(src), np.int64)
    node = _behind(wiring, wiring.first_port[src])
    for _ in range(MOST_LINKS):
        going = np.flatnonzero(node >= hosts)
        if not len(going):
            break
        entry = group[node[going] - hosts, to[going]]
        here = np.flatnonzero(entry == HERE)
        if len(here):
            leaf, port = ports[dst[going[here]]].T
            entry[here] = np.where(leaf == node[going[here]], ONE_PORT | port, NO_GROUP)
        going, entry = going[entry != NO_GROUP], entry[entry != NO_GROUP]
        one_port = (entry & np.uint32(ONE_PORT)) != 0
        port = (entry & ~np.uint32(ONE_PORT)).astype(np.int64)
        if not one_port.all():
            port[~one_port] = members[groups[entry[~one_port], 0]]
        reached = np.full(len(node), -1)
        reached[going] = _behind(wiring, wiring.first_port[node[going]] + port)
        node = reached
        crossed[going] += 1
    return crossed


def _behind(wiring: Wiring, port: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each port, the number of the node at the other end of its cable.

    ``wiring`` has the numbered nodes, ports and cables.
    """
    cable = wiring.port_cable[port]
    other = (wiring.end_ports[cable, 0] == port).astype(np.int64)
    return wiring.cables[cable, other].astype(np.int64)
