"""A switch's QoS as parameters of the packet engine.

Only two classes carry traffic: RDMA data, and congestion notification packets (CNPs). The engine identifies each of the two by the
priority that the servers' NICs use for it. The switch's own class for these packets is determined by their DSCP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.catalog.shares import alpha, port_share_bytes
from railweave.prediction.simulation.model.wiring import delay_ps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.device.host_model import HostQos
    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.device.qos_model import Buffers, TrafficClass
    from railweave.model.network.devices import Cable


def class_of(qos: QosConfig, dscp: int) -> TrafficClass | None:
    """Return the traffic class of a packet with the value ``dscp``: the class that lists this DSCP or, if there is none, that lists DSCP 0.

    Return None if no class lists either of them.
    """
    named = next((traffic_class for traffic_class in qos.classes.values() if dscp in traffic_class.dscp), None)
    return named or next((traffic_class for traffic_class in qos.classes.values() if 0 in traffic_class.dscp), None)


def unpaused(config: DeviceConfig) -> list[str]:
    """Return the links on which a switch does not use PFC. The switch neither sends nor obeys pauses on these links."""
    return [interface.link for interface in config.interfaces if not interface.pauses]


def unbound(config: DeviceConfig) -> list[str]:
    """Return the links on ports without QoS settings, if the switch has QoS settings at all. Otherwise, return an empty list."""
    if config.qos is None:
        return []
    bound = set(config.qos.ports)
    return [interface.link for interface in config.interfaces if interface.name not in bound]


def is_taken_off(config: DeviceConfig) -> bool:
    """Return True if a switch's operating system supports QoS, but the switch has none configured. All its traffic is then best effort."""
    return config.qos is None and catalog().systems[config.nos].has("qos", config.release)


def remarks(configs: Sequence[DeviceConfig], data_dscp: int) -> Iterator[str]:
    """Yield remarks, as sentences, on switch features that the simulation ignores, and on features that only some switches have.

    ``data_dscp`` is the DSCP of RDMA data.
    """
    off = [config.name for config in configs if is_taken_off(config)]
    if off:
        yield (
            f"{_some(off)}: quality of service is off at all ports, so {'it' if len(off) == 1 else 'they'} neither "
            f"{'pauses nor marks' if len(off) == 1 else 'pause nor mark'}, and one class has all traffic"
        )
    ports = [
        f"{config.name} {interface.name}"
        for config in configs
        for links in [set(unbound(config))]
        for interface in config.interfaces
        if interface.link in links
    ]
    if ports:
        yield (
            f"quality of service is off at {counted(len(ports), 'port')} ({_some(ports)}): they neither pause nor mark; packets that "
            "arrive there are simulated in their class, although the switch treats them as best effort"
        )
    yield from _other_lossless(configs, data_dscp)


def _other_lossless(configs: Sequence[DeviceConfig], data_dscp: int) -> Iterator[str]:
    """Yield a remark if there are lossless classes besides the class of RDMA data.

    ``data_dscp`` is the DSCP of RDMA data. The simulation sends nothing in other lossless classes.
    """
    with_qos = [config.qos for config in configs if config.qos is not None]
    data_classes = [
        (name, traffic_class)
        for qos in with_qos
        for name, traffic_class in qos.classes.items()
        if traffic_class is class_of(qos, data_dscp)
    ]
    if not data_classes:
        return
    name, data = next((pair for pair in data_classes if pair[1].lossless), data_classes[0])
    lossless = dict.fromkeys(
        key for qos in with_qos for key, traffic_class in qos.classes.items() if traffic_class.lossless
    )
    others = [key for key in lossless if key not in {mine for mine, _ in data_classes}]
    if others:
        share = "the share that other classes leave" if data.transmit_percent is None else f"{data.transmit_percent} %"
        yield (
            f"only RDMA data is simulated, in class {name} ({share} of a full port); nothing is sent in {' and '.join(others)}, "
            f"which {'is' if len(others) == 1 else 'are'} also lossless, so RDMA data has the whole port"
        )


def _some(names: Sequence[str]) -> str:
    """Return the first few names as text, followed by the number of the remaining names."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


DEFAULT_THRESHOLD = 7
"""Junos' default dynamic threshold: alpha 1 (EVPN test report, "Buffer management values")."""


UNLIMITED = "128"
"""The largest alpha that the engine accepts. With it, a queue may use all free space in the pool."""


def share_of_free(index: int) -> str:
    """Return the alpha of a dynamic threshold in the engine's format, such as ``0.5``. The threshold is given by its index: 7 means alpha 1."""
    return f"{alpha(index):.10f}".rstrip("0").rstrip(".")


