"""Perftest runs in rounds that share no NIC and no link.

The runs test every NIC with itself, every NIC with a neighbor, and every pair of leaves over every path color.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.operations.bench.plan import Memory, Perftest, RunRequest
from railweave.operations.bench.planning.places import PairPath, Place, Routed, memory_of, pair_path, parts
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence


class Rounds:
    """An assignment of runs to rounds. Runs are assigned one after another, each to the first round that is free.

    The number of rounds is the smallest possible if consecutive runs share no NIC or link, as in the order of ``in_turns``.
    """

    def __init__(self) -> None:
        self._busy: dict[Hashable, int] = {}
        """The rounds in which each resource is in use, as a bit mask."""

    def first(self, taken: Collection[Hashable]) -> int:
        """Return the first round, counted from 1, in which all resources of a run (NICs and links) are free, and reserve them there.

        ``taken`` has these resources.
        """
        full = 0
        for resource in taken:
            full |= self._busy.get(resource, 0)
        bit = ~full & (full + 1)  # the lowest bit that is not set
        for resource in taken:
            self._busy[resource] = self._busy.get(resource, 0) | bit
        return bit.bit_length()


def rounds(taken: Iterable[Collection[Hashable]]) -> list[int]:
    """Return the round of each run, counted from 1. ``taken`` has, for each run, the resources that no other run of the round may use."""
    given = Rounds()
    return [given.first(resources) for resources in taken]


def in_turns(count: int) -> Iterator[list[tuple[int, int]]]:
    """Yield turns that together contain every pair of ``count`` players, such as NICs. A turn is a list of pairs.

    A player is in at most one pair of a turn. This is the circle method: one player keeps its place, and all others move on by
    one place each turn. If ``count`` is odd, one player has no partner in each turn.
    """
    circle: list[int | None] = [*range(count), *([None] if count % 2 else [])]
    for _ in range(len(circle) - 1):
        turn: list[tuple[int, int]] = []
        for player, other in zip(circle[: len(circle) // 2], reversed(circle), strict=False):
            if player is not None and other is not None:
                turn.append((min(player, other), max(player, other)))
        yield turn
        circle = [circle[0], circle[-1], *circle[1:-1]]


PROGRAM = "ib_write_bw"
LARGEST = 8 << 20
"""The largest message size of ``-a``, in bytes."""
PINNED_QPS, HASHED_QPS, FAR_QPS = 4, 16, 16
"""The numbers of queue pairs: on a pinned path, on hashed paths, and between sites.

