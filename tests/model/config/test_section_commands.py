"""The commands of EOS, FRR and Dell, typed into a small switch, turn one configuration into another and back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import EXAMPLES, example, frr_root

from railweave import api
from railweave.model.config.apply import apply
from railweave.model.config.compare import compare
from railweave.model.config.section_tree import LineRules, section_tree
from railweave.model.config.sections import Section, parse, section
from railweave.model.device.build import device_config
from railweave.systems import system
from railweave.systems.dell_sonic.changes import RULES as DELL
from railweave.systems.eos.changes import RULES as EOS
from railweave.systems.frr.changes import RULES as FRR
from railweave.systems.frr.validator import in_root

_ONE_VALUE = [r"mtu ", r"description ", r"ip address ", r"neighbor \S+ remote-as ", r"maximum-paths "]
_LINES = st.sampled_from(
    ["description a", "description b", "ip address 10.0.0.1/31", "ip address 10.0.0.3/31", "no shutdown", "bfd"]
)
_BGP_LINES = st.sampled_from(
    [
        "neighbor A remote-as 1",
        "neighbor A remote-as 2",
        "neighbor B remote-as 2",
        "neighbor A route-map p in",
        "neighbor A route-map q in",
        "neighbor A route-map p out",
        "maximum-paths 4",
        "maximum-paths 8",
        "no bgp default ipv4-unicast",
    ]
)


def _kind(line: str) -> str:
    """What a line is about: two of a kind cannot stand together."""
    for pattern in _ONE_VALUE:
        if found := re.match(pattern, line):
            return found.group()
    return re.sub(r"route-map \S+", "route-map", line)


def _body(lines: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(lines, max_size=4, unique_by=_kind)


_FAMILY = st.builds(lambda lines: section("address-family ipv6 unicast", lines), _body(_BGP_LINES))
_SECTIONS = st.one_of(
    st.builds(lambda name, lines: section(f"interface {name}", lines), st.sampled_from(["lo", "Vlan2"]), _body(_LINES)),
    st.builds(
        lambda at, lines: section(f"route-map p {at}", lines), st.sampled_from(["permit 10", "deny 20"]), _body(_LINES)
    ),
    st.builds(lambda lines, family: section("router bgp 1", lines, family), _body(_BGP_LINES), st.none() | _FAMILY),
    st.sampled_from([Section("ip routing"), Section("hostname a"), Section("hostname b"), Section("no ip forwarding")]),
)
CONFIGURATIONS = st.lists(
    _SECTIONS, max_size=5, unique_by=lambda one: one.line.split()[0] if one.body is None else one.line
)


class Switch:
    """What a command line does with lines: a new value replaces, ``no`` takes away, sections open and close."""

    def __init__(self, sections: list[Section], *, neighbors_end: bool = False) -> None:
        """``neighbors_end``: whether a neighbor goes, with all that is said of it, when its AS number is taken away."""
        self.lines: dict[str, Any] = {}
        self.neighbors_end = neighbors_end
        for one in sections:
            self._load(self.lines, one)

    def _load(self, into: dict[str, Any], one: Section) -> None:
        into[one.line] = None
        if one.body is not None:
            into[one.line] = {}
            for child in one.body:
                self._load(into[one.line], child)

    def type(self, commands: list[Any], closers: set[str]) -> None:
        open_sections = [self.lines]
        for at, command in enumerate(commands):
            line = command.strip()
            depth = len(command) - len(command.lstrip())
            following = commands[at + 1] if at + 1 < len(commands) else ""
            here = open_sections[-1]
            if line in closers:
                open_sections.pop()
            elif self._opens(line, depth, following, closers):
                here.setdefault(line, {})
                open_sections.append(here[line])
            else:
                self._line(here, line)
                ended = re.match(r"no (neighbor \S+ )remote-as", line)
                if ended and self.neighbors_end and len(open_sections) == 2:
                    self._end(here, ended[1])
        assert open_sections == [self.lines]

    def _end(self, here: dict[str, Any], beginning: str) -> None:
        for line, inner in list(here.items()):
            if inner is not None:
                self._end(inner, beginning)
            elif line.startswith(beginning):
                del here[line]

    def _opens(self, line: str, depth: int, following: str, closers: set[str]) -> bool:
        deeper = len(following) - len(following.lstrip())
        return deeper > depth or (deeper == depth and following.strip() in closers and not self._closed(line))

    def _closed(self, line: str) -> bool:
        """A plain line, after which the section around it ends."""
        return not line.startswith(("interface ", "route-map p", "router bgp", "address-family"))

    def _line(self, here: dict[str, Any], line: str) -> None:
        bare = re.sub("^(no|default) ", "", line)
        if line.startswith("default ") or f"no {line}" in here:  # back to what stands without a line
            here.pop(f"no {bare}", None)
        elif line.startswith("no ") and (taken := [one for one in here if one == bare or one.startswith(f"{bare} ")]):
            for one in taken:
                del here[one]
        elif line.startswith("no ") and line not in {"no shutdown", "no bgp default ipv4-unicast", "no ip forwarding"}:
            raise AssertionError(f"{line}: nothing to take away")
        else:
            for one in [one for one in here if _kind(one) == _kind(line)]:
                del here[one]
            if line.startswith("hostname"):
                for one in [one for one in here if one.startswith("hostname")]:
                    del here[one]
            here[line] = None


def _said(lines: dict[str, Any], rules: LineRules) -> Any:
    """What is configured; sections that cannot be removed and are empty count for nothing."""
    return {
        line: None if body is None else _said(body, rules)
        for line, body in lines.items()
        if body is None or _said(body, rules) or not line.startswith(rules.emptied)
    }


@pytest.mark.parametrize("rules", [EOS, FRR, DELL], ids=["eos", "frr", "dell_sonic"])
@given(old=CONFIGURATIONS, new=CONFIGURATIONS)
def test_typed_commands_give_the_new_configuration_and_back(
    rules: LineRules, old: list[Section], new: list[Section]
) -> None:
    change = compare(section_tree(old, rules), section_tree(new, rules))
    closers = {"exit", "exit-address-family", "exit-vni"}
    switch = Switch(old, neighbors_end=bool(rules.ended_by))
    switch.type(change.commands, closers)
    assert _said(switch.lines, rules) == _said(Switch(new).lines, rules)
    switch.type(change.inverse.commands, closers)
    assert _said(switch.lines, rules) == _said(Switch(old).lines, rules)
    there = apply(section_tree(old, rules).nodes, change.steps)
    assert not compare(section_tree(new, rules), type(section_tree(new, rules))(there, rules))


def _commands(rules: LineRules, old: str, new: str) -> list[Any]:
    return compare(section_tree(parse(old), rules), section_tree(parse(new), rules)).commands


def test_a_line_of_one_value_is_replaced_without_no() -> None:
    assert _commands(EOS, "interface Ethernet1/1\n   mtu 9000", "interface Ethernet1/1\n   mtu 9100") == [
        "interface Ethernet1/1",
        "   mtu 9100",
        "exit",
    ]


def test_a_line_that_stands_for_itself_is_taken_away_first() -> None:
    old = "interface Vlan2\n   ipv6 address fc00::1/64"
    assert _commands(EOS, old, old.replace("fc00", "fd00")) == [
        "interface Vlan2",
        "   no ipv6 address fc00::1/64",
        "   ipv6 address fd00::1/64",
        "exit",
    ]


def test_what_is_named_goes_after_what_names_it() -> None:
    old = "route-map p permit 10\nexit\nrouter bgp 1\n neighbor A peer-group\n neighbor A route-map p in\nexit\n"
    new = "route-map q permit 10\nexit\nrouter bgp 1\n neighbor A peer-group\n neighbor A route-map q in\nexit\n"
    assert _commands(FRR, old, new) == [
        "route-map q permit 10",
        "exit",
        "router bgp 1",
        " neighbor A route-map q in",
        "exit",
        "no route-map p permit 10",
    ]
    assert _commands(FRR, old, "router bgp 1\nexit") == [
        "router bgp 1",
        " no neighbor A route-map p in",
        " no neighbor A peer-group",
        "exit",
        "no route-map p permit 10",
    ]


def test_an_entry_with_another_action_is_not_taken_away_after_it_was_set() -> None:
    """``no route-map p permit 10`` takes away entry 10, whatever it does by then."""
    assert _commands(FRR, "route-map p permit 10\nexit", "route-map p deny 10\nexit") == [
        "no route-map p permit 10",
        "route-map p deny 10",
        "exit",
    ]


def test_what_frr_cannot_remove_is_emptied() -> None:
    old = "interface et-0\n description x\n ipv6 nd ra-interval 10\nexit\nvrf t\n vni 5\nexit\n"
    assert _commands(FRR, old, "") == [
        "vrf t",
        " no vni 5",
        "exit",
        "interface et-0",
        " no ipv6 nd ra-interval 10",
        " no description",
        "exit",
    ]


def test_bfd_of_a_neighbor_is_turned_off_as_a_whole() -> None:
    """``no neighbor G bfd profile P`` leaves ``neighbor G bfd``: tests/live/lab/test_undo.py asks FRR itself."""
    profile, more = " neighbor G bfd profile P", " neighbor G bfd check-control-plane-failure"

    def typed(old: list[str], new: list[str]) -> list[Any]:
        return _commands(FRR, *("\n".join(["router bgp 1", *lines, "exit"]) for lines in (old, new)))[1:-1]

    assert typed([profile], []) == [" no neighbor G bfd"]
    assert typed([profile, more], []) == [" no neighbor G bfd check-control-plane-failure", " no neighbor G bfd"]
    assert typed([profile, more], [profile]) == [" no neighbor G bfd check-control-plane-failure"]
    assert typed([" neighbor G bfd", more], [profile, more]) == [" no neighbor G bfd", profile, more]
    assert typed([profile], [" neighbor G bfd profile Q"]) == [" neighbor G bfd profile Q"]


def test_forms_of_eos() -> None:
    old = "interface Ethernet1/1\n   no switchport\n   speed 400g-4\ninterface Vlan5\n   vrf a\n   mtu 9000"
    assert _commands(EOS, old, "interface Ethernet1/1\nexit") == [
        "no interface Vlan5",
        "interface Ethernet1/1",
        "   no speed",
        "   default switchport",
        "exit",
    ]
    assert _commands(EOS, old, "")[-1] == "default interface Ethernet1/1"
    moved = _commands(EOS, old, old.replace("vrf a", "vrf b"))  # EOS takes addresses away with the VRF
    assert moved == ["no interface Vlan5", "interface Vlan5", "   vrf b", "   mtu 9000", "exit"]


@pytest.mark.parametrize("nos", ["eos", "frr", "dell_sonic", "sonic"])
def test_every_line_of_an_example_is_in_its_tree(nos: str) -> None:
    """No two lines of a rendered file share a name, so nothing is lost in comparison."""
    network = api.load(EXAMPLES / "evpn-gpu-isolation.yaml", device=[f":{nos}"])
    for name in ("stripe1-leaf1", "spine1"):
        config = device_config(network, name, nos)
        printed = {
            line.strip()
            for file, text in system(nos).files(config).items()
            if not file.endswith(".json")
            for line in text.splitlines()
        } - {"!", "end", "exit", "exit-address-family", "exit-vni", "write memory", "configure terminal"}
        found: set[str] = set()
        for tree in system(nos).trees(config).values():
            steps = compare(type(tree)(**{**vars(tree), "nodes": ()}), tree)
            found |= {str(line).strip() for line in steps.commands}
        assert printed <= found


@pytest.mark.parametrize("pair", [("h100-rlb", "evpn-gpu-isolation"), ("evpn-functional", "dci-50km")])
def test_frr_takes_the_commands(pair: tuple[str, str]) -> None:
    root = frr_root()
    if root is None:
        pytest.skip("no FRRouting: make validators")
    tool = in_root(root)
    assert tool is not None
    trees = [
        system("frr").trees(device_config(example(one), example(one).switches[0].name, "frr"))["frr.conf"]
        for one in pair
    ]
    change = compare(*trees)
    for way in (change, change.inverse):
        text = "".join(f"{line}\n" for line in way.commands)
        assert " no " in text
        assert tool.refused(text) == []