def switch_parameters(config: DeviceConfig, cables: list[Cable], host: HostQos) -> tuple[dict[str, str], list[str]]:
    """Return (the engine parameters of one switch, notes on assumptions and omitted features).

    ``host`` has the QoS settings with which NICs send.
    """
    qos = config.qos
    model = catalog().switches.get(config.model)
    if is_taken_off(config):
        return _best_effort(model, host)
    if qos is None:
        return {}, [f"{config.nos} has no QoS in the configuration: classes, buffers and ECN are the engine's defaults"]
    parameters: dict[str, str] = {}
    notes: list[str] = []
    data, cnp = (_class_of(qos, dscp, notes) for dscp in (host.dscp, host.cnp_dscp))
    lossless = data is not None and data.lossless and data.pfc_priority == host.priority
    if data is not None and data.lossless and not lossless:
        notes.append(
            f"PFC priority {data.pfc_priority} of the switches differs from the NICs' {host.priority}: RDMA data is lossy"
        )
    if model is None:
        notes.append(f"{config.model}: the catalog has no buffer size: pools and headroom are the engine's defaults")
    else:
        parameters |= _pools(qos.buffers, model)
        silent = set(unpaused(config))
        paused = [cable for cable in cables if cable.name not in silent] if silent else cables
        parameters["switch.headroom"] = str(_headroom(qos, model, paused, notes))
    parameters["switch.ingress-alpha-lossless"] = share_of_free(qos.buffers.ingress_dynamic_threshold)
    notes.append("switch.ingress-alpha-lossy, switch.reserved: not configured, the engine's defaults")
    if qos.xon_offset_cells is None or model is None:
        notes.append("switch.xon-offset: not configured, the engine's default")
    else:
        parameters["switch.xon-offset"] = str(qos.xon_offset_cells * model.buffer.cell_bytes)
    if lossless and unpaused(config):
        notes.append(
            "PFC: packets that arrive on a port without PFC use the lossy ingress pool (assumed), and are dropped "
            "if the pool is full"
        )
    if any(interface.macsec for interface in config.interfaces):
        notes.append("MACsec: the bytes that it adds to packets are not counted")
    if qos.watchdog is not None and lossless:
        parameters["switch.watchdog"] = qos.watchdog.action
        parameters["switch.watchdog-poll"] = f"{qos.watchdog.poll_interval}ms"
        parameters["switch.watchdog-detection"] = str(qos.watchdog.detection)
        parameters["switch.watchdog-recovery"] = f"{qos.watchdog.recovery}ms"
    for number, traffic_class, held in ((host.priority, data, lossless), (host.cnp_priority, cnp, False)):
        queue_bytes = (
            None if model is None or traffic_class is None else _queue_bytes(traffic_class, qos.buffers, model, cables)
        )
        parameters |= _class(number, traffic_class, qos, notes, queue_bytes, lossless=held, nos=config.nos)
    if any(traffic_class.buffer_percent is not None for traffic_class in qos.classes.values()) or _dedicated(
        qos.buffers
    ):
        notes.append("dedicated buffers: not modelled")
    return parameters, notes


def _best_effort(model: SwitchModel | None, host: HostQos) -> tuple[dict[str, str], list[str]]:
    """Return (engine parameters, notes) of a switch without QoS.

    The switch neither pauses nor marks, and one class uses the whole buffer.
    """
    pools = ("switch.ingress-pool-lossy", "switch.egress-pool-lossy")
    parameters = {} if model is None else dict.fromkeys(pools, str(round(model.buffer.shared_mb * 1e6)))
    for number in (host.priority, host.cnp_priority):
        parameters |= _class(number, None, None, [], None, lossless=False, nos="")
        parameters[f"class.{number}.egress-alpha"] = share_of_free(DEFAULT_THRESHOLD)
    return parameters, [
        "switches without quality of service: best effort has the whole buffer, and a queue may use as much as is free (alpha 1, assumed)"
    ]


def _class_of(qos: QosConfig, dscp: int, notes: list[str]) -> TrafficClass | None:
    if not any(dscp in traffic_class.dscp for traffic_class in qos.classes.values()):
        notes.append(f"no class of the switches has DSCP {dscp}: its packets are treated as best effort")
    return class_of(qos, dscp)


def _dedicated(buffers: Buffers) -> bool:
    return buffers.dedicated_ingress is not None or buffers.dedicated_egress is not None


def _pools(buffers: Buffers, model: SwitchModel) -> dict[str, str]:
    shared = model.buffer.shared_mb * 1e6
    return {
        "switch.ingress-pool-lossless": str(round(shared * buffers.lossless / 100)),
        "switch.ingress-pool-lossy": str(round(shared * buffers.lossy / 100)),
        "switch.egress-pool-lossless": str(round(shared * buffers.egress_lossless / 100)),
        "switch.egress-pool-lossy": str(round(shared * buffers.egress_lossy / 100)),
    }