Four queue pairs are from the Thor 2 guide. With a hash, more queue pairs are needed to use several links. Between
sites, 13 queue pairs fill a 400G link (50 km article).
"""

PROGRESS_EVERY = 2_000
"""The number of pairs after which progress is reported. In a large network, the path of a pair may cross thousands of links."""


@dataclass(frozen=True, slots=True)
class Method:
    """The settings of a perftest measurement: all sizes (``-a``), or the largest message for some seconds."""

    seconds: int | None
    both_ways: bool

    @property
    def size_bytes(self) -> int | None:
        """The message size in bytes; None for all sizes."""
        return None if self.seconds is None else LARGEST


@dataclass
class Pairs:
    """A planner of perftest runs between the NICs of a network.

    - ``routed``: the network with its routes. ``places``: the NICs to test.
    - ``memory``: the location of buffers; None means the memory of the GPUs next to the NICs.
    - ``notes``: the runs that could not be planned, and why.
    """

    routed: Routed
    places: Sequence[Place]
    memory: Memory | None = None
    progress: Callable[[str], None] = silent
    notes: list[str] = field(default_factory=list[str])

    def loops(self, method: Method) -> list[RunRequest]:
        """Return a run of every NIC with itself, one NIC of a server at a time. These runs test the server without the network.

        ``method`` has the message sizes and directions to measure.
        """
        number = rounds((place.server.name,) for place in self.places)
        memory: list[Memory] = [memory_of(place, place, self.memory) for place in self.places]
        return [
            RunRequest(
                f"loops/{place.name.replace(':', '/')}",
                "loops",
                f"the rate of {place.name} without the network: limited by its slot, its GPU and its settings",
                _test(place, place, (0, 0), PINNED_QPS, where, method, ""),
                at,
                ("loop", place.model),
                place.nic.speed_gbps,
            )
            for place, at, where in zip(self.places, number, memory, strict=True)
        ]

    def neighbours(self, method: Method) -> list[RunRequest]:
        """Return runs of every NIC with a neighbor on its leaf, in the same rail if possible.

        A NIC without such a neighbor is tested with a NIC on a different leaf. ``method`` has the message sizes and directions
        to measure.
        """
        pairs = [(place, other, (0, 0)) for leaf in self._leaves() for place, other in _neighbours(leaf)]
        near = {end.name for place, other, _ in pairs for end in (place, other)}
        alone = [place for place in self.places if place.name not in near]
        pairs += [(place, other, (0, 0)) for place, other in _far_neighbours(alone, self.places)]
        met = {end.name for place, other, _ in pairs for end in (place, other)}
        if left := sum(place.name not in met for place in self.places):
            self.notes.append(f"pairs: {counted(left, 'NIC')} left out, to which no NIC of another server may talk")
        return self._runs("pairs", pairs, method)

    def mesh(self, method: Method, *, every_color: bool) -> list[RunRequest]:
        """Return runs between every pair of leaves. ``method`` has the message sizes and directions to measure.

        With ``every_color``, each pair is tested over every path color. Otherwise each pair is tested over one color,
        and together the pairs use all colors.
        """
        pairs: list[tuple[Place, Place, tuple[int, int]]] = []
        for rail, leaves in enumerate(parts(self.places)):
            pairs += _mesh(leaves, rail, every_color=every_color)
        return self._runs("mesh", pairs, method)

    def _leaves(self) -> Iterator[list[Place]]:
        by_leaf: dict[tuple[str, str, str], list[Place]] = {}
        for place in self.places:
            by_leaf.setdefault((place.nic.leaf, place.nic.tenant, place.nic.network), []).append(place)
        yield from by_leaf.values()

    def _runs(
        self, part: str, pairs: Sequence[tuple[Place, Place, tuple[int, int]]], method: Method
    ) -> list[RunRequest]:
        given, made = Rounds(), list[RunRequest]()
        for number, (place, other, at) in enumerate(pairs):
            if number and number % PROGRESS_EVERY == 0:
                self.progress(f"planning: paths found for {number:,} of {len(pairs):,} pairs of {part}")
            led = pair_path(self.routed, place, other, at)
            if led is not None:
                turn = given.first({place.name, other.name, *led.possible})
                made.append(self._run(part, place, other, at, led, turn, method))
        if left := len(pairs) - len(made):
            self.notes.append(f"{part}: {counted(left, 'pair')} left out, which no route joins by that path color")
        return made

    def _run(
        self, part: str, place: Place, other: Place, at: tuple[int, int], led: PairPath, number: int, method: Method
    ) -> RunRequest:
        color = place.nic.addresses[at[0]].color
        name = self.routed.network.fabric(place.nic.fabric).color_name(color) if color is not None else ""
        qps = FAR_QPS if led.far else HASHED_QPS if led.widest > 1 else PINNED_QPS
        memory = memory_of(place, other, self.memory)
        test = _test(place, other, at, qps, memory, method, name)
        by = f", by {name}" if name else ""
        why = (
            f"{place.nic.leaf} with {other.nic.leaf}{by}"
            if part == "mesh"
            else f"the cables of {place.name} to {place.nic.leaf} and of {other.name} to {other.nic.leaf}"
        )
        ends = f"{place.server.name}-{place.nic.name}--{other.server.name}-{other.nic.name}"
        if part == "mesh":
            ends = f"{place.nic.leaf}--{other.nic.leaf}/{f'{name}/' if name else ''}{ends}"
        speed = min(place.nic.speed_gbps, other.nic.speed_gbps)
        return RunRequest(f"{part}/{ends}", part, why, test, number, led.alike, speed, led.links, at)


def _test(
    place: Place, other: Place, at: tuple[int, int], qps: int, memory: Memory, method: Method, color: str
) -> Perftest:
    return Perftest(
        PROGRAM,
        server=other.end(at[1], memory),
        client=place.end(at[0], memory),
        size_bytes=method.size_bytes,
        qps=qps,
        memory=memory,
        both_ways=method.both_ways,
        seconds=method.seconds,
        color=color,
    )


def _neighbours(leaf: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield pairs of the NICs of one leaf (``leaf``) that are on different servers: first within rails, then from the NICs that are left."""
    rails: dict[int, list[Place]] = {}
    for place in leaf:
        rails.setdefault(place.nic.rail, []).append(place)
    left: list[Place] = []
    for there in rails.values():
        waiting = list(there)
        while waiting:
            place = waiting.pop(0)
            other = next((it for it in waiting if it.server is not place.server), None)
            if other is None:
                left.append(place)
            else:
                waiting.remove(other)
                yield place, other
    while left:
        place = left.pop(0)
        ranked = sorted(
            (it for it in leaf if it.server is not place.server),
            key=lambda it: (it not in left, it.nic.rail != place.nic.rail),
        )
        if ranked:
            if ranked[0] in left:
                left.remove(ranked[0])
            yield place, ranked[0]


