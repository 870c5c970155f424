"""The port range that gives links the ports they have, and the links that no range gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.design.cabling.ports import Range
from railweave.model.catalog import catalog
from railweave.model.catalog.breakouts import breakout_of
from railweave.model.intent.topology import PortRange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.analysis.adopt.equipment import Place


@dataclass(frozen=True, slots=True)
class Taken:
    """A port that a link has: of the neighbor in ``slot`` (from 1), its parallel link ``link`` (from 0)."""

    device: str
    slot: int
    link: int
    place: Place


def port_range(model: str, taken: Sequence[Taken], links: int) -> tuple[dict[str, object], list[Taken]]:
    """The range as the fabric file has it that gives most of the ports, and those that it does not give."""
    if not taken:
        return {}, []
    best: tuple[int, dict[str, object], list[Taken]] | None = None
    for given in _candidates(model, taken, links):
        wrong = [one for one in taken if not _gives(model, given, one, links)]
        if best is None or len(wrong) < best[0]:
            best = (len(wrong), given, wrong)
        if not wrong:
            break
    return (best[1], best[2]) if best else ({}, list(taken))


def _candidates(model: str, taken: Sequence[Taken], links: int) -> Iterator[dict[str, object]]:
    """Ranges that give one of the ports at least: those of the lowest ports first, packed before spread."""
    hardware = catalog().switches[model]
    for one in sorted(taken, key=lambda each: each.place.key)[:8]:
        channels = one.place.channels
        group = hardware.group_of(one.place.physical)
        if group is None:
            continue
        for spread in (False, True):
            each = -(-links // channels)
            index = (one.slot - 1) * links + one.link
            before = (one.slot - 1) * each + one.link // channels if spread else index // channels
            first = one.place.physical - before
            if first < group.first:
                continue
            given: dict[str, object] = {"first": first}
            if spread:
                given["fill"] = "spread"
            usual = breakout_of(hardware, PortRange(first=first), one.place.speed_gbps)
            if usual is None or usual.channels != channels:
                given["breakout"] = f"{channels}x{one.place.speed_gbps}G"
            yield given


def _gives(model: str, given: dict[str, object], one: Taken, links: int) -> bool:
    """Whether a range has this port for this link: it is split as the link's speed needs."""
    hardware = catalog().switches[model]
    ports = PortRange.model_validate(given)
    group = hardware.group_of(ports.first or 0)
    mode = breakout_of(hardware, ports, one.place.speed_gbps)
    if group is None or mode is None:
        return False
    made = Range(group, ports.first or 0, group.last, mode.channels, ports.fill == "spread", mode.speed_gbps)
    found = made.port(one.slot, one.link, links)
    return found is not None and (found.physical, found.channel, found.channels) == (
        one.place.physical,
        one.place.channel,
        one.place.channels,
    )
