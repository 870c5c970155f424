"""The state of an EOS switch: what is asked of it, and what the answers say.

Forms are those that ANTA, NAPALM and SuzieQ read, whose test data are public; what none of them shows is in ``NOT_READ``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Alarm, Clock, Commit, DeviceState, Identity
from railweave.model.state.question import CONFIGURATION, DEFAULT_VRF, Question, about
from railweave.systems.eos.state.isis import adjacencies
from railweave.systems.eos.state.ports import interfaces, optics, pfc, queues, watchdog
from railweave.systems.eos.state.protocols import (
    bfd_sessions,
    evpn,
    ipv6_neighbors,
    lldp,
    not_forwarding,
    routes,
    sessions,
    vnis,
    vrfs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.state.question import Form
    from railweave.model.state.values import Answers

NOT_READ = {
    "advertising": "`show ipv6 nd ra interface` has no documented JSON",
    "pools": "`show platform trident mmu queue profile` is text that differs by chip",
    "queues.*.peak_bytes": "`show queue-monitor length` is text without a documented form",
    "dynamic load balancing": "no public document shows a command for its state",
    "qos maps": "`show qos maps` and `show qos interfaces` have no documented JSON: the running configuration says what is bound",
    "ipv6_neighbors.*.state": "`show ipv6 neighbors` shows no state",
    "vrfs.*.targets": "`show bgp evpn instance` has those of VLANs alone; what wrong route targets do is seen: prefixes that a VRF lacks, or that are another tenant's; `drift` compares the targets",
}


def _json(name: str, command: str, *, revision: int | None = None, optional: bool = False) -> Question:
    return Question(name, "json", {"ssh": f"{command} | json", "eapi": command}, optional, revision)


def _text(name: str, command: str, *, optional: bool = False) -> Question:
    form: Form = "text"
    return Question(name, form, {"ssh": f"{command} | no-more", "eapi": command}, optional)


def questions(config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False) -> list[Question]:
    """What is asked of a switch: ``asked`` are routes by VRF and prefix, ``tables`` asks for whole tables of routes too."""
    found = [
        _json("version", "show version"),
        _json("uptime", "show uptime"),
        _text("ntp", "show ntp status", optional=True),
        _json("lldp-neighbors", "show lldp neighbors detail"),
        _json("interfaces", "show interfaces"),
        _json("addresses-ipv6", "show ipv6 interface", optional=True),
        _json("addresses-ipv4", "show ip interface", optional=True),
        _json("interface-errors", "show interfaces counters errors"),
        _json("interface-discards", "show interfaces counters discards"),
        _json("phy", "show interfaces phy detail", revision=2, optional=True),
        _json("optics", "show interfaces transceiver"),
        _json("optics-thresholds", "show interfaces transceiver dom thresholds", optional=True),
        _json("inventory", "show inventory", revision=2),
        _json("temperature", "show system environment temperature", optional=True),
        _json("power", "show system environment power", optional=True),
        _json("neighbors", "show ipv6 neighbors", optional=True),
        _json("sessions", "show configuration sessions detail", optional=True),
    ]
    if config.bgp is not None:
        found += [
            _json("bgp", "show bgp summary vrf all"),
            _json("bgp-neighbors", "show bgp neighbors vrf all", revision=2),
            _json("bfd", "show bfd peers detail", optional=True),
        ]
    if config.isis is not None:
        found.append(_json("isis", "show isis neighbors vrf all"))
    if config.qos is not None:
        found += [
            _json("pfc", "show interfaces priority-flow-control counters detail"),
            _json("watchdog", "show priority-flow-control counters watchdog", optional=True),
            _json("ecn", "show qos interfaces ecn counters queue", optional=True),
            _json("queues", "show interfaces counters queue detail", optional=True),
            _json("chip-drops", "show platform trident counters", optional=True),
        ]
    if config.overlay is not None:
        found += [
            _json("vrfs", "show vrf"),
            _json("vnis", "show vxlan vni", optional=True),
            _json("evpn-prefixes", "show bgp evpn route-type ip-prefix ipv6", optional=True),
            _json("evpn-prefixes-ipv4", "show bgp evpn route-type ip-prefix ipv4", optional=True),
            _json("evpn-macs", "show bgp evpn route-type mac-ip", optional=True),
        ]
    for vrf, prefix in asked:
        kind, family = ("ipv6", "ipv6 unicast") if ":" in prefix else ("ip", "ipv4 unicast")
        found.append(_json(about("route", vrf, prefix), f"show {kind} route vrf {vrf} {prefix}", optional=True))
        found.append(_json(about("path", vrf, prefix), f"show bgp {family} {prefix} vrf {vrf}", optional=True))
    for vrf in (DEFAULT_VRF, *(one.name for one in config.vrfs)):
        found += [
            _json(f"static-ipv6@{vrf}", f"show ipv6 route vrf {vrf} static", optional=True),
            _json(f"static-ipv4@{vrf}", f"show ip route vrf {vrf} static", optional=True),
        ]
    for vrf in (DEFAULT_VRF, *(one.name for one in config.vrfs)) if tables else ():
        found += [
            _json(f"routes-ipv6@{vrf}", f"show ipv6 route vrf {vrf}"),
            _json(f"routes-ipv4@{vrf}", f"show ip route vrf {vrf}"),
        ]
    return [*found, _text(CONFIGURATION, "show running-config")]


def read(answers: Answers) -> DeviceState:
    """What the answers of a switch say. Nothing is raised: what cannot be read is noted."""
    return DeviceState(
        answers.device,
        "eos",
        frozenset(answers.texts),
        identity=_identity(answers),
        clock=_clock(answers),
        commit=_commit(answers),
        alarms=_alarms(answers),
        neighbors=lldp(answers.tree("lldp-neighbors")),
        interfaces=interfaces(answers),
        optics=optics(answers),
        ipv6_neighbors=ipv6_neighbors(answers.tree("neighbors")),
        bgp=sessions(answers.tree("bgp"), answers.tree("bgp-neighbors")),
        bfd=bfd_sessions(answers.tree("bfd")),
        isis=adjacencies(answers.tree("isis")),
        routes=routes(answers),
        not_forwarding=not_forwarding(answers),
        vrfs=vrfs(answers.tree("vrfs"), answers.tree("vnis")),
        vnis=vnis(answers.tree("vnis")),
        evpn=evpn([answers.tree("evpn-prefixes"), answers.tree("evpn-prefixes-ipv4")], answers.tree("evpn-macs")),
        queues=queues(answers.tree("queues"), answers.tree("ecn")),
        pfc=pfc(answers.tree("pfc")),
        watchdog=watchdog(answers.tree("watchdog")),
        notes=answers.notes,
    )


def _identity(answers: Answers) -> Identity | None:
    version = answers.tree("version")
    if version is None:
        return None
    return Identity(
        model=version.one("modelName").text(),
        serial=version.one("serialNumber").text(),
        version=version.one("version").text(),
        booted=version.one("bootupTimestamp").number(),
    )


def _clock(answers: Answers) -> Clock | None:
    uptime, ntp = answers.tree("uptime"), answers.text("ntp")
    if uptime is None and ntp is None:
        return None
    # The first word of the first line (ANTA's VerifyNTP): "synchronised to NTP server" or "unsynchronised".
    first = re.match(r"\s*(un)?synchroni[sz]ed\b", ntp[:200]) if ntp is not None else None
    if ntp is not None and first is None:
        answers.note("ntp", "", "its first line does not say whether the clock is synchronised")
    return Clock(uptime.one("currentTime").number() if uptime else None, first[1] is None if first else None)


def _commit(answers: Answers) -> Commit | None:
    """Whether a change waits to be confirmed; EOS does not tell who made the last one."""
    open_sessions = answers.tree("sessions")
    if open_sessions is None:
        return None
    states = [one.one("state").text() for _, one in open_sessions.one("sessions").entries()]
    return Commit(pending=open_sessions.one("commitTimerSessionName").there or "pendingCommitTimer" in states)


def _alarms(answers: Answers) -> tuple[Alarm, ...] | None:
    temperature, power = answers.tree("temperature"), answers.tree("power")
    if temperature is None and power is None:
        return None
    found: list[Alarm] = []
    status = temperature.one("systemStatus").text() if temperature else None
    if status not in {None, "temperatureOk"}:
        found.append(Alarm(None, f"temperature: {status}"))
    for name, supply in power.one("powerSupplies").entries() if power else ():
        state = supply.one("state").text()
        if state not in {None, "ok"}:
            found.append(Alarm(None, f"power supply {name}: {state}"))
    return tuple(found)
