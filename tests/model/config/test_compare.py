"""Properties of ``compare`` and ``apply`` on trees of no system: there, back, and nothing where nothing differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from railweave.model.config.apply import apply
from railweave.model.config.compare import compare
from railweave.model.config.tree import Command, Disruption, Node, Refusal, Step, disrupted


@dataclass(frozen=True)
class Toy:
    """A tree of a system that is told the paths of the steps."""

    nodes: tuple[Node, ...]
    keeps_empty: bool
    disruptions: tuple[Disruption, ...] = (Disruption("a / mtu", "link", "it goes down", "made up"),)

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        return [f"{step.kind} {step.path}" for step in steps]

    def refused(self, steps: Sequence[Step]) -> Sequence[Refusal]:
        del steps
        return ()


def plain(nodes: Sequence[Node]) -> Any:
    """What a tree says: siblings by name, values, what is below, and the order of those that have one."""
    return (
        {one.name: (one.values, one.listed, plain(one.children or ())) for one in nodes},
        [one.name for one in nodes if one.ordered],
    )


_NAMES = st.sampled_from([("a",), ("b",), ("c", "1"), ("d",), ("mtu",)])
_ORDERED = st.sampled_from([("term", letter) for letter in "pqrs"])


def _named(name: tuple[str, ...], children: tuple[Node, ...] | None, values: list[str]) -> Node:
    """Flags follow from the name, as they do in a system's own table."""
    ordered = name[0] == "term"
    if children is None:
        return Node(name, tuple(values), listed=name == ("d",), ordered=ordered, anew=name in {("c", "1"), ("d",)})
    return Node(name, children=children, ordered=ordered, anew=name == ("b",))


def _siblings(children: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Node, ...]]:
    one = st.tuples(_NAMES | _ORDERED, children, st.lists(st.sampled_from("xyz"), max_size=2))
    lists = st.lists(one, max_size=4, unique_by=lambda found: found[0])
    return lists.map(lambda found: tuple(_named(*each) for each in found))


TREES = st.recursive(_siblings(st.none()), lambda inner: _siblings(st.none() | inner), max_leaves=12)


@given(old=TREES, new=TREES, keeps_empty=st.booleans())
def test_there_and_back(old: tuple[Node, ...], new: tuple[Node, ...], keeps_empty: bool) -> None:
    change = compare(Toy(old, keeps_empty), Toy(new, keeps_empty))
    there = apply(old, change.steps)
    assert plain(there) == plain(new)
    assert plain(apply(there, change.inverse.steps)) == plain(old)
    assert change.inverse.inverse == change


@given(tree=TREES)
def test_nothing_between_equal_trees(tree: tuple[Node, ...]) -> None:
    change = compare(Toy(tree, True), Toy(tree, True))
    assert not change
    assert change.commands == []


def test_a_step_carries_what_it_disrupts() -> None:
    old, new = (Toy((Node(("a",), children=(Node(("mtu",), (mtu,)),)),), True) for mtu in ("9000", "9100"))
    change = compare(old, new)
    assert change.commands == ["replace a / mtu"]
    assert [(step.path, row.why) for step, row in change.disrupts] == [("a / mtu", "it goes down")]
    gone = compare(old, Toy((), True))
    assert [(step.path, row.what) for step, row in gone.disrupts] == [("a", "link")]
    assert not compare(Toy((), True), old).disrupts


def test_rows_are_for_the_kinds_they_name() -> None:
    row = Disruption("a", "everything", "", "", when=("add",))
    node = Node(("a",))
    assert disrupted(Step("add", (), node, (0,)), [row]) == [row]
    assert disrupted(Step("remove", (), node, (0,)), [row]) == []


def test_what_is_new_is_not_disrupted() -> None:
    """A neighbor that is added with its families resets no session; a family that a neighbor gets does."""
    row = Disruption(r"bgp / (?P<of>neighbor \S+) activate", "session", "it resets", "made up", ("add",))
    step = Step("add", (("bgp",),), Node(("neighbor", "up", "activate")), (0,))
    there = Node(("bgp",), children=(Node(("neighbor", "up", "remote-as"), ("65000",)),))
    other = Node(("bgp",), children=(Node(("neighbor", "up-2", "remote-as"), ("65000",)),))
    assert disrupted(step, [row], [there]) == [row]
    assert disrupted(step, [row], [other]) == []
