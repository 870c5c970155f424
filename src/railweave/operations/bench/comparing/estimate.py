"""An estimate of which NIC, server, cable or switch best explains the slow pairs among many measured pairs of servers.

A part is a component that can be faulty. Every pair crosses parts: two NICs, their servers, leaves, cables, spines. A
collective crosses its servers (two or more) and their leaves. The estimate assumes one faulty part at a time: all or
some of the pairs that cross the part are slow, and all other pairs are not. Only some are slow if, for example, a hash
places each pair on one of eight parallel cables, and the choice is unknown. The part that makes the measured rates most
likely is named first, and the second most likely part is named as its runner-up.

If a switch or cable fails, its traffic takes other paths and slows the traffic there. So a pair that does not cross the faulty part
may still be slow because of it, if the pair ran over the same leaf and in the same round as a slow pair that does. Such pairs are fitted
separately, with a lower weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log, pi, sqrt
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.json_values import JsonObject
from railweave.pages.table import Column, Table, formatted, long_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.operations.bench.comparing.predicting import RunPrediction
    from railweave.operations.bench.comparing.rows import Pair, Row


KINDS = ("NIC", "link", "cables", "server", "leaf", "switch", "color", "rail")
"""The kinds of parts of the network, in order of preference.

If the same pairs cross several parts, the part whose kind comes first is named. ``cables`` are the parallel cables
between two switches; a hash selects one of them. A ``rail`` is all NICs of one name.
"""


@dataclass(frozen=True, slots=True)
class Part(JsonObject):
    """A part of the network, such as a NIC or a cable.

    ``also`` names other parts that exactly the same pairs cross. The rates do not show which of all these parts is faulty.
    """

    kind: str
    name: str
    also: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the kind and name of the part, such as ``NIC h100-01:gpu0_eth``, and the alternatives in ``also``."""
        others = f" (or {', '.join(self.also[:3])}{', …' if len(self.also) > 3 else ''})" if self.also else ""
        return f"{self.kind} {self.name}{others}"


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of the network (NICs, servers, leaves, cables, spines) that measured pairs cross, and the crossings.

    A crossing is a part together with one pair that crosses it. Parts and pairs are given by their indexes.

    - ``part``, ``pair``: for each crossing, the index of the part and the index of the pair.
    - ``meeting``: for each pair, two numbers, one for each of its leaves. The number stands for a leaf in a round, so pairs
      with the same number ran over the same leaf in the same round. It is -1 if the leaf or the round is unknown.
    """

    parts: tuple[Part, ...]
    part: NDArray[np.int64]
    pair: NDArray[np.int64]
    meeting: NDArray[np.int64]

    def of(self, place: int) -> NDArray[np.int64]:
        """Return the indexes of the pairs that cross a part. ``place`` is the index of the part."""
        return self.pair[self.part == place]


def leaves_of(pair: Pair) -> set[str]:
    """Return the known leaves that a pair crosses: its ``leaves``, and the leaves at the ends of its ``links`` to servers."""
    servers = set(pair.hosts)
    leaves = set(pair.leaves)
    for link in pair.links:
        devices = {end.partition(":")[0] for end in link.split("--")}
        if devices & servers:
            leaves |= devices - servers
    return leaves


def crossed(pair: Pair) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of every known part of the network that a pair crosses, such as ("leaf", "leaf1"). A part may be yielded twice."""
    servers = set(pair.hosts)
    ends = [end for end in (pair.src, pair.dst) if ":" in end]
    for end in ends:
        yield "NIC", end
    for server in pair.hosts:
        yield "server", server
    names = {end.partition(":")[2] for end in ends}
    if len(names) == 1:
        yield "rail", names.pop()
    if pair.color:
        yield "color", pair.color
    leaves = leaves_of(pair)
    for leaf in leaves:
        yield "leaf", leaf
    for link in pair.links:
        yield ("link" if ":" in link else "cables"), link
        for end in link.split("--"):
            device = end.partition(":")[0]
            if device not in leaves and device not in servers:
                yield "switch", device


