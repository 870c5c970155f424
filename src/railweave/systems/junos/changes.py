"""Junos statements as a tree that can be compared, a change as ``delete``, ``set`` and ``insert``, and what that disrupts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.config.tree import Disruption, Node, Step
from railweave.systems.junos.tree import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.config.tree import Command, Name
    from railweave.systems.junos.tree import Statement

LEAF_LISTS = frozenset({"import", "export", "vrf-import", "vrf-export", "members", "code-points", "vlan-id-list"})
"""Leaves that hold a list also where one value stands in it: ``set`` adds to them, and only ``delete`` of a value takes it
away (``leaf-list`` in Juniper's published models)."""

MATCHED_LISTS = frozenset({"protocol", "community", "interface", "neighbor", "as-path-group", "color"})
"""The same, below ``from`` only."""

ORDERED_LISTS = frozenset({"import", "export", "vrf-import", "vrf-export"})
"""Lists of policies, which are asked one after another."""

POSITIONAL = frozenset({"fill-level", "drop-probability"})
"""Lists of values whose places correspond: a changed one is given anew as a whole."""

ORDERED = frozenset({"term"})
"""Statements whose order decides what they do; others may stand in any order."""

_OPEN = "RFC 4271, section 4.2: AS number and identifier are said when a session opens"
_BGP = r"(routing-instances / \S+ / )?protocols / bgp / "
_ANY = ("remove", "add", "replace")

DISRUPTIONS = (
    Disruption(_BGP + r".*(local-as|peer-as|local-address|authentication-key)", "BGP session", "it resets", _OPEN),
    Disruption(
        _BGP + r"group [^/]+( / (neighbor|dynamic-neighbor) [^/]+)?$", "BGP session", "it goes", _OPEN, ("remove",)
    ),
    Disruption(
        _BGP + r".*family ",
        "BGP session",
        "it resets",
        "RFC 4760, section 8: families are agreed when a session opens",
        ("remove", "add", "replace"),
    ),
    Disruption(
        r"(routing-instances / \S+ / )?routing-options / (router-id|autonomous-system)",
        "every BGP session of the instance",
        "they reset",
        _OPEN,
    ),
    Disruption(
        r"(protocols / bgp|routing-options) / .*graceful-restart",
        "BGP session",
        "it resets",
        "Juniper documentation, graceful-restart (Protocols BGP)",
        _ANY,
    ),
    Disruption(
        r"interfaces / et-\S+ / (speed|number-of-sub-ports)",
        "every channel of the port",
        "the port is made anew, and its links train anew",
        "IEEE 802.3: both ends must run the same rate and code",
    ),
    Disruption(
        r"class-of-service / (shared|dedicated)-buffer",
        "every port",
        "traffic stops until the buffers are divided anew",
        "Juniper documentation, Configuring Global Ingress and Egress Shared Buffers (QFX Series)",
        _ANY,
    ),
    Disruption(
        r"system / packet-forwarding-options",
        "every port",
        "the forwarding engine restarts",
        "Juniper's published 23.4R2 models, description of packet-forwarding-options",
        _ANY,
    ),
)


@dataclass(frozen=True)
class JunosTree:
    """The statements of a device; see ``ConfigTree``. A hierarchy is gone with the last statement in it."""

    nodes: tuple[Node, ...]
    keeps_empty: bool = False

    @property
    def disruptions(self) -> tuple[Disruption, ...]:
        """Those of Junos."""
        return DISRUPTIONS

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        """Lines of configuration mode; a commit takes them at once."""
        return [line for step in steps for line in _lines(step)]


def config_tree(statements: Iterable[Statement]) -> JunosTree:
    """``junos.conf`` as a tree."""
    return JunosTree(_nodes(statements))


def _nodes(statements: Iterable[Statement], parent: str = "") -> tuple[Node, ...]:
    found: dict[Name, Node] = {}
    for one in statements:
        node = _node(one, parent)
        found[node.name] = _joined(found[node.name], node) if node.name in found else node
    return tuple(found.values())


def _node(one: Statement, parent: str) -> Node:
    ordered = one.words[0] in ORDERED
    if one.children is not None:
        return Node(one.words, children=_nodes(one.children, one.words[0]), ordered=ordered)
    word = one.words[0]
    name, values = one.name, (*one.words[len(one.name) :], *one.values)
    listed = word in LEAF_LISTS and parent != "vrf-target"
    if listed or (parent == "from" and word in MATCHED_LISTS):  # also as read, where the value is a word
        name, values = (word,), (*one.words[1:], *one.values)
    elif word in POSITIONAL:
        return Node(one.words, values, listed=True, anew=True)
    elif not (one.several or len(one.values) > 1):
        return Node(name, values, ordered=ordered, anew=bool(one.key))
    if not values:
        return Node(name)
    is_ordered = word in ORDERED_LISTS
    members = tuple(Node((value,), ordered=is_ordered) for value in dict.fromkeys(values))
    return Node(name, children=members, anew=is_ordered)


def _joined(one: Node, other: Node) -> Node:
    """The same statement twice: what is below both, or the later value."""
    if one.children is None or other.children is None:
        return other
    known = {child.name for child in one.children}
    return replace(one, children=(*one.children, *(child for child in other.children if child.name not in known)))


def _lines(step: Step) -> Iterator[str]:
    above = _words(step.above)
    here = f"{above}{_words([step.node.name])}".rstrip()
    if step.kind == "remove":
        yield f"delete {here}"
    elif step.kind == "move":
        yield f"insert {here} before {_words([step.before])}".rstrip()
    else:
        yield from (f"set {line}" for line in _set(step.node, above))


def _set(node: Node, above: str) -> Iterator[str]:
    here = f"{above}{_words([node.name])}"
    if node.children:
        for child in node.children:
            yield from _set(child, here)
    elif node.listed:
        yield from (f"{here}{quoted(value)}" for value in node.values)
    else:
        yield f"{here}{' '.join(map(quoted, node.values))}".rstrip()


def _words(names: Sequence[Name]) -> str:
    """The words of names, each with a space behind it."""
    return "".join(f"{quoted(word)} " for name in names for word in name)
