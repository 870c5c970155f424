"""The class ``HostState``: one server's report from ``railweave-host show --json``, with LLDP as ``lldpcli`` prints it.

None means that the server did not report a value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.model.state.ports import Errors, InterfaceState
from railweave.model.state.protocols import LldpNeighbor
from railweave.model.state.question import Question
from railweave.model.state.values import Answers, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.state.capture import Capture
    from railweave.model.state.device_state import Note


def lldp(answer: Value | None) -> dict[str, tuple[LldpNeighbor, ...]] | None:
    """Return the LLDP neighbors by local port from ``answer``, the output of ``lldpcli -f json show neighbors``. Return None without output.

    The format ``json0`` of lldpcli is read too.
    """
    if answer is None:
        return None
    neighbors: dict[str, tuple[LldpNeighbor, ...]] = {}
    for ports in answer.get("lldp").all("interface"):
        for port, heard in _named(ports):
            neighbors[port] = (*neighbors.get(port, ()), _neighbor(heard))
    return neighbors


def _named(ports: Value) -> list[tuple[str, Value]]:
    """Return the LLDP neighbors as (local port, the neighbor's part of the output).

    The port's name is a key in lldpcli's format ``json``, and a field in ``json0``.
    """
    name = ports.get("name").text() if {"name", "port"} <= ports.keys else None
    return [(name, ports)] if name else ports.entries()


def _neighbor(heard: Value) -> LldpNeighbor:
    port = heard.get("port")
    system, chassis = _chassis(heard.get("chassis"))
    return LldpNeighbor(
        system,
        port.get("id").first("value", "data").text(),
        port.get("id", "type").lower(),
        _word(port.get("descr")),
        chassis.get("id").first("value", "data").text(),
    )


def _chassis(chassis: Value) -> tuple[str | None, Value]:
    """Return (the neighbor's system name, the part of the output that describes its chassis).

    The name is None if the neighbor sent none. In the output, the name is a key or a field, depending on lldpcli's format.
    """
    entry = chassis
    if len(chassis.keys) == 1 and not {"id", "name"} & chassis.keys:
        return chassis.entries()[0]
    return _word(entry.get("name")), entry


def _word(value: Value) -> str | None:
    below = next(iter(value.each()), value)
    return below.first("value", "data").text() if below.keys else below.text()


HOST = Question("host", "json", {"ssh": "railweave-host show --json"})
"""The request for a server's links, addresses, rules, GIDs and counters.

The program ``railweave-host`` answers the request. It is installed when the server is brought up
(docs/howto/bring-up-a-gpu-server.md).
"""


@dataclass(frozen=True, slots=True)
class HostAddress:
    """An address of an interface.

    ``doubts`` are the kernel's flags that make an address unusable, such as ``tentative`` or ``dadfailed``.
    """

    interface: str
    address: str
    prefix_length: int | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostRule:
    """A routing rule that selects a table by source and destination. An empty source or destination matches any.

    - ``plain``: True if the rule has no other conditions.
    - ``more``: the other conditions and actions, in the notation of ``ip``.
    """

    family: int | None = None
    priority: int | None = None
    from_: str = ""
    to: str = ""
    table: int | None = None
    plain: bool | None = None
    more: str = ""


@dataclass(frozen=True, slots=True)
class HostRoute:
    """A route in a routing table.

    - ``via``: the gateway. Empty for a destination on the link.
    - ``kind``: the kernel's type of the route, such as ``unicast``.
    - ``rest``: further arguments in the notation of ``ip``, such as ``src``.
    - ``opaque``: the names of attributes that ``ip route`` shows but cannot set.
    """

    table: int | None = None
    to: str = ""
    interface: str = ""
    via: str = ""
    kind: str | None = None
    metric: int | None = None
    rest: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PermanentNeighbor:
    """A permanent entry of the neighbor cache, which the kernel never resolves again."""

    interface: str
    address: str
    mac: str


@dataclass(frozen=True, slots=True)
class HostGid:
    """An entry of the GID table of an RDMA device's port. ``kind`` is the kernel's type, such as ``RoCE v2``."""

    device: str
    port: int | None
    address: str
    kind: str | None = None
    interface: str | None = None


@dataclass(frozen=True, slots=True)
class RdmaPort:
    """A port of an RDMA device.

    ``active`` is True if the state of the port is active, and ``counters`` has the counters by the driver's names.
    """

    device: str
    port: int | None
    active: bool | None
    counters: dict[str, int]


@dataclass(frozen=True, slots=True)
class HostState:
    """The answer of one server. Tables use the server's own names.

    - ``firewall``: commands that an operator can type to delete the firewall rules that drop RoCE.
    - ``notes``: the places in the answer that could not be read.
    """

    device: str
    host_name: str | None = None
    time: float | None = None
    interfaces: dict[str, InterfaceState] | None = None
    addresses: tuple[HostAddress, ...] | None = None
    rules: tuple[HostRule, ...] | None = None
    routes: tuple[HostRoute, ...] | None = None
    gids: tuple[HostGid, ...] | None = None
    rdma: tuple[RdmaPort, ...] | None = None
    neighbors: dict[str, tuple[LldpNeighbor, ...]] | None = None
    permanent: tuple[PermanentNeighbor, ...] | None = None
    firewall: tuple[str, ...] | None = None
    notes: tuple[Note, ...] = ()


def read_hosts(capture: Capture, servers: Iterable[str]) -> dict[str, HostState]:
    """Return the state of every server that has an answer in the capture, by server name."""
    return {name: read_host(name, texts) for name in servers if HOST.name in (texts := capture.texts(name))}


def read_host(device: str, texts: Mapping[str, str]) -> HostState:
    """Return the state that one server reported. ``texts`` holds its answers by question.

    Whatever cannot be read becomes a note; nothing raises an error.
    """
    answers = Answers(device, texts)
    shown = answers.tree(HOST.name)
    if shown is None:
        return HostState(device, notes=answers.notes)
    if not shown.get("links").there:
        answers.note(HOST.name, "links", "the field is missing: this is not output of `railweave host show --json`")
        return HostState(device, notes=answers.notes)
    heard = shown.get("lldp")
    state = HostState(
        device,
        shown.get("host").text(),
        shown.get("time").number(),
        _links(shown),
        tuple(
            HostAddress(
                shown_address.get("dev").text() or "",
                address,
                shown_address.get("prefix_length").integer(),
                tuple(text for flag in shown_address.all("flags") if (text := flag.text())),
            )
            for shown_address in shown.all("addresses")
            if (address := shown_address.get("address").text()) is not None
        )
        if shown.get("addresses").there
        else None,
        tuple(
            HostRule(
                rule.get("family").integer(),
                rule.get("priority").integer(),
                rule.get("from").text() or "",
                rule.get("to").text() or "",
                rule.get("table").integer(),
                rule.get("plain").flag(),
                rule.get("more").text() or "",
            )
            for rule in shown.all("rules")
        )
        if shown.get("rules").there
        else None,
        tuple(
            HostRoute(
                route.get("table").integer(),
                route.get("to").text() or "",
                route.get("dev").text() or "",
                route.get("via").text() or "",
                route.get("type").text(),
                route.get("metric").integer(),
                _texts(route, "rest"),
                _texts(route, "opaque"),
            )
            for route in shown.all("routes")
        )
        if shown.get("routes").there
        else None,
        tuple(
            HostGid(
                shown_gid.get("device").text() or "",
                shown_gid.get("port").integer(),
                gid,
                shown_gid.get("type").text(),
                shown_gid.get("netdev").text(),
            )
            for shown_gid in shown.all("gids")
            if (gid := shown_gid.get("gid").text()) is not None
        )
        if shown.get("gids").there
        else None,
        tuple(_rdma(port) for port in shown.all("rdma")) if shown.get("rdma").there else None,
        lldp(heard) if heard.there else None,
        tuple(
            PermanentNeighbor(neighbor.get("dev").text() or "", address, neighbor.get("mac").text() or "")
            for neighbor in shown.all("permanent_neighbors")
            if (address := neighbor.get("address").text()) is not None
        )
        if shown.get("permanent_neighbors").there
        else None,
        _texts(shown, "firewall") if shown.get("firewall").there else None,
    )
    return replace(state, notes=answers.notes)


def _texts(value: Value, key: str) -> tuple[str, ...]:
    return tuple(text for each in value.all(key) if (text := each.text()) is not None)


def _links(shown: Value) -> dict[str, InterfaceState]:
    interfaces: dict[str, InterfaceState] = {}
    for link in shown.all("links"):
        name, counters = link.get("name").text(), link.get("counters")
        if name is None:
            continue
        speed = link.get("speed_mbps").number()
        interfaces[name] = InterfaceState(
            name,
            admin_up=link.get("up").flag(),
            oper_up=link.get("carrier").flag(),
            speed_gbps=speed / 1000 if speed else None,
            mtu=link.get("mtu").integer(),
            mac=link.get("mac").mac(),
            flaps=link.get("carrier_changes").integer(),
            errors=Errors(
                in_errors=counters.get("rx_errors").integer(),
                out_errors=counters.get("tx_errors").integer(),
                in_discards=counters.get("rx_dropped").integer(),
                out_discards=counters.get("tx_dropped").integer(),
                in_crc=counters.get("rx_crc_errors").integer(),
            ),
        )
    return interfaces


def _rdma(port: Value) -> RdmaPort:
    state = port.get("state").lower()  # "4: ACTIVE"
    counts = {name: count for name, value in port.get("counters").entries() if (count := value.integer()) is not None}
    return RdmaPort(
        port.get("device").text() or "",
        port.get("port").integer(),
        None if state is None else state.endswith("active"),
        counts,
    )