def _far_neighbours(alone: Sequence[Place], places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield a pair for each NIC that has no neighbor on its leaf.

    ``alone`` has these NICs, and ``places`` all NICs. The partner is another NIC of ``alone``, or else any NIC with
    which the NIC may communicate. Partners of the same rail are preferred.
    """
    waiting = list(alone)
    while waiting:
        place = waiting.pop(0)
        whose = place.nic.fabric, place.plane, place.nic.tenant, place.nic.network
        others = [
            it
            for it in places
            if it.server is not place.server and (it.nic.fabric, it.plane, it.nic.tenant, it.nic.network) == whose
        ]
        if others:
            other = min(others, key=lambda it: (it.nic.rail != place.nic.rail, it not in waiting))
            if other in waiting:
                waiting.remove(other)
            yield place, other


def _mesh(
    leaves: Sequence[Sequence[Place]], first: int, *, every_color: bool
) -> Iterator[tuple[Place, Place, tuple[int, int]]]:
    """Yield (NIC, NIC, indexes of their addresses to use) for every pair of leaves. ``leaves`` has the NICs of each leaf.

    Each leaf uses its NICs one after another, so that pairs which can run at the same time use different NICs if there are enough.
    With ``every_color``, each pair of leaves is yielded once per path color. Otherwise it is yielded once: the first pair with the
    path color of index ``first``, and each further pair with the next color.
    """
    used: Counter[int] = Counter()
    pairs = first
    for turn in in_turns(len(leaves)):
        for here, there in turn:
            colors = [address.color for address in leaves[here][0].nic.addresses]
            for color in colors if every_color else [colors[pairs % len(colors)]]:
                chosen = _choose(leaves[here], leaves[there], used[here], used[there], color)
                used[here] += 1
                used[there] += 1
                if chosen is not None:
                    yield chosen
            if every_color and len(colors) > 1:
                # with as many NICs as colors a NIC would have the same color each time: what is slow, it or its cable, could not be told
                used[here] += 1
                used[there] += 1
            pairs += 1


def _choose(
    here: Sequence[Place], there: Sequence[Place], first: int, second: int, color: int | None
) -> tuple[Place, Place, tuple[int, int]] | None:
    """Return (NIC of one leaf, NIC of another leaf on a different server, indexes of their addresses), or None if there is no such pair.

    Both addresses have the path color ``color``. ``here`` and ``there`` are the NICs of the two leaves. The search begins with the
    NIC of index ``first`` in ``here`` and the NIC of index ``second`` in ``there``; both indexes are taken modulo the length.
    """
    place = here[first % len(here)]
    at = place.place_of(color)
    for step in range(len(there)):
        other = there[(second + step) % len(there)]
        to = other.place_of(color)
        if at is not None and to is not None and other.server is not place.server:
            return place, other, (at, to)
    return None
