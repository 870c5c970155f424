"""Findings of a running network: none where all is well, causes with what they explain where something is not."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest

from railweave.analysis.checks.subject import Subject
from railweave.analysis.expect import Expected, expected
from railweave.live.check import NetworkStates, diagnose
from railweave.model.findings import Finding
from railweave.model.intent.reading.source import FieldSource
from railweave.model.state.device_state import DeviceState
from railweave.model.state.ports import Lane, PfcCounters, PortQueues, Queue
from railweave.model.state.protocols import BgpSession, LldpNeighbor, NextHop, Route
from tests.conftest import SMALL, example
from tests.live.check.perfect import perfect


@lru_cache(maxsize=2)
def wanted(name: str) -> tuple[Subject, dict[str, Expected]]:
    subject = Subject.of(example(name))
    made = {one: expected(subject.network, config, subject.routes) for one, config in subject.configs.items()}
    return subject, made


def living(name: str = "h100-rlb") -> NetworkStates:
    subject, made = wanted(name)
    return NetworkStates(subject.network, made, {device: perfect(one) for device, one in made.items()})


def changed(one: NetworkStates, device: str, **fields: object) -> NetworkStates:
    state = replace(one.states[device], **fields)  # type: ignore[arg-type]
    return replace(one, states={**one.states, device: state})


def told(found: list[Finding], *, explained: bool = False) -> list[tuple[str, str]]:
    return [(one.id, one.where) for one in found if explained or not one.why.startswith("it follows from")]


@pytest.mark.parametrize("name", SMALL)
def test_a_network_that_is_as_designed_has_no_findings(name: str) -> None:
    assert diagnose(living(name)) == []


def test_a_device_that_is_silent_explains_all_that_its_neighbors_miss() -> None:
    one = living()
    leaves = [device for device in one.expected if "leaf" in device]
    for leaf in leaves:
        state = one.states[leaf]
        port = one.expected[leaf].sessions[0].session.interface
        assert state.interfaces is not None
        assert state.bgp is not None
        assert state.neighbors is not None
        one = changed(
            one,
            leaf,
            interfaces={**state.interfaces, port: replace(state.interfaces[port], oper_up=False)},
            bgp=tuple(replace(each, state="idle") if each.interface == port else each for each in state.bgp),
            bfd=tuple(replace(each, state="down") if each.interface == port else each for each in state.bfd or ()),
            neighbors={name: each for name, each in state.neighbors.items() if name != port},
            routes=tuple(replace(each, next_hops=()) if port in _ports(each) else each for each in state.routes or ()),
        )
    states = {device: state for device, state in one.states.items() if device != "spine1"}
    found = diagnose(replace(one, states=states, silent={"spine1": "connection timed out"}))
    assert told(found) == [("device-silent", "spine1")]
    assert found[0].what.startswith("spine1 did not answer: connection timed out. This explains")
    assert len(found) == 1 + 1 + 16 * 4  # its links; of each leaf: the port, the session, BFD, the route of its color


def _ports(route: Route) -> set[str | None]:
    return {one.interface for one in route.next_hops}


def test_an_adjacency_that_is_down_is_one_finding_with_its_bfd() -> None:
    one = living("dci-50km")
    device = next(name for name, each in one.expected.items() if each.adjacencies)
    wanted = one.expected[device].adjacencies[0]
    state = one.states[device]
    assert state.isis is not None
    down = tuple(
        replace(each, state="down") if each.interface == wanted.interface else each for each in state.bfd or ()
    )
    lost = changed(one, device, isis=state.isis[1:], bfd=down)
    assert told(diagnose(lost)) == [("adjacency-not-up", f"{device} {wanted.interface}")]
    elsewhere = changed(one, device, isis=(replace(state.isis[0], system=device), *state.isis[1:]))
    assert f"is with {device}" in diagnose(elsewhere)[0].what
    gone = replace(one, unanswered={wanted.peer: {"isis": "isisd is not running"}})
    found = diagnose(changed(gone, device, isis=state.isis[1:]))
    assert told(found)[0] == ("daemon-not-running", wanted.peer)
    assert "adjacency-not-up" not in [id_ for id_, _ in told(found)]


def test_two_cables_that_are_swapped_are_one_finding() -> None:
    """At a leaf, the cables to spine 1 and spine 2; seen at all four ends, with the AS numbers that follow."""
    one = living()
    leaf = "stripe1-leaf1"
    first, second = one.expected[leaf].sessions[:2]
    ports = first.session.interface, second.session.interface
    neighbors = one.states[leaf].neighbors
    assert neighbors is not None
    crossed = {ports[0]: neighbors[ports[1]], ports[1]: neighbors[ports[0]]}
    one = changed(one, leaf, neighbors={**neighbors, **crossed})
    for session, port in ((first, ports[1]), (second, ports[0])):
        spine = session.session.peer
        there = one.states[spine].neighbors
        assert there is not None
        end = next(each.name for each in one.expected[spine].cabled if each.peer == leaf)
        one = changed(one, spine, neighbors={**there, end: (LldpNeighbor(leaf, port),)})
    found = diagnose(one)
    assert told(found) == [("cables-swapped", f"{leaf} {ports[0]} and {ports[1]}")]
    assert found[0].fix == f"at {leaf}, swap the cables in {ports[0]} and {ports[1]}"


def test_a_cable_in_a_wrong_port_says_where_it_belongs() -> None:
    one = living()
    leaf = "stripe1-leaf1"
    port = one.expected[leaf].sessions[0].session.interface
    neighbors = one.states[leaf].neighbors
    assert neighbors is not None
    one = changed(one, leaf, neighbors={**neighbors, port: (LldpNeighbor("spine1", "et-0/0/63:1", "interface name"),)})
    [finding] = diagnose(one)
    assert (finding.id, finding.where) == ("cable-wrong", f"{leaf} {port}")
    assert "from spine1 et-0/0/63:1 to spine1 et-0/0/0:0" in finding.fix


@pytest.mark.parametrize("said", ["94:6d:ae:00:00:01", "549", "946dae000001"])
def test_a_neighbor_that_does_not_name_its_port_is_known_by_its_name(said: str) -> None:
    one = living()
    leaf = "stripe1-leaf1"
    port = one.expected[leaf].sessions[0].session.interface
    neighbors = one.states[leaf].neighbors
    assert neighbors is not None
    assert diagnose(changed(one, leaf, neighbors={**neighbors, port: (LldpNeighbor("spine1", said),)})) == []
    assert diagnose(changed(one, leaf, neighbors={**neighbors, port: (LldpNeighbor("spine2", said),)})) != []


def test_what_a_device_did_not_say_is_no_fault() -> None:
    one = living()
    silent = {device: DeviceState(device, state.system) for device, state in one.states.items()}
    assert diagnose(replace(one, states=silent)) == []


def test_a_session_without_the_right_prefixes_is_found_at_the_cause() -> None:
    """spine1 lost its sessions with half of the leaves: they are the cause, the counts of the others follow."""
    one = living()
    for leaf in [device for device in one.expected if device.startswith("stripe1")]:
        bgp = one.states[leaf].bgp
        assert bgp is not None
        port = one.expected[leaf].sessions[0].session.interface
        one = changed(one, leaf, bgp=tuple(replace(x, state="active") if x.interface == port else x for x in bgp))
    for leaf in [device for device in one.expected if device.startswith("stripe2")]:
        bgp = one.states[leaf].bgp
        assert bgp is not None
        fewer = tuple(replace(x, families={"ipv6": replace(x.families["ipv6"], received=28)}) for x in bgp[:1])
        one = changed(one, leaf, bgp=(*fewer, *bgp[1:]))
    found = diagnose(one)
    assert {id_ for id_, _ in told(found)} == {"session-not-established"}
    assert {id_ for id_, _ in told(found, explained=True)} == {"session-not-established", "prefixes-differ"}


def test_whoever_sends_too_few_prefixes_comes_before_those_who_lack_them() -> None:
    """A term of the last leaf's export policy refuses one of its prefixes: a spine and all other leaves miss it, too."""
    one = living()
    leaves = [name for name, each in one.expected.items() if each.gateways]
    origin, spine = leaves[-1], one.expected[leaves[-1]].sessions[0].session.peer

    def with_fewer(now: NetworkStates, device: str, peer: str, field: str) -> NetworkStates:
        ports = [each.session.interface for each in now.expected[device].sessions if each.session.peer == peer]
        changed_ = tuple(
            _fewer(each, field) if each.interface in ports else each for each in now.states[device].bgp or ()
        )
        return changed(now, device, bgp=changed_)

    for leaf in leaves[:-1]:
        one = with_fewer(one, leaf, spine, "received")
        one = with_fewer(one, spine, leaf, "sent")
    one = with_fewer(with_fewer(one, origin, spine, "sent"), spine, origin, "received")
    found = diagnose(one)
    assert {each.id for each in found} == {"prefixes-differ"}
    assert found[0].where.partition(" ")[0] == origin
    assert found[1].where.partition(" ")[0] == spine


