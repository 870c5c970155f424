"""The received routes from which a device chooses. Sessions that received the same routes are one candidate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np

from railweave.analysis.routing.attributes import NONE
from railweave.analysis.routing.overlay import in_vrfs, overlay_loopbacks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.routing.attributes import Ids, Mask
    from railweave.analysis.routing.control_plane import Peer, ReceivingGroup
    from railweave.model.device.model import DeviceConfig


def originated(config: DeviceConfig) -> list[str]:
    """Return the prefixes that a device may originate in the underlay."""
    gateway_prefixes = [prefix for gateway in config.gateways if not gateway.vrf for prefix in gateway.prefixes]
    return gateway_prefixes + overlay_loopbacks(config)


class Origins:
    """The prefixes that each device originates while some links and devices are down, as masks over all prefixes.

    ``place`` maps each prefix to its index in a mask, and ``count`` is the length of a mask. If two VRFs hold the same
    prefix, the mask has an index for each. Prefixes that several leaves of a layer-2 network share are left out (see
    ``railweave.analysis.routing.table``).
    """

    def __init__(self, configs: Mapping[str, DeviceConfig], place: Mapping[str, int], count: int) -> None:
        self._place, self._count = place, count
        self.server_ports = {
            name: {
                end
                for interface in config.interfaces
                if interface.kind == "server"
                for end in (interface.link, interface.peer)
            }
            for name, config in configs.items()
        }
        self._lives: dict[str, Mask] = {}
        self._in_vrfs = {name: [place[prefix] for prefix in in_vrfs(config)] for name, config in configs.items()}

    def local(self, config: DeviceConfig, down: frozenset[str]) -> Mask:
        """Return a mask of the prefixes that a device originates in the underlay: its loopbacks, and its gateways that have a port up.

        ``down`` holds the links and devices that are down.
        """
        live, tenants = self.live(config, down), self._in_vrfs[config.name]
        if not tenants:
            return live
        mask = live.copy()
        mask[tenants] = False
        return mask

    def live(self, config: DeviceConfig, down: frozenset[str]) -> Mask:
        """Return a mask of the prefixes that a device originates in the underlay and in VRFs.

        ``down`` holds the links and devices that are down.
        """
        if not down or down.isdisjoint(self.server_ports[config.name]):
            known = self._lives.get(config.name)
            if known is None:
                known = self._lives[config.name] = self._find_live(config, frozenset())
            return known
        return self._find_live(config, down)

    def _find_live(self, config: DeviceConfig, down: frozenset[str]) -> Mask:
        mask = np.zeros(self._count, dtype=np.bool_)
        if config.gateways:
            servers = [interface for interface in config.interfaces if interface.kind == "server"]
            running = [server for server in servers if server.link not in down and server.peer not in down]
            up = {port.vlan or port.name for port in running}
            tagged = {vlan for port in running for vlan in port.tagged}
            places = [
                self._place[p]
                for gateway in config.gateways
                if ((gateway.vlan_name or gateway.port) in up or gateway.vlan in tagged) and not gateway.mac
                for p in gateway.prefixes
            ]
            mask[places] = True
        if config.overlay is not None:
            mask[[self._place[prefix] for prefix in overlay_loopbacks(config)]] = True
            mask[[self._place[prefix] for vrf in config.vrfs for prefix in vrf.loopbacks]] = True
        return mask


T = TypeVar("T")


class Memo:
    """A cache that reads through to an older cache (``known``).

    A lookup reads both caches. New values are added only to the new cache, so they are discarded with it.
    """

    def __init__(self, known: Memo | None = None) -> None:
        self._known: Mapping[Hashable, object] = known.values if known else {}
        self.values: dict[Hashable, object] = {}

    def __call__(self, key: Hashable, work_out: Callable[[], T]) -> T:
        """Return the value of a key. If the key is new, compute the value with ``work_out``, which must not return None."""
        value = self._known.get(key)
        if value is None:
            value = self.values.get(key)
        if value is None:
            value = self.values[key] = work_out()
        return cast("T", value)


@dataclass(eq=False)
class RouteColumn:
    """A column of routes: for each prefix, the ID of its route's attributes.

    The attributes include the length of the AS path but not its AS numbers.
    """

    ids: Ids

    @cached_property
    def present(self) -> Mask:
        """A mask of the prefixes that have a route."""
        return self.ids != NONE

    @cached_property
    def empty(self) -> bool:
        """True if no prefix has a route."""
        return not self.present.any()


class Loops:
    """For each AS number, the set of prefixes whose AS path contains it, given by their indexes.

    A set is stored as the bytes of an index array. ``content`` has all sets one after another. The set of the AS number ``numbers[i]``
    begins at ``starts[i]``.
    """

    def __init__(self, numbers: Sequence[int], starts: Sequence[int], content: NDArray[np.int32]) -> None:
        self._row = {number: row for row, number in enumerate(numbers)}
        self._bounds = [*starts, len(content)]
        self._content = content
        self._sets: dict[int, bytes] = {}

    def get(self, number: int) -> bytes:
        """Return the set of prefix indexes for an AS number, as the bytes of an index array. A number without a set has the empty set."""
        row = self._row.get(number)
        if row is None:
            return NOWHERE
        places = self._sets.get(row)
        if places is None:
            places = self._sets[row] = self._content[self._bounds[row] : self._bounds[row + 1]].tobytes()
        return places


@dataclass(eq=False)
class PathColumn:
    """A column of AS paths: for each prefix, the ID of its route's AS path."""

    ids: NDArray[np.int32]
    _paths: AsPaths

    @cached_property
    def loops(self) -> Loops:
        """For each AS number, the prefixes whose AS path contains this number. Devices use it to refuse looped routes."""
        return self._paths.places_by_asn(self.ids)


