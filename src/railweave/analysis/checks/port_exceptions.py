"""The rule about QoS exceptions at server ports. The switch applies an exception, but the operator must also change the NIC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.host import host_config
from railweave.model.findings.registry import FindingPlace, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.checks.subject import Subject
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import PortQos


@check(
    "qos-port-exception",
    "warning",
    applies="network",
    why="nic-qos.sh configures all NICs of a server alike, so this NIC does not get the exception of its switch "
    "port: if only one end of a link sends pauses, packets of lossless classes are dropped when buffers are "
    "full",
    fix="remove the exception from `overrides`, or configure that NIC by hand after every run of nic-qos.sh",
)
def qos_port_exception(subject: Subject) -> Iterator[FindingPlace]:
    """A server port has the same quality of service as its fabric and the server's NIC."""
    servers = {server.name: server for server in subject.network.servers}
    for switch in subject.network.switches:
        config = subject.configs.get(switch.name)
        for exception in switch.port_qos if config else ():
            port = (
                next((interface for interface in config.interfaces if interface.name == exception.port), None)
                if config
                else None
            )
            server = servers.get(port.peer) if port else None
            nic = server.nic(port.peer_port) if port and server else None
            if config is None or server is None or nic is None:
                continue
            paused = host_config(subject.network, server.name).qos_of(nic.fabric).paused
            difference = _differs(exception, config, paused)
            if difference:
                again = f"or have {server.name}'s administrator {_by_hand(exception, paused)} on {nic.netdev} after every boot, for nic-qos.sh sets it again"
                yield FindingPlace(
                    f"{server.name}:{nic.name} at {switch.name} {exception.port}",
                    difference,
                    fix=f"take the exception out of `overrides.devices.{switch.name}.ports`, {again}",
                )


def _differs(exception: PortQos, config: DeviceConfig, paused: tuple[int, ...]) -> str:
    """Return a description of the difference between a port with a QoS exception and its NIC, or "" if they agree.

    ``paused`` holds the NIC's PFC priorities.
    """
    if config.qos is None:
        return ""
    pauses = any(exception.port in profile.ports for profile in config.qos.profiles)
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
