"""The search for grey failures in each round of the watch, with one finding for each cable and the counts of what was compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.live.check.living import Deviation
from railweave.operations.watch.grey.light import LIGHT, ReceivedLight
from railweave.operations.watch.grey.peers import PortKinds, Suspect
from railweave.operations.watch.grey.rates import (
    CRC,
    ECN,
    FEC,
    KINDS,
    LOAD,
    PFC,
    SPAN_S,
    Counters,
    asymmetric_loads,
    unusual_rates,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.analysis.expect import Expected
    from railweave.model.findings.registry import Rule
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.operations.watch.grey.peers import Flags

RULES = (FEC, CRC, LIGHT, LOAD, ECN, PFC)


@dataclass(frozen=True, slots=True)
class GreyCount:
    """The numbers of ports that were compared for one rule, that could not be compared, and that are unusual.

    A port cannot be compared without its metric, enough traffic and time, or enough ports of its kind. For
    ``load-asymmetric``, only ports with at least three other equal paths count.
    """

    compared: int
    not_compared: int
    unusual: int


class GreyFailures:
    """The search for grey failures in a network, with the history that it needs.

    ``expected`` has the designed state of each device. ``window_s`` is the time in seconds over which the watch compares
    counters; if it is longer than ``SPAN_S``, it is used here, too.
    """

    def __init__(self, network: Network, expected: Mapping[str, Expected], window_s: float) -> None:
        self.counts: dict[str, GreyCount] = {}
        """The counts of the last round, by the id of the rule."""
        self._kinds = PortKinds(network, expected)
        self._counters = Counters(self._kinds, max(window_s, SPAN_S))
        self._light = ReceivedLight(self._kinds)
        self._reported: dict[tuple[str, str], int] = {}

    def seen(self, time: float, states: Mapping[str, DeviceState]) -> Iterator[Deviation]:
        """Yield the grey failures at ``time`` (seconds since 1970) as deviations from the design, and update ``counts``.

        ``states`` has the state of each device that answered. Missing and odd values are not compared, and raise no error.
        """
        suspects = self._compare(time, states) if self._kinds.ports else {}
        reported: dict[tuple[str, str], int] = {}
        for rule, of_rule in suspects.items():
            for suspect, other in self._by_cable(rule, of_rule):
                port = self._kinds.ports[suspect.place]
                reported[rule.id, port.link] = suspect.place
                end = f"{port.peer} {port.peer_port}" + (f": {other.number}" if other else "")
                text = f"{port.name}: {suspect.text}; at the other end, {end}"
                yield Deviation(rule, port.device, text, port.because, port.name, port.link)
        self._reported = reported

    def _compare(self, time: float, states: Mapping[str, DeviceState]) -> dict[Rule, list[Suspect]]:
        size = len(self._kinds.ports)
        suspects: dict[Rule, list[Suspect]] = {rule: [] for rule in RULES}
        compared: dict[Rule, Flags] = {rule: np.zeros(size, np.bool_) for rule in RULES}
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN stands for what is unknown
            self._counters.read(time, states)
            self._light.read(states)
            for rank, kind in enumerate(KINDS):
                of_rule = suspects[kind.rule]
                compared[kind.rule] |= unusual_rates(kind, rank, self._counters, self._kinds, of_rule)
            compared[LOAD] |= asymmetric_loads(self._counters, self._kinds, states, suspects[LOAD])
            compared[LIGHT] |= self._light.compare(time, suspects[LIGHT])
        for rule in RULES:
            total = int(np.count_nonzero(self._kinds.paths >= 0)) if rule is LOAD else size
            checked = int(np.count_nonzero(compared[rule]))
            unusual = len({suspect.place for suspect in suspects[rule]})
            self.counts[rule.id] = GreyCount(checked, total - checked, unusual)
        return suspects

    def _by_cable(self, rule: Rule, suspects: Sequence[Suspect]) -> Iterator[tuple[Suspect, Suspect | None]]:
        """Yield the worse end of each cable in ``suspects``, with the other end if it is unusual, too.

        The end that was reported in the last round stays the reported end, so that an anomaly does not change its place.
        """
        of_link: dict[str, list[Suspect]] = {}
        for suspect in suspects:
            of_link.setdefault(self._kinds.ports[suspect.place].link, []).append(suspect)
        for link, ends in of_link.items():
            last = self._reported.get((rule.id, link))
            ends.sort(key=lambda end: (end.place != last, end.rank, -end.excess))
            yield ends[0], next((end for end in ends if end.place != ends[0].place), None)
