"""What the design does not have, and running configurations that differ: each is one finding, with what follows under it."""

from __future__ import annotations

import json
from dataclasses import replace

from railweave.analysis.checks.devices import saved
from railweave.analysis.expect.hosts import expected_host
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.live.check import NetworkStates, diagnose
from railweave.live.check.counting import compared, not_asked
from railweave.live.check.identity import changed_lines, rerouted_by
from railweave.live.check.living import EVERYTHING
from railweave.model.findings import Finding
from railweave.model.state.host_state import HostAddress, HostRoute, HostState, read_host
from railweave.model.state.protocols import NextHop, PacketFilter, Route
from railweave.systems import system
from tests.live.check.matrix import clean, wanted
from tests.live.check.said.host import document

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


def test_a_policy_explains_only_the_routes_that_it_changes() -> None:
    subject, _, _ = wanted("h100-rlb", FRR)
    before = clean("h100-rlb", FRR)
    text = system(FRR).files(subject.configs["stripe1-leaf1"])["frr.conf"]
    line = next(line for line in text.splitlines() if ":1:4 additive" in line)
    checks = saved(subject.configs, {"stripe1-leaf1": {"frr.conf": text.replace(f"{line}\n", "", 1)}})
    routes = ControlPlane(subject.configs.values()).routes()
    rerouted = rerouted_by(subject.configs, checks, routes, ())
    orange, green = "fc00:1:1:4::/64", "fc00:1:1:1::/64"
    assert rerouted is not None
    assert rerouted("stripe2-leaf1", orange)
    assert not rerouted("stripe2-leaf1", green)

    def lost(prefix: str) -> list[str]:
        """What is found where a leaf lacks the route to a prefix, while that statement differs."""
        state = before.states["stripe2-leaf1"]
        kept = tuple(replace(route, next_hops=()) if route.prefix == prefix else route for route in state.routes or ())
        states = {**before.states, "stripe2-leaf1": replace(state, routes=kept)}
        living = replace(before, states=states, configurations=checks, rerouted_by=rerouted)
        return [finding.id for finding in errors(living)]

    assert lost(orange) == ["configuration-differs"]
    assert sorted(lost(green)) == ["configuration-differs", "route-missing"]


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


def test_a_link_that_is_down_is_why_paths_over_it_are_missing_elsewhere() -> None:
    """A leaf beyond the spine lacks the paths to prefixes of the leaf whose link is down; its own session with the spine is up."""
    before = clean("h100-rlb", FRR)
    here, spine = "stripe1-leaf1", "spine2"
    session = next(each.session for each in before.expected[here].sessions if each.session.peer == spine)
    far = next(each.session for each in before.expected[spine].sessions if each.session.link == session.link)
    states = dict(before.states)
    for device, end in ((here, session), (spine, far)):
        state = states[device]
        ports = dict(state.interfaces or {})
        ports[end.interface] = replace(ports[end.interface], oper_up=False)
        bgp = tuple(
            replace(each, state="idle") if each.interface == end.interface else each for each in state.bgp or ()
        )
        states[device] = replace(state, interfaces=ports, bgp=bgp)
    for device in ("stripe2-leaf1", spine):
        state, gone = states[device], {"stripe2-leaf1": spine, spine: here}[device]
        ends = {each.session.interface for each in before.expected[device].sessions if each.session.peer == gone}
        routes = tuple(
            replace(route, paths=tuple(path for path in route.paths if path.peer not in ends)) if route.paths else route
            for route in state.routes or ()
        )
        states[device] = replace(state, routes=routes)
    found = errors(replace(before, states=states))
    assert {(finding.id, finding.where.split()[0]) for finding in found} == {("port-down", here)}


def test_a_blackhole_for_a_loopback_is_why_its_overlay_session_is_down() -> None:
    before = clean("evpn-functional", FRR)
    spine = next(one for one in before.expected.values() if one.overlay_sessions and not one.gateways)
    session = spine.overlay_sessions[0].session
    drop = Route(f"{session.peer_address}/32", "default", "rule", drops="blackhole")
    state = before.states[spine.device]
    kept = tuple(route for route in state.routes or () if route.prefix != drop.prefix)
    bgp = tuple(
        replace(each, state="idle") if each.peer == str(session.peer_address) else each for each in state.bgp or ()
    )
    states = {**before.states, spine.device: replace(state, routes=(*kept, drop), bgp=bgp)}
    first, *others = errors(replace(before, states=states))
    assert (first.id, first.where) == ("route-drops", spine.device)
    assert "session-not-established" in first.what
    assert {(finding.id, finding.where) for finding in others} <= {("tenant-path-broken", spine.device)}


