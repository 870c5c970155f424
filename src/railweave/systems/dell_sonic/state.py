"""The state of an Enterprise SONiC switch by Dell: its OpenConfig data, read by RESTCONF, and the conversion of this data.

The paths and leaves are those that Dell's Ansible collection and a public reader of Broadcom's Enterprise SONiC use
(Dell's system is based on Broadcom's). They were not tried on a switch by Dell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from railweave.model.state.device_state import Identity
from railweave.model.state.field_maps import Fields, column, keyed, listed, rows
from railweave.model.state.ports import Errors, Fec, InterfaceState, PortQueues, Queue
from railweave.model.state.protocols import BgpSession, FamilyState, LldpNeighbor, NextHop, Route
from railweave.model.state.question import CONFIGURATION, DEFAULT_VRF
from railweave.systems.state_table import Ask, Forms, Part, StateTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.state.values import Value

PROBES: dict[str, str] = {}
NOT_READ = {
    "kernel": "the switching chip spreads packets over routes, not the kernel",
    "interfaces.*.speed_gbps": "no public document shows the leaf of the running speed",
    "interfaces.*.bridged": "no question asks for the VLANs of ports; `drift` compares what is configured",
    "interfaces.*.addresses": "no public document shows the form of addresses in the state of interfaces",
    "interfaces.*.fec.uncorrected": "no public document shows where codewords are counted",
    "interfaces.*.errors.in_resource": "no public document shows such a counter",
    "queues.*.ingress": "no public document shows where drops by priority on input are counted",
    "pfc": "no public document shows where PFC frames are counted",
    "watchdog": "no public document shows where it is counted",
    "pools": "no public document shows where they are counted",
    "optics": "`/transceiver-dom` is named by public readers, its leaves are not",
    "bfd": "the sessions' list has no published form",
    "isis": "no public document shows that it has IS-IS",
    "routes.*.protocol": "no public document shows the form of the routing table: of routes only static ones are read, with those that drop packets",
    "route_counts": "no public document shows the form of the routing table or of its summary",
    "filters": "no public document shows the form of the bindings of access lists",
    "not_forwarding": "no public document shows which command prints it",
    "vrfs": "only the running configuration shows them",
    "vnis": "only the running configuration shows them",
    "evpn": "no public document shows the form of its routes",
    "ipv6_neighbors": "no public document shows the form of the neighbor cache",
    "ipv4_neighbors": "no public document shows the form of the ARP table",
    "advertising": "no public document shows their counters",
    "alarms": "no public document shows their form",
    "commit": "no public document shows a command for who changed the configuration",
    "clock": "no public document shows its form",
    "dynamic load balancing": "adaptive routing has published configuration and no state",
}

FORMS: Forms = {"json": ("json", {"restconf": "{}"}), "text": ("text", {"ssh": "sonic-cli -c '{} | no-more'"})}

ASKED = (
    Ask("system", "openconfig-system:system/state"),
    Ask("components?", "openconfig-platform:components"),
    Ask("lldp-neighbors", "openconfig-lldp:lldp/interfaces"),
    Ask("interfaces", "openconfig-interfaces:interfaces"),
    Ask("bgp", "openconfig-network-instance:network-instances", "bgp"),
    Ask("queues?", "openconfig-qos:qos/interfaces", "qos"),
    Ask(CONFIGURATION, "show running-configuration", by="text"),
)


def _without_modules(raw: object) -> object:
    """Return JSON data with YANG module names removed from its keys (RFC 7951): ``openconfig-lldp:name`` becomes ``name``."""
    if isinstance(raw, list):
        return [_without_modules(entry) for entry in cast("list[object]", raw)]
    if not isinstance(raw, dict):
        return raw
    made: dict[str, object] = {}
    for key, value in sorted(cast("dict[str, Any]", raw).items()):
        made.setdefault(key.rpartition(":")[2], _without_modules(value))
    return made


def _plain(read: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that removes the names of YANG modules from a switch's answers, and then calls ``read`` with them."""
    return lambda *answers: read(*(answer.made(_without_modules(answer.raw)) for answer in answers))


def _identity(system: Value, components: Value) -> Identity:
    state = next((entry for _, entry in system.entries()), system)
    part, serial = (column(f"..component/state/{leaf}")(components) for leaf in ("part-no", "serial-no"))
    return Identity(
        state.get("hostname").text(),
        part[0] if part else None,
        serial[0] if serial else None,
        state.get("software-version").text(),
    )


_NEIGHBOR = Fields(
    LldpNeighbor,
    "system=system-name port=port-id port_kind=port-id-type:lower port_description=port-description chassis=chassis-id",
)