def crossings(pairs: Sequence[Pair]) -> Parts:
    """Return the parts that pairs cross. Parts that every pair crosses are left out, because they explain no difference between pairs."""
    by_part: dict[tuple[str, str], list[int]] = {}
    meetings: dict[tuple[str, str], int] = {}
    meeting = np.full((len(pairs), 2), -1, np.int64)
    for place, pair in enumerate(pairs):
        for part in dict.fromkeys(crossed(pair)):
            by_part.setdefault(part, []).append(place)
        if pair.round:
            for side, leaf in enumerate(sorted(leaves_of(pair))[:2]):
                meeting[place, side] = meetings.setdefault((pair.round, leaf), len(meetings))
    alike: dict[tuple[int, ...], list[tuple[str, str]]] = {}
    for part, places in by_part.items():
        if len(places) < len(pairs):
            alike.setdefault(tuple(places), []).append(part)
    parts: list[Part] = []
    for names in alike.values():
        (kind, name), *others = sorted(names, key=lambda alias: (KINDS.index(alias[0]), alias[1]))
        parts.append(Part(kind, name, tuple(f"{kind} {name}" for kind, name in others)))
    return Parts(
        tuple(parts),
        np.repeat(np.arange(len(parts)), [len(places) for places in alike]),
        np.array([place for places in alike for place in places], np.int64),
        meeting,
    )


FEWEST = 2
"""The smallest number of pairs that must cross a part before ``slowest`` computes the median of their rates."""
MOST_PARTS = 3
"""The largest number of slow parts of each kind that ``slowest`` reports."""


@dataclass(frozen=True, slots=True)
class Slowest(JsonObject):
    """A part of the network, and the rates of the pairs that cross the part.

    ``level`` is the median rate of these pairs. ``others`` is the median of ``level`` over all parts of the same kind. Both
    are fractions of the expected rate.
    """

    JSON = ("kind", "name", "level:4", "others:4", "pairs")

    kind: str
    name: str
    level: float
    others: float
    pairs: int


def slowest_table(parts: Iterable[Slowest]) -> Table:
    """Return a table of the slowest parts of the network, with the rates of their pairs."""
    return Table(
        (
            Column("kind", "text", "kind"),
            Column("part", "text", "name"),
            Column("its pairs", "number", "level"),
            Column("median of the kind", "number", "others"),
            Column("pairs", "number", "pairs"),
        ),
        [
            (
                part.kind,
                long_text(part.name),
                formatted(part.level, ".0%"),
                formatted(part.others, ".0%"),
                part.pairs,
            )
            for part in parts
        ],
    )


def slowest(pairs: Sequence[Pair], most: int = MOST_PARTS) -> list[Slowest]:
    """Return the slowest parts of the network, at most ``most`` of each kind (NIC, server, cable, …).

    Kinds are in the order of ``KINDS``, and the parts of a kind in the order of the median rate of their pairs, lowest first. Because of
    the median, one bad peer does not make a NIC look slow. Kinds with only one part are left out.
    """
    levels: dict[str, dict[str, list[float]]] = {}
    for pair in pairs:
        if pair.relative is not None:
            for kind, name in dict.fromkeys(crossed(pair)):
                levels.setdefault(kind, {}).setdefault(name, []).append(pair.relative)
    slowest_parts: list[Slowest] = []
    for kind in KINDS:
        of = {name: values for name, values in levels.get(kind, {}).items() if len(values) >= FEWEST}
        if len(of) > 1:
            medians = {name: median(values) for name, values in of.items()}
            usual = median(medians.values())
            names = sorted(of, key=lambda part_name: (medians[part_name], part_name))[:most]
            slowest_parts += [Slowest(kind, name, medians[name], usual, len(of[name])) for name in names]
    return slowest_parts


if TYPE_CHECKING:
    Numbers = NDArray[np.float64]

SLOWEST = 0.02
"""The lowest rate, as a fraction of the usual rate, that the fit uses.

Slower and failed pairs count as this rate, because log(0) would outweigh all other pairs.
"""
NARROWEST = 0.01
"""The smallest assumed standard deviation of healthy pairs, as a fraction of the rate.

Without this minimum, pairs in a simulator would have a deviation of 0.
"""
STRAY = 0.01
"""The fraction of the pairs that may be slow for unrelated reasons."""
LEAST = 0.05
"""The smallest slowdown, as a fraction of the rate, for which a part of the network is named."""
NEAR = 20
"""The number of most likely parts for which the estimate also uses pairs that ran over the leaf of a slow pair in the same round."""
MET = 0.8
"""The weight of a pair that only shared leaf and round with a slow pair of a part. Pairs that cross the part have a weight of 1.

With a weight of 1 for both, a failed spine and the spine that takes over its traffic would explain the same pairs
equally well.
"""
STEPS = 40
"""The number of expectation-maximization steps. The fit converges in about ten steps."""
ENOUGH = 8.0
"""The smallest ``score`` of a part that is named, after the logarithm of the number of parts is subtracted.

This value corresponds to odds of about 3,000 to 1.
"""


