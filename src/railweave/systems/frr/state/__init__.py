"""The state of an FRRouting switch: the queries to FRR and to Linux, and the conversion of their answers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Identity
from railweave.model.state.field_maps import Fields, column, keyed
from railweave.model.state.host_state import lldp
from railweave.model.state.ports import NO_MAC, InterfaceState
from railweave.model.state.protocols import RouterAdvertising
from railweave.model.state.question import CONFIGURATION
from railweave.systems.frr.host import LINKS, PARAMETERS, QUERIES
from railweave.systems.frr.state.linux import (
    FORWARDING,
    KERNEL_ROUTES,
    clock,
    filters,
    in_kernel,
    kernel,
    links,
    neighbors,
    not_forwarding,
)
from railweave.systems.frr.state.protocols import (
    adjacencies,
    bfd_sessions,
    evpn,
    route_counts,
    routes,
    sessions,
    vnis,
    vrfs,
)
from railweave.systems.state_table import Ask, Forms, Part, StateTable, asks

if TYPE_CHECKING:
    from railweave.model.state.protocols import Route
    from railweave.model.state.values import Answers, Value

NOT_READ = {
    "advertising.*.sent": "releases up to 10.3 do not show them; where a release does, they are compared",
    "identity.model": "FRRouting does not know the hardware",
    "identity.serial": "FRRouting does not know the hardware",
    "clock.synchronized": "FRRouting does not know whether the clock is synchronized",
    "interfaces.*.fec": "FRRouting does not know the hardware",
    "interfaces.*.errors.in_resource": "FRRouting has no packet buffer",
    "optics": "FRRouting knows no optics: `ethtool -m` on the host has no form that all drivers share",
    "queues": "FRRouting has no queues",
    "pfc": "FRRouting has no PFC",
    "pools": "FRRouting has no packet buffer",
    "watchdog": "FRRouting has no PFC watchdog",
    "alarms": "FRRouting has no alarms",
    "commit": "FRRouting does not record who changed its configuration",
    "dynamic load balancing": "FRRouting has none",
}

FORMS: Forms = {
    "json": ("json", {"ssh": "vtysh -c '{} json'"}),
    "text": ("text", {"ssh": "vtysh -c '{}'"}),
    "shell": ("json", {"ssh": "{}"}),
    "shell text": ("text", {"ssh": "{}"}),
}

PROBES = {
    daemon: f"vtysh -d {daemon} -c 'show version'" for daemon in ("zebra", "bgpd", "bfdd", "isisd", "staticd", "mgmtd")
}
"""A query for each daemon, which fails if the daemon hangs. Without ``-d``, ``vtysh`` would wait for all daemons (vtysh(1))."""

ROUTING = (
    *asks("bgp", "", ("bgp", "show bgp vrf all summary"), ("bgp-neighbors", "show bgp vrf all neighbors")),
    Ask("bfd?", "show bfd peers", "bfd"),
    Ask("isis", "show isis neighbor", "isis"),
    *asks(
        "overlay",
        "",
        ("vrfs?", "show vrf vni"),
        ("vnis?", "show evpn vni detail"),
        ("evpn-vnis?", "show bgp l2vpn evpn vni"),
        ("evpn-prefixes?", "show bgp l2vpn evpn route type prefix"),
        ("evpn-macs?", "show bgp l2vpn evpn route type macip"),
    ),
    *(
        Ask(f"{protocol}-{family}", f"show {kind} route vrf all {protocol}")
        for kind, family in (("ip", "ipv4"), ("ipv6", "ipv6"))
        for protocol in ("static", "kernel")
    ),
    Ask("route{about}?", "show {ip} route {inside}{prefix}", each="route"),
    Ask("path{about}?", "show bgp {inside}{family} unicast {prefix}", each="route"),
    Ask("routes-{family}@{vrf}", "show {ip} route {inside}", each="tables"),
    Ask("route-count-{family}", "show {ip} route summary", each="counts"),
)
"""The queries to FRRouting's daemons on every system that runs them: sessions, routes, EVPN."""

ASKED = (
    Ask("version", "show version", by="text"),
    Ask("clock", "date -u +%s", by="shell text"),
    Ask("links", "ip -j -s address", by="shell"),
    Ask("neighbors", "ip -j -6 neigh", by="shell"),
    Ask("neighbors-ipv4", "ip -j -4 neigh", by="shell"),
    Ask("lldp-neighbors?", "lldpcli -f json show neighbors", by="shell"),
    Ask("interfaces", QUERIES[LINKS]),
    Ask("parameters", QUERIES[PARAMETERS], by="shell text"),
    Ask("filters?", "nft -j list ruleset", by="shell"),
    *FORWARDING,
    *ROUTING,
    *KERNEL_ROUTES,
    Ask(CONFIGURATION, "show running-config", by="text"),
)


