"""Checks of ports: names, state, speed, MTU, error correction, light and queues."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from railweave.host.port_names import announced, by_names, plain
from railweave.live.check.living import OF_CABLE, OF_SPEED, Deviation, NetworkStates, link_and_ends
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.device.port_model import nic_names, switch_port_names
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from railweave.model.device.expected import Port
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.ports import InterfaceState, Optic
    from railweave.model.state.protocols import LldpNeighbor


Value = TypeVar("Value")


NOT_BRIDGED = Rule(
    "port-not-bridged",
    "error",
    "living",
    "A port of a designed VLAN belongs to no bridge.",
    why="the link is up, but traffic of its server does not reach the gateway",
    fix="add the port to its bridge or VLAN again by loading the designed configuration",
    asked=(".addressing.server_link",),
)


def without_unit(name: str) -> str:
    """Return a port's name without logical unit 0: ``et-0/0/0:0.0`` becomes ``et-0/0/0:0``. Other units stay, as in ``irb.100``."""
    port, dot, unit = name.rpartition(".")
    return port if dot and unit == "0" else name


def same_port(reported: str | None, designed: str) -> bool:
    """Return True if a reported port name is the designed name, with or without logical unit 0."""
    return reported is not None and (reported == designed or without_unit(reported) == designed)


def of_port(table: Mapping[str, Value], name: str) -> Value | None:
    """Return the value of the port ``name``, or None. ``table`` has values by interface name: the port, or the port's logical unit 0."""
    value = table.get(name)
    return table.get(f"{name}.0") if value is None else value


def short(name: str) -> str:
    """Return a host name in lower case, without its domain."""
    return name.partition(".")[0].lower()


End = tuple[str, str]
"""An end of a cable, as (device, port)."""

Ends = dict[str, dict[str, End]]
"""The ends of cables: for each device (by its short name), the end by each name of each of its ports.

Under the empty device name, the ends at NICs are listed by MAC address.
"""


def ends_by_name(network: Network, called: Mapping[tuple[str, str], str] | None = None) -> Ends:
    """Return the ends of all cables by device and by each name that a port can have.

    ``called`` has port names by (device, link), if they differ from the design's, as in a lab.
    """
    names: dict[str, dict[End, tuple[str, ...]]] = {}
    nics = {(server.name, nic.name): nic for server in network.servers for nic in server.nics}
    for cable in network.cables:
        for end, far in ((cable.a, cable.b), (cable.b, cable.a)):
            nic = nics.get((end.device, end.port))
            known = nic_names(nic) if nic else switch_port_names(network, end, far)
            used = end.port if called is None else called.get((end.device, cable.name), end.port)
            names.setdefault(short(end.device), {})[end.device, used] = (*known, used)
    macs = {end: (plain(nic.mac),) for end, nic in nics.items() if not nic.mac_is_placeholder}
    return {device: by_names(ports) for device, ports in names.items()} | {"": by_names(macs)}


def end_of(ends: Ends, neighbor: LldpNeighbor) -> tuple[bool, End | None]:
    """Return (identified, end) for an LLDP neighbor: True if it identifies a device and a port, and the end of a cable at that port.

    The end is None if the design has no such end.
    """
    if neighbor.system is not None:
        ports = ends.get(short(neighbor.system))
        return (
            (True, None)
            if ports is None
            else announced(ports, neighbor.port, neighbor.port_kind, neighbor.port_description)
        )
    macs = ends[""]  # firmware of a NIC sends no name
    nic = macs.get(plain(neighbor.port)) or macs.get(plain(neighbor.chassis))
    return nic is not None, nic


ABSENT = Rule(
    "port-absent",
    "error",
    "living",
    "A device does not have a port of the design.",
    why="the port has a different breakout, or its line card is missing",
    fix="compare the breakout of the port with the design",
    asked=OF_CABLE,
)
SHUT = Rule(
    "port-shut",
    "error",
    "living",
    "A port of the design is shut down by its configuration.",
    why="the link of this port cannot come up",
    fix="remove the shutdown statement, or mark the link drained under `status:` in the fabric file",
    asked=OF_CABLE,
)
DOWN = Rule(
    "port-down",
    "error",
    "living",
    "A port of the design is down.",
    why="the link of this port carries no traffic",
    fix="check the module, the cable and the other end; replace one after the other",
    asked=OF_CABLE,
)
SPEED = Rule(
    "port-speed-differs",
    "error",
    "living",
    "The speed of a port differs from the design.",
    why="load shares and predictions depend on the speed",
    fix="check the configured breakout and speed at both ends",
    asked=OF_SPEED,
)
MTU = Rule(
    "port-mtu-differs",
    "error",
    "living",
    "The MTU of a port differs from the design.",
    why="full-size packets are dropped at the end with the smaller MTU, while small packets pass: jobs hang",
    fix="restore the designed configuration",
    asked=(".mtu.{ports}",),
)
FEC = Rule(
    "port-fec-differs",
    "error",
    "living",
    "The forward error correction (FEC) of a port is not the kind that its speed requires.",
    why="links with PAM4 lanes need RS(544,514) at both ends (IEEE 802.3, clause 119)",
    fix="remove the FEC setting at both ends: the right kind is the default at these speeds",
    asked=OF_SPEED,
)
NO_OPTIC = Rule(
    "module-absent",
    "error",
    "living",
    "A port of the design has no module.",
    why="the link of this port cannot come up",
    fix="insert the module that cabling.csv names",
    asked=(".cabling.{cabling}.optic",),
)
OPTIC = Rule(
    "optic-alarm",
    "warning",
    "living",
    "A module's light, temperature or voltage is outside its limits.",
    why="bit errors will follow, and then link failures",
    fix="clean the connectors; if the alarm stays, replace the module or the cable",
    asked=(".cabling.{cabling}.optic",),
)
DARK = Rule(
    "optic-dark",
    "error",
    "living",
    "A lane of a module receives no light.",
    why="the other end does not send, or the fiber is broken or unplugged",
    fix="check the module at the other end, then the fiber",
    asked=(".cabling.{cabling}.optic",),
)
PFC = Rule(
    "pfc-not-running",
    "error",
    "living",
    "A port counts no PFC on its lossless priority, but counts PFC on other priorities.",
    why="PFC is probably off for the lossless class, so its packets can be dropped",
    fix="restore the designed configuration",
    asked=("qos.classes",),
)
QUEUE = Rule(
    "queue-absent",
    "error",
    "living",
    "A port lacks a queue of the design.",
    why="the class of this queue shares a different queue",
    fix="restore the designed configuration",
    asked=("qos.classes",),
)


