"""Quality of service: which traffic class a packet has, its queue and priority group, how queues are served and marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.sonic.render.ports import used

if TYPE_CHECKING:
    from railweave.model.device.classes import TrafficClass
    from railweave.model.device.model import DeviceConfig, Interface, Marking, QosConfig
    from railweave.systems.sonic.tables import Row, Tables

MAP = "roce"
"""The name of every map: a device has one of each."""

PRIORITIES = range(8)
LOSSY_GROUP = 0
"""The priority group of all lossy classes."""

DSCPS = range(64)

TUNABLE = "AZURE_LOSSLESS"
"""The WRED profile whose thresholds ``config apply-patch`` changes (up to release 202411 of no other one)."""


def lossless(qos: QosConfig) -> dict[int, TrafficClass]:
    """Lossless classes by PFC priority."""
    found = {one.pfc_priority: one for one in qos.classes.values() if one.pfc_priority is not None}
    return dict(sorted(found.items()))


def maps(qos: QosConfig) -> Tables:
    """The maps. A traffic class has the number of its queue; a lossless one's priority group is its PFC priority.

    A DSCP that no class names is in the default class.
    """
    by_queue = {one.queue: one for one in qos.classes.values()}
    classes = {dscp: one.queue for one in qos.classes.values() for dscp in one.dscp}
    rest = qos.classes[qos.default_class].queue if qos.default_class in qos.classes else 0
    groups = {
        queue: one.pfc_priority if one.pfc_priority is not None else LOSSY_GROUP for queue, one in by_queue.items()
    }
    queues = {priority: one.queue for priority, one in lossless(qos).items()}
    return {
        "DSCP_TO_TC_MAP": {MAP: {str(dscp): str(classes.get(dscp, rest)) for dscp in DSCPS}},
        "TC_TO_QUEUE_MAP": {MAP: {str(number): str(number) for number in PRIORITIES}},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: {str(number): str(groups.get(number, LOSSY_GROUP)) for number in PRIORITIES}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {MAP: {str(number): str(queues.get(number, number)) for number in PRIORITIES}},
    }


def port_maps(config: DeviceConfig, qos: QosConfig) -> Tables:
    """``PORT_QOS_MAP``: every map on every cabled port, PFC where it pauses; the DSCP map also for what has no port."""
    row: Row = {
        "dscp_to_tc_map": MAP,
        "tc_to_queue_map": MAP,
        "tc_to_pg_map": MAP,
        "pfc_to_queue_map": MAP,
    }
    priorities = ",".join(str(number) for number in lossless(qos))
    paused = {**row, "pfc_enable": priorities, **({"pfcwd_sw_enable": priorities} if qos.watchdog else {})}
    rows = {port.name: paused if priorities and pauses(qos, port) else row for port in used(config)}
    return {"PORT_QOS_MAP": {"global": {"dscp_to_tc_map": MAP}, **rows}}


def pauses(qos: QosConfig, port: Interface) -> bool:
    """Whether PFC is on a port: links of an interconnect may do without."""
    return any(port.name in profile.ports for profile in qos.profiles)


def queues(config: DeviceConfig, qos: QosConfig) -> Tables:
    """``SCHEDULER``, ``WRED_PROFILE`` and ``QUEUE``: how each class is served, and from which fill on it is marked."""
    ordered = sorted(qos.classes.items(), key=lambda item: item[1].queue)
    rows: dict[int, Row] = {
        one.queue: {"scheduler": name, **({"wred_profile": marking_name(qos, name)} if name in qos.marking else {})}
        for name, one in ordered
    }
    return {
        "SCHEDULER": {name: _scheduler(qos, one) for name, one in ordered},
        "WRED_PROFILE": {
            marking_name(qos, name): _marking(qos.marking[name]) for name, _ in ordered if name in qos.marking
        },
        "QUEUE": {f"{port.name}|{queue}": row for port in used(config) for queue, row in rows.items()},
    }


def _scheduler(qos: QosConfig, one: TrafficClass) -> Row:
    if one.priority == "strict-high":
        return {"type": "STRICT"}
    return {"type": "DWRR", "weight": str(weight(qos, one))}


def weight(qos: QosConfig, one: TrafficClass) -> int:
    """The weight of a class among the others; those without a share divide what is left."""
    shares = [other.transmit_percent for other in qos.classes.values()]
    rest = (100 - sum(share or 0 for share in shares)) // max(1, shares.count(None))
    return max(1, one.transmit_percent or rest)


def marking_name(qos: QosConfig, name: str) -> str:
    """The WRED profile of a class. The first lossless one has the name under which SONiC's patch tool lets it be tuned."""
    first = next((one for one in lossless(qos).values() if one in _marked(qos)), None)
    return TUNABLE if first is not None and qos.classes[name] == first else f"ecn-{name}"


def _marked(qos: QosConfig) -> list[TrafficClass]:
    return [qos.classes[name] for name in qos.marking if name in qos.classes]


def _marking(marking: Marking) -> Row:
    """Marking of green packets, which all are: nothing here gives a packet another color."""
    return {
        "ecn": "ecn_green",
        "wred_green_enable": "true",
        "green_min_threshold": str(marking.first),
        "green_max_threshold": str(marking.last),
        "green_drop_probability": str(marking.probability),
    }


def watchdog(config: DeviceConfig, qos: QosConfig) -> Tables:
    """``PFC_WD``: what happens to a queue that stays paused."""
    wanted = qos.watchdog
    if wanted is None or not lossless(qos):
        return {}
    row: Row = {
        "action": wanted.action,
        "detection_time": str(wanted.poll_interval * wanted.detection),
        "restoration_time": str(wanted.recovery),
    }
    poll: Row = {"POLL_INTERVAL": str(wanted.poll_interval)}
    return {"PFC_WD": {"GLOBAL": poll, **{port.name: row for port in used(config) if pauses(qos, port)}}}