@dataclass(eq=False)
class Advertisements:
    """The routes that a device advertises to the neighbors of a BGP group, before it prepends its own AS number."""

    routes: RouteColumn
    paths: PathColumn


class InternedColumns:
    """A cache of route columns and path columns. Equal columns are the same object, so that they can be compared by identity."""

    def __init__(self, paths: AsPaths, memo: Memo) -> None:
        self._as_paths, self._memo = paths, memo

    def routes(self, ids: Ids) -> RouteColumn:
        """Return the column of these routes. ``ids`` is kept and must not be changed afterwards."""
        return self._memo(("routes", ids.tobytes()), lambda: RouteColumn(ids))

    def paths(self, ids: NDArray[np.int32]) -> PathColumn:
        """Return the column of these AS paths. ``ids`` is kept and must not be changed afterwards."""
        return self._memo(("AS paths", ids.tobytes()), lambda: PathColumn(ids, self._as_paths))

    def advertised(self, routes: RouteColumn, paths: PathColumn) -> Advertisements:
        """Return the advertisements with a route column and a path column. The same columns always give the same object."""
        return self._memo(("advertised", routes, paths), lambda: Advertisements(routes, paths))


EMPTY = 0
"""The ID of the empty AS path."""

_FIRST_SIZE = 1024


class AsPaths:
    """AS paths by ID. A path is stored as its first AS number and the ID of the rest of the path."""

    def __init__(self) -> None:
        self._ids: dict[int, int] = {}
        self._numbers: NDArray[np.int64] = np.zeros((_FIRST_SIZE, 4), dtype=np.int64)
        self._lengths: NDArray[np.int64] = np.zeros(_FIRST_SIZE, dtype=np.int64)
        self._count = 1

    def extended(self, numbers: NDArray[np.int64], paths: NDArray[np.int32]) -> NDArray[np.int32]:
        """Prepend to each path the AS number at the same index in ``numbers``, and return the IDs of the new paths."""
        wanted, inverse = np.unique(numbers << 31 | paths, return_inverse=True)
        known = self._ids.get  # most paths are, and no ID here is 0, that of the empty path
        path_ids = [known(packed) or self._new(packed) for packed in cast("list[int]", wanted.tolist())]
        return np.array(path_ids, dtype=np.int32)[inverse]

    def _new(self, packed: int) -> int:
        """Store a new path and return its ID.

        ``packed`` combines the path's first AS number and the ID of the rest in one integer.
        """
        path_id = self._ids[packed] = self._count
        self._count += 1
        asn, path = packed >> 31, packed & (1 << 31) - 1
        length = int(self._lengths[path])
        if path_id == len(self._lengths):
            self._numbers = np.pad(self._numbers, ((0, path_id), (0, 0)))
            self._lengths = np.pad(self._lengths, (0, path_id))
        if length == self._numbers.shape[1]:
            self._numbers = np.pad(self._numbers, ((0, 0), (0, length)))
        self._numbers[path_id, :length] = self._numbers[path, :length]
        self._numbers[path_id, length] = asn
        self._lengths[path_id] = length + 1
        return path_id

    def places_by_asn(self, paths: NDArray[np.int32]) -> Loops:
        """Return, for each AS number, the indexes in ``paths`` of the paths that contain the number."""
        numbers = self._numbers[paths]
        places, _ = held = np.nonzero(numbers)
        asns = numbers[held]
        order = np.argsort(asns, kind="stable")
        different, starts = np.unique(asns[order], return_index=True)
        return Loops(different.tolist(), starts.tolist(), places[order].astype(np.int32))