def ports(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about every port of the design and its queues. ``living`` has the expected and the reported states."""
    for expected, state in living.pairs():
        for port in expected.ports:
            deviations = list(_port(port, state))
            yield from (_about(port, seen) for seen in deviations)
        for port in expected.queues:
            yield from (
                Deviation(rule, expected.device, f"{port.port}: {description}", port.because, port.port)
                for rule, description in _queues(port.port, port.lossless, port.marked, state)
            )


def _about(port: Port, seen: tuple[Rule, str]) -> Deviation:
    rule, description = seen
    broken = rule in {ABSENT, SHUT, DOWN, NO_OPTIC, NOT_BRIDGED}
    return Deviation(
        rule,
        port.device,
        f"{port.name} {description}",
        port.because,
        port.name,
        port.link,
        breaks=frozenset([("link", port.link)]) if broken else frozenset(),
        needs=link_and_ends(port.link, port.peer) if broken and rule is DOWN else frozenset(),
    )


def _port(port: Port, state: DeviceState) -> Iterator[tuple[Rule, str]]:
    interfaces = state.interfaces
    if interfaces is None:
        return
    interface = interfaces.get(port.name)
    if interface is None:
        interface = of_port(interfaces, port.name)
    optic = (state.optics or {}).get(port.name)
    if interface is None:
        yield ABSENT, "is not among the device's ports"
        return
    if optic is not None and optic.present is False:
        yield NO_OPTIC, f"has no module; the design has {port.optic or 'one'}"
    if interface.admin_up is False:
        yield SHUT, "is shut down"
        return
    if interface.oper_up is False:
        yield DOWN, f"is down{f': {interface.reason}' if interface.reason else ''}"
    else:
        yield from _running(port, interface)
    if optic is not None:
        yield from _light(optic)


def _running(port: Port, interface: InterfaceState) -> Iterator[tuple[Rule, str]]:
    if interface.speed_gbps is not None and interface.speed_gbps != port.speed_gbps:
        yield SPEED, f"runs at {interface.speed_gbps:g}G, the design has {port.speed_gbps}G"
    if interface.mtu is not None and not _fits(interface.mtu, port):
        yield MTU, f"has MTU {interface.mtu}, the design has {port.ip_mtu or port.mtu}"
    if port.switched and interface.bridged is False:
        yield NOT_BRIDGED, "is in no bridge, the design has it in a VLAN"
    mode = interface.fec.mode
    if mode is not None and port.fec is not None and not re.search(r"544|119|rs|clause 134|^on$", mode, re.IGNORECASE):
        yield FEC, f"has error correction {mode}, {port.speed_gbps}G needs RS(544,514)"


def _fits(mtu: int, port: Port) -> bool:
    """Return True if a reported MTU is right. Some systems include the Ethernet header in the MTU, others do not.

    On a switched port, a larger MTU is right too.
    """
    if port.switched:
        return mtu >= port.mtu - ETHERNET_HEADER
    wanted = (port.mtu, port.mtu - ETHERNET_HEADER)
    return mtu in (wanted if port.ip_mtu is None else (*wanted, port.ip_mtu, port.ip_mtu + ETHERNET_HEADER))


def _light(optic: Optic) -> Iterator[tuple[Rule, str]]:
    dark = [lane.number for lane in optic.lanes if lane.rx_dbm == float("-inf")]
    if dark:
        yield DARK, f"receives no light on lane {', '.join(map(str, dark))}"
    low = [
        f"lane {lane.number} receives {lane.rx_dbm:g} dBm"
        for lane in optic.lanes
        if lane.rx_dbm is not None and optic.rx_low_dbm is not None and float("-inf") < lane.rx_dbm < optic.rx_low_dbm
    ]
    low += [
        f"lane {lane.number} sends {lane.tx_dbm:g} dBm"
        for lane in optic.lanes
        if lane.tx_dbm is not None and optic.tx_low_dbm is not None and lane.tx_dbm < optic.tx_low_dbm
    ]
    if low or (optic.alarms and not dark):
        yield OPTIC, f"has a module outside its limits: {', '.join([*low, *optic.alarms])}"


def _queues(
    port: str, lossless: dict[int, int], marked: Collection[int], state: DeviceState
) -> Iterator[tuple[Rule, str]]:
    counted = of_port(state.pfc, port) if state.pfc is not None else None
    for priority in lossless.values():
        if counted and priority not in counted:
            has = ", ".join(map(str, sorted(counted)))
            yield PFC, f"counts PFC on priority {has}, the lossless class has {priority}"
    there = of_port(state.queues, port) if state.queues is not None else None
    if there is not None and there.egress:
        for queue in sorted({*lossless, *marked} - there.egress.keys()):
            yield QUEUE, f"has no queue {queue}"
