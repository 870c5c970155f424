"""What routing protocols show: BGP sessions with their prefixes, EVPN sessions, adjacencies of IS-IS."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from railweave.model.device.expected import Adjacency, OverlaySession, Session

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


def sessions(network: Network, config: DeviceConfig, routes: Routes) -> list[Session]:
    """Every session of a switch on its links, group by group."""
    bgp = config.bgp
    if bgp is None:
        return []

    def accepted(link: str) -> int:
        """What the switch keeps of others' prefixes that it receives on a link."""
        try:
            mask = routes.received.accepted((config.name, link))
        except KeyError:
            return 0
        return routes.counted(config.name, mask)[0]

    def received(device: str, link: str) -> tuple[int, int]:
        """Count the prefixes that a device receives on a link: prefixes of others, and its own."""
        mask = routes.received.get((device, link))
        return (0, 0) if mask is None else routes.counted(device, mask)

    fabric = network.fabric(network.switch(config.name).fabric)
    used, shared = _in_use(config.name, routes)
    return [
        Session(
            device=config.name,
            because=("fabrics", fabric.name, "underlay"),
            group=group,
            session=one,
            received=received(config.name, one.link)[0],
            accepted=accepted(one.link),
            sent=sent,
            echoed=echoed,
            used=used[one.link],
            shared=one.link in shared,
            color="" if (color := network.cable(one.link).color) is None else fabric.color_name(color),
            bfd=bgp.bfd,
        )
        for group in bgp.groups
        for one in group.sessions
        if one.link and not routes.down & {one.link, one.peer}  # none: its cable has left the design
        for sent, echoed in [received(one.peer, one.link)]
    ]


def _in_use(device: str, routes: Routes) -> tuple[Counter[str], set[str]]:
    """How many prefixes that a link's session brings the link is a next hop of, and the links that share any with others.

    Tenants' prefixes go the ways of tunnels: sessions on links do not bring them.
    """
    numbers, places = np.unique(routes.fibs[device].group, return_inverse=True)
    groups: list[int] = numbers.tolist()
    used: Counter[str] = Counter()
    shared: set[str] = set()
    counted: dict[int, list[tuple[int, int]]] = {}
    for link in {link for group in groups if group >= 0 for link in routes.groups[group]}:
        mask = routes.received.get((device, link))
        if mask is None:  # IS-IS brings it, and sessions nothing
            continue
        if id(mask) not in counted:  # many sessions carry the same, as one mask
            counts: list[int] = np.bincount(places[mask], minlength=len(groups)).tolist()
            pairs = zip(groups, counts, strict=True)
            counted[id(mask)] = [(group, count) for group, count in pairs if group >= 0 and count]
        for group, count in counted[id(mask)]:
            if link in routes.groups[group]:
                used[link] += count
                shared.update([link] if len(routes.groups[group]) > 1 else [])
    return used, shared


def overlay_sessions(network: Network, config: DeviceConfig, routes: Routes) -> list[OverlaySession]:
    """Every EVPN session of a switch."""
    overlay = config.overlay
    because = ("fabrics", network.switch(config.name).fabric, "overlay")
    return [
        OverlaySession(device=config.name, because=because, session=one, bfd=overlay.bfd)
        for one in (overlay.neighbors if overlay else ())
        if overlay and one.peer and one.peer not in routes.down
    ]


def adjacencies(network: Network, config: DeviceConfig, routes: Routes) -> list[Adjacency]:
    """Every adjacency of IS-IS."""
    isis = config.isis
    because = ("fabrics", network.switch(config.name).fabric, "underlay", "isis")
    return [
        Adjacency(
            device=config.name,
            because=because,
            interface=one.interface,
            link=one.link,
            peer=one.peer,
            metric=one.metric,
            bfd=isis.bfd,
        )
        for one in (isis.ports if isis else ())
        if isis and not routes.down & {one.link, one.peer}
    ]