def test_whoever_holds_fewer_prefixes_than_were_sent_comes_first() -> None:
    """A term of a spine's import policy refuses a prefix: all leaves get less from it, and the one that sent it says so."""
    one = living()
    leaves = [name for name, each in one.expected.items() if each.gateways]
    spine = one.expected[leaves[0]].sessions[-1].session.peer
    ports = {each.session.peer: each.session.interface for each in one.expected[spine].sessions}

    def with_fewer(now: NetworkStates, device: str, port: str, field: str) -> NetworkStates:
        said = now.states[device].bgp or ()
        return changed(now, device, bgp=tuple(_fewer(each, field) if each.interface == port else each for each in said))

    for leaf in leaves:
        near = next(each.session.interface for each in one.expected[leaf].sessions if each.session.peer == spine)
        one = with_fewer(one, leaf, near, "received")
        one = with_fewer(one, spine, ports[leaf], "sent")
    one = with_fewer(one, spine, ports[leaves[-1]], "received")
    assert diagnose(one)[0].where == f"{spine} {ports[leaves[-1]]}"


def _fewer(session: BgpSession, field: str) -> BgpSession:
    """The session with one prefix less received or sent."""
    families = {name: replace(each, **{field: getattr(each, field) - 1}) for name, each in session.families.items()}
    return replace(session, families=families)


