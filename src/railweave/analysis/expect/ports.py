"""What ports show: their state, who is at the other end of the cable, and their queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.expected import PAM4_GBPS, Port, Queues

if TYPE_CHECKING:
    from collections.abc import Collection

    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.model.network.model import Network


def there(config: DeviceConfig, down: Collection[str]) -> list[Interface]:
    """The ports of a switch whose cable and far end are there: not those of a cable that has left the design, which a switch may have still."""
    of_design = [one for one in config.interfaces if one.link or one.kind == "external"]
    return [one for one in of_design if one.link not in down and one.peer not in down]


def ports(network: Network, config: DeviceConfig, down: Collection[str]) -> list[Port]:
    """Every port that must be up. A port to a router outside, or an edge port, has no cable in the design, and so no module."""
    fabric = network.switch(config.name).fabric
    routed = {one.port: one.mtu for one in config.gateways if one.port}
    edges = {one.link for one in network.fabric(fabric).edge_ports}
    found: list[Port] = []
    for one in there(config, down):
        optic = ""
        kind = "external" if one.link in edges else one.kind
        if kind != "external":
            cable = network.cable(one.link)
            optic = (cable.a if cable.a.device == config.name else cable.b).optic
        found.append(
            Port(
                device=config.name,
                because=("fabrics", fabric, "edge_ports") if one.link in edges else _asked(fabric, one),
                name=one.name,
                link=one.link,
                kind=kind,
                peer=one.peer,
                peer_port=one.peer_port,
                speed_gbps=one.speed_gbps,
                lanes=one.lanes,
                mtu=one.mtu,
                ip_mtu=routed.get(one.name),
                switched=bool(one.vlan),
                optic=optic,
                fec="rs544" if one.speed_gbps in PAM4_GBPS else None,
            )
        )
    return found


def _asked(fabric: str, port: Interface) -> tuple[str, ...]:
    """Server ports follow from the list of servers, links between switches from the topology."""
    if port.kind == "server":
        return ("servers",)
    return ("fabrics", fabric, "tenants" if port.kind == "external" else "topology")


def queues(network: Network, config: DeviceConfig, down: Collection[str]) -> list[Queues]:
    """The queues of every port that QoS is bound to."""
    qos = config.qos
    if qos is None:
        return []
    lossless = {
        one.queue: one.pfc_priority for one in qos.classes.values() if one.lossless and one.pfc_priority is not None
    }
    marked = {one.queue: one.ecn for one in qos.classes.values() if one.ecn is not None}
    because = ("fabrics", network.switch(config.name).fabric, "qos")
    bound = set(qos.ports)
    return [
        Queues(
            device=config.name,
            because=because,
            port=one.name,
            lossless=lossless if one.pauses else {},
            marked=marked,
            buffers=qos.buffers,
            watchdog=qos.watchdog if one.pauses else None,
        )
        for one in there(config, down)
        if one.name in bound
    ]
