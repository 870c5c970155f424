"""Conversion between the QoS of a device and its statements (``statements.qos``).

The statements identify a class by its queue. The name of the class occurs only in the name of the class's WRED policy, if at all.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.device.model import Marking, PfcProfile, QosConfig
from railweave.model.device.qos_model import Buffers, Ecn, TrafficClass, Watchdog, pfc_profiles
from railweave.systems.dell_sonic.meaning.balancing import NAME, adaptive, balancing_of
from railweave.systems.dell_sonic.statements.qos import (
    BALANCING,
    QOS,
    BufferProfile,
    Entry,
    Map,
    PortQos,
    Qos,
    Queue,
    QueueMarking,
    Scheduler,
    Wred,
)
from railweave.systems.dell_sonic.words import fewest
from railweave.systems.sonic.render.qos import (
    DSCPS,
    NO_OFFSET,
    PRIORITIES,
    lossless,
    pauses,
    profile_name,
    reserve_bytes,
    threshold,
    weight,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.config.sections import Section
    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.systems.dell_sonic.statements.ports import Lines

LOSSY_GROUP = 7
"""The priority group of all lossy classes, unless priority 7 is paused (Thor2 guide, section 2.5.2: ``traffic-class 0-2,5-7 priority-group 7``).

The priority group of a lossless class has the number of the class's PFC priority.
"""


def marking_name(qos: QosConfig, name: str) -> str:
    """Return the name of a class's WRED policy. It is ``ROCE`` if there is only one policy, and otherwise contains the name of the class."""
    return NAME if len(qos.marking) == 1 else f"{NAME}-{name}"


def lossy_group(paused: Collection[int]) -> int:
    """Return the priority group of lossy classes: the highest number that is not a paused priority, or 7 if every priority is paused."""
    return next((group for group in range(LOSSY_GROUP, -1, -1) if group not in paused), LOSSY_GROUP)


# From a device to its statements.


def preparation_of(config: DeviceConfig) -> Qos:
    """Return the QoS settings whose commands restart the switch: the initialization of lossless buffers, if there is a lossless class."""
    return Qos(lossless_buffers=config.qos is not None and bool(lossless(config.qos)))


def qos_of(config: DeviceConfig) -> Qos:
    """Return the QoS objects and QoS settings of a switch, from which its configuration lines are printed. Both are empty without QoS.

    The objects are maps, schedulers, WRED policies and buffer profiles. Ports refer to them by name. The settings are the polling interval
    of the PFC watchdog and the headroom of the buffer pool.
    """
    qos = config.qos
    if qos is None:
        return Qos()
    ordered = dict(sorted(qos.classes.items(), key=lambda item: item[1].queue))
    pauses = lossless(qos)
    return Qos(
        marking={marking_name(qos, name): _wred(qos.marking[name]) for name in ordered if name in qos.marking},
        schedulers={NAME: Scheduler({traffic.queue: _served(qos, traffic) for traffic in ordered.values()})},
        dscp_tc={NAME: _dscps(qos)},
        tc_queue={NAME: Map(tuple(Entry((queue,), queue) for queue in PRIORITIES))},
        tc_pg={NAME: _groups({traffic.queue: priority for priority, traffic in pauses.items()})},
        pfc_priority_queue={
            NAME: Map(tuple(Entry((each,), pauses[each].queue if each in pauses else each) for each in PRIORITIES))
        },
        poll=qos.watchdog.poll_interval if qos.watchdog and pauses else None,
        headroom=_pool(config, qos),
        profiles=_sizes(config, qos),
    )