def test_counters_speak_in_the_design_s_own_numbers() -> None:
    one = living()
    leaf = "stripe1-leaf1"
    queues = one.states[leaf].queues
    pfc = one.states[leaf].pfc
    assert queues is not None
    assert pfc is not None
    port = next(each.name for each in one.expected[leaf].ports if each.kind == "fabric")
    server = next(each.name for each in one.expected[leaf].ports if each.kind == "server")
    later = changed(
        one,
        leaf,
        queues={**queues, port: PortQueues({4: Queue(None, 5, 2, 0)}, queues[port].ingress)},
        pfc={**pfc, port: {3: PfcCounters(9, 0)}, server: {3: PfcCounters(4, 0)}},
    )
    found = diagnose(replace(later, before=one.states))
    assert told(found) == [
        ("lossless-drops", f"{leaf} {port}"),
        ("pfc-without-ecn", f"{leaf} {port}"),
        ("server-pauses", f"{leaf} {server}"),
    ]
    assert "ECN begins at 55 % here" in found[0].what
    assert diagnose(replace(one, before=later.states)) == []  # counters that fell were cleared


def test_light_and_what_follows() -> None:
    one = living()
    leaf = "stripe1-leaf1"
    optics = one.states[leaf].optics
    assert optics is not None
    port = one.expected[leaf].ports[0].name
    dark = replace(optics[port], lanes=(Lane(1, 0.5, float("-inf")),))
    assert told(diagnose(changed(one, leaf, optics={**optics, port: dark}))) == [("optic-dark", f"{leaf} {port}")]
    dim = replace(optics[port], lanes=(Lane(1, 0.5, -11.0),))
    assert told(diagnose(changed(one, leaf, optics={**optics, port: dim}))) == [("optic-alarm", f"{leaf} {port}")]


def test_a_finding_ends_at_the_field_of_the_fabric_file() -> None:
    one = living()
    without = replace(one, states={device: state for device, state in one.states.items() if device != "spine4"})
    [finding] = diagnose(without, lambda fields: FieldSource("h100-rlb.yaml", 10, ".".join(fields[-1].keys)))
    assert finding.place == "h100-rlb.yaml:10 fabrics.backend.topology.spines"


def test_a_route_of_a_tenant_leaves_by_the_tunnel() -> None:
    """The table of a VRF names the overlay's interface, whatever links it takes: that is no fault."""
    one = living("evpn-gpu-isolation")
    leaf = "stripe1-leaf1"
    routes = one.states[leaf].routes
    assert routes
    tunnel = (NextHop("fe80::1", "br20001"),)
    of_tenant = tuple(replace(each, next_hops=tunnel) for each in routes if each.vrf == "tenant-1")
    assert of_tenant
    assert diagnose(changed(one, leaf, routes=of_tenant)) == []
    assert diagnose(changed(one, leaf, routes=tuple(replace(each, next_hops=()) for each in of_tenant))) != []


def test_a_route_that_is_not_in_a_whole_table_is_missing() -> None:
    one = living()
    leaf = "stripe1-leaf1"
    routes = one.states[leaf].routes
    assert routes
    asked = changed(one, leaf, routes=routes[1:])
    assert diagnose(asked) == []  # it was not asked for
    [finding] = diagnose(changed(asked, leaf, answered=frozenset({"routes-ipv6@default"})))
    assert (finding.id, finding.where) == ("route-missing", leaf)
    assert routes[0].prefix in finding.what


def test_a_daemon_that_does_not_run_explains_its_sessions_and_the_questions_it_left() -> None:
    one = living()
    leaf = "stripe1-leaf1"
    words = "`vtysh -c 'show bgp vrf all summary json'`: bgpd is not running"
    dead = changed(one, leaf, bgp=None)
    for spine in {each.session.peer for each in one.expected[leaf].sessions}:
        bgp = one.states[spine].bgp
        assert bgp is not None
        ports = {each.session.interface for each in one.expected[spine].sessions if each.session.peer == leaf}
        dead = changed(dead, spine, bgp=tuple(replace(x, state="active") if x.interface in ports else x for x in bgp))
    found = diagnose(replace(dead, unanswered={leaf: {"bgp": words, "bgp-neighbors": words}}))
    assert told(found) == [("daemon-not-running", leaf)]
    assert len(found) == 1 + 1 + 2 + 4  # what its neighbors say of it, its questions, their sessions
    bfd = one.states[leaf].bfd
    assert bfd is not None
    no_bfd = changed(one, leaf, bfd=None)
    found = diagnose(replace(no_bfd, unanswered={leaf: {"bfd": "error: the bfd subsystem is not running"}}))
    assert told(found) == [("daemon-not-running", leaf)]
