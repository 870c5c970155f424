"""What both ends of a server's link must have alike (the NIC, and the port of its leaf), and buffers and exceptions of ports.

Broadcom's guide to Thor2 NICs, section 2.5: "the settings on the NIC and the Ethernet switches match each other". Numbers of
queues and traffic classes are local to each end, so they are not compared: DSCPs, priorities on the wire and shares are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.shares import held_share
from railweave.model.device.host import host_config
from railweave.model.findings.registry import Found, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.checks.subject import Subject
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.device.host_model import HostQos
    from railweave.model.device.model import DeviceConfig, Interface, QosConfig
    from railweave.model.device.qos_model import Buffers, TrafficClass
    from railweave.model.network.devices import PortQos


@check(
    "lossless-shares",
    "error",
    applies="network",
    why="the DCQCN configlet of Juniper's public Apstra examples says that the two shares must match on these models, and no public "
    "document has shares that differ: nobody knows whether the class then stays lossless",
    fix="set `egress_lossless` to `lossless` in `qos.buffers`",
)
def lossless_shares(subject: Subject) -> Iterator[Found]:
    """Models that ask for it (QFX5220, QFX5230) give lossless classes the same share at ingress and at egress."""
    for config in subject.configs.values():
        qos, model = config.qos, catalog().switches.get(config.model)
        if qos is None or model is None or not qos.shared_buffer or "equal-lossless-shares" not in model.needs:
            continue
        if qos.buffers.lossless != qos.buffers.egress_lossless:
            shares = f"{qos.buffers.lossless} % at ingress, {qos.buffers.egress_lossless} % at egress"
            by_system = f"set `lossless: {qos.buffers.egress_lossless}` in `qos.buffers`, or leave out `egress: system`"
            fix = by_system if qos.buffers.egress == "system" else None
            yield Found(config.name, f"lossless classes of a {config.model} have {shares}", fix=fix)


@check(
    "lossless-queue-full",
    "warning",
    applies="network",
    why="how much a queue may hold and when a port pauses its sender are separate thresholds. With many senders each port holds so "
    "little that none pauses before the queue is full. Predictions drop packets there (docs/predict.md)",
    fix="raise the class's `dynamic_threshold`, or lower `ingress_dynamic_threshold`, so that ports pause first",
)
def lossless_queue_full(subject: Subject) -> Iterator[Found]:
    """Ports pause their senders before a lossless queue to which all of them send is full."""
    for config in subject.configs.values():
        qos, model = config.qos, catalog().switches.get(config.model)
        if qos is None or model is None or not qos.shared_buffer:
            continue
        senders = sum(one.pauses for one in config.interfaces) - 1
        if senders < 1:
            continue
        for name, one in qos.classes.items():
            threshold = one.dynamic_threshold
            if threshold is None:
                threshold = catalog().systems[config.nos].lossless_queue_threshold
            if not one.lossless or threshold is None:
                continue
            held, queue = _paused_at(qos.buffers, model, senders), _queue_at(qos.buffers, model, threshold)
            if held > queue:
                yield Found(
                    config.name,
                    f"a queue of class {name} holds {queue / 1e6:.1f} MB (dynamic threshold {threshold}), and {senders} ports that send "
                    f"to it pause when they have {held / 1e6:.1f} MB together: packets are dropped before PFC",
                )


def _paused_at(buffers: Buffers, model: SwitchModel, senders: int) -> float:
    """Bytes of the ingress pool that so many equal ports have when each reaches its share of what is free."""
    pool = model.buffer.shared_mb * 1e6 * buffers.lossless / 100
    return pool * held_share(buffers.ingress_dynamic_threshold, senders)


def _queue_at(buffers: Buffers, model: SwitchModel, threshold: int) -> float:
    """Bytes of one queue when it reaches its share of what is free of the egress pool."""
    return model.buffer.shared_mb * 1e6 * buffers.egress_lossless / 100 * held_share(threshold)


@check(
    "qos-port-exception",
    "warning",
    applies="network",
    why="nic-qos.sh sets all NICs of a server alike, so this one keeps what its port has otherwise: where one end alone pauses, "
    "packets of lossless classes are dropped when they do not fit",
    fix="take the exception out of `overrides`, or set that NIC by hand after every run of nic-qos.sh",
)
def qos_port_exception(subject: Subject) -> Iterator[Found]:
    """A port to a server has the quality of service of its fabric, as the server's NIC has."""
    servers = {one.name: one for one in subject.network.servers}
    for switch in subject.network.switches:
        config = subject.configs.get(switch.name)
        for exception in switch.port_qos if config else ():
            port = next((one for one in config.interfaces if one.name == exception.port), None) if config else None
            server = servers.get(port.peer) if port else None
            nic = server.nic(port.peer_port) if port and server else None
            if config is None or server is None or nic is None:
                continue
            paused = host_config(subject.network, server.name).qos_of(nic.fabric).paused
            what = _differs(exception, config, paused)
            if what:
                again = f"or have {server.name}'s administrator {_by_hand(exception, paused)} on {nic.netdev} after every boot, for nic-qos.sh sets it again"
                yield Found(
                    f"{server.name}:{nic.name} at {switch.name} {exception.port}",
                    what,
                    fix=f"take the exception out of `overrides.devices.{switch.name}.ports`, {again}",
                )