def test_a_strange_filter_is_why_the_sessions_of_its_switch_are_down() -> None:
    before = clean("h100-rlb", FRR)
    spine = "spine1"
    state = before.states[spine]
    bgp = tuple(replace(each, state="connect") for each in state.bgp or ())
    states = {**before.states, spine: replace(state, bgp=bgp, filters=(PacketFilter("table inet stray, chain c"),))}
    [finding] = errors(replace(before, states=states))
    assert (finding.id, finding.where) == ("filter-stray", spine)
    assert "session-not-established" in finding.what


def test_a_prefix_that_a_statement_names_follows_from_it() -> None:
    subject, _, _ = wanted("h100-rlb", FRR)
    text = system(FRR).files(subject.configs["stripe1-leaf1"])["frr.conf"]
    other = "fc00:2:1:1::/64"
    line = next(line for line in text.splitlines() if "address-family ipv6 unicast" in line)
    checks = saved(
        subject.configs, {"stripe1-leaf1": {"frr.conf": text.replace(line, f"{line}\n  network {other}", 1)}}
    )
    assert checks["stripe1-leaf1"].findings
    rerouted = rerouted_by(subject.configs, checks, ControlPlane(subject.configs.values()).routes(), ())
    assert rerouted is not None
    assert rerouted("spine2", other)


def test_a_port_out_of_its_bridge_explains_the_addresses_that_its_server_lacks() -> None:
    subject, made, states = wanted("h100-rlb", "frr")
    name = subject.network.servers[0].name
    expected_server = expected_host(subject.network, name)
    nic = expected_server.nics[0]
    shown = document(expected_server)
    shown["addresses"] = [each for each in shown["addresses"] if each["dev"] != nic.netdev]
    host = read_host(name, {"host": json.dumps(shown)})
    state = states[nic.peer]
    port = next(port.name for port in made[nic.peer].ports if port.link == nic.link)
    interfaces = state.interfaces or {}
    out = replace(state, interfaces={**interfaces, port: replace(interfaces[port], bridged=False)})
    living = NetworkStates(
        subject.network, made, states | {nic.peer: out}, servers_expected={name: expected_server}, hosts={name: host}
    )
    assert [(finding.id, finding.where) for finding in errors(living)] == [("port-not-bridged", f"{nic.peer} {port}")]


def test_a_server_that_advertises_a_prefix_explains_addresses_of_it_its_own_too() -> None:
    subject, made, states = wanted("two-planes", "frr")
    peers = sorted(
        (nic.leaf, server.name) for server in subject.network.servers for nic in server.nics if nic.rail == 1
    )
    sender, receiver = [name for leaf, name in peers if leaf == peers[0][0]][:2]
    expected = {name: expected_host(subject.network, name) for name in (sender, receiver)}
    nics = {name: next(nic for nic in each.nics if nic.peer == peers[0][0]) for name, each in expected.items()}
    hosts: dict[str, HostState] = {}
    router = "fe80::a8bb:ccff:fedd:ee01"
    for name, each in expected.items():
        host = read_host(name, {"host": json.dumps(document(each))})
        netdev = nics[name].netdev
        given = HostAddress(netdev, "2001:db8:666::1" if name == sender else "2001:db8:666::2", 64)
        hosts[name] = replace(host, addresses=(*(host.addresses or ()), given))
    netdev, interfaces = nics[sender].netdev, hosts[sender].interfaces or {}
    own = replace(interfaces[netdev], mac="aa:bb:cc:dd:ee:01")
    hosts[sender] = replace(hosts[sender], interfaces={**interfaces, netdev: own})
    way = HostRoute(254, "default", nics[receiver].netdev, router)
    hosts[receiver] = replace(hosts[receiver], routes=(*(hosts[receiver].routes or ()), way))
    living = NetworkStates(subject.network, made, states, servers_expected=expected, hosts=hosts)
    strange = [finding for finding in errors(living) if "2001:db8:666" in finding.what]
    assert [finding.id for finding in strange] == ["advertisements-rogue"]
    assert f"come in from {sender} " in strange[0].what


def test_a_frozen_daemon_explains_paths_that_are_unknown_beyond_it() -> None:
    subject, made, states = wanted("multitenancy-lab", "frr")
    spines = [name for name, config in subject.configs.items() if config.role == "spine"]
    mute = {spine: replace(states[spine], routes=None) for spine in spines}
    why = "zebra is frozen: it runs and answers nothing"
    unanswered = {spine: {"routes-ipv4@default": why} for spine in spines}
    living = NetworkStates(subject.network, made, states | mute, unanswered=unanswered)
    findings, rows = compared(living, {"frr": not_asked(["frr"], EVERYTHING)["frr"]})
    assert sum(row.not_seen for row in rows if row.subject == "tenant-paths")
    assert {finding.where for finding in findings if finding.severity != "info"} == set(spines)
