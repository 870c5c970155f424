"""The state of a Junos Evolved switch: what is asked of it, and what the answers say.

Forms are those of Juniper's published models of 24.4 (``junos-rpc-*``) and of NAPALM's and SuzieQ's public data, read from XML or from
Junos' own JSON. Of what deterministic path forwarding added in 25.4 no form is published: its sessions are read as any others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.device_state import Alarm, Clock, Commit, DeviceState, Identity
from railweave.model.state.question import CONFIGURATION, DEFAULT_VRF, Question, about
from railweave.systems.junos.state.neighbors import advertising, ipv6_neighbors, lldp
from railweave.systems.junos.state.ports import interfaces, optics, pfc, queues, watchdog
from railweave.systems.junos.state.routes import evpn, routes, vnis, vrfs
from railweave.systems.junos.state.sessions import adjacencies, bfd_sessions, sessions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.state.question import Protocol
    from railweave.model.state.values import Answers

NOT_READ = {
    "pools": "`show class-of-service shared-buffer` and the buffer occupancy commands have no published form",
    "dynamic load balancing": "no public document shows a command for the quality of ports or the table of flows",
    "bgp.*.color": "no form is published for the color of a session, or for `show bgp summary autodiscovered` beyond its peers",
    "not_forwarding": "Junos forwards between its routed interfaces; no statement turns that off",
    "routes.*.installed": "`show route forwarding-table` has no published form of its groups of next hops",
}


def _xml(name: str, command: str, *, optional: bool = False) -> Question:
    return Question(name, "xml", {"ssh": f"{command} | display xml | no-more", "netconf": command}, optional)


def questions(config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False) -> list[Question]:
    """What is asked of a switch: ``asked`` are routes by VRF and prefix, ``tables`` asks for whole tables of routes too."""
    found = [
        _xml("version", "show version"),
        _xml("system", "show system information", optional=True),
        _xml("hardware", "show chassis hardware"),
        _xml("uptime", "show system uptime"),
        _xml("alarms", "show chassis alarms", optional=True),
        _xml("alarms-system", "show system alarms", optional=True),
        _xml("commit", "show system commit"),
        _xml("lldp-neighbors", "show lldp neighbors", optional=True),
        _xml("interfaces", "show interfaces extensive"),
        _xml("optics", "show interfaces diagnostics optics", optional=True),
        _xml("neighbors", "show ipv6 neighbors"),
        _xml("advertising", "show ipv6 router-advertisement", optional=True),
    ]
    if config.bgp is not None:
        found += [
            _xml("bgp", "show bgp summary"),
            # The source writes one word, the published model two.
            _xml("bgp-discovered", "show bgp summary autodiscovered", optional=True),
            _xml("bgp-auto-discovered", "show bgp summary auto-discovered", optional=True),
            _xml("bgp-neighbors", "show bgp neighbor"),
            _xml("bfd", "show bfd session extensive", optional=True),
        ]
    if config.isis is not None:
        found.append(_xml("isis", "show isis adjacency"))
    if config.qos is not None:
        found.append(_xml("queues", "show interfaces queue", optional=True))
    if config.overlay is not None:
        found += [
            _xml("vrfs", "show evpn l3-context extensive", optional=True),
            _xml("instances", "show route instance detail", optional=True),
            _xml("evpn-prefixes", "show evpn ip-prefix-database extensive", optional=True),
            _xml("evpn-macs", "show evpn database", optional=True),
        ]
    for vrf, prefix in asked:
        found.append(
            _xml(
                about("route", vrf, prefix),
                f"show route table {_table(vrf, prefix)} {prefix} exact detail",
                optional=True,
            )
        )
    for vrf in (DEFAULT_VRF, *(one.name for one in config.vrfs)):
        found += [
            _xml(
                f"{protocol}-{family}@{vrf}",
                f"show route protocol {protocol} table {_table(vrf, prefix)}",
                optional=True,
            )
            for protocol in ("static", "aggregate")
            for family, prefix in (("ipv6", "::"), ("ipv4", ""))
        ]
    for vrf in (DEFAULT_VRF, *(one.name for one in config.vrfs)) if tables else ():
        found.append(_xml(f"routes-ipv6@{vrf}", f"show route table {_table(vrf, '::')}", optional=True))
        found.append(_xml(f"routes-ipv4@{vrf}", f"show route table {_table(vrf, '')}", optional=True))
    running: dict[Protocol, str] = {
        "ssh": "show configuration | display set | no-more",
        "netconf": "get-configuration set",
    }
    return [*found, Question(CONFIGURATION, "text", running)]


def _table(vrf: str, prefix: str) -> str:
    table = "inet6.0" if ":" in prefix else "inet.0"
    return table if vrf == DEFAULT_VRF else f"{vrf}.{table}"


def read(answers: Answers) -> DeviceState:
    """What the answers of a switch say. Nothing is raised: what cannot be read is noted."""
    clock = _clock(answers)
    extensive, queued = answers.tree("interfaces"), answers.tree("queues")
    ports = interfaces(extensive, clock.time if clock else None)
    summaries = [answers.tree(name) for name in ("bgp", "bgp-discovered", "bgp-auto-discovered", "bgp-neighbors")]
    return DeviceState(
        answers.device,
        "junos",
        frozenset(answers.texts),
        identity=_identity(answers),
        clock=clock,
        commit=_commit(answers),
        alarms=_alarms(answers),
        neighbors=lldp(answers.tree("lldp-neighbors")),
        interfaces=ports,
        optics=optics(answers.tree("optics"), answers.tree("hardware"), ports or ()),
        ipv6_neighbors=ipv6_neighbors(answers.tree("neighbors")),
        advertising=advertising(answers.tree("advertising")),
        bgp=sessions([one for one in summaries if one is not None], clock.time if clock else None),
        bfd=bfd_sessions(answers.tree("bfd")),
        isis=adjacencies(answers.tree("isis")),
        routes=routes(answers),
        vrfs=vrfs(answers.tree("vrfs"), answers.tree("instances")),
        vnis=vnis(answers.tree("vrfs")),
        evpn=evpn(answers.tree("evpn-prefixes"), answers.tree("evpn-macs")),
        queues=queues([one for one in (extensive, queued) if one is not None]),
        pfc=pfc(extensive),
        watchdog=watchdog(extensive),
        notes=answers.notes,
    )


def _identity(answers: Answers) -> Identity | None:
    version, system = answers.tree("version"), answers.tree("system")
    hardware, uptime = answers.tree("hardware"), answers.tree("uptime")
    said = [one for one in (system, version) if one is not None]
    if not said and hardware is None:
        return None

    def first(*tags: str) -> str | None:
        return next((text for one in said for tag in tags for value in one.find(tag) if (text := value.text())), None)

    chassis = next(iter(hardware.find("chassis")), None) if hardware else None
    booted = (
        next(
            (one.one("date-time") for tag in ("node-booted-time", "system-booted-time") for one in uptime.find(tag)),
            None,
        )
        if uptime
        else None
    )
    return Identity(
        first("host-name"),
        first("hardware-model", "product-model"),
        first("serial-number") or (chassis.one("serial-number").text() if chassis else None),
        first("os-version", "junos-version"),
        booted.attribute("seconds").number() if booted else None,
    )


def _clock(answers: Answers) -> Clock | None:
    uptime = answers.tree("uptime")
    if uptime is None:
        return None
    now = next((one.one("date-time").attribute("seconds").number() for one in uptime.find("current-time")), None)
    source = next((text for one in uptime.find("time-source") if (text := one.lower())), None)
    return Clock(now, None if source is None else "ntp" in source or "ptp" in source)


def _commit(answers: Answers) -> Commit | None:
    """The newest entry of the history; one that goes back by itself says so in its comment."""
    answer = answers.tree("commit")
    if answer is None:
        return None
    newest = next(iter(answer.find("commit-history")), None)
    if newest is None:
        return Commit()
    comment = newest.first("comment", "log").text()
    pending = newest.one("commit-confirmed").there or "rollback in" in (comment or "")
    return Commit(
        newest.one("date-time").attribute("seconds").number(),
        newest.one("user").text(),
        newest.one("configuration-revision").text(),
        comment,
        pending,
    )


def _alarms(answers: Answers) -> tuple[Alarm, ...] | None:
    both = [one for one in (answers.tree("alarms"), answers.tree("alarms-system")) if one is not None]
    if not both:
        return None
    return tuple(
        Alarm(one.one("alarm-class").lower(), text, one.one("alarm-time").attribute("seconds").number())
        for answer in both
        for one in answer.find("alarm-detail")
        if (text := one.first("alarm-description", "alarm-short-description").text()) is not None
    )
