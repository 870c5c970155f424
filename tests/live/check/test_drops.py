"""A switch whose sessions are all up and that drops what it should forward: by routes, by routes of another protocol, by a setting."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from railweave.live.check import NetworkStates, diagnose
from railweave.model.findings import Finding
from railweave.model.state.device_state import DeviceState
from railweave.model.state.protocols import NextHop, Route
from railweave.systems.reading import read_state
from tests.live.check.matrix import SYSTEMS, answers, clean, wanted

NETWORK, SPINE = "h100-rlb", "spine1"
WORDS = {
    "junos": ("discard", "reject"),
    "eos": ("drop", "Null0"),
    "sonic": ("blackhole", "reject", "prohibit"),
    "dell_sonic": ("blackhole",),
    "frr": ("blackhole", "reject", "prohibit"),
}
"""What each system calls a next hop that drops packets."""


def _state(nos: str, routes: Iterable[Route] = (), **fields: object) -> DeviceState:
    """A spine where all is as designed, but for some routes, and some fields."""
    found = wanted(NETWORK, nos)[2][SPINE]
    new = {(one.vrf, one.prefix): one for one in routes}
    kept = [one for one in found.routes or () if (one.vrf, one.prefix) not in new]
    return replace(found, routes=(*kept, *new.values()), **fields)  # type: ignore[arg-type]


def _findings(nos: str, texts: dict[str, str]) -> list[Finding]:
    living = clean(NETWORK, nos)
    return diagnose(replace(living, states=living.states | {SPINE: read_state(SPINE, nos, texts)}))


def _designed(nos: str) -> list[str]:
    """The prefixes that the spine is asked about."""
    return [str(one.prefix) for one in wanted(NETWORK, nos)[1][SPINE].routes]


def _elsewhere(nos: str) -> str:
    """The prefix of a leaf that the spine is not asked about."""
    leaf = wanted(NETWORK, nos)[1][SPINE].routes[0].leaf
    return next(s.subnets[0].prefix for s in clean(NETWORK, nos).network.segments if s.leaf != leaf)


@pytest.mark.parametrize(("nos", "word"), [(nos, word) for nos in SYSTEMS for word in WORDS[nos]])
def test_a_spine_that_drops_everything_is_found(nos: str, word: str) -> None:
    prefixes = _designed(nos)
    shown = f"({word.lower() if nos != 'eos' else word})"
    for some in (prefixes[:4], prefixes):
        routes = [Route(one, "default", "static", True, (), None, word) for one in some]
        found = _findings(nos, answers(nos, _state(nos, routes)))
        each = [[prefix] for prefix in some] if len(some) == 4 else [[f"{len(prefixes)} prefixes", prefixes[0]]]
        assert [(one.id, one.where) for one in found] == [("route-drops", SPINE)] * len(each)
        assert all(word in one.what for words, one in zip(each, found, strict=True) for word in (*words, shown))


@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_route_that_drops_a_prefix_that_was_not_asked_for_or_a_part_of_it_is_found(nos: str) -> None:
    elsewhere = _elsewhere(nos)
    inside = elsewhere.partition("/")[0] + "/128"
    for prefix in (elsewhere, inside):
        [one] = _findings(
            nos, answers(nos, _state(nos, [Route(prefix, "default", "static", True, (), None, WORDS[nos][0])]))
        )
        assert (one.id, one.where) == ("route-drops", SPINE)
        assert prefix in one.what


@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_route_of_another_protocol_in_place_of_bgps_is_found(nos: str) -> None:
    hop = (NextHop("fe80::1", wanted(NETWORK, nos)[1][SPINE].routes[0].ports[0]),)
    for prefix in (_designed(nos)[0], _elsewhere(nos)):
        [one] = _findings(nos, answers(nos, _state(nos, [Route(prefix, "default", "static", True, hop)])))
        assert (one.id, one.where) == ("route-protocol-differs", SPINE)
        assert prefix in one.what
        assert "static" in one.what


@pytest.mark.parametrize("nos", SYSTEMS)
def test_routes_outside_the_design_are_nobodys_business(nos: str) -> None:
    hop = (NextHop("172.20.0.1", "eth0"),)
    routes = [
        Route("0.0.0.0/0", "default", "static", True, hop),
        Route("fc00::/16", "default", "static", True, (), None, WORDS[nos][0]),
        Route("172.20.0.0/16", "default", "static", True, (), None, WORDS[nos][0]),
    ]
    assert _findings(nos, answers(nos, _state(nos, routes))) == []


@pytest.mark.parametrize("nos", ["eos", "sonic", "frr"])
def test_forwarding_that_is_off_is_found(nos: str) -> None:
    [one] = _findings(nos, answers(nos, _state(nos, not_forwarding={"ipv4": (), "ipv6": ("all",)})))
    assert (one.id, one.where, one.what) == ("forwarding-off", SPINE, "it forwards no IPv6")
    assert _findings(nos, answers(nos, _state(nos, not_forwarding={"ipv4": ("all",), "ipv6": ()}))) == []


def test_settings_of_the_kernel_that_forward_otherwise_are_found() -> None:
    name = "net.ipv6.fib_multipath_hash_policy"
    whole = _state("frr").kernel or {}
    [one] = _findings("frr", answers("frr", _state("frr", kernel=whole | {name: "0"})))
    assert (one.id, one.where, one.severity) == ("kernel-setting-differs", SPINE, "error")
    assert one.what.startswith(f"{name} is 0: ")
    strict = whole | {"net.ipv4.conf.all.rp_filter": "1"}
    assert _findings("frr", answers("frr", _state("frr", kernel=strict))) == []  # it forwards no IPv4
    subject, made, states = wanted("multitenancy-lab", "frr")
    living = NetworkStates(subject.network, made, states)
    leaf = next(device for device, expected in made.items() if expected.gateways)
    ports = [port.name for port in made[leaf].ports]
    for values, text in (
        ({"all": "1"}, "rp_filter is strict on every port: "),
        ({"all": "0", ports[0]: "1"}, f"rp_filter is strict on {ports[0]}: "),
        ({"all": "2", ports[0]: "1"}, ""),
    ):
        kernel = whole | {f"net.ipv4.conf.{port}.rp_filter": value for port, value in values.items()}
        found = diagnose(replace(living, states=states | {leaf: replace(states[leaf], kernel=kernel)}))
        assert [each.what.startswith(text) for each in found] == ([True] if text else [])
        assert {(each.id, each.where, each.severity) for each in found} <= {("kernel-setting-differs", leaf, "warning")}


@pytest.mark.parametrize("nos", ["sonic", "frr"])
def test_rules_that_drop_before_any_route_is_looked_at_are_found(nos: str) -> None:
    """What the lab's fault ``blackhole`` is made of (ip-rule(8))."""
    texts = answers(nos, _state(nos))
    ports = [one.name for one in wanted(NETWORK, nos)[1][SPINE].ports]
    rules = [{"priority": 1, "src": "all", "iif": one, "action": "blackhole"} for one in ports]
    found = _findings(nos, texts | {"rules-ipv6": json.dumps(rules)})
    assert [(one.id, one.where) for one in found] == [("forwarding-off", f"{SPINE} {one}") for one in ports]
    [one] = _findings(nos, texts | {"rules-ipv6": json.dumps([{"priority": 9, "src": "all", "action": "prohibit"}])})
    assert (one.id, one.where) == ("forwarding-off", SPINE)
    narrow = [{"priority": 1, "src": "10.0.0.0", "srclen": 8, "action": "blackhole"}, {"priority": 2, "src": "all", "dst": "fd99::1", "action": "blackhole"}]  # fmt: skip
    assert _findings(nos, texts | {"rules-ipv6": json.dumps(narrow)}) == []


