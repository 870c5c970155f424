"""What ports refer to by name: maps, scheduler and WRED policies, buffer profiles and pools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.device.model import Marking
from railweave.systems.dell_sonic.read.words import number, numbers, signed
from railweave.systems.sonic.render.buffers import LOSSLESS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section
    from railweave.model.config.taking import Taking

MOST_DSCP, MOST_QUEUE = 63, 7


@dataclass(slots=True)
class Maps:
    """What ports refer to. Each kind of map by its name, and what each profile and policy has."""

    kinds: dict[str, dict[str, dict[int, int]]] = field(default_factory=dict[str, dict[str, dict[int, int]]])
    schedulers: dict[str, dict[int, dict[str, str]]] = field(default_factory=dict[str, dict[int, dict[str, str]]])
    marking: dict[str, Marking] = field(default_factory=dict[str, Marking])
    marks: set[str] = field(default_factory=set[str])
    poll: int | None = None
    headroom: int | None = None
    profiles: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])

    def of(self, kind: str, names: Iterable[str]) -> dict[int, int]:
        """The map of a kind that ports have; the only one where they have none."""
        some = self.kinds.get(kind, {})
        used = next((name for name in (*names, *some) if name in some), "")
        return some.get(used, {})


_MAPS = {
    "dscp-tc": ("dscp", "traffic-class", MOST_DSCP),
    "tc-queue": ("traffic-class", "queue", MOST_QUEUE),
    "tc-pg": ("traffic-class", "priority-group", MOST_QUEUE),
    "pfc-priority-queue": ("pfc-priority", "queue", MOST_QUEUE),
}


def maps(taking: Taking) -> Maps:
    """Maps, policies, profiles and pools."""
    found = Maps()
    for header in taking.sections:
        match header.line.split():
            case ["qos", "map", kind, name] if kind in _MAPS:
                _map(taking, header, kind, found.kinds.setdefault(kind, {}).setdefault(name, {}))
            case ["qos", "scheduler-policy", name]:
                _scheduler(taking, header, found.schedulers.setdefault(name, {}))
            case ["qos", "wred-policy", name]:
                _wred(taking, header, name, found)
            case ["priority-flow-control", "watchdog", "polling-interval", value] if (n := number(value)) is not None:
                found.poll = n
            case ["buffer", "pool", pool, "shared-headroom-size", value] if (
                pool == LOSSLESS and (n := number(value)) is not None
            ):
                found.headroom = n
            case ["buffer", "profile", name, pool, size, "dynamic-threshold", alpha, "pause", "pause-threshold", xoff]:
                given = number(size), signed(alpha), number(xoff)
                if pool != LOSSLESS or given[0] is None or given[1] is None or given[2] is None:
                    continue
                found.profiles[name] = (given[0], given[1], given[2])
            case ["buffer", "init", "lossless"]:
                pass
            case _:
                continue
        taking.take(header)
    return found


def _map(taking: Taking, header: Section, kind: str, found: dict[int, int]) -> None:
    first, second, most = _MAPS[kind]
    for one in header.body or ():
        match one.line.split():
            case [word, some, other, value] if word == first and other == second:
                members, target = numbers(some, most), number(value)
                if members is None or target is None or target > MOST_QUEUE:
                    continue
                found.update(dict.fromkeys(members, target))
                taking.take(one)
            case _:
                continue


def _scheduler(taking: Taking, header: Section, found: dict[int, dict[str, str]]) -> None:
    for one in header.body or ():
        match one.line.split():
            case ["queue", value] if (queue := number(value)) is not None and queue <= MOST_QUEUE:
                served = found.setdefault(queue, {})
            case _:
                continue
        taking.take(one)
        for inner in one.body or ():
            match inner.line.split():
                case ["type", "strict" | "dwrr" | "wrr" as kind]:
                    served["type"] = kind
                case ["weight", weight] if number(weight) is not None:
                    served["weight"] = weight
                case _:
                    continue
            taking.take(inner)


def _wred(taking: Taking, header: Section, name: str, found: Maps) -> None:
    for one in header.body or ():
        match one.line.split():
            case ["green", "minimum-threshold", low, "maximum-threshold", high, "drop-probability", value]:
                given = number(low), number(high), number(value)
                if given[0] is None or given[1] is None or given[2] is None:
                    continue
                found.marking[name] = Marking(1000 * given[0], 1000 * given[1], given[2])
            case ["ecn", "green" | "all"]:
                found.marks.add(name)
            case _:
                continue
        taking.take(one)