if TYPE_CHECKING:
    AdvertisedByGroup = Mapping[tuple[str, int], Advertisements]
    """The advertisements of each BGP group to its neighbors, by device and the group's index in the device's configuration."""

NOWHERE = b""
"""The empty set of indexes, as the bytes of an array."""


class Candidate(NamedTuple):
    """Routes that a device receives over one or more sessions of a BGP group. The same rules apply to all these sessions.

    ``group`` is the group's index, and ``aigp`` is True if the AIGP attribute is received. ``refused`` holds the prefixes whose
    path contains the device's AS number (indexes, as the bytes of an array). ``looped`` is True if the neighbor itself has the
    device's AS number.
    """

    group: int
    routes: RouteColumn
    aigp: bool
    looped: bool
    refused: bytes


class Candidates(NamedTuple):
    """The candidates from which a device chooses, in the order of its sessions.

    - ``received``: the candidates. The other fields have one value for each candidate.
    - ``rows``: the indexes of the candidate's sessions.
    - ``senders``: (the AS number of the neighbor on the candidate's first session, the AS paths that this neighbor sent).
      If the candidate has the best route, these paths are advertised further.
    """

    received: tuple[Candidate, ...]
    rows: tuple[tuple[int, ...], ...]
    senders: tuple[tuple[int, PathColumn], ...]


class InboundSessions:
    """The sessions of a device as the receiver. Each session has the neighbor's group that sends, and the device's group that receives."""

    def __init__(self, peers: Sequence[Peer], memo: Memo) -> None:
        ends = tuple((peer.via, peer.far_as) for peer in peers)
        self.senders = [peer.sender for peer in peers]
        self.ends = memo(("ends", ends), lambda: ends)
        self.own = {peer.via.place: peer.own_as for peer in peers}


class _Bundle(NamedTuple):
    """Sessions in equal groups that receive the same routes.

    - ``via``: the group of the receiving device.
    - ``advertised``: the routes that the neighbors send.
    - ``sender``: the AS number of the neighbor on the first session.
    - ``rows``: the indexes of the sessions.
    """

    via: ReceivingGroup
    advertised: Advertisements
    sender: int
    rows: list[int]


def candidates(
    inbound: InboundSessions, advertised: AdvertisedByGroup, down: Collection[int], memo: Memo
) -> Candidates:
    """Return the routes that a device receives over its sessions (``inbound``). Sessions whose indexes are in ``down`` are left out.

    ``advertised`` holds the routes that each group of each neighbor advertises. The leaves of a stripe, and the spines of a path
    color, have the same neighbors in the same order. So most of the work is done once for all of them and cached in ``memo``.
    """
    received = tuple(map(advertised.__getitem__, inbound.senders))
    lost = tuple(sorted(down))
    bundles = memo(("bundles", id(inbound.ends), received, lost), lambda: _bundles(inbound.ends, received, lost))
    refused = tuple([bundle.advertised.paths.loops.get(inbound.own[bundle.via.place]) for bundle in bundles])
    return memo(("candidates", id(bundles), refused), lambda: _together(bundles, refused))


def _bundles(
    ends: tuple[tuple[ReceivingGroup, int], ...], received: tuple[Advertisements, ...], down: Collection[int]
) -> list[_Bundle]:
    bundles: dict[tuple[ReceivingGroup, Advertisements], _Bundle] = {}
    for row, ((via, sender), advertisement) in enumerate(zip(ends, received, strict=True)):
        if not advertisement.routes.empty and row not in down:
            known = bundles.get((via, advertisement))
            if known is None:
                bundles[via, advertisement] = _Bundle(via, advertisement, sender, [row])
            else:
                known.rows.append(row)
    return list(bundles.values())


def _together(bundles: Sequence[_Bundle], refused: Sequence[bytes]) -> Candidates:
    rows: dict[Candidate, list[int]] = {}
    senders: list[tuple[int, PathColumn]] = []
    for bundle, places in zip(bundles, refused, strict=True):
        candidate = Candidate(bundle.via.place, bundle.advertised.routes, bundle.via.aigp, bundle.via.looped, places)
        known = rows.get(candidate)
        if known is None:
            rows[candidate] = list(bundle.rows)
            senders.append((bundle.sender, bundle.advertised.paths))
        else:
            known += bundle.rows
    return Candidates(tuple(rows), tuple(tuple(sorted(some)) for some in rows.values()), tuple(senders))
