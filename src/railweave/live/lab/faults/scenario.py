"""Injection of the faults of a scenario, each at its time. Overlapping faults are measured together."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.design.fault_targets import FaultTarget, fault_targets
from railweave.errors import FileLine, InputError, Option, Problem
from railweave.live.lab import life
from railweave.live.lab.faults.kinds import PS_PER_S, Effect, effect
from railweave.live.lab.faults.measure import FaultMeasurement, single
from railweave.live.lab.faults.page import InjectedFaults
from railweave.live.lab.faults.sweep import of_words
from railweave.live.lab.state import locked
from railweave.model.intent.scenario import read_scenario
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from railweave.live.lab.running import Running


@dataclass(frozen=True)
class _Span:
    """A fault with its start and end, in seconds from the start of the scenario.

    If the end is None, the fault ends when routers have converged.
    """

    effect: Effect
    begin_s: float
    end_s: float | None


def of_file(lab: Running, file: Path, *, announce: Callable[[str], None]) -> list[FaultTarget]:
    """Return the faults of a scenario file. Raises ``InputError`` if the file has no faults.

    ``announce`` is called with a sentence if the file also has traffic, which the lab ignores.
    """
    read = read_scenario(file, "lab")
    if not read.scenario.faults:
        fix = "the lab takes a scenario's faults, and no traffic"
        raise InputError([Problem(FileLine(str(file)), "it has no faults", fix)])
    if read.scenario.traffic:
        announce("the lab takes the scenario's faults; its traffic and its times to reroute are for `railweave sim`")
    return fault_targets(lab.plan.network, read)


def injected(
    fabric: Path,
    scenario: Path | None,
    words: Sequence[str] = (),
    *,
    every: bool = False,
    announce: Callable[[str], None] = silent,
    progress: Callable[[str], None] = silent,
) -> InjectedFaults:
    """Inject faults into a fabric file's running lab, and return the measurements.

    The faults are those of a scenario file, those written as ``words`` such as ``link-down link=A--B``, or ``every`` single fault.
    Overlapping faults are measured together. ``announce`` is called with a sentence if traffic of the file is ignored. Raises
    ``InputError`` unless exactly one of the three is given, and ``LabError`` if the lab is not running or the user is not root.
    """
    life.need_root("lab fault", fabric)
    if (scenario is not None) + bool(words) + every != 1:
        raise InputError(
            [Problem(Option("lab fault"), "what to break?", "give one of --scenario, --fault and --all-single")]
        )
    record, lab = life.attach(fabric)
    with lab, locked(record.lab, "fault"):
        if scenario is not None:
            return InjectedFaults(record, play(lab, of_file(lab, scenario, announce=announce), progress))
        targets = of_words(lab, words, every=every)
        measured = [measurement for target in targets for measurement in play(lab, [target], progress)]
        return InjectedFaults(record, measured)


def play(lab: Running, targets: Sequence[FaultTarget], progress: Callable[[str], None]) -> list[FaultMeasurement]:
    """Start and end the faults ``targets``, each at its time, and return the measurements of their effects."""
    spans = sorted((_span(lab, target) for target in targets), key=lambda span: span.begin_s)
    start = time.monotonic()
    measurements: list[FaultMeasurement] = []
    for group in _overlapping(spans):
        progress(" + ".join(span.effect.name for span in group))
        time.sleep(max(start + group[0].begin_s - time.monotonic(), 0.0))
        if len(group) == 1:
            span = group[0]
            measurements.append(single(lab, span.effect, None if span.end_s is None else span.end_s - span.begin_s))
        else:
            measurements.append(_several(lab, group))
    return measurements


def _span(lab: Running, target: FaultTarget) -> _Span:
    fault = target.fault
    end = fault.end_ps
    return _Span(effect(lab, target), fault.at / PS_PER_S, None if end is None else end / PS_PER_S)


def _overlapping(spans: Sequence[_Span]) -> list[list[_Span]]:
    """Return the faults ``spans`` in groups that overlap in time. A fault without an end time ends before the next one starts."""
    groups: list[list[_Span]] = []
    for span in spans:
        last = groups[-1] if groups else []
        if any(earlier.end_s is not None and earlier.end_s > span.begin_s for earlier in last):
            last.append(span)
        else:
            groups.append([span])
    return groups


def _several(lab: Running, group: Sequence[_Span]) -> FaultMeasurement:
    """Measure the overlapping faults ``group`` together.

    Each fault starts at its time. A fault whose end comes before the start of the last fault ends at its time. The effects of the remaining
    faults are measured from the start of the last fault.
    """
    first, last = group[0].begin_s, group[-1].begin_s
    to_end: list[Effect] = []
    remain = [span for span in group if span.end_s is None or span.end_s > last]

    def prepare() -> None:
        for span in group:
            to_end.append(span.effect)
            span.effect.prepare()

    def begin() -> None:
        start = time.monotonic() - first
        moments = [(span.begin_s, True, span.effect) for span in group]
        moments += [(span.end_s, False, span.effect) for span in group if span.end_s is not None and span.end_s <= last]
        for at, begins, fault_effect in sorted(moments, key=lambda moment: moment[0]):
            time.sleep(max(start + at - time.monotonic(), 0.0))
            if begins:
                fault_effect.begin()
            else:
                fault_effect.end()
                to_end.remove(fault_effect)

    def end() -> None:
        for fault_effect in to_end:
            fault_effect.end()

    downs = [span.effect.down for span in remain]
    down = None if None in downs else tuple(name for names in downs for name in names or ())
    links = tuple(dict.fromkeys(link for span in group for link in span.effect.links))
    together = replace(
        group[0].effect, links=links, down=down, prepare=prepare, begin=begin, end=end, note="several at once"
    )
    lasts = [span.end_s - last for span in remain if span.end_s is not None]
    measured = single(lab, together, min(lasts) if lasts else None)
    return replace(
        measured,
        kind=" + ".join(span.effect.target.fault.kind for span in group),
        target=" + ".join(span.effect.name for span in group),
    )