@dataclass(frozen=True, slots=True)
class Suspect(JsonObject):
    """A part of the network, and how well it explains the slow pairs.

    - ``level``: the rate of the pairs that the part slows, as a fraction of their expected rate.
    - ``pairs``: the number of pairs that cross the part.
    - ``share``: the fraction of these pairs that are slow.
    - ``score``: the rise of the log-likelihood if the part is faulty, minus a penalty for the fitted parameters.
    """

    JSON = ("*part", "level:4", "share:4", "pairs", "score:2")

    part: Part
    level: float
    share: float
    pairs: int
    score: float

    def to_text(self) -> str:
        """Return a clause about the pairs that cross the part: their number, the fraction that is slow, and the rate of the slow pairs."""
        slow = "" if self.share > 0.9 else f", {self.share:.0%} of them"
        return f"the {self.pairs} pairs that cross it{slow} get {self.level:.0%} of the usual"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The result of the estimate over all pairs. Rates are fractions of the prediction, or of the median of comparable pairs.

    - ``usual``: the rate of healthy pairs. ``noise``: the standard deviation of the rates. Both are fractions, not
      Gbit/s.
    - ``suspects``: the suspected parts, in order. A slow pair that one suspect explains is not used for later suspects.
    - ``runners_up``: for each suspect, the second-best explanation of the same pairs; None if no other part explains
      any of them.
    """

    pairs: int
    usual: float
    noise: float
    suspects: tuple[Suspect, ...] = ()
    runners_up: tuple[Suspect | None, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as a JSON object (docs/bench.md)."""
        suspects = [
            suspect.to_json() | {"runner_up": other.to_json() if other else None}
            for suspect, other in zip(self.suspects, self.runners_up, strict=True)
        ]
        return {"pairs": self.pairs, "usual": round(self.usual, 4), "noise": round(self.noise, 4), "suspects": suspects}


def estimate(pairs: Sequence[Pair], most: int = 5) -> Estimate:
    """Return the estimate, with at most ``most`` suspected parts of the network. Pairs without an expected rate are left out."""
    given = [(pair, pair.relative) for pair in pairs if pair.relative is not None]
    if not given:
        return Estimate(0, 1.0, 0.0)
    relative = np.array([number for _, number in given], np.float64)
    logs = np.log(np.maximum(relative, 1e-9))
    center = _upper(logs) if any(pair.servers for pair, _ in given) else float(np.median(logs))
    usual = max(exp(center), 1e-9)
    rates = np.log(np.clip(relative / usual, SLOWEST, 1 / SLOWEST))
    near = rates if center <= float(np.median(logs)) else rates[np.abs(rates) < WIDEST]
    noise = max(1.4826 * float(np.median(np.abs(near if len(near) else rates))), NARROWEST)
    parts = crossings([pair for pair, _ in given])
    suspects: list[Suspect] = []
    seconds: list[Suspect | None] = []
    weight = np.ones(len(given))
    while len(suspects) < most and parts.parts:
        fit = _Fit.of(parts, rates, noise, weight)
        candidates: list[tuple[Suspect, Numbers]] = []
        for place in np.argsort(-fit.score, kind="stable")[:NEAR]:
            crossing, slow = parts.of(int(place)), fit.slow[parts.part == place]
            met, their_slow, more = _met(parts.meeting, crossing[slow > 0.5], crossing, rates, noise, weight)
            explained = np.zeros(len(given))
            explained[crossing], explained[met] = slow, their_slow
            candidates.append((fit.suspect(parts, int(place), MET * more), explained))
        candidates.sort(key=lambda candidate: -candidate[0].score)
        (first, explained), *others = candidates
        if first.score < ENOUGH + log(len(parts.parts)):
            break
        suspects.append(first)
        seconds.append(next((suspect for suspect, _ in others[:1] if suspect.score > 0), None))
        weight *= 1 - explained
    return Estimate(len(given), usual, noise, tuple(suspects), tuple(seconds))


