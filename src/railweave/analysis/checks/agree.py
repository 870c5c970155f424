"""Settings that must match at both ends of a server's link, on the NIC and on the leaf port.

Broadcom's guide to Thor2 NICs, section 2.5: "the settings on the NIC and the Ethernet switches match each other". The
check compares DSCPs, priorities on the wire and bandwidth shares. Numbers of queues and traffic classes are local to
each end and are not compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.device.host import host_config
from railweave.model.findings.registry import FindingPlace, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.checks.subject import Subject
    from railweave.model.device.host_model import HostQos
    from railweave.model.device.model import DeviceConfig, Interface, QosConfig
    from railweave.model.device.qos_model import TrafficClass


@dataclass(frozen=True, slots=True)
class _NicEnd:
    """The NIC end of a link: its QoS, and the largest IP packet that it sends (``mtu``), in bytes."""

    qos: HostQos
    mtu: int


@dataclass(frozen=True, slots=True)
class _PortEnd:
    """The leaf end of a link.

    - ``qos``: the QoS of the leaf, or None if it has none.
    - ``pauses``: True if PFC is on for the port.
    - ``frame``: the port's maximum frame size in bytes.
    - ``gateway``: the gateway's maximum IP packet size in bytes; 0 if there is no gateway.
    - ``excepted``: True if the fabric file makes a QoS exception for this port. The rule qos-port-exception reports such
      ports.
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
    why="only one end of the link protects this traffic, marks it or guarantees bandwidth to it: packets are "
    "dropped, or senders do not slow down",
    fix="set `dscp`, `pfc_priority`, `ecn` and `bandwidth` of `qos.classes`, and `mtu`, which apply to both ends; "
    "remove `transmit_percent` and `hosts.roce_bandwidth`, which apply to one end only",
)
def qos_disagree(subject: Subject) -> Iterator[FindingPlace]:
    """A server's NIC and its leaf port agree on DSCP, priority, PFC, bandwidth share, congestion notification, MTU and ECN.

    A different share is only a warning, because it matters only while packets of several classes wait. Identical links are
    reported once.
    """
    nics: dict[tuple[str, str, bool], _NicEnd] = {}
    places_of: dict[tuple[str, bool], list[str]] = {}
    alike: dict[tuple[object, ...], list[tuple[str, bool]]] = {}
    servers = {server.name: server for server in subject.network.servers}
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
                nics[key] = _NicEnd(
                    host.qos_of(nic.fabric), next(host_nic.mtu for host_nic in host.nics if host_nic.name == nic.name)
                )
            both = (*key, id(end.qos), end.pauses, end.frame, end.gateway, end.excepted)
            if both not in alike:
                alike[both] = list(_differences(nics[key], end))
            for disagreement, share in alike[both]:
                places_of.setdefault((disagreement, share), []).append(
                    f"{server.name}:{nic.name} at {config.name} {port.name}"
                )
    for (disagreement, share), places in places_of.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield FindingPlace(f"{places[0]}{more}", disagreement, severity="warning" if share else None)


def _ports(config: DeviceConfig, excepted: set[str]) -> Iterator[tuple[Interface, _PortEnd]]:
    """Yield (port, settings of the leaf end) for each server port of a switch. ``excepted`` names ports with QoS exceptions."""
    paused = {port for profile in config.qos.profiles for port in profile.ports} if config.qos else set[str]()
    of_vlan = {gateway.vlan_name: gateway.mtu for gateway in config.gateways if gateway.vlan_name}
    of_port = {gateway.port: gateway.mtu for gateway in config.gateways if gateway.port}
    for port in config.interfaces:
        if port.kind == "server":
            gateway = of_port.get(port.name) or of_vlan.get(port.vlan or "", 0)
            yield port, _PortEnd(config.qos, port.name in paused, port.mtu, gateway, port.name in excepted)


def _differences(nic: _NicEnd, port: _PortEnd) -> Iterator[tuple[str, bool]]:
    """Yield each difference between the ends of a link as (description, True if only the bandwidth share differs)."""
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
    """Yield the differences in lossless classes other than RDMA data, as (description, True if only the bandwidth share differs).

    ``qos`` is the NIC's QoS, and ``port`` the leaf's. ``pauses`` is True if PFC is on for the leaf port.
    """
    for lossless in qos.other_lossless:
        for dscp in lossless.dscp[:1]:
            leaf = _class_of(port, dscp)
            if leaf is None:
                yield f"DSCP: class {lossless.name} of the NIC has DSCP {dscp}, which is in no class of the leaf", False
                continue
            if leaf.pfc_priority != lossless.priority:
                has = "does not pause it" if leaf.pfc_priority is None else f"pauses {leaf.pfc_priority}"
                yield (
                    f"priority: the NIC is paused for {lossless.priority} (class {lossless.name}, DSCP {dscp}), the leaf {has}",
                    False,
                )
            elif not pauses and not qos.lossless:
                yield (
                    f"PFC: the NIC takes pauses for priority {lossless.priority}, and PFC is off at the leaf's port",
                    False,
                )
            if lossless.ecn != (leaf.ecn is not None):
                marks = "marks" if leaf.ecn is not None else "does not mark"
                yield (
                    f"ECN: the leaf {marks} DSCP {dscp}, and congestion control of the NIC is {_on(lossless.ecn)}",
                    False,
                )
            share = leaf.transmit_percent
            if leaf.lossless and share is not None and min(share, 99) != lossless.bandwidth_percent:
                yield (
                    f"ETS share: the NIC guarantees class {lossless.name} {lossless.bandwidth_percent} %, the leaf {share} %",
                    True,
                )


def _class_of(qos: QosConfig, dscp: int) -> TrafficClass | None:
    """Return the class to which a leaf with the QoS ``qos`` assigns a DSCP: the class that lists the DSCP, or else the default class.

    Return None if no class lists the DSCP and the default class is not defined.
    """
    named = next((traffic_class for traffic_class in qos.classes.values() if dscp in traffic_class.dscp), None)
    return named or qos.classes.get(qos.default_class)


def _on(value: bool) -> str:
    return "on" if value else "off"