def _differs(exception: PortQos, config: DeviceConfig, paused: tuple[int, ...]) -> str:
    """What a port has otherwise than the NIC, which pauses these priorities; empty where both are alike."""
    if config.qos is None:
        return ""
    pauses = any(exception.port in one.ports for one in config.qos.profiles)
    words = ", ".join(map(str, paused))
    if not exception.bound:
        pfc = f", PFC for priority {words} included" if paused else ""
        return f"the port has no quality of service (`qos: false`), and the NIC keeps that of its fabric{pfc}"
    if paused and not pauses:
        return f"the port does not pause (`pfc: false`), and the NIC has PFC on for priority {words}"
    if pauses and not paused:
        return "the port pauses (`pfc: true`), and the NIC has PFC off"
    return ""


def _by_hand(exception: PortQos, paused: tuple[int, ...]) -> str:
    if not exception.bound:
        return (
            "turn PFC, and what else the port no longer has, off" if paused else "take off what the port no longer has"
        )
    return "turn PFC off" if paused else "turn PFC on for the priorities that the port pauses"


ETHERNET_HEADER = 14


@dataclass(frozen=True, slots=True)
class _NicEnd:
    """The NIC's end of a link: its QoS, and the longest IP packet it sends."""

    qos: HostQos
    mtu: int


@dataclass(frozen=True, slots=True)
class _PortEnd:
    """The leaf's end: its QoS, whether PFC is on the port, the port's frame and its gateway's IP packet (0: it has none).

    ``excepted``: the fabric file has an exception for this port, of which qos-port-exception tells.
    """

    qos: QosConfig | None
    pauses: bool
    frame: int
    gateway: int
    excepted: bool = False


@check(
    "qos-disagree",
    "error",
    applies="network",
    sometimes="warning",
    why="one end protects, marks or guarantees bandwidth to traffic that the other does not: packets are dropped, or senders do not slow down",
    fix="set `dscp`, `pfc_priority`, `ecn` and `bandwidth` of `qos.classes`, and `mtu`, which hold for both ends; leave out `transmit_percent` "
    "and `hosts.roce_bandwidth`, which hold for one end only",
)
def qos_disagree(subject: Subject) -> Iterator[Found]:
    """A server's NIC and its leaf's port agree on DSCP, priority, PFC, share of the port, congestion notification, MTU and ECN.

    The share is a warning: it holds only while both kinds of traffic wait. Links that are alike are said once.
    """
    nics: dict[tuple[str, str, bool], _NicEnd] = {}
    found: dict[tuple[str, bool], list[str]] = {}
    alike: dict[tuple[object, ...], list[tuple[str, bool]]] = {}
    servers = {one.name: one for one in subject.network.servers}
    for config in subject.configs.values():
        excepted = {each.port for each in subject.network.switch(config.name).port_qos}
        for port, end in _ports(config, excepted):
            server = servers.get(port.peer)  # a switch may have more ports in use than are designed
            nic = server.nic(port.peer_port) if server else None
            if server is None or nic is None:
                continue
            key = (server.model, nic.fabric, bool(nic.network))
            if key not in nics:
                host = host_config(subject.network, server.name)
                nics[key] = _NicEnd(host.qos_of(nic.fabric), next(one.mtu for one in host.nics if one.name == nic.name))
            both = (*key, id(end.qos), end.pauses, end.frame, end.gateway, end.excepted)
            if both not in alike:
                alike[both] = list(_differences(nics[key], end))
            for what, share in alike[both]:
                found.setdefault((what, share), []).append(f"{server.name}:{nic.name} at {config.name} {port.name}")
    for (what, share), places in found.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield Found(f"{places[0]}{more}", what, severity="warning" if share else None)


