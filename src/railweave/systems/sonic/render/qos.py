"""Rendering of QoS: packet classification, queues and priority groups, scheduling and marking of queues, and the packet buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.systems.sonic.render.ports import used

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.device.model import DeviceConfig, Interface, Marking, PfcProfile, QosConfig
    from railweave.model.device.qos_model import TrafficClass
    from railweave.systems.sonic.tables import Row, Tables


MAP = "roce"
"""The name of every QoS map. A device has one map of each kind."""

PRIORITIES = range(8)
LOSSY_GROUP = 0
"""The priority group of all lossy classes."""

DSCPS = range(64)

TUNABLE = "AZURE_LOSSLESS"
"""The WRED profile whose thresholds ``config apply-patch`` can change. Up to release 202411, the tool can change no other profile."""


def lossless(qos: QosConfig) -> dict[int, TrafficClass]:
    """Return the lossless classes of ``qos`` by PFC priority."""
    by_priority = {
        traffic_class.pfc_priority: traffic_class
        for traffic_class in qos.classes.values()
        if traffic_class.pfc_priority is not None
    }
    return dict(sorted(by_priority.items()))


def maps(qos: QosConfig) -> Tables:
    """Return the tables of QoS maps.

    A traffic class has the number of its queue. The priority group of a lossless class is its PFC priority. A DSCP without a
    class is mapped to the default class.
    """
    by_queue = {traffic_class.queue: traffic_class for traffic_class in qos.classes.values()}
    classes = {dscp: traffic_class.queue for traffic_class in qos.classes.values() for dscp in traffic_class.dscp}
    rest = qos.classes[qos.default_class].queue if qos.default_class in qos.classes else 0
    groups = {
        queue: traffic_class.pfc_priority if traffic_class.pfc_priority is not None else LOSSY_GROUP
        for queue, traffic_class in by_queue.items()
    }
    queues = {priority: traffic_class.queue for priority, traffic_class in lossless(qos).items()}
    return {
        "DSCP_TO_TC_MAP": {MAP: {str(dscp): str(classes.get(dscp, rest)) for dscp in DSCPS}},
        "TC_TO_QUEUE_MAP": {MAP: {str(number): str(number) for number in PRIORITIES}},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: {str(number): str(groups.get(number, LOSSY_GROUP)) for number in PRIORITIES}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {MAP: {str(number): str(queues.get(number, number)) for number in PRIORITIES}},
    }


def port_maps(config: DeviceConfig, qos: QosConfig) -> Tables:
    """Return ``PORT_QOS_MAP``: all maps for every cabled port, and PFC for ports that use PFC.

    The DSCP map also has a global row.
    """
    row: Row = {"dscp_to_tc_map": MAP, "tc_to_queue_map": MAP, "tc_to_pg_map": MAP, "pfc_to_queue_map": MAP}
    priorities = ",".join(str(number) for number in lossless(qos))
    paused = {**row, "pfc_enable": priorities, **({"pfcwd_sw_enable": priorities} if qos.watchdog else {})}
    rows = {port.name: paused if priorities and pauses(qos, port) else row for port in used(config)}
    return {"PORT_QOS_MAP": {"global": {"dscp_to_tc_map": MAP}, **rows}}


def pauses(qos: QosConfig, port: Interface) -> bool:
    """Return True if a port uses PFC. PFC may be off on links between sites."""
    return any(port.name in profile.ports for profile in qos.profiles)


def queues(config: DeviceConfig, qos: QosConfig) -> Tables:
    """Return ``SCHEDULER``, ``WRED_PROFILE`` and ``QUEUE``: the scheduling of each class, and the queue lengths at which ECN marks packets."""
    ordered = sorted(qos.classes.items(), key=lambda item: item[1].queue)
    rows: dict[int, Row] = {
        traffic_class.queue: {
            "scheduler": name,
            **({"wred_profile": marking_name(qos, name)} if name in qos.marking else {}),
        }
        for name, traffic_class in ordered
    }
    return {
        "SCHEDULER": {name: _scheduler(qos, traffic_class) for name, traffic_class in ordered},
        "WRED_PROFILE": {
            marking_name(qos, name): _marking(qos.marking[name]) for name, _ in ordered if name in qos.marking
        },
        "QUEUE": {f"{port.name}|{queue}": row for port in used(config) for queue, row in rows.items()},
    }


def _scheduler(qos: QosConfig, traffic_class: TrafficClass) -> Row:
    if traffic_class.priority == "strict-high":
        return {"type": "STRICT"}
    return {"type": "DWRR", "weight": str(weight(qos, traffic_class))}


def weight(qos: QosConfig, traffic_class: TrafficClass) -> int:
    """Return the scheduler weight of a class. Classes without a share get equal shares of the remaining bandwidth."""
    shares = [other.transmit_percent for other in qos.classes.values()]
    rest = (100 - sum(share or 0 for share in shares)) // max(1, shares.count(None))
    return max(1, traffic_class.transmit_percent or rest)


def marking_name(qos: QosConfig, name: str) -> str:
    """Return the name of the WRED profile of the class ``name``: ``TUNABLE`` for the first lossless class, otherwise ``ecn-NAME``."""
    first = next((traffic_class for traffic_class in lossless(qos).values() if traffic_class in _marked(qos)), None)
    return TUNABLE if first is not None and qos.classes[name] == first else f"ecn-{name}"


def _marked(qos: QosConfig) -> list[TrafficClass]:
    return [qos.classes[name] for name in qos.marking if name in qos.classes]


def _marking(marking: Marking) -> Row:
    """Return the WRED fields for the thresholds ``marking``, for packets of the color green.

    Every packet is green, because nothing changes its color.
    """
    return {
        "ecn": "ecn_green",
        "wred_green_enable": "true",
        "green_min_threshold": str(marking.first),
        "green_max_threshold": str(marking.last),
        "green_drop_probability": str(marking.probability),
    }


def watchdog(config: DeviceConfig, qos: QosConfig) -> Tables:
    """Return ``PFC_WD``: the times of the PFC watchdog, and its action on a queue that stays paused."""
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


NO_OFFSET = 7
"""The threshold index that means alpha 1. SONiC counts from this index: SONiC's 0 means alpha 1, and SONiC's -1 means alpha 1/2."""

LOSSLESS, LOSSY = "ingress_lossless_pool", "ingress_lossy_pool"
EGRESS_LOSSLESS, EGRESS_LOSSY = "egress_lossless_pool", "egress_lossy_pool"


def threshold(index: int | None) -> str:
    """Return the dynamic threshold with this index as SONiC writes it: the exponent of alpha to the base 2. None means alpha 1."""
    return str((NO_OFFSET if index is None else index) - NO_OFFSET)


def in_cells(size: float, model: SwitchModel) -> int:
    """Return a size in bytes, rounded up to whole cells. A cell is the unit in which the chip allocates its packet buffer."""
    cell = model.buffer.cell_bytes
    return -(-int(size) // cell) * cell


def pools(qos: QosConfig, model: SwitchModel) -> Tables:
    """Return ``BUFFER_POOL``. The size of a pool includes its headroom. Unicast and multicast packets share the egress pool of lossy classes."""
    buffers = qos.buffers

    def share(percent: int) -> str:
        cell = model.buffer.cell_bytes
        return str(int(model.buffer.shared_mb * 1e6 * percent / 100) // cell * cell)

    rows: dict[str, Row] = {}
    if lossless(qos):
        headroom: Row = {"xoff": share(buffers.headroom)} if buffers.headroom else {}
        size = share(buffers.lossless + buffers.headroom)
        rows[LOSSLESS] = {"type": "ingress", "mode": "dynamic", "size": size, **headroom}
        rows[EGRESS_LOSSLESS] = {"type": "egress", "mode": "static", "size": share(buffers.egress_lossless)}
    rows[LOSSY] = {"type": "ingress", "mode": "dynamic", "size": share(buffers.lossy)}
    egress = share(buffers.egress_lossy + buffers.egress_multicast)
    rows[EGRESS_LOSSY] = {"type": "egress", "mode": "dynamic", "size": egress}
    return {"BUFFER_POOL": rows}


def profile_name(port: Interface, profile: PfcProfile) -> str:
    """Return the name of the buffer profile for lossless priority groups.

    As in SONiC's own names, it contains speed, cable length and MRU.
    """
    mru = "" if profile.mru_bytes == port.mtu else f"_{profile.mru_bytes}"
    return f"pg_lossless_{port.speed_gbps * 1000}_{profile.cable_length_m}m{mru}_profile"


def reserve_bytes(mru: int, model: SwitchModel) -> int:
    """Return the reserved bytes of a lossless priority group: a fixed number of frames of the MRU, rounded up to cells."""
    return (model.sonic.pause_reserve_frames if model.sonic else 2) * in_cells(mru, model)


def lossless_profile(profile: PfcProfile, qos: QosConfig, model: SwitchModel) -> Row:
    """Return the buffer profile of a lossless priority group.

    The profile has the reserved size, the headroom for packets that arrive after XOFF, and the offset at which the pause ends.
    """
    cell, platform = model.buffer.cell_bytes, model.sonic
    offset = platform.xon_offset_bytes if platform else 0
    if qos.xon_offset_cells is not None:
        offset = qos.xon_offset_cells * cell
    return {
        "pool": LOSSLESS,
        "size": str(reserve_bytes(profile.mru_bytes, model)),
        "dynamic_th": threshold(qos.buffers.ingress_dynamic_threshold),
        "xon": "0",
        "xoff": str(profile.headroom_bytes),
        "xon_offset": str(offset),
    }


def buffers(config: DeviceConfig, qos: QosConfig) -> Tables:
    """Return ``BUFFER_POOL``, ``BUFFER_PROFILE``, ``BUFFER_PG`` and ``BUFFER_QUEUE``.

    ``CABLE_LENGTH`` is left out, because SONiC would create priority groups from it, with headroom from its platform's own
    table.
    """
    model = catalog().switches.get(config.model)
    if model is None:  # a model that the catalog does not have, in a configuration that was read
        return {}
    of_port = {name: profile for profile in qos.profiles for name in profile.ports}
    profiles: dict[str, Row] = {"ingress_lossy_profile": {"pool": LOSSY, "size": "0", "dynamic_th": threshold(None)}}
    egress = _egress(qos, model, profiles)
    groups: dict[str, Row] = {}
    out: dict[str, Row] = {}
    for port in used(config):
        groups[f"{port.name}|{LOSSY_GROUP}"] = {"profile": "ingress_lossy_profile"}
        profile = of_port.get(port.name)
        for priority in lossless(qos):
            if profile is None:
                continue
            name = profile_name(port, profile)
            if name not in profiles:
                profiles[name] = lossless_profile(profile, qos, model)
            groups[f"{port.name}|{priority}"] = {"profile": name}
        out |= {f"{port.name}|{queue}": {"profile": name} for queue, name in egress.items()}
    return {**pools(qos, model), "BUFFER_PROFILE": profiles, "BUFFER_PG": groups, "BUFFER_QUEUE": out}


def _egress(qos: QosConfig, model: SwitchModel, profiles: dict[str, Row]) -> Mapping[int, str]:
    """Return the name of each queue's egress buffer profile, by queue, and add the profiles to ``profiles``.

    Queues of lossless classes may use the whole buffer, because their packets are limited at ingress.
    """
    by_queue: dict[int, str] = {}
    for traffic_class in sorted(qos.classes.values(), key=lambda entry: entry.queue):
        pool = EGRESS_LOSSLESS if traffic_class.lossless else EGRESS_LOSSY
        if traffic_class.dynamic_threshold is not None:
            # The name contains the queue's number: the patch tool tunes thresholds only of profiles with a digit in their names (patch_gate).
            profile, row = (
                f"egress_queue{traffic_class.queue}_profile",
                {"dynamic_th": threshold(traffic_class.dynamic_threshold)},
            )
        elif traffic_class.lossless:
            profile, row = "egress_lossless_profile", {"static_th": str(int(model.buffer.shared_mb * 1e6))}
        else:
            profile, row = "egress_lossy_profile", {"dynamic_th": threshold(None)}
        profiles[profile] = {"pool": pool, "size": "0", **row}
        by_queue[traffic_class.queue] = profile
    return by_queue
