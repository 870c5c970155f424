"""BGP sessions: which come up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import BgpGroup, DeviceConfig, Session


class Via(NamedTuple):
    """How a device receives from a neighbor: over the group at ``place`` in its configuration.

    ``aigp``: the neighbor sends the attribute; ``looped``: it has the device's own AS number there.
    """

    place: int
    aigp: bool
    looped: bool


class Peer(NamedTuple):
    """One direction of a session: where a device receives from. ``row`` is the session's place among those of the device.

    ``sender`` are the neighbor and the place of its group, ``far_as`` and ``own_as`` the AS numbers of both ends.
    """

    session: Session
    device: str
    row: int
    via: Via
    sender: tuple[str, int]
    far_as: int
    own_as: int


class _End(NamedTuple):
    device: DeviceConfig
    place: int
    group: BgpGroup
    session: Session


def pair_sessions(configs: Mapping[str, DeviceConfig]) -> dict[str, list[Peer]]:
    """Sessions that come up: both ends configured on one cable, each accepting the other's AS number."""
    ends: dict[str, list[_End]] = {}
    for config in configs.values():
        for place, group in enumerate(config.bgp.groups if config.bgp else ()):
            for session in group.sessions:
                if session.link:  # a text may have a neighbor on a port that no cable is on
                    ends.setdefault(session.link, []).append(_End(config, place, group, session))
    far: dict[tuple[str, str], _End] = {}
    for link, both in ends.items():
        if len(both) == 2:
            one, other = both
            if one.device is not other.device and _accepts(one, other) and _accepts(other, one):
                far[one.device.name, link], far[other.device.name, link] = other, one
    return {name: _peers(config, far) for name, config in configs.items()}


def _peers(config: DeviceConfig, far: Mapping[tuple[str, str], _End]) -> list[Peer]:
    """The sessions of a device that come up, in the order of its configuration."""
    peers: list[Peer] = []
    for place, group in enumerate(config.bgp.groups if config.bgp else ()):
        for session in group.sessions:
            end = far.get((config.name, session.link))
            if end is not None:
                name, asn, own = end.device.name, end.group.local_as, group.local_as
                via = Via(place, end.group.aigp, asn == own)
                peers.append(Peer(session, name, len(peers), via, (name, end.place), asn, own))
    return peers


def _accepts(end: _End, other: _End) -> bool:
    """Whether a device lets a neighbor's AS number in."""
    bgp, asn = end.device.bgp, other.group.local_as
    if end.group.peer_as_list is None:
        return end.session.peer_as == asn
    ranges = bgp.as_lists.get(end.group.peer_as_list, ()) if bgp else ()
    return any(low <= asn <= high for low, high in ranges)