def _wred(marking: Marking) -> Wred:
    return Wred(marking.first // 1000, marking.last // 1000, marking.probability, "green")


def _served(qos: QosConfig, traffic: TrafficClass) -> Queue:
    return Queue("strict") if traffic.priority == "strict-high" else Queue("dwrr", weight(qos, traffic))


def _dscps(qos: QosConfig) -> Map:
    """Return the map from every DSCP to its traffic class. A traffic class has the number of its queue."""
    classes = {dscp: traffic.queue for traffic in qos.classes.values() for dscp in traffic.dscp}
    rest = qos.classes[qos.default_class].queue if qos.default_class in qos.classes else 0
    by_class: dict[int, list[int]] = {}
    for dscp in DSCPS:
        by_class.setdefault(classes.get(dscp, rest), []).append(dscp)
    return Map(tuple(Entry(tuple(dscps), queue) for queue, dscps in sorted(by_class.items())))


def _groups(priorities: Mapping[int, int]) -> Map:
    """Return the map from every traffic class to its priority group. ``priorities`` has the PFC priority of each lossless queue."""
    entries = [Entry((queue,), priority) for queue, priority in sorted(priorities.items())]
    others = tuple(queue for queue in PRIORITIES if queue not in priorities)
    return Map((*entries, Entry(others, lossy_group(priorities.values()))) if others else tuple(entries))


def _model(config: DeviceConfig, qos: QosConfig) -> SwitchModel | None:
    """Return the switch model, whose cell size determines buffer sizes. Return None if there is no lossless class, so no buffers are set.

    A configuration that was read may have a model that the catalog does not have; the result is then None too.
    """
    return catalog().switches.get(config.model) if lossless(qos) else None


def _pool(config: DeviceConfig, qos: QosConfig) -> int | None:
    """Return the headroom of the buffer pool in bytes, or None if there are no lossless classes.

    The command ``buffer init lossless`` sets the other values of the pool.
    """
    model = _model(config, qos)
    if model is None:
        return None
    cell = model.buffer.cell_bytes
    return int(model.buffer.shared_mb * 1e6 * qos.buffers.headroom / 100) // cell * cell


def _sizes(config: DeviceConfig, qos: QosConfig) -> dict[str, BufferProfile]:
    """Return the buffer profiles by name. There is one for each speed and cable length."""
    model = _model(config, qos)
    if model is None:
        return {}
    of_port = {name: profile for profile in reversed(qos.profiles) for name in profile.ports}
    alpha = int(threshold(qos.buffers.ingress_dynamic_threshold))
    profiles: dict[str, BufferProfile] = {}
    for port in config.interfaces:
        profile = of_port.get(port.name)
        if profile is not None:
            size = reserve_bytes(profile.mru_bytes, model)
            profiles.setdefault(profile_name(port, profile), BufferProfile(size, alpha, profile.headroom_bytes))
    return profiles


def port_qos_of(config: DeviceConfig, port: Interface) -> PortQos:
    """Return the QoS settings of a port as the values that its configuration lines print.

    The settings are marking, scheduler, maps, PFC and its watchdog, headroom and adaptive routing.
    """
    qos = config.qos
    if qos is None or port.name not in qos.ports:
        return PortQos()
    paused = tuple(lossless(qos)) if pauses(qos, port) else ()
    profile = next((each for each in qos.profiles if port.name in each.ports), None)
    watchdog = qos.watchdog if paused else None
    return PortQos(
        marking={
            traffic.queue: QueueMarking(marking_name(qos, name))
            for name, traffic in qos.classes.items()
            if name in qos.marking
        },
        scheduler=NAME,
        dscp_tc=NAME,
        tc_queue=NAME,
        tc_pg=NAME,
        pfc_priority_queue=NAME,
        pauses=paused,
        action=watchdog.action if watchdog else None,
        detect=watchdog.poll_interval * watchdog.detection if watchdog else None,
        restore=watchdog.recovery if watchdog else None,
        buffers=dict.fromkeys(paused, profile_name(port, profile)) if profile else {},
        ars=NAME if adaptive(config) and port.kind == "fabric" else "",
    )


# From statements to the device.


_CLASS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
"""A pattern of class names in a fabric file."""
_PROFILE = re.compile(r"pg_lossless_(?P<speed>\d{1,7})_(?P<length>\d{1,6})m(?:_(?P<mru>\d{1,6}))?_profile")


def qos_config_of(
    qos: Qos, lines: Mapping[str, Lines], ports: Sequence[Interface], model_name: str
) -> QosConfig | None:
    """Return the QoS settings of a device whose configuration was read, or None if the configuration has neither a map nor a scheduler.

    ``qos`` has the QoS objects, ``lines`` the settings of ports by name, and ``model_name`` is the switch model.
    """
    if not qos.maps and not qos.schedulers:
        return None
    at_ports = [lines[port.name].qos for port in ports]
    model = catalog().switches[model_name]
    names = _names(qos, at_ports)
    classes = _classes(qos, at_ports, names)
    marking = {
        names[queue]: levels for port in at_ports for queue, levels in _marked(qos, port).items() if queue in names
    }
    return QosConfig(
        classes={name: _with_marking(traffic, marking.get(name)) for name, traffic in classes.items()},
        default_class=names.get(_default_queue(qos, at_ports)) or next(iter(classes), ""),
        marking=marking,
        buffers=Buffers(headroom=_headroom(qos, model), ingress_dynamic_threshold=_threshold(qos) + NO_OFFSET),
        profiles=_profiles(qos, lines, ports, model),
        xon_offset_cells=None,
        watchdog=_watchdog(qos, at_ports),
        buffer_monitor=False,
        ports=_bound(qos, ports, at_ports, {queue: marking[name] for queue, name in names.items() if name in marking}),
    )


def _bound(
    qos: Qos, ports: Sequence[Interface], at_ports: Sequence[PortQos], marked: Mapping[int, Marking]
) -> tuple[str, ...]:
    """Return the names of the ports that have the complete QoS of the device: its maps, its scheduler and its marking.

    ``at_ports`` has the QoS of each port. A port that refers to an undefined object is left out. ``marked`` has the marking of each queue,
    merged over all ports.
    """
    kinds = {kind for port in at_ports for kind in port.maps}
    scheduled = any(port.scheduler for port in at_ports)
    if not kinds and not scheduled:
        return ()
    policy, targets = _policy(qos, at_ports), {kind: _targets(qos, at_ports, kind) for kind in kinds}
    complete = [
        all(kind in port.maps and _is_map(qos, kind, port.maps[kind], targets[kind]) for kind in kinds)
        and (not scheduled or (port.scheduler in qos.schedulers and qos.schedulers[port.scheduler].queues == policy))
        and marked.items() <= _marked(qos, port).items()
        for port in at_ports
    ]
    return tuple(port.name for port, is_complete in zip(ports, complete, strict=True) if is_complete)


def _is_map(qos: Qos, kind: str, name: str, targets: Mapping[int, int]) -> bool:
    """Return True if the map ``name`` is defined and has the given targets.

    If no map of the kind is defined, the system's default map applies. The result is then True as well. ``qos`` has the QoS objects of the
    switch.
    """
    maps = qos.maps.get(kind, {})
    return not maps or (name in maps and maps[name].targets == targets)


def _targets(qos: Qos, at_ports: Iterable[PortQos], kind: str) -> dict[int, int]:
    """Return, for the map of a kind (such as ``dscp-tc``) that ports use, the target of each number.

    ``qos`` has the QoS objects of the switch.
    """
    names = (port.maps.get(kind) for port in at_ports)
    return qos.targets(kind, (name for name in names if name is not None))


def _default_queue(qos: Qos, at_ports: Sequence[PortQos]) -> int:
    """Return the queue in which the ports' maps put packets with DSCP 0. ``qos`` has the QoS objects of the switch."""
    default = _targets(qos, at_ports, "dscp-tc").get(0, 0)
    return _targets(qos, at_ports, "tc-queue").get(default, default)


def _names(qos: Qos, at_ports: Sequence[PortQos]) -> dict[int, str]:
    """Return the names of classes, by number of the queue.

    If the name of a class's WRED policy contains the class name, this name is used. Otherwise, the class gets the usual name for its
    function, or ``queue-`` and the number of its queue. ``qos`` has the QoS objects of the switch, and ``at_ports`` has the QoS of each
    port.
    """
    policy = _policy(qos, at_ports)
    queues = sorted(policy or set(qos.targets("tc-queue", ()).values()))
    pausing = set(_lossless(qos, at_ports).values())
    default = _default_queue(qos, at_ports)
    marking = {name for name, wred in qos.marking.items() if wred.marks}
    policies = {queue: use.policy for port in at_ports for queue, use in port.marking.items() if use.policy in marking}
    policy_names = {
        queue: name.removeprefix(f"{NAME}-") for queue, name in policies.items() if name.startswith(f"{NAME}-")
    }
    names = {
        queue: name
        for queue, name in policy_names.items()
        if queue in queues and list(policy_names.values()).count(name) == 1
    }
    names = {queue: name for queue, name in names.items() if _CLASS.fullmatch(name)}
    for queue in (each for each in queues if each not in names):
        strict = policy.get(queue, Queue()).serving == "strict"
        name = "no-loss" if queue in pausing else "best-effort" if queue == default else "cnp" if strict else "class"
        names[queue] = name if name not in names.values() and name != "class" else f"queue-{queue}"
    return {queue: names[queue] for queue in queues}


def _policy(qos: Qos, at_ports: Sequence[PortQos]) -> dict[int, Queue]:
    """Return the queues, by number, of the first defined scheduler policy that a port uses. If there is none, return those of the first policy.

    ``qos`` has the QoS objects of the switch.
    """
    used = [port.scheduler for port in at_ports if port.scheduler in qos.schedulers]
    return next((qos.schedulers[name].queues for name in (*used, *qos.schedulers)), dict[int, Queue]())


def _lossless(qos: Qos, at_ports: Sequence[PortQos]) -> dict[int, int]:
    """Return the queue of each lossless class, by PFC priority.

    A queue is lossless if its priority has a separate priority group, or if ports pause the priority. ``qos`` has the QoS objects of the
    switch.
    """
    groups = _targets(qos, at_ports, "tc-pg")
    queues = _targets(qos, at_ports, "pfc-priority-queue")
    classes = _targets(qos, at_ports, "tc-queue")
    paused = {priority for port in at_ports for priority in port.pauses}
    by_group = {group: classes.get(each, each) for each, group in groups.items() if group != lossy_group(paused)}
    by_port = {priority: queues.get(priority, priority) for priority in paused - by_group.keys()}
    return {**by_group, **by_port} if groups else {priority: queues.get(priority, priority) for priority in paused}


def _classes(qos: Qos, at_ports: Sequence[PortQos], names: Mapping[int, str]) -> dict[str, TrafficClass]:
    dscps = _targets(qos, at_ports, "dscp-tc")
    queues = _targets(qos, at_ports, "tc-queue")
    policy = _policy(qos, at_ports)
    priorities = {queue: priority for priority, queue in _lossless(qos, at_ports).items()}
    members: dict[int, list[int]] = {}
    for dscp, traffic_class in dscps.items():
        members.setdefault(queues.get(traffic_class, traffic_class), []).append(dscp)
    default = _default_queue(qos, at_ports)
    return {
        name: TrafficClass(
            queue=queue,
            dscp=tuple(sorted(members.get(queue, ()))) if queue != default else (0,),
            lossless=queue in priorities,
            pfc_priority=priorities.get(queue),
            priority="strict-high" if policy.get(queue, Queue()).serving == "strict" else "low",
            transmit_percent=policy.get(queue, Queue()).weight,
        )
        for queue, name in names.items()
    }


def _marking(wred: Wred) -> Marking | None:
    """Return the ECN marking of a WRED policy, or None if the policy marks nothing or lacks a threshold or the probability."""
    if not wred.marks or wred.low is None or wred.high is None or wred.probability is None:
        return None
    return Marking(1000 * wred.low, 1000 * wred.high, wred.probability)


def _marked(qos: Qos, port: PortQos) -> dict[int, Marking]:
    """Return the ECN marking of a port's queues, by queue. A queue whose WRED policy is not defined is left out.

    ``qos`` has the QoS objects of the switch.
    """
    levels = {queue: _marking(qos.marking.get(use.policy, Wred())) for queue, use in port.marking.items()}
    return {queue: marking for queue, marking in levels.items() if marking is not None}


def _with_marking(traffic: TrafficClass, marking: Marking | None) -> TrafficClass:
    if marking is None:
        return traffic
    ecn = Ecn(max_probability=marking.probability, min_bytes=marking.first, max_bytes=marking.last)
    return replace(traffic, ecn=ecn)


def _headroom(qos: Qos, model: SwitchModel) -> int:
    """Return the share of the packet buffer that is reserved as headroom, in percent.

    ``qos`` has the QoS objects of the switch.
    """
    if qos.headroom is None:
        return Buffers().headroom
    return round(100 * qos.headroom / (model.buffer.shared_mb * 1e6))


def _threshold(qos: Qos) -> int:
    """Return the dynamic threshold of lossless priority groups, as the exponent of alpha to the base 2.

    If buffer profiles differ, the least frequent value is returned, so that a deviation stays visible. ``qos`` has the QoS objects of the
    switch.
    """
    alphas = [profile.alpha for profile in qos.profiles.values()]
    return min(alphas, key=alphas.count, default=0)


def _profiles(
    qos: Qos, lines: Mapping[str, Lines], ports: Sequence[Interface], model: SwitchModel
) -> tuple[PfcProfile, ...]:
    """Return the PFC profiles of ports. Their cable length and MRU (largest received frame) are taken from the names of buffer profiles.

    ``lines`` are the settings of ports, by name. ``qos`` has the QoS objects of the switch.
    """
    needs: dict[tuple[int, int, int], list[str]] = {}
    rooms: dict[tuple[int, int, int], list[int]] = {}
    every = [port.mtu for port in ports]
    mtus = sorted(set(every), key=every.count, reverse=True)
    for port in ports:
        at_port = lines[port.name].qos
        if not at_port.pauses or (at_port.buffers and set(at_port.buffers) != {*at_port.pauses}):
            continue
        name = min(at_port.buffers.values(), default="")
        shape, profile = _PROFILE.fullmatch(name), qos.profiles.get(name, BufferProfile())
        length = int(shape["length"]) if shape else 0
        mru = int(shape["mru"]) if shape and shape["mru"] else _mru(profile, length, port, mtus, model)
        needs.setdefault((length, mru, port.speed_gbps), []).append(port.name)
        rooms.setdefault((length, mru, port.speed_gbps), []).append(profile.xoff)
    return pfc_profiles({need: (min(rooms[need], key=rooms[need].count), names) for need, names in needs.items()})


def _mru(profile: BufferProfile, length: int, port: Interface, mtus: Sequence[int], model: SwitchModel) -> int:
    """Return the MRU (largest received frame) of a port whose buffer profile has no MRU in its name.

    It is the first of ``mtus`` that fits the profile's sizes, else the port's MTU. ``length`` is the cable length in metres.
    """
    speed = port.speed_gbps
    fits = (
        mtu
        for mtu in mtus
        if speed
        and profile.size == reserve_bytes(mtu, model)
        and profile.xoff == port_headroom(catalog(), model, length, speed, mtu).limit_bytes
    )
    return next(fits, port.mtu)


def _watchdog(qos: Qos, at_ports: Sequence[PortQos]) -> Watchdog | None:
    """Return the watchdog settings of the ports that use PFC, or None if one of these ports has no watchdog.

    If ports differ, the least frequent values are returned, so that a deviating port stays visible. ``qos`` has the QoS objects of the
    switch.
    """
    paused = [port for port in at_ports if port.pauses]
    if not paused or any(not port.is_watched for port in paused):
        return None if paused else Watchdog()
    poll = qos.poll or Watchdog().poll_interval
    detect = fewest(port.detect for port in paused) or 0
    return Watchdog(
        poll_interval=poll,
        detection=0 if detect % poll else detect // poll,
        recovery=fewest(port.restore for port in paused) or 0,
        action="forward" if fewest(port.action == "forward" for port in paused) else "drop",
    )


def unrepresented(
    qos: Qos, lines: Mapping[str, Lines], sections: Iterable[Section], config: DeviceConfig
) -> Iterator[Section]:
    """Yield the QoS and load balancing statements whose value ``DeviceConfig`` cannot represent.

    ``lines`` are the settings of ports by name, and ``sections`` the sections at the top level of the configuration.
    """
    expected = qos_of(config)
    yield from _unrepresented_entries(qos, lines, config, expected)
    printed = [*QOS.printed(preparation_of(config)), *QOS.printed(expected), *BALANCING.printed(balancing_of(config))]
    held = {section.line for section in printed}
    for section in sections:
        if section.line.startswith(_PLAIN) and section.line not in held:
            yield section
    marking: dict[int, Marking | None] = {}
    if config.qos is not None:
        marking = {traffic.queue: config.qos.marking.get(name) for name, traffic in config.qos.classes.items()}
    for port in lines.values():
        levels = _marked(qos, port.qos)
        for queue, use in port.qos.marking.items():
            if use.section is not None and (queue not in levels or levels[queue] != marking.get(queue)):
                yield use.section


_PLAIN = ("buffer ", "priority-flow-control ", "ip load-share hash ")
"""The first words of statements that railweave prints in exactly the same words if ``DeviceConfig`` can represent them.

So a line that railweave would not print cannot be represented.
"""


def _unrepresented_entries(
    qos: Qos, lines: Mapping[str, Lines], config: DeviceConfig, expected: Qos
) -> Iterator[Section]:
    """Yield the map entries that ``DeviceConfig`` cannot represent: it gives their packets a different queue, priority group or priority.

    In the configuration text, a traffic class may have any number. In ``DeviceConfig``, a traffic class has the number of its queue.
    ``lines`` are the settings of ports by name. ``expected`` has the maps that railweave would print for ``config``. ``qos`` has the QoS
    objects of the switch.
    """
    at_ports = [lines[port.name].qos for port in config.interfaces]
    queues, classes = _targets(qos, at_ports, "tc-queue"), {*_targets(qos, at_ports, "dscp-tc").values()}
    served = {traffic.queue for traffic in config.qos.classes.values()} if config.qos else set[int]()
    for kind, maps in qos.maps.items():
        held = expected.targets(kind, ())
        for entry in (entry for each in maps.values() for entry in each.entries):
            for member in entry.members:
                if kind == "dscp-tc":
                    queue = queues.get(entry.target, entry.target)
                    holds = queue in served and held.get(member) == queue
                elif kind == "tc-queue" and member in classes:
                    holds = queues.get(member) == entry.target
                elif kind == "tc-pg":
                    holds = held.get(queues.get(member, member)) == entry.target
                else:
                    holds = held.get(member) == entry.target
                if not holds and entry.section is not None:
                    yield entry.section