WIDEST = 0.15
"""The largest difference between the logarithms of a collective's rate and of the usual rate at which the collective counts as usual."""


def _upper(logs: Numbers) -> float:
    """Return the logarithm of the usual rate of collectives. ``logs`` holds the logarithms of the rates of all runs.

    The result is the median of the rates that are close to the third quartile of all rates (``WIDEST``). The reason is that a slow
    server slows every run that includes it. In a small cluster, or in groups of several servers, such runs can be half of all runs. The
    median of all runs would then be lower than the rate of healthy servers.
    """
    center = float(np.quantile(logs, 0.75, method="nearest"))
    for _ in range(5):
        near = logs[np.abs(logs - center) < WIDEST]
        center = float(np.median(near)) if len(near) else center
    return center


def _met(
    meeting: NDArray[np.int64],
    slow: NDArray[np.int64],
    crossing: NDArray[np.int64],
    rates: Numbers,
    noise: float,
    weight: Numbers,
) -> tuple[NDArray[np.int64], Numbers, float]:
    """Return three results about the pairs that do not cross a part, but ran over the leaf of a slow pair of this part in the same round.

    They are the indexes of these pairs, for each of them the probability that the part slowed it, and the number that these pairs add to
    the part's score.

    - ``meeting``: the leaf and round of each pair, as in ``Parts``.
    - ``crossing``: the indexes of all pairs that cross the part. ``slow``: the indexes of those that are slow.
    - ``rates``, ``noise``, ``weight``: the logarithms of the rates, their standard deviation, and the weight of each pair.
    """
    keys = np.unique(meeting[slow])
    met = np.setdiff1d(np.flatnonzero(np.isin(meeting, keys[keys >= 0]).any(axis=1)), crossing)
    none = np.zeros(0, np.int64), np.zeros(0), 0.0
    if not len(met):
        return none
    parts = Parts((Part("pairs", ""),), np.zeros(len(met), np.int64), met, meeting)
    fit = _Fit.of(parts, rates, noise, weight)
    return (met, fit.slow, float(fit.score[0])) if fit.score[0] > 0 else none


@dataclass(frozen=True, eq=False)
class _Fit:
    """The fitted values of all parts, as arrays with one value per part.

    - ``level``: the logarithm of the rate of the pairs that the part slows.
    - ``share``: the fraction of the part's pairs that are slow.
    - ``score``: how well the part explains the slow pairs (see ``Suspect``).
    - ``slow``: the probability that a part makes a pair slow. This array has one value per crossing (see ``Parts``).
    """

    level: Numbers
    share: Numbers
    score: Numbers
    slow: Numbers

    @classmethod
    def of(cls, parts: Parts, rates: Numbers, noise: float, weight: Numbers) -> _Fit:
        """Fit by expectation-maximization from two starting points, and keep the better fit of each part.

        The first starting point assumes that all pairs of a part are slow. The second assumes that only its slowest pairs are slow.
        ``rates`` holds the logarithms of the pairs' rates, ``noise`` their standard deviation, and ``weight`` the weight of each pair.
        """
        usual = (1 - STRAY) * _normal(rates, 0.0, noise) + STRAY / -log(SLOWEST)
        both = [cls._from(parts, rates, noise, weight, usual, all_slow=all_slow) for all_slow in (True, False)]
        better = both[0].score >= both[1].score

        def taken(first: Numbers, other: Numbers) -> Numbers:
            return np.where(better, first, other)

        return cls(
            taken(both[0].level, both[1].level),
            taken(both[0].share, both[1].share),
            taken(both[0].score, both[1].score),
            np.where(better[parts.part], both[0].slow, both[1].slow),
        )

    @classmethod
    def _from(
        cls, parts: Parts, rates: Numbers, noise: float, weight: Numbers, usual: Numbers, *, all_slow: bool
    ) -> _Fit:
        count, part = len(parts.parts), parts.part
        x, w, base = rates[parts.pair], weight[parts.pair], usual[parts.pair]

        def total(values: Numbers) -> Numbers:
            return np.bincount(part, values, count).astype(np.float64)

        pairs = np.maximum(total(w), 1e-9)
        slow = np.ones(len(x)) if all_slow else (x < -3 * noise).astype(np.float64) + 1e-3
        share = level = whole = np.zeros(0)
        for _ in range(STEPS):
            mass = np.maximum(total(w * slow), 1e-9)
            share = np.clip(mass / pairs, 0.005, 0.999)
            level = np.minimum(total(w * slow * x) / mass, log(1 - LEAST))
            spread = np.sqrt(total(w * slow * (x - level[part]) ** 2) / mass)
            spread = np.clip(spread, noise, 1.0)
            by_part = share[part] * _normal(x, level[part], spread[part])
            whole = by_part + (1 - share[part]) * base
            slow = by_part / whole
        score = total(w * np.log(whole / base)) - 1.5 * np.log1p(pairs)
        return cls(level, share, score, slow)

    def suspect(self, parts: Parts, place: int, more: float) -> Suspect:
        """Return the part with index ``place`` as a suspect. ``more`` is added to its score.

        ``more`` comes from the pairs that do not cross the part but ran over the same leaf and round as slow pairs (``_met``).
        """
        score = float(self.score[place]) + more
        return Suspect(
            parts.parts[place], exp(self.level[place]), float(self.share[place]), len(parts.of(place)), score
        )


