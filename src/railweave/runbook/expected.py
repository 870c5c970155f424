"""What a switch must show once everything around it is up: sessions, prefixes received and sent, example routes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.routing.table import LOCAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.device.model import BgpGroup, DeviceConfig, Session
    from railweave.network.model import Network
    from railweave.routing.table import Routes


@dataclass(frozen=True, slots=True)
class ExpectedSession:
    """A BGP session with the prefixes that it carries, before the receiver's policy, and how many of these are ``used``.

    A switch's own prefixes do not come back to it: Junos does not send them, FRR does not count them. A prefix is used
    where the session's link is a next hop of it; ``shared`` says whether any of these has other next hops besides.
    """

    group: BgpGroup
    session: Session
    received: int
    sent: int
    used: int
    shared: bool


@dataclass(frozen=True, slots=True)
class ExampleRoute:
    """A prefix of another switch, its path color, and the local ports that lead there."""

    prefix: str
    color: str
    leaf: str
    ports: tuple[str, ...]


def sessions(config: DeviceConfig, routes: Routes) -> list[ExpectedSession]:
    """Every session of a switch, group by group."""
    counts: dict[tuple[str, int], int] = {}

    def count(device: str, link: str) -> int:
        received = routes.received.get((device, link))
        if received is None:
            return 0
        key = device, id(received)  # many sessions carry the same, as one mask
        if key not in counts:
            counts[key] = int((received & (routes.fibs[device].group != LOCAL)).sum())
        return counts[key]

    used, shared = _in_use(config.name, routes)
    return [
        ExpectedSession(
            group,
            session,
            count(config.name, session.link),
            count(session.peer, session.link),
            used[session.link],
            session.link in shared,
        )
        for group in (config.bgp.groups if config.bgp else ())
        for session in group.sessions
    ]


def _in_use(device: str, routes: Routes) -> tuple[Counter[str], set[str]]:
    """How many prefixes each link of a switch is a next hop of, and the links that share any with others."""
    groups = routes.fibs[device].group
    used: Counter[str] = Counter()
    shared: set[str] = set()
    for group, count in zip(*np.unique(groups[groups >= 0], return_counts=True), strict=True):
        links = routes.groups[int(group)]
        for link in links:
            used[link] += int(count)
        if len(links) > 1:
            shared.update(links)
    return used, shared


SESSION_HEADER = ("Group", "Neighbor", "Switch", "AS", "Prefixes received", "Prefixes sent", "Of the received, used")


def session_rows(found: Iterable[ExpectedSession], discovered: str = "{port}") -> tuple[tuple[object, ...], ...]:
    """The rows below ``SESSION_HEADER``; ``discovered`` is how a neighbor without an address is shown, of its {port}."""
    return tuple(
        (
            one.group.name,
            one.session.peer_address or discovered.format(port=one.session.interface),
            one.session.peer,
            one.session.peer_as,
            one.received,
            one.sent,
            one.used,
        )
        for one in found
    )


def example_routes(network: Network, config: DeviceConfig, routes: Routes) -> list[ExampleRoute]:
    """The prefixes of the first leaf that is reached over another switch: one per path color.

    A leaf of the same rails comes first; where there is none, as in a fabric of one stripe, another leaf of the stripe.
    """
    switch = network.switch(config.name)
    fabric = network.fabric(switch.fabric)
    ports = {one.link: one.name for one in config.interfaces}
    away = [one for one in network.segments if one.fabric == fabric.name and one.leaf != config.name]
    # Sorting is stable: leaves of the same rails come first, each kind in its order.
    for segment in sorted(away, key=lambda one: bool(switch.rails) and one.rail not in switch.rails):
        found = [
            ExampleRoute(
                subnet.routed_by,
                fabric.color_name(subnet.color),
                segment.leaf,
                tuple(ports[link] for link in routes.next_hops(config.name, subnet.routed_by)),
            )
            for subnet in segment.subnets
            if subnet.routed_by in routes.index
        ]
        if any(one.ports for one in found):
            return found
    return []
