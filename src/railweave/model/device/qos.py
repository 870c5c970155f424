"""The QoS of one switch: the queue of each traffic class on its operating system, and PFC profiles by cable length."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.device.model import Interface, Marking, QosConfig
from railweave.model.device.qos_model import Buffers, Ecn, TrafficClass, Watchdog, pfc_profiles
from railweave.model.device.reading import own_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.catalog.systems import Marking as SystemMarking
    from railweave.model.catalog.systems import System
    from railweave.model.network.devices import Fabric, Switch


def qos_config(
    fabric: Fabric, switch: Switch, interfaces: Sequence[Interface], system: System, release: str
) -> QosConfig | None:
    """Return the QoS of a switch, or None if its system supports no QoS or no port has a cable.

    ``interfaces`` holds the ports to which QoS applies.
    """
    if not system.has("qos", release) or not interfaces:
        return None
    qos = fabric.intent(switch).qos
    classes = {name: own_type(TrafficClass, traffic_class) for name, traffic_class in qos.classes.items()}
    if not any(qos.pfc.pauses(interface.kind) for interface in interfaces if interface.kind != "external"):
        classes = {
            name: replace(traffic_class, lossless=False, pfc_priority=None) for name, traffic_class in classes.items()
        }
    lossless = any(traffic_class.lossless for traffic_class in classes.values())
    by_need: dict[tuple[int, int, int], list[str]] = {}
    alike: dict[tuple[float, int, int], list[str]] = {}
    for port in interfaces:
        if not port.pauses:
            continue
        like = port.length_m, port.mtu, port.speed_gbps
        names = alike.get(like)
        if names is None:
            need = math.ceil(port.length_m), qos.pfc.mru or port.mtu, port.speed_gbps
            names = alike[like] = by_need.setdefault(need, [])
        names.append(port.name)
    model = catalog().switches[switch.model]
    cell = model.buffer.cell_bytes
    placed = on_queues(classes, system)
    usual = type(qos)().classes if placed != classes else {}  # of a file that says nothing of them
    return QosConfig(
        classes=placed,
        default_class=_default_class(classes),
        marking={
            name: marking_of(traffic_class.ecn, system.marking)
            for name, traffic_class in classes.items()
            if traffic_class.ecn
        }
        if system.marking
        else {},
        buffers=_partition(own_type(Buffers, qos.buffers), system),
        profiles=pfc_profiles(
            {
                (length, mru, speed): (port_headroom(catalog(), model, length, speed, mru).limit_bytes, names)
                for (length, mru, speed), names in by_need.items()
            }
        )
        if lossless
        else (),
        xon_offset_cells=None if qos.pfc.xon_offset is None else qos.pfc.xon_offset // cell,
        watchdog=own_type(Watchdog, qos.pfc.watchdog)
        if qos.pfc.watchdog and system.has("pfc-watchdog", release)
        else None,
        buffer_monitor=qos.buffer_monitor,
        ports=tuple(interface.name for interface in interfaces),
        moved=tuple(
            (name, traffic_class.queue, placed[name].queue)
            for name, traffic_class in classes.items()
            if traffic_class.queue not in {placed[name].queue, usual[name].queue if name in usual else None}
        ),
    )


def _partition(buffers: Buffers, system: System) -> Buffers:
    """Return the packet-buffer partition for a system.

    If ``buffers.egress`` is ``system`` and the system cannot divide the egress buffer, the egress fields get their default
    values.
    """
    if buffers.egress != "system" or system.parts_egress:
        return buffers
    usual = Buffers()
    return replace(
        buffers,
        egress=usual.egress,
        egress_lossless=usual.egress_lossless,
        egress_lossy=usual.egress_lossy,
        egress_multicast=usual.egress_multicast,
    )


def _default_class(classes: Mapping[str, TrafficClass]) -> str:
    """Return the name of the traffic class for DSCPs that no class lists. ``classes`` holds all traffic classes by name.

    This is the class of DSCP 0, or else the first lossy class, or else the first class.
    """
    zero = next((name for name, traffic_class in classes.items() if 0 in traffic_class.dscp), None)
    lossy = next((name for name, traffic_class in classes.items() if not traffic_class.lossless), None)
    return zero or lossy or next(iter(classes), "")


def marking_of(ecn: Ecn, default: SystemMarking) -> Marking:
    """Return the byte thresholds and probability of ``ecn``, or the system's defaults if ``ecn`` has no byte thresholds.

    The probability of ``ecn`` is not combined with default thresholds, because it belongs to the fill levels.
    """
    if ecn.min_bytes is None or ecn.max_bytes is None:
        return Marking(default.min_bytes, default.max_bytes, default.max_probability)
    return Marking(ecn.min_bytes, ecn.max_bytes, ecn.max_probability)


def on_queues(classes: Mapping[str, TrafficClass], system: System) -> dict[str, TrafficClass]:
    """Return the traffic classes with queue numbers that the system can use.

    If the system does not apply PFC to queues, the classes stay unchanged. Otherwise, they get queues in this order:

    - A class with a PFC priority gets the queue with the priority's number.
    - The other classes follow, ``cnp`` first. A class whose queue is taken gets the next lower free queue, or else a
      higher one. For ``cnp``, the search begins at the system's own queue for it (``cnp_queue``), if there is one.
    - Strict classes move to the highest queues, if the system does not allow a strict class below a weighted class.
    """
    if not system.pfc_by_queue:
        return dict(classes)
    queues = {
        name: traffic_class.pfc_priority
        for name, traffic_class in classes.items()
        if traffic_class.pfc_priority is not None
    }
    free = classes.keys() - queues.keys()
    sharing = (name for name, traffic_class in classes.items() if traffic_class.priority != "strict-high")
    highest = max((queues.get(name, classes[name].queue) for name in sharing), default=0)
    rises = {
        name
        for name in free
        if system.strict_on_top and classes[name].priority == "strict-high" and classes[name].queue < highest
    }
    for name in sorted(
        free, key=lambda class_name: (class_name != "cnp", class_name not in rises, -classes[class_name].queue)
    ):
        taken = set(queues.values())
        wanted = system.queues - 1 if name in rises else classes[name].queue
        if wanted in taken and name == "cnp" and system.cnp_queue is not None:
            wanted = system.cnp_queue
        order = (*range(wanted, -1, -1), *range(wanted + 1, system.queues))
        queues[name] = next(queue for queue in order if queue not in taken)
    return {name: replace(traffic_class, queue=queues[name]) for name, traffic_class in classes.items()}
