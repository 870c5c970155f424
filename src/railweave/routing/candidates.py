"""What a device can choose from: the sessions that told it something, those that told it the same taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from railweave.routing.advertised import Advertised, PathColumn, RouteColumn
    from railweave.routing.once import Once
    from railweave.routing.sessions import Peer, Via

    Told = Mapping[tuple[str, int], Advertised]
    """What each group tells its neighbors, by device and the group's place in its configuration."""

NOWHERE = b""
"""No places, as the bytes of an array."""


class Candidate(NamedTuple):
    """Sessions of one group over which a device hears routes that none of its rules tells apart.

    ``refused`` are the prefixes whose path holds the device's AS number (places, as the bytes of an array); ``looped``:
    the neighbor itself has that number.
    """

    group: int
    routes: RouteColumn
    aigp: bool
    looped: bool
    refused: bytes


class Candidates(NamedTuple):
    """What a device has to choose from, in the order of its sessions.

    ``rows`` are the places of each one's sessions. Where one is passed on, it is what the first of its sessions said:
    ``senders`` has the AS number of that neighbor and the AS paths that it sent.
    """

    heard: tuple[Candidate, ...]
    rows: tuple[tuple[int, ...], ...]
    senders: tuple[tuple[int, PathColumn], ...]


class Hearing:
    """The sessions of a device, as far as what it hears over them goes."""

    def __init__(self, peers: Sequence[Peer], once: Once) -> None:
        ends = tuple((peer.via, peer.far_as) for peer in peers)
        self.senders = [peer.sender for peer in peers]
        self.ends = once(("ends", ends), lambda: ends)
        self.own = {peer.via.place: peer.own_as for peer in peers}


class _Bundle(NamedTuple):
    """Sessions of one kind over which the same is said; ``sender`` is the AS number at the far end of the first."""

    via: Via
    said: Advertised
    sender: int
    rows: list[int]


def candidates(hearing: Hearing, told: Told, down: Collection[int], once: Once) -> Candidates:
    """What a device hears over its sessions, without those in the rows that are ``down``.

    Leaves of a stripe, and spines of a path color, have the same neighbors in the same order: most is done once for all.
    """
    said = tuple(map(told.__getitem__, hearing.senders))
    lost = tuple(sorted(down))
    bundles = once(("bundles", id(hearing.ends), said, lost), lambda: _bundles(hearing.ends, said, lost))
    refused = tuple(one.said.paths.loops.get(hearing.own[one.via.place], NOWHERE) for one in bundles)
    return once(("candidates", id(bundles), refused), lambda: _together(bundles, refused))


def _bundles(ends: tuple[tuple[Via, int], ...], said: tuple[Advertised, ...], down: Collection[int]) -> list[_Bundle]:
    found: dict[tuple[Via, Advertised], _Bundle] = {}
    for row, ((via, sender), one) in enumerate(zip(ends, said, strict=True)):
        if not one.routes.empty and row not in down:
            known = found.get((via, one))
            if known is None:
                found[via, one] = _Bundle(via, one, sender, [row])
            else:
                known.rows.append(row)
    return list(found.values())


def _together(bundles: Sequence[_Bundle], refused: Sequence[bytes]) -> Candidates:
    rows: dict[Candidate, list[int]] = {}
    senders: list[tuple[int, PathColumn]] = []
    for one, places in zip(bundles, refused, strict=True):
        candidate = Candidate(one.via.place, one.said.routes, one.via.aigp, one.via.looped, places)
        known = rows.get(candidate)
        if known is None:
            rows[candidate] = list(one.rows)
            senders.append((one.sender, one.said.paths))
        else:
            known += one.rows
    return Candidates(tuple(rows), tuple(tuple(sorted(some)) for some in rows.values()), tuple(senders))