def test_a_tables_missing_route_is_not_replaced_by_that_of_another_vrf() -> None:
    """The design knows the VRF of each prefix; the device gave that VRF's whole table."""
    living = clean("multitenancy-lab", "frr")
    name, device, tenant = next(
        (name, one, tenant) for name, one in living.expected.items() for tenant in one.tenants if tenant.learned
    )
    prefix = next(one.prefix for one in device.routes if one.prefix in {*tenant.own_prefixes, *tenant.learned})
    state = living.states[name]
    whole = f"routes-{prefix.family}@{tenant.vrf}"
    routes = [one for one in state.routes or () if (one.vrf, one.prefix) != (tenant.vrf, prefix)]
    leaked = Route(prefix, "default", "bgp", True, (NextHop("fe80::1", device.ports[0].name),))
    state = replace(state, routes=(*routes, leaked), answered=state.answered | {whole})
    found = diagnose(replace(living, states=living.states | {name: state}))
    assert ("tenant-prefix-not-in-vrf", name) in {(one.id, one.where.split()[0]) for one in found}


def test_an_unused_static_route_of_junos_hides_no_route_of_bgp() -> None:
    """``show route protocol static`` lists routes that are not selected, too."""
    texts = answers("junos", _state("junos"))
    prefix = _designed("junos")[0]
    unused = (
        f"<route-information><route-table><table-name>inet6.0</table-name><rt><rt-destination>{prefix}</rt-destination>"
        "<rt-entry><active-tag/><protocol-name>Static</protocol-name><nh-type>Discard</nh-type></rt-entry></rt>"
        "</route-table></route-information>"
    )
    name = "static-ipv6@default"
    assert [one.prefix for one in read_state(SPINE, "junos", {name: unused}).routes or ()] == []
    assert _findings("junos", texts | {name: unused}) == []
