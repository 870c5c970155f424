"""Traffic classes, PFC, marking and headroom. A class is known by its queue; its name is printed in that of its WRED policy alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.device.model import Interface, Marking, PfcProfile, QosConfig
from railweave.model.device.qos_model import Buffers, Ecn, TrafficClass, Watchdog, pfc_profiles
from railweave.systems.dell_sonic.render.qos import NAME, lossy_group
from railweave.systems.dell_sonic.words import fewest, number, numbers, signed
from railweave.systems.sonic.render.qos import LOSSLESS, NO_OFFSET, reserve_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.config.sections import Section, SectionReader
    from railweave.systems.dell_sonic.read.ports import Lines, PortQos


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


def maps(taking: SectionReader) -> Maps:
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


def _map(taking: SectionReader, header: Section, kind: str, found: dict[int, int]) -> None:
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


def _scheduler(taking: SectionReader, header: Section, found: dict[int, dict[str, str]]) -> None:
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


def _wred(taking: SectionReader, header: Section, name: str, found: Maps) -> None:
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


_CLASS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
"""The name of a class in a fabric file."""
_PROFILE = re.compile(r"pg_lossless_(?P<speed>\d{1,7})_(?P<length>\d{1,6})m(?:_(?P<mru>\d{1,6}))?_profile")


def qos(found: Maps, lines: Mapping[str, Lines], ports: Sequence[Interface], model_name: str) -> QosConfig | None:
    """QoS of a device; None where it has no map, and no scheduler."""
    if not found.kinds and not found.schedulers:
        return None
    own = [lines[one.name].qos for one in ports]
    model = catalog().switches[model_name]
    names = _names(found, own)
    classes = _classes(found, own, names)
    marked = {queue: policy for one in own for queue, policy in one.wred.items()}
    marking = {
        names[queue]: found.marking[policy]
        for queue, policy in marked.items()
        if queue in names and policy in found.marking and policy in found.marks
    }
    rest = found.of("dscp-tc", _used(own, "dscp-tc")).get(0)
    default = names.get(found.of("tc-queue", _used(own, "tc-queue")).get(rest or 0, rest or 0), "")
    return QosConfig(
        classes={name: _with_marking(one, marking.get(name)) for name, one in classes.items()},
        default_class=default or next(iter(classes), ""),
        marking=marking,
        buffers=Buffers(
            headroom=_headroom(found, model),
            ingress_dynamic_threshold=_threshold(found) + NO_OFFSET,
        ),
        profiles=_profiles(found, lines, ports, model),
        xon_offset_cells=None,
        watchdog=_watchdog(found, own),
        buffer_monitor=False,
        ports=_bound(found, ports, own),
    )


def _bound(found: Maps, ports: Sequence[Interface], own: Sequence[PortQos]) -> tuple[str, ...]:
    """The ports that have everything which the ports have between them. What is not defined, no port has."""
    kinds = {kind for one in own for kind in one.maps}
    scheduled = any(one.scheduler for one in own)
    if not kinds and not scheduled:
        return ()
    has = [
        all(kind in one.maps and one.maps[kind] in found.kinds.get(kind, {one.maps[kind]}) for kind in kinds)
        and (not scheduled or one.scheduler in found.schedulers)
        for one in own
    ]
    return tuple(port.name for port, it_has in zip(ports, has, strict=True) if it_has)


def _used(own: Iterable[PortQos], kind: str) -> list[str]:
    return [one.maps[kind] for one in own if kind in one.maps]


def _names(found: Maps, own: Sequence[PortQos]) -> dict[int, str]:
    """Classes by queue, named as their WRED policies say, or by what they do: as a fabric file calls them where it says nothing."""
    policy = _policy(found, own)
    queues = sorted(policy or set(found.of("tc-queue", ()).values()))
    held = set(_lossless(found, own).values())
    rest = found.of("tc-queue", _used(own, "tc-queue"))
    usual = found.of("dscp-tc", _used(own, "dscp-tc"))
    default = rest.get(usual.get(0, 0), usual.get(0, 0))
    policies = {queue: name for one in own for queue, name in one.wred.items() if name in found.marks}
    told = {queue: name.removeprefix(f"{NAME}-") for queue, name in policies.items() if name.startswith(f"{NAME}-")}
    names = {queue: name for queue, name in told.items() if queue in queues and list(told.values()).count(name) == 1}
    names = {queue: name for queue, name in names.items() if _CLASS.fullmatch(name)}
    for queue in (one for one in queues if one not in names):
        strict = policy.get(queue, {}).get("type") == "strict"
        name = "no-loss" if queue in held else "best-effort" if queue == default else "cnp" if strict else "class"
        names[queue] = name if name not in names.values() and name != "class" else f"queue-{queue}"
    return {queue: names[queue] for queue in queues}


def _policy(found: Maps, own: Sequence[PortQos]) -> dict[int, dict[str, str]]:
    used = [one.scheduler for one in own if one.scheduler in found.schedulers]
    return found.schedulers.get(next(iter([*used, *found.schedulers]), ""), {})


def _lossless(found: Maps, own: Sequence[PortQos]) -> dict[int, int]:
    """Queues of lossless classes by PFC priority: those that have a priority group of their own, or that ports pause."""
    groups = found.of("tc-pg", _used(own, "tc-pg"))
    queues = found.of("pfc-priority-queue", _used(own, "pfc-priority-queue"))
    classes = found.of("tc-queue", _used(own, "tc-queue"))
    paused = {priority for one in own for priority in one.pfc}
    by_group = {group: classes.get(one, one) for one, group in groups.items() if group != lossy_group(paused)}
    by_port = {priority: queues.get(priority, priority) for priority in paused - by_group.keys()}
    return {**by_group, **by_port} if groups else {p: queues.get(p, p) for p in paused}


def _classes(found: Maps, own: Sequence[PortQos], names: Mapping[int, str]) -> dict[str, TrafficClass]:
    dscps = found.of("dscp-tc", _used(own, "dscp-tc"))
    queues = found.of("tc-queue", _used(own, "tc-queue"))
    policy = _policy(found, own)
    priorities = {queue: priority for priority, queue in _lossless(found, own).items()}
    members: dict[int, list[int]] = {}
    for dscp, traffic_class in dscps.items():
        members.setdefault(queues.get(traffic_class, traffic_class), []).append(dscp)
    default = queues.get(dscps.get(0, 0), dscps.get(0, 0))
    return {
        name: TrafficClass(
            queue=queue,
            dscp=tuple(sorted(members.get(queue, ()))) if queue != default else (0,),
            lossless=queue in priorities,
            pfc_priority=priorities.get(queue),
            priority="strict-high" if policy.get(queue, {}).get("type") == "strict" else "low",
            transmit_percent=number(policy.get(queue, {}).get("weight", "")),
        )
        for queue, name in names.items()
    }


def _with_marking(one: TrafficClass, marking: Marking | None) -> TrafficClass:
    if marking is None:
        return one
    return replace(one, ecn=Ecn(max_probability=marking.probability, min_bytes=marking.first, max_bytes=marking.last))


def _headroom(found: Maps, model: SwitchModel) -> int:
    """The share of the packet buffer that is headroom, percent, whole where it can be."""
    if found.headroom is None:
        return Buffers().headroom
    return round(100 * found.headroom / (model.buffer.shared_mb * 1e6))


def _threshold(found: Maps) -> int:
    """The power of two of the lossless groups' threshold; of several, the odd one."""
    odd = fewest(alpha for _, alpha, _ in found.profiles.values())
    return odd if isinstance(odd, int) else 0