def _lldp(answer: Value) -> dict[str, tuple[LldpNeighbor, ...]]:
    neighbors = listed("neighbors/neighbor[]/state", _NEIGHBOR)
    ports = ((port.get("name").text(), port) for port in answer.find("interface"))
    return {name: heard for name, port in ports if name is not None and (heard := neighbors(port))}


_interfaces = keyed(
    "..interface",
    Fields(
        InterfaceState,
        "name! admin_up=state/admin-status oper_up=state/oper-status description=state/description mtu=state/mtu "
        "mac=ethernet/state/hw-mac-address:mac errors=state/counters fec=ethernet/state",
        errors=Fields(
            Errors, "in_errors=in-errors out_errors=out-errors in_discards=in-discards out_discards=out-discards"
        ),
        fec=Fields(Fec, "mode=port-fec"),
    ),
)

_FAMILIES = {"IPV4_UNICAST": "ipv4", "IPV6_UNICAST": "ipv6", "L2VPN_EVPN": "evpn"}
_FAMILY = Fields(FamilyState, "received=received-pre-policy accepted=received sent")


def _family(value: Value) -> str:
    name = (value.text() or "").rpartition(":")[2]
    return _FAMILIES.get(name, name)


_SESSION = Fields(
    BgpSession,
    "state=state/session-state:lower peer_as=state/peer-as local_as=state/local-as description=state/description "
    "flaps=state/connections-dropped last_error=state/last-reset-reason families=afi-safis/afi-safi",
    families=lambda families: {
        _family(family.get("afi-safi-name")): _FAMILY(family.get("state", "prefixes")) for family in families.each()
    },
)


def _of_protocols(answer: Value, path: str) -> list[tuple[str | None, Value]]:
    """Return (VRF, list member) for every member of the list at ``path`` in a switch's answer, over all routing protocols and VRFs."""
    return [
        (instance.get("name").text(), row)
        for instance in answer.find("network-instance")
        for row, _ in rows(instance, f"protocols/protocol[]/{path}")
    ]


def _sessions(answer: Value) -> tuple[BgpSession, ...]:
    made: list[BgpSession] = []
    for vrf, row in _of_protocols(answer, "bgp/neighbors/neighbor[]"):
        if (name := row.get("neighbor-address").text()) is not None:
            address = ":" in name or name.replace(".", "").isdecimal()
            peer, interface = (name, None) if address else (None, name)
            made.append(_SESSION(row, peer=peer, interface=interface, vrf=vrf, discovered=not address))
    return tuple(made)


_HOPS = listed("next-hops/next-hop[]/state", Fields(NextHop, "address=next-hop"))


def _static(answer: Value) -> tuple[Route, ...]:
    """Return the static routes in a switch's answer, which also has BGP (sonic-net/SONiC, OpenConfig support for static routes).

    The answer does not show if the device prefers another protocol's route.
    """
    made: list[Route] = []
    for vrf, row in _of_protocols(answer, "static-routes/static[]"):
        drops = any(hop.get("blackhole").flag() for hop, _ in rows(row, "next-hops/next-hop[]/state"))
        if prefix := row.get("prefix").text():
            dropped = "blackhole" if drops else None
            made.append(Route(prefix, vrf or DEFAULT_VRF, "static", None, _HOPS(row), None, dropped))
    return tuple(made)


_QUEUE = Fields(Queue, "sent=transmit-pkts dropped=dropped-pkts ecn_marked=ecn-marked-pkts peak_bytes=watermark")
_NUMBERED = re.compile(r"(.+):(\d{1,3})", re.ASCII)


def _queues(answer: Value) -> dict[str, PortQueues]:
    made: dict[str, PortQueues] = {}
    for queue in answer.find("queue"):
        state = queue.get("state")
        match = _NUMBERED.fullmatch(state.get("name").text() or queue.get("name").text() or "")
        if match and (state.get("traffic-type").text() or "UC") == "UC":
            made.setdefault(match[1], PortQueues({}, {})).egress[int(match[2])] = _QUEUE(state)
    return made


PARTS: dict[str, Part] = {
    "identity": (_plain(_identity), "system components"),
    "neighbors": (_plain(_lldp), "lldp-neighbors"),
    "interfaces": (_plain(_interfaces), "interfaces"),
    "bgp": (_plain(_sessions), "bgp"),
    "routes": (_plain(_static), "bgp"),
    "queues": (_plain(_queues), "queues"),
}

_TABLE = StateTable("dell_sonic", FORMS, ASKED, PARTS, NOT_READ)
questions, read = _TABLE.questions, _TABLE.read