def _normal(x: Numbers, mean: Numbers | float, deviation: Numbers | float) -> Numbers:
    # a floor, so that what is far from everything does not divide 0 by 0
    density = np.exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * sqrt(2 * pi))
    return np.maximum(density, 1e-300)


WORDS = {2: "half", 3: "a third", 4: "a quarter"}
NEAR_FRACTION = 0.08
"""The largest relative deviation at which a ratio is still called a half, a third or a quarter (``WORDS``)."""
MOST_SENTENCES = 4
"""The largest number of sentences about the causes of one row."""


def with_causes(
    rows: Iterable[Row], pairs: Sequence[Pair], estimate: Estimate, accounts: Mapping[str, RunPrediction]
) -> list[Row]:
    """Return the rows of a comparison with sentences about likely causes added, at most ``MOST_SENTENCES`` per row.

    - A row that is worse, failed or has too few repeats gets the suspected parts of ``estimate`` that its ``pairs`` cross.
    - Every row gets the sentences of its latest run's new prediction. ``accounts`` has new predictions by run id.
    """
    by_run = {pair.run: pair for pair in pairs}
    explained: list[Row] = []
    for row in rows:
        sentences = list(row.likely)
        if row.bad or row.verdict == "too few repeats":
            of = [by_run[run] for run in row.runs if run in by_run]
            sentences += _suspects(of, estimate) + _fraction(row, of)
        sentences += [
            sentence
            for run in row.runs[-1:]
            if run in accounts and row.key in accounts[run].rows
            for sentence in accounts[run].rows[row.key][1]
        ]
        explained.append(replace(row, likely=tuple(dict.fromkeys(sentences))[:MOST_SENTENCES]))
    return explained


def _suspects(pairs: Sequence[Pair], estimate: Estimate) -> list[str]:
    """Return a sentence for each suspected part of the network in ``estimate`` that at least one of these pairs crosses."""
    here = {part for pair in pairs for part in crossed(pair)}
    return [
        f"It crosses {suspect.part.to_text()}: {suspect.to_text()}."
        for suspect in estimate.suspects
        if (suspect.part.kind, suspect.part.name) in here
    ]


def _fraction(row: Row, pairs: Sequence[Pair]) -> list[str]:
    """Return sentences with likely causes if a row has about half, a third or a quarter of its expected rate; else an empty list.

    ``pairs`` are the measurements of the row. One possible cause is that queue pairs share an uplink; it is left out if the exact links of
    a pair are known.
    """
    if row.ratio is None:
        return []
    for count, word in WORDS.items():
        if abs(row.ratio * count - 1) <= NEAR_FRACTION:
            if any(":" in link for pair in pairs for link in pair.links):
                return [
                    f"It gets {word} of its expected rate. Possible causes: a link of its path runs at {word} of its speed, or {count} runs used the path at the same time."
                ]
            return [
                f"It gets {word} of its expected rate. Possible causes: {count} queue pairs share an uplink while other uplinks are idle, or a link runs at {word} of its speed."
            ]
    return []