def _profiles(
    found: Maps, lines: Mapping[str, Lines], ports: Sequence[Interface], model: SwitchModel
) -> tuple[PfcProfile, ...]:
    """PFC by cable length and MRU, which names of profiles say."""
    needs: dict[tuple[int, int, int], list[str]] = {}
    rooms: dict[tuple[int, int, int], list[int]] = {}
    every = [one.mtu for one in ports]
    mtus = sorted(set(every), key=every.count, reverse=True)
    for port in ports:
        own = lines[port.name].qos
        names = set(own.buffers.values())
        name = min(names) if names else ""
        shape = _PROFILE.fullmatch(name)
        if not own.pfc or (own.buffers and set(own.buffers) != own.pfc):
            continue
        size, _, room = found.profiles.get(name, (0, 0, 0))
        length = int(shape["length"]) if shape else 0
        mru = int(shape["mru"]) if shape and shape["mru"] else _mru(size, room, length, port, mtus, model)
        needs.setdefault((length, mru, port.speed_gbps), []).append(port.name)
        rooms.setdefault((length, mru, port.speed_gbps), []).append(room)
    return pfc_profiles({need: (_printed(rooms[need]), names) for need, names in needs.items()})


def _mru(size: int, room: int, length: int, port: Interface, mtus: Sequence[int], model: SwitchModel) -> int:
    """The MRU of a port's profile that does not say it: of the ports' MTUs, the most usual one that its two sizes are for."""
    speed = port.speed_gbps
    fits = (
        one
        for one in mtus
        if speed
        and size == reserve_bytes(one, model)
        and room == port_headroom(catalog(), model, length, speed, one).limit_bytes
    )
    return next(fits, port.mtu)


def _printed(rooms: Sequence[int]) -> int:
    """Headroom in bytes; of several the odd one."""
    odd = fewest(rooms)
    return odd if isinstance(odd, int) else 0


def _watchdog(found: Maps, own: Sequence[PortQos]) -> Watchdog | None:
    """The watchdog of the ports that pause; of several values the odd one. None where one of them has none."""
    paused = [one for one in own if one.pfc]
    if not paused or any(not one.watchdog for one in paused):
        return None if paused else Watchdog()
    poll = found.poll or Watchdog().poll_interval
    detect, restore, action = (
        fewest(one.watchdog.get(key) for one in paused) for key in ("detect", "restore", "action")
    )
    did: Literal["drop", "forward"] = "forward" if action == "forward" else "drop"
    return Watchdog(
        poll_interval=poll,
        detection=detect // poll if isinstance(detect, int) else 0,
        recovery=restore if isinstance(restore, int) else 0,
        action=did,
    )
