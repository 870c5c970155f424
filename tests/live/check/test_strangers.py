"""What the design does not have, and running configurations that differ: each is one finding, with what follows under it."""

from __future__ import annotations

from dataclasses import replace

from railweave.analysis.checks.devices import saved
from railweave.live.check import NetworkStates, diagnose
from railweave.live.check.identity import changed_lines
from railweave.model.findings import Finding
from railweave.model.state.protocols import NextHop, Route
from railweave.systems import system
from tests.live.check.matrix import clean, wanted

FRR = "frr"


def errors(living: NetworkStates) -> list[Finding]:
    return [finding for finding in diagnose(living) if finding.severity != "info"]


def test_a_statement_is_the_cause_of_what_follows_at_both_ends() -> None:
    subject, _, _ = wanted("h100-rlb", FRR)
    before = clean("h100-rlb", FRR)
    config = subject.configs["stripe1-leaf1"]
    text = system(FRR).files(config)["frr.conf"]
    line = next(line for line in text.splitlines() if " remote-as " in line)
    running = {"stripe1-leaf1": {"frr.conf": text.replace(line, f"{line}9", 1)}}
    port = line.split()[1]
    link = next(each for each in before.expected["stripe1-leaf1"].sessions if each.session.interface == port).session
    states = dict(before.states)
    for device in ("stripe1-leaf1", link.peer):
        ends = {each.session.interface for each in before.expected[device].sessions if each.session.link == link.link}
        bgp = tuple(
            replace(session, state="idle") if session.interface in ends else session
            for session in states[device].bgp or ()
        )
        states[device] = replace(states[device], bgp=bgp)
    [finding] = errors(replace(before, states=states, configurations=saved(subject.configs, running)))
    assert (finding.id, finding.where, finding.severity) == ("configuration-differs", "stripe1-leaf1", "error")
    assert "remote-as" in finding.what
    assert "session-not-established" in finding.what


def test_a_warning_that_explains_errors_is_an_error() -> None:
    subject, _, _ = wanted("h100-rlb", FRR)
    before = clean("h100-rlb", FRR)
    config = subject.configs["spine1"]
    text = system(FRR).files(config)["frr.conf"]
    line = next(line for line in text.splitlines() if " peer-group " in line and "neighbor et" in line)
    limited = text.replace(line, f"{line}\n neighbor {line.split()[1]} timers 1 3", 1)
    living = replace(before, configurations=saved(subject.configs, {"spine1": {"frr.conf": limited}}))
    assert [finding.severity for finding in errors(living)] == ["warning"]
    bgp = tuple(replace(session, state="idle") for session in living.states["spine1"].bgp or () if session.interface)
    down = replace(living, states={**living.states, "spine1": replace(living.states["spine1"], bgp=bgp)})
    first = errors(down)[0]
    assert (first.id, first.where, first.severity) == ("configuration-differs", "spine1", "error")


def test_addresses_and_prefixes_of_others_say_whose_they_are() -> None:
    before = clean("h100-rlb", FRR)
    here, other = "stripe1-leaf1", "stripe2-leaf1"
    gateway, stranger = before.expected[here].gateways[0], before.expected[other].gateways[0]
    address = str(stranger.addresses[0])
    state = before.states[here]
    interfaces = dict(state.interfaces or {})
    has = interfaces[gateway.name]
    interfaces[gateway.name] = replace(has, addresses=(*(has.addresses or ()), address))
    [finding] = errors(replace(before, states={**before.states, here: replace(state, interfaces=interfaces)}))
    assert (finding.id, finding.where) == ("address-duplicate", f"{here} {gateway.name}")
    assert f"{other} {stranger.name}" in finding.what

    part = str(stranger.prefixes[0]).replace("/64", "/80")
    peer = before.expected[here].sessions[0].session
    route = Route(part, "default", "bgp", True, (NextHop("fe80::1", peer.interface),))
    states = {**before.states, here: replace(state, routes=(*(state.routes or ()), route))}
    spine = states[peer.peer]
    states[peer.peer] = replace(spine, answered=spine.answered | {"routes-ipv6@default"})
    found = [
        finding for finding in errors(replace(before, states=states)) if finding.id == "prefix-originated-elsewhere"
    ]
    assert [finding.where for finding in found] == [peer.peer]
    assert part in found[0].what
    assert other in found[0].what


def test_lines_that_changed() -> None:
    assert changed_lines("a\nb\nc\n", "a\nx\nc \n") == ("-b", "+x")
    assert changed_lines("a\n", "a\n") == ()