def _ports(config: DeviceConfig, excepted: set[str]) -> Iterator[tuple[Interface, _PortEnd]]:
    """The server ports of a switch, and what is at this end of each."""
    paused = {port for profile in config.qos.profiles for port in profile.ports} if config.qos else set[str]()
    of_vlan = {one.vlan_name: one.mtu for one in config.gateways if one.vlan_name}
    of_port = {one.port: one.mtu for one in config.gateways if one.port}
    for port in config.interfaces:
        if port.kind == "server":
            gateway = of_port.get(port.name) or of_vlan.get(port.vlan or "", 0)
            yield port, _PortEnd(config.qos, port.name in paused, port.mtu, gateway, port.name in excepted)


def _differences(nic: _NicEnd, port: _PortEnd) -> Iterator[tuple[str, bool]]:
    """What the ends of a link have otherwise, and whether it is the share of the port."""
    if port.gateway and nic.mtu > port.gateway:
        yield f"MTU: the NIC sends packets of {nic.mtu} bytes, the gateway takes {port.gateway}", False
    if nic.mtu + ETHERNET_HEADER > port.frame:
        yield f"MTU: packets of {nic.mtu} bytes do not fit the port's frames of {port.frame}", False
    if port.qos is None or port.excepted:  # the system has none, as FRR: a finding of its own says so
        return
    qos, data = nic.qos, _class_of(port.qos, nic.qos.dscp)
    yield from _others(qos, port.qos, pauses=port.pauses)
    if data is None:
        yield f"DSCP: the NIC's data has DSCP {qos.dscp}, which is in no class of the leaf", False
        return
    if qos.lossless and not data.lossless:
        yield f"DSCP: the NIC's data has DSCP {qos.dscp}, which is in no lossless class of the leaf", False
    elif qos.lossless and data.pfc_priority != qos.priority:
        yield f"priority: the NIC is paused for {qos.priority}, the leaf pauses {data.pfc_priority}", False
    elif qos.lossless and not port.pauses:
        yield f"PFC: the NIC takes pauses for priority {qos.priority}, and PFC is off at the leaf's port", False
    elif data.lossless and port.pauses and not qos.lossless:
        yield f"PFC: the leaf pauses priority {data.pfc_priority}, which the NIC does not take", False
    if (qos.lossless or data.lossless or qos.ecn) and qos.ecn != (data.ecn is not None):
        marks = "marks" if data.ecn is not None else "does not mark"
        yield f"ECN: the leaf {marks} DSCP {qos.dscp}, and congestion control of the NIC is {_on(qos.ecn)}", False
    if _class_of(port.qos, qos.cnp_dscp) is data and data.lossless:
        yield f"CNP: the leaf has congestion notification (DSCP {qos.cnp_dscp}) in the class of the data", False
    share = data.transmit_percent
    if qos.lossless and data.lossless and share is not None and min(share, 99) != qos.bandwidth_percent:
        yield f"ETS share: the NIC guarantees its data {qos.bandwidth_percent} %, the leaf {share} %", True


def _others(qos: HostQos, port: QosConfig, *, pauses: bool) -> Iterator[tuple[str, bool]]:
    """What the ends have otherwise for the lossless classes beside RDMA data."""
    for one in qos.other_lossless:
        for dscp in one.dscp[:1]:
            leaf = _class_of(port, dscp)
            if leaf is None:
                yield f"DSCP: class {one.name} of the NIC has DSCP {dscp}, which is in no class of the leaf", False
                continue
            if leaf.pfc_priority != one.priority:
                has = "does not pause it" if leaf.pfc_priority is None else f"pauses {leaf.pfc_priority}"
                yield (
                    f"priority: the NIC is paused for {one.priority} (class {one.name}, DSCP {dscp}), the leaf {has}",
                    False,
                )
            elif not pauses and not qos.lossless:
                yield f"PFC: the NIC takes pauses for priority {one.priority}, and PFC is off at the leaf's port", False
            if one.ecn != (leaf.ecn is not None):
                marks = "marks" if leaf.ecn is not None else "does not mark"
                yield f"ECN: the leaf {marks} DSCP {dscp}, and congestion control of the NIC is {_on(one.ecn)}", False
            share = leaf.transmit_percent
            if leaf.lossless and share is not None and min(share, 99) != one.bandwidth_percent:
                yield (
                    f"ETS share: the NIC guarantees class {one.name} {one.bandwidth_percent} %, the leaf {share} %",
                    True,
                )


def _class_of(qos: QosConfig, dscp: int) -> TrafficClass | None:
    """The class that a leaf puts a DSCP into; None where a text has lost the class of all others."""
    named = next((one for one in qos.classes.values() if dscp in one.dscp), None)
    return named or qos.classes.get(qos.default_class)


def _on(value: bool) -> str:
    return "on" if value else "off"
