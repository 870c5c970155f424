"""What a device can choose from: the sessions with routes, those over which the same was received taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from railweave.analysis.routing.advertised import Advertised, PathColumn, RouteColumn
    from railweave.analysis.routing.memo import Memo
    from railweave.analysis.routing.sessions import Peer, Via

    AdvertisedByGroup = Mapping[tuple[str, int], Advertised]
    """What each group advertises to its neighbors, by device and the group's place in its configuration."""

NOWHERE = b""
"""No places, as the bytes of an array."""


class Candidate(NamedTuple):
    """Sessions of one group over which a device receives routes that none of its rules tells apart.

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

    ``rows`` are the places of each one's sessions. Where one is passed on, it is what the first of its sessions received:
    ``senders`` has the AS number of that neighbor and the AS paths that it sent.
    """

    received: tuple[Candidate, ...]
    rows: tuple[tuple[int, ...], ...]
    senders: tuple[tuple[int, PathColumn], ...]


class InboundSessions:
    """The sessions of a device as the one who receives: whose routes come over each, and by which of its groups."""

    def __init__(self, peers: Sequence[Peer], memo: Memo) -> None:
        ends = tuple((peer.via, peer.far_as) for peer in peers)
        self.senders = [peer.sender for peer in peers]
        self.ends = memo(("ends", ends), lambda: ends)
        self.own = {peer.via.place: peer.own_as for peer in peers}


class _Bundle(NamedTuple):
    """Sessions of one kind over which the same is received; ``sender`` is the AS number at the far end of the first."""

    via: Via
    advertised: Advertised
    sender: int
    rows: list[int]


def candidates(
    inbound: InboundSessions, advertised: AdvertisedByGroup, down: Collection[int], memo: Memo
) -> Candidates:
    """What a device receives over its sessions, without those in the rows that are ``down``.

    Leaves of a stripe, and spines of a path color, have the same neighbors in the same order: most is done once for all.
    """
    received = tuple(map(advertised.__getitem__, inbound.senders))
    lost = tuple(sorted(down))
    bundles = memo(("bundles", id(inbound.ends), received, lost), lambda: _bundles(inbound.ends, received, lost))
    refused = tuple(one.advertised.paths.loops.get(inbound.own[one.via.place], NOWHERE) for one in bundles)
    return memo(("candidates", id(bundles), refused), lambda: _together(bundles, refused))


def _bundles(
    ends: tuple[tuple[Via, int], ...], received: tuple[Advertised, ...], down: Collection[int]
) -> list[_Bundle]:
    found: dict[tuple[Via, Advertised], _Bundle] = {}
    for row, ((via, sender), one) in enumerate(zip(ends, received, strict=True)):
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
        candidate = Candidate(one.via.place, one.advertised.routes, one.via.aigp, one.via.looped, places)
        known = rows.get(candidate)
        if known is None:
            rows[candidate] = list(one.rows)
            senders.append((one.sender, one.advertised.paths))
        else:
            known += one.rows
    return Candidates(tuple(rows), tuple(tuple(sorted(some)) for some in rows.values()), tuple(senders))
