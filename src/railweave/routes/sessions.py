"""BGP sessions: which come up, and which a failure takes down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.device.model import BgpGroup, DeviceConfig, Session


@dataclass(frozen=True, slots=True)
class Peer:
    """One direction of a session: where a device hears from. ``row`` is the session's place in the device's tables."""

    group: BgpGroup
    session: Session
    device: str
    row: int


def pair_sessions(configs: Mapping[str, DeviceConfig]) -> dict[str, list[Peer]]:
    """Sessions that come up: both ends configured on one link, each accepting the other's AS number."""
    ends: dict[str, list[tuple[DeviceConfig, BgpGroup, Session]]] = {}
    for config in configs.values():
        for group in config.bgp.groups if config.bgp else ():
            for session in group.sessions:
                ends.setdefault(session.link, []).append((config, group, session))
    peers: dict[str, list[Peer]] = {name: [] for name in configs}
    for config in configs.values():
        for group in config.bgp.groups if config.bgp else ():
            for session in group.sessions:
                others = [end for end in ends[session.link] if end[0] is not config]
                if len(others) != 1:
                    continue
                other, far_group, far_session = others[0]
                if _accepts(config, group, session, far_group) and _accepts(other, far_group, far_session, group):
                    peers[config.name].append(Peer(group, session, other.name, len(peers[config.name])))
    return peers


def _accepts(config: DeviceConfig, group: BgpGroup, session: Session, other: BgpGroup) -> bool:
    """Whether a device lets a neighbor's AS number in."""
    if group.peer_as_list is None:
        return session.peer_as == other.local_as
    ranges = config.bgp.as_lists.get(group.peer_as_list, ()) if config.bgp else ()
    return any(low <= other.local_as <= high for low, high in ranges)


def is_down(device: str, peer: Peer, down: frozenset[str]) -> bool:
    """Whether a device's end of a session is gone with ``down`` links and devices."""
    return device in down or peer.device in down or peer.session.link in down