def _routes(answers: Answers) -> tuple[Route, ...] | None:
    """Return the routes of zebra, and what the kernel does instead if its table differs. None without an answer about routes."""
    shown = routes(answers)
    return None if shown is None else in_kernel(shown, answers)


def _identity(answers: Answers) -> Identity | None:
    text = answers.text("version")
    if text is None:
        return None
    match = re.search(r"FRRouting (\d[\w.+~-]{0,40})(?: \(([\w.-]{1,80})\))?", text[:4096])
    if match is None:
        answers.note("version", "", "no line with `FRRouting VERSION (NAME)` is in it")
        return None
    return Identity(host_name=match[2], version=match[1])


_INTERFACE = Fields(
    InterfaceState,
    "admin_up=administrativeStatus oper_up=operationalStatus description=description|OsDescription speed_gbps=speed:Mbps "
    "mtu mac=hardwareAddress:mac vrf=vrfName flaps=linkDowns bridged=interfaceSlaveType:bridge",
    bridge=lambda kind: kind.lower() == "bridge" if kind.there else None,
    Mbps=lambda speed: rate / 1000 if (rate := speed.number()) else None,
    addresses=column("ipAddresses[]/address"),
)


def _interfaces(zebra: Value, answer: Value) -> dict[str, InterfaceState]:
    """Return the interfaces of all VRFs, by name, as zebra shows them, with counters and addresses from the kernel (``answer``).

    Zebra also lists interfaces that are only configured. Zebra leaves out a MAC address of zeros, which a bridge without
    ports has.
    """
    made = links(answer)
    for name, interface in zebra.entries():
        here, kernel = _INTERFACE(interface, name=name), made.get(name, InterfaceState(name))
        made[name] = replace(
            here,
            mtu=here.mtu or kernel.mtu,
            mac=here.mac or kernel.mac or (NO_MAC if interface.get("interfaceType").lower() == "bridge" else None),
            addresses=here.addresses if kernel.addresses is None else kernel.addresses,
            errors=kernel.errors,
            in_bytes=kernel.in_bytes,
            out_bytes=kernel.out_bytes,
        )
    return made


_ADVERTISING = keyed(
    "*",
    Fields(
        RouterAdvertising,
        "sent=ndRouterAdvertisementsSent received=ndRouterAdvertisementsRcvd "
        "interval_s=ndRouterAdvertisementsIntervalSecs lifetime_s=ndRouterAdvertisementsLiveForSecs "
        "hop_limit=ndAdvertisedHopCountLimitHops reachable_ms=ndAdvertisedReachableTimeMsecs "
        "retransmit_ms=ndAdvertisedRetransmitIntervalMsecs",
    ),
    "$0",
)


def _advertising(zebra: Value) -> dict[str, RouterAdvertising] | None:
    """Return the counters and timers of router advertisements, by interface, for interfaces that send or receive any.

    ``zebra`` has zebra's interfaces. Return None if FRR does not show these counters (FRR 10.3 does not).
    """
    shown = {name for name, interface in zebra.entries() if interface.get("ndRouterAdvertisementsSent").there}
    return {name: advertising for name, advertising in _ADVERTISING(zebra).items() if name in shown} or None


DAEMONS: dict[str, Part] = {
    "bgp": (sessions, "bgp bgp-neighbors"),
    "bfd": (bfd_sessions, "bfd"),
    "isis": (adjacencies, "isis"),
    "routes": (routes, ""),
    "route_counts": (route_counts, "route-count-ipv6 route-count-ipv4"),
    "not_forwarding": (not_forwarding, ""),
    "vrfs": (vrfs, "vrfs evpn-vnis+"),
    "vnis": (vnis, "vnis"),
    "evpn": (evpn, "evpn-prefixes evpn-macs"),
}
"""For each part of the state about routing: (the function that reads it, the keys of the queries whose answers it needs)."""

PARTS: dict[str, Part] = {
    "identity": (_identity, ""),
    "clock": (clock, ""),
    "neighbors": (lldp, "lldp-neighbors"),
    "interfaces": (_interfaces, "interfaces links"),
    "ipv6_neighbors": (neighbors, "neighbors"),
    "ipv4_neighbors": (neighbors, "neighbors-ipv4"),
    "advertising": (_advertising, "interfaces"),
    **DAEMONS,
    "routes": (_routes, ""),
    "filters": (filters, "filters"),
    "kernel": (kernel, ""),
}

_TABLE = StateTable("frr", FORMS, ASKED, PARTS, NOT_READ)
questions, read = _TABLE.questions, _TABLE.read
