"""Assertions about BGP and BFD sessions, checked by the rules of ``railweave check``, and about servers' addresses and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.expect import Expected, expected
from railweave.counting import counted
from railweave.live.check import NetworkStates
from railweave.live.check import sessions as rules
from railweave.live.lab import hosts
from railweave.live.lab.assertions import Observation
from railweave.live.lab.frr import held_sessions
from railweave.live.lab.frr.routers import not_started
from railweave.systems.reading import read_state

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.running import Running
    from railweave.model.findings.registry import Rule


def addresses(lab: Running, routes: Routes) -> Observation:  # noqa: ARG001 - as every assertion
    """Check that every NIC has exactly the designed addresses."""
    checked, formed, failures = 0, 0, list[str]()
    for name, host in lab.plan.hosts.items():
        want, have = hosts.designed(host), hosts.present(lab, name)
        checked += len(want)
        formed += sum(address.origin == "slaac" for nic in host.nics for address in nic.addresses)
        failures += [f"{name} {dev}: lacks {address}/{length}" for dev, address, length in sorted(want - have)]
        failures += [f"{name} {dev}: has {address}/{length} too" for dev, address, length in sorted(have - want)]
    return Observation(checked, f"{counted(checked, 'address', 'addresses')}, {formed} formed by SLAAC", failures)


def tables(lab: Running, routes: Routes) -> Observation:  # noqa: ARG001
    """Check that every server has every planned route and rule, and nothing else in the planned tables."""
    checked, failures = 0, list[str]()
    for name, host in lab.plan.hosts.items():
        missing, more = hosts.differences(lab, name)
        checked += len(host.routes) + len(host.rules)
        failures += [f"{name}: missing: {line}" for line in missing] + [f"{name}: not planned: {line}" for line in more]
    rules = sum(len(host.rules) for host in lab.plan.hosts.values())
    return Observation(
        checked, f"{counted(checked - rules, 'route')} and {counted(rules, 'rule')} as planned", failures
    )


_BGP = {"bgp": "show bgp vrf all summary json", "bgp-neighbors": "show bgp vrf all neighbors json"}
_BFD = {"bfd": "show bfd peers json"}
"""The query about BFD that the reader of FRRouting sends, by name, with its command."""


def bgp_sessions(lab: Running, routes: Routes) -> Observation:
    """Check that every BGP session of every router is established with the designed neighbor."""
    wanted = _wanted(lab, routes)
    failures = _failures(lab, wanted, "bgpd", _BGP, (rules.MISSING, rules.DOWN, rules.AS))
    overlay = sum(len(router.overlay_sessions) for router in wanted.values())
    checked = overlay + sum(len(router.sessions) for router in wanted.values())
    evidence = f"{counted(checked, 'end')} of sessions established" + (f", {overlay} of EVPN" if overlay else "")
    if failures:
        held_sessions.release(lab)
    if lab.released:
        evidence += f", {len(lab.released)} after FRR's stuck BFD was configured anew: {', '.join(lab.released[:4])}"
    return Observation(checked, evidence, failures)


def bfd_sessions(lab: Running, routes: Routes) -> Observation:
    """Check that every session with BFD in the design has a BFD session that is up, with the configured timers."""
    wanted = _wanted(lab, routes)
    timed = [
        session.bfd for each in wanted.values() for session in (*each.sessions, *each.overlay_sessions) if session.bfd
    ]
    failures = _failures(lab, wanted, "bfdd", _BFD, (rules.BFD_DOWN, rules.BFD_TIMERS)) if timed else []
    timers = dict.fromkeys(f"{bfd.minimum_interval} ms x {bfd.multiplier}" for bfd in timed)
    return Observation(len(timed), ", ".join([f"{counted(len(timed), 'end')} of sessions up", *timers]), failures)


def _wanted(lab: Running, routes: Routes) -> dict[str, Expected]:
    """Return the expected state of each router that runs BGP and is not down."""
    configs = lab.plan.configs
    return {
        name: expected(lab.plan.network, config, routes)
        for name, config in configs.items()
        if config.bgp is not None and name not in routes.down
    }


def _failures(
    lab: Running, wanted: dict[str, Expected], daemon: str, asked: Mapping[str, str], which: Collection[Rule]
) -> list[str]:
    """Return the failures that the rules in ``which`` find in the answers of one daemon of each router.

    ``wanted`` has the expected state of each router. ``asked`` has the commands by the name of the query.
    """
    absent = {name: why for name in wanted if (why := not_started(lab.frr, lab.plan.configs[name], daemon))}
    started = {name: router for name, router in wanted.items() if name not in absent}
    living = NetworkStates(lab.plan.network, started, {})
    for name in started:
        with lab.vty(name, daemon) as vty:
            texts = {question: vty.run(command) for question, command in asked.items()}
        living.states[name] = read_state(name, "frr", texts)
    seen = [f"{session.where} {_to(session.what)}" for session in rules.sessions(living) if session.rule in which]
    return [*absent.values(), *seen]


def _to(description: str) -> str:
    """Return a description with ``to`` in place of ``session with``, so that it can follow a device's name."""
    return description.replace("session with", "to", 1)
