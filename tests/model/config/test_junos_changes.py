"""Lists of Junos are lists: a value is deleted where it leaves, and order is kept where it counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.model.config.apply import apply
from railweave.model.config.compare import compare
from railweave.model.config.tree import ports_of
from railweave.systems.junos.changes import JunosTree, config_tree
from railweave.systems.junos.parse import parse


def _change(old: str, new: str) -> list[Any]:
    return compare(config_tree(parse(old)), config_tree(parse(new))).commands


def test_a_vlan_that_leaves_a_port_is_deleted_from_its_members() -> None:
    old = "interfaces { et-0/0/0 { unit 0 { family ethernet-switching { vlan { members vn22; } } } } } vlans { vn22 { vlan-id 22; } }"
    assert _change(old, old.replace("22", "14")) == [
        "delete interfaces et-0/0/0 unit 0 family ethernet-switching vlan members vn22",
        "delete vlans vn22",
        "set interfaces et-0/0/0 unit 0 family ethernet-switching vlan members vn14",
        "set vlans vn14 vlan-id 14",
    ]


def test_no_list_names_a_policy_that_is_gone() -> None:
    old = "routing-options { forwarding-table { export spray; } } policy-options { policy-statement spray { then accept; } }"
    assert _change(old, old.replace("spray", "ecmp"))[:2] == [
        "delete routing-options forwarding-table export spray",
        "delete policy-options policy-statement spray",
    ]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("[ a b ]", "[ b c ]", ["delete export a", "set export c"]),
        ("[ a b ]", "[ b a ]", ["delete export", "set export b", "set export a"]),
        ("[ b ]", "[ a b ]", ["delete export", "set export a", "set export b"]),
        ("a", "[ a b ]", ["set export b"]),
        ("[ a b ]", "a", ["delete export b"]),
    ],
)
def test_policies_are_asked_in_order(old: str, new: str, lines: list[str]) -> None:
    assert _change(f"export {old};", f"export {new};") == lines


def test_the_target_of_a_vrf_is_one_value() -> None:
    assert _change("vrf-target { export target:1:1; }", "vrf-target { export target:1:2; }") == [
        "delete vrf-target export target:1:1",
        "set vrf-target export target:1:2",
    ]


_NAMES = st.sampled_from(["a", "b", "c"])
_LISTS = st.lists(_NAMES, min_size=1, max_size=3, unique=True)
_LEAVES = st.one_of(
    st.builds(lambda values: f"export [ {' '.join(values)} ];", _LISTS),
    st.builds(lambda values: f"members [ {' '.join(values)} ];", _LISTS),
    st.builds(
        lambda values: f"fill-level [ {' '.join(values)} ];", st.lists(st.sampled_from("012"), min_size=2, max_size=3)
    ),
    st.just("bfd;"),
)
_TERMS = st.lists(_NAMES, max_size=3, unique=True).map(
    lambda names: [f"term {name} {{ then accept; }}" for name in names]
)


def _block(head: str, parts: list[str]) -> str:
    return f"{head} {{ {' '.join(parts)} }}" if parts else ""


_BLOCKS = st.builds(
    lambda leaves, terms: _block("policy", [*leaves, *terms]),
    st.lists(_LEAVES, max_size=3, unique_by=lambda one: one.split()[0]),
    _TERMS,
)
TREES = st.builds(
    lambda leaves, blocks: config_tree(parse(" ".join([*leaves, blocks]))),
    st.lists(_LEAVES, max_size=3, unique_by=lambda one: one.split()[0]),
    _BLOCKS,
)


class Candidate:
    """A candidate configuration that treats lists as the models do: paths in order, ``set`` appends, ``insert`` moves."""

    def __init__(self, tree: JunosTree) -> None:
        self.paths: list[tuple[str, ...]] = []
        self.load([f"set {line}" for line in _set_lines(tree)])

    def load(self, commands: list[Any]) -> None:
        for command in commands:
            verb, *words = command.split()
            path = tuple(words)
            if verb == "delete":
                assert any(one[: len(path)] == path for one in self.paths), f"{command}: statement not found"
                self.paths = [one for one in self.paths if one[: len(path)] != path]
            elif verb == "set":
                self.paths += [path] if path not in self.paths or "fill-level" in path else []
            else:
                at = words.index("before")
                moved, before = path[:at], (*path[: at - 2], *path[at + 1 :])
                taken = [one for one in self.paths if one[: len(moved)] == moved]
                self.paths = [one for one in self.paths if one not in taken]
                place = next(n for n, one in enumerate(self.paths) if one[: len(before)] == before)
                self.paths[place:place] = taken

    def said(self) -> Any:
        """Statements of which order does not count as a set; terms, policies and levels in order."""
        ordered = [one for one in self.paths if {"term", "export", "fill-level"} & set(one)]
        kinds = {kind: [one for one in ordered if kind in one] for kind in ("term", "export", "fill-level")}
        by_kind = {
            kind: ([one for one in f if one[0] == "policy"], [one for one in f if one[0] != "policy"])
            for kind, f in kinds.items()
        }
        return by_kind, set(self.paths) - set(ordered)


def _set_lines(tree: JunosTree) -> list[str]:
    return [str(line).removeprefix("set ") for line in compare(JunosTree(()), tree).commands]


@given(old=TREES, new=TREES)
def test_a_candidate_becomes_the_new_configuration_and_the_old_again(old: JunosTree, new: JunosTree) -> None:
    change = compare(old, new)
    candidate = Candidate(old)
    candidate.load(change.commands)
    assert candidate.said() == Candidate(new).said()
    candidate.load(change.inverse.commands)
    assert candidate.said() == Candidate(old).said()
    assert not compare(new, JunosTree(apply(old.nodes, change.steps)))


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("class-of-service { shared-buffer { ingress { buffer-partition lossless { percent 80; } } } }", "every port"),
        ("protocols { bgp { group g { local-as 1; } } }", "BGP session"),
        ("interfaces { et-0/0/0 { speed 400g; } }", "every channel of the port"),
    ],
)
def test_what_a_change_disrupts(statement: str, what: str) -> None:
    old, new = parse(statement), parse(statement.replace("80", "70").replace("as 1", "as 2").replace("400g", "800g"))
    assert {row.what for _, row in compare(config_tree(old), config_tree(new)).disrupts} == {what}


@pytest.mark.parametrize(
    ("old", "new", "disrupts"),
    [
        ("routing-instances { red { interface P.0; } }", "routing-instances { blue { interface P.0; } }", True),
        ("interfaces { P { unit 0; } }", "interfaces { P { unit 0; } } routing-instances { red { interface P.0; } }", True),
        ("routing-instances { red { interface irb.7; } }", "routing-instances { blue { interface irb.7; } }", True),
        ("", "interfaces { P { unit 0; } } routing-instances { red { interface P.0; } }", False),
        ("interfaces { irb { unit 0; } }", "routing-instances { red { interface irb.7; } } interfaces { irb { unit 0; unit 7; } }", False),
    ],
)  # fmt: skip
def test_a_port_that_moves_between_vrfs_is_disrupted_and_one_that_comes_is_not(
    old: str, new: str, *, disrupts: bool
) -> None:
    before, after = (config_tree(parse(one.replace("P", "et-0/0/0"))) for one in (old, new))
    assert {row.what for _, row in compare(before, after).disrupts} == ({"the interface"} if disrupts else set())


PFC = "class-of-service { interfaces { P { congestion-notification-profile %s; } } }"


@pytest.mark.parametrize(
    ("old", "new", "what", "ports"),
    [
        ("interfaces { P { mtu 9216; } }", "interfaces { P { mtu 9000; } }", "the interface", ("P",)),
        ("interfaces { P { mtu 9216; } }", "interfaces { P { description x; } }", "the interface", ("P",)),
        ("interfaces { P { unit 0; } }", "interfaces { P { mtu 9000; unit 0; } }", "the interface", ("P",)),
        ("interfaces { irb { unit 7 { mtu 9000; } } }", "interfaces { irb { unit 7 { mtu 8000; } } }", "the interface", ()),
        ("interfaces { P { mtu 9216; } Q { mtu 9216; } }", "interfaces { Q { mtu 9216; } }", "the interface", ("P",)),
        ("interfaces { P { unit 0; unit 1; } }", "interfaces { P { unit 0; } }", "the interface", ("P",)),
        ("interfaces { P { unit 0; } }", "interfaces { P { disable; unit 0; } }", "the interface", ("P",)),
        ("interfaces { Q { unit 0; } }", "interfaces { Q { unit 0; number-of-sub-ports 2; } }", "every channel of the port", ()),
        ("interfaces { P { unit 0; } } " + PFC % "a", "interfaces { P { unit 0; } } " + PFC % "b", "the port", ("P",)),
    ],
)  # fmt: skip
def test_what_a_change_of_a_port_disrupts(old: str, new: str, what: str, ports: tuple[str, ...]) -> None:
    """MTU and PFC by Juniper's reference pages of ``mtu`` and ``congestion-notification-profile``."""
    names = {"P": "et-0/0/0:1", "Q": "et-0/0/2"}
    before, after = (
        config_tree(parse(one.replace(" P ", f" {names['P']} ").replace(" Q ", f" {names['Q']} ")))
        for one in (old, new)
    )
    found = {(row.what, ports_of(row, step)) for step, row in compare(before, after).disrupts}
    assert found == {(what, tuple(names[one] for one in ports))}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "interfaces { et-0/0/2 { mtu 9000; disable; number-of-sub-ports 2; } }"),
        ("", "class-of-service { interfaces { et-0/0/2 { congestion-notification-profile a; } } }"),
        ("interfaces { et-0/0/2 { disable; mtu 9000; } }", "interfaces { et-0/0/2 { mtu 9000; } }"),
    ],
)
def test_a_port_that_comes_into_use_disrupts_nothing(old: str, new: str) -> None:
    assert not compare(config_tree(parse(old)), config_tree(parse(new))).disrupts
