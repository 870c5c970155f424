"""The state of an FRRouting switch: what is asked of it and its Linux, and what the answers say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import DeviceState, Identity
from railweave.model.state.host_state import lldp
from railweave.model.state.ports import InterfaceState
from railweave.model.state.protocols import RouterAdvertising
from railweave.model.state.question import CONFIGURATION, DEFAULT_VRF, Form, Question, about
from railweave.systems.frr.state.linux import clock, forwarding_questions, ipv6_neighbors, links, not_forwarding
from railweave.systems.frr.state.protocols import adjacencies, bfd_sessions, evpn, routes, sessions, vnis, vrfs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.state.values import Answers, Value

NOT_READ = {
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


def vtysh(name: str, command: str, form: Form = "json", *, optional: bool = False) -> Question:
    """A question to FRRouting's daemons by ``vtysh``."""
    return Question(name, form, {"ssh": f"vtysh -c '{command}'"}, optional)


def routing_questions(config: DeviceConfig, asked: Iterable[tuple[str, str]], *, tables: bool) -> list[Question]:
    """What is asked of FRRouting's daemons wherever they run: sessions, routes, EVPN."""
    overlay = config.overlay is not None
    found: list[Question] = []
    if config.bgp is not None:
        found += [
            vtysh("bgp", "show bgp vrf all summary json"),
            vtysh("bgp-neighbors", "show bgp vrf all neighbors json"),
        ]
    if any(one is not None and one.bfd is not None for one in (config.bgp, config.overlay, config.isis)):
        found.append(vtysh("bfd", "show bfd peers json", optional=True))
    if config.isis is not None:
        found.append(vtysh("isis", "show isis neighbor json"))
    if overlay:
        found += [
            vtysh("vrfs", "show vrf vni json", optional=True),
            vtysh("vnis", "show evpn vni detail json", optional=True),
            vtysh("evpn-vnis", "show bgp l2vpn evpn vni json", optional=True),
            vtysh("evpn-prefixes", "show bgp l2vpn evpn route type prefix json", optional=True),
            vtysh("evpn-macs", "show bgp l2vpn evpn route type macip json", optional=True),
        ]
    for kind, family in (("ip", "ipv4"), ("ipv6", "ipv6")):
        found += [
            vtysh(f"{protocol}-{family}", f"show {kind} route vrf all {protocol} json")
            for protocol in ("static", "kernel")
        ]
    for vrf, prefix in asked:
        inside = "" if vrf == DEFAULT_VRF else f"vrf {vrf} "
        family = "ipv6" if ":" in prefix else "ipv4"
        kind = "ipv6" if ":" in prefix else "ip"
        found.append(vtysh(about("route", vrf, prefix), f"show {kind} route {inside}{prefix} json", optional=True))
        found.append(
            vtysh(about("path", vrf, prefix), f"show bgp {inside}{family} unicast {prefix} json", optional=True)
        )
    if tables:
        for vrf in (DEFAULT_VRF, *(one.name for one in config.vrfs)):
            inside = "" if vrf == DEFAULT_VRF else f"vrf {vrf} "
            found += [
                vtysh(f"routes-ipv6@{vrf}", f"show ipv6 route {inside}json"),
                vtysh(f"routes-ipv4@{vrf}", f"show ip route {inside}json"),
            ]
    return found


def questions(config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False) -> list[Question]:
    """What is asked of a switch: ``asked`` are routes by VRF and prefix, ``tables`` asks for whole tables of routes too."""
    return [
        vtysh("version", "show version", "text"),
        Question("clock", "text", {"ssh": "date -u +%s"}),
        Question("links", "json", {"ssh": "ip -j -s address"}),
        Question("neighbors", "json", {"ssh": "ip -j -6 neigh"}),
        Question("lldp-neighbors", "json", {"ssh": "lldpcli -f json show neighbors"}, optional=True),
        vtysh("interfaces", "show interface vrf all json"),
        *forwarding_questions(),
        *routing_questions(config, asked, tables=tables),
        vtysh(CONFIGURATION, "show running-config", "text"),
    ]


def read(answers: Answers) -> DeviceState:
    """What the answers of a switch say. Nothing is raised: what cannot be read is noted."""
    zebra = answers.tree("interfaces")
    return DeviceState(
        answers.device,
        "frr",
        frozenset(answers.texts),
        identity=_identity(answers),
        clock=clock(answers),
        neighbors=lldp(answers.tree("lldp-neighbors")),
        interfaces=_interfaces(zebra, links(answers.tree("links"))),
        ipv6_neighbors=ipv6_neighbors(answers.tree("neighbors")),
        advertising=_advertising(zebra),
        bgp=sessions(answers.tree("bgp"), answers.tree("bgp-neighbors")),
        bfd=bfd_sessions(answers.tree("bfd")),
        isis=adjacencies(answers.tree("isis")),
        routes=routes(answers),
        not_forwarding=not_forwarding(answers),
        vrfs=vrfs(answers.tree("vrfs"), answers.tree("evpn-vnis")),
        vnis=vnis(answers.tree("vnis")),
        evpn=evpn(answers.tree("evpn-prefixes"), answers.tree("evpn-macs")),
        notes=answers.notes,
    )


def _identity(answers: Answers) -> Identity | None:
    text = answers.text("version")
    if text is None:
        return None
    found = re.search(r"FRRouting (\d[\w.+~-]{0,40})(?: \(([\w.-]{1,80})\))?", text[:4096])
    if found is None:
        answers.note("version", "", "no line with `FRRouting VERSION (NAME)` is in it")
        return None
    return Identity(host_name=found[2], version=found[1])


def _interfaces(zebra: Value | None, kernel: dict[str, InterfaceState] | None) -> dict[str, InterfaceState] | None:
    """Interfaces as zebra has them, of every VRF, with the kernel's counters and addresses: zebra also shows those that are only configured."""
    if zebra is None:
        return kernel
    found = dict(kernel or {})
    for name, one in zebra.entries():
        here = found.get(name, InterfaceState(name))
        speed = one.get("speed").number()
        found[name] = replace(
            here,
            admin_up=one.get("administrativeStatus").flag(),
            oper_up=one.get("operationalStatus").flag(),
            description=one.first("description", "OsDescription").text(),
            speed_gbps=speed / 1000 if speed else None,
            mtu=one.get("mtu").integer() or here.mtu,
            mac=one.get("hardwareAddress").mac() or here.mac,
            addresses=here.addresses
            if here.addresses is not None
            else tuple(text for entry in one.all("ipAddresses") if (text := entry.get("address").text())),
            vrf=one.get("vrfName").text(),
            flaps=one.get("linkDowns").integer(),
        )
    return found


def _advertising(zebra: Value | None) -> dict[str, RouterAdvertising] | None:
    """Router advertisements by interface, of those that send or hear any; None where this release does not show them (10.3)."""
    if zebra is None:
        return None
    found = {
        name: RouterAdvertising(
            one.get("ndRouterAdvertisementsSent").integer(),
            one.get("ndRouterAdvertisementsRcvd").integer(),
            interval_s=one.get("ndRouterAdvertisementsIntervalSecs").integer(),
            lifetime_s=one.get("ndRouterAdvertisementsLiveForSecs").integer(),
            hop_limit=one.get("ndAdvertisedHopCountLimitHops").integer(),
            reachable_ms=one.get("ndAdvertisedReachableTimeMsecs").integer(),
            retransmit_ms=one.get("ndAdvertisedRetransmitIntervalMsecs").integer(),
        )
        for name, one in zebra.entries()
        if one.get("ndRouterAdvertisementsSent").there
    }
    return found or None