def _headroom(qos: QosConfig, model: SwitchModel, cables: list[Cable], notes: list[str]) -> int:
    """Return the headroom in bytes of each port and lossless class: the largest need of any port.

    A port's need is computed as in the design, or from the delays of the engine's cables if these hold more data during a pause. The engine
    adds the delays inside switches to the delays of cables. The headroom partition has to hold only the sum of all needs, because no port
    uses more than its own need. If this sum exceeds the partition, a port's headroom is at most an equal part of the partition, and a
    sentence is added to ``notes``.
    """
    lossless = sum(traffic_class.lossless for traffic_class in qos.classes.values())
    if not lossless or not cables:
        return 0
    mru = max((profile.mru_bytes for profile in qos.profiles), default=9216)
    by_kind = {
        (cable.kind, cable.length_m, cable.speed_gbps): max(
            port_headroom(catalog(), model, cable.length_m, cable.speed_gbps, mru).need_bytes,
            2 * delay_ps(cable) * cable.speed_gbps // 8000 + 2 * mru,
        )
        for cable in {(cable.kind, cable.length_m, cable.speed_gbps): cable for cable in cables}.values()
    }
    needs = [by_kind[cable.kind, cable.length_m, cable.speed_gbps] for cable in cables]
    partition = round(model.buffer.shared_mb * 1e6 * qos.buffers.headroom / 100) // lossless
    if sum(needs) <= partition:
        return max(needs)
    notes.append(
        f"headroom: ports need {sum(needs) / 1e6:.2f} MB for each lossless class, but only {partition / 1e6:.2f} MB exist: "
        "every port has an equal part"
    )
    return min(max(needs), partition // len(needs))


def _queue_bytes(traffic_class: TrafficClass, buffers: Buffers, model: SwitchModel, cables: list[Cable]) -> int:
    """Return the bytes that a drop profile's percentages refer to: a port's share of the egress pool of the class.

    The share is that of a port if all ports queue equally. The thresholds of the chip are fixed numbers of cells, while
    the share that a queue may take changes all the time. Junos does not document the base of the percentages. With this
    base, 55..90 % is 0.6..0.9 MB on a QFX5240 with 400G ports. Other vendors configure 1..2 MB on such chips, which is
    close. A published result decided between the possible bases (docs/validation.md).
    """
    speed = max((cable.speed_gbps for cable in cables), default=model.ports[0].speed_gbps)
    return port_share_bytes(model, buffers.egress_lossless if traffic_class.lossless else buffers.egress_lossy, speed)


def _class(
    number: int,
    traffic_class: TrafficClass | None,
    qos: QosConfig | None,
    notes: list[str],
    queue_bytes: int | None,
    *,
    lossless: bool,
    nos: str,
) -> dict[str, str]:
    name = f"class.{number}"
    if traffic_class is None or qos is None:
        return {f"{name}.lossless": "no", f"{name}.service": "1", f"{name}.ecn": "off"}
    strict = traffic_class.priority == "strict-high"
    if strict and traffic_class.transmit_percent is not None:
        notes.append("strict classes: transmit_percent caps them on the switch; not modelled")
    weights = [other.transmit_percent for other in qos.classes.values()]
    rest = (100 - sum(weight or 0 for weight in weights)) // max(1, weights.count(None))
    threshold = share_of_free(
        DEFAULT_THRESHOLD if traffic_class.dynamic_threshold is None else traffic_class.dynamic_threshold
    )
    if traffic_class.dynamic_threshold is None and lossless and catalog().systems[nos].lossless_queue_threshold is None:
        # What is lossless is held back at ingress: Junos has no threshold for such queues, SONiC gives them the whole buffer.
        threshold = UNLIMITED
        notes.append("class.N.egress-alpha: lossless queues have no threshold; the ingress limits hold them back")
    elif traffic_class.dynamic_threshold is None:
        notes.append(f"class.N.egress-alpha: not configured, alpha {threshold} as the system's default")
    ecn = traffic_class.ecn
    marking = "off"
    by_length = next(
        (qos.marking[key] for key, other in qos.classes.items() if other is traffic_class and key in qos.marking), None
    )
    if by_length is not None:
        marking = f"{by_length.first}..{by_length.last}@{by_length.probability}%"
    elif ecn and queue_bytes is not None:
        first, last = (round(queue_bytes * fill / 100) for fill in (ecn.min_fill, ecn.max_fill))
        marking = f"{first}..{last}@{ecn.max_probability}%"
        notes.append(f"ECN: fill levels are percentages of {queue_bytes} B, a port's part of the pool (fitted)")
    elif ecn:
        marking = f"{ecn.min_fill}%..{ecn.max_fill}%@{ecn.max_probability}%"
    return {
        f"{name}.lossless": "yes" if lossless else "no",
        f"{name}.service": "strict" if strict else str(max(1, traffic_class.transmit_percent or rest)),
        f"{name}.egress-alpha": threshold,
        f"{name}.ecn": marking,
    }
