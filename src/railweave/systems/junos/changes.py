"""Changes of Junos statements: the lines (``delete``, ``set``, ``insert``) of a change, and the traffic that the change disrupts.

The statements are compared as a tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.model.config.tree import UNKNOWN_DISRUPTION, Command, Disruption, Name, Node, Refusal, Step
from railweave.systems.junos.tree import Statement, pathset, quoted, wordset
from railweave.systems.standards import (
    AFTER_HOLDING_TIME,
    ANY,
    BFD_TIMERS,
    FAMILIES,
    HELLOS,
    HELLOS_OF_LINKS,
    KEYED,
    METRICS,
    OPEN,
    SELECTED,
    SIGNED,
    UNTIL_BOTH_HAVE_IT,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


ANYWHERE = wordset(
    "as-path-group code-points drop-probability export fill-level flow-control-queue import input-list "
    "instance-export instance-import members output-list vlan-id-list vrf-export vrf-import"
)
"""The keywords that are followed by a list of values in every hierarchy, except in the pairs (hierarchy, keyword) of ``ONE_VALUE``."""

ONE_VALUE = pathset(
    "vrf-target import, vrf-target export, dscp import, dscp-ipv6 import, exp import, ieee-802.1 import, ieee-802.1ad "
    "import, inet-precedence import, fill-level drop-probability"
)
"""The pairs (hierarchy, keyword) for which a keyword of ``ANYWHERE`` has only one value."""

BELOW = frozenset(
    {
        *((where, word) for where in ("from", "to") for word in ("as-path", "community", "interface", "neighbor")),
        *((where, word) for where in ("from", "to") for word in ("next-hop", "protocol")),
        ("from", "destination-port"),
        ("pfc-account", "pfc-priority"),
        ("from", "dscp"),
        ("from", "source-port"),
        ("evpn", "extended-vni-list"),
        ("rib-groups", "import-rib"),
        ("route", "community"),
        ("route", "next-hop"),
        ("ssl", "local-certificate"),
        ("system", "authentication-order"),
    }
)
"""The pairs (hierarchy, keyword) for which a keyword has a list of values, although it has one value in other hierarchies."""

NOT_IN_MODELS = frozenset({"backup-color", "first-byte-of-payload", "rdma-opcode"})
"""Keywords with a list of values that are too new for the YANG models. Juniper's documentation shows their values in brackets."""

NAMED_BELOW = wordset(
    "interfaces vlans routing-instances schedulers scheduler-maps drop-profiles congestion-notification-profile"
)
"""The hierarchies in which each statement begins with a name that the operator chooses."""

WITHOUT_HIERARCHY = frozenset(
    {"name-server", "schedulers", "scheduler-maps", "drop-profiles", "congestion-notification-profile"}
)
"""The keywords that Junos prints with braces like a hierarchy, but that are lists of named entries.

To remove an entry, ``delete`` needs its name.
"""

ORDERED = frozenset(
    {"import", "export", "vrf-import", "vrf-export", "instance-import", "instance-export", "input-list", "output-list"}
)
"""The keywords of lists whose members (policies or filters) are applied in order."""

POSITIONAL = frozenset({"fill-level", "drop-probability"})
"""The two lists whose values form pairs by position. If such a list changes, the whole list is replaced."""

ORDERED_STATEMENTS = frozenset({"term"})
"""The statements whose order matters. The command ``insert`` moves them."""

ORDERED_ACTIONS = frozenset({("then", "community"), ("then", "as-path-prepend")})
"""The actions of a policy that are applied in their order. If the order changes, the whole ``then`` is replaced."""

KEYED_BY_ALL = frozenset({"route-filter", "prefix-list-filter"})
"""The statements that are identified by all their words, including the kind of match. To remove one, ``delete`` needs the whole line."""


def is_list(parent: str, word: str) -> bool:
    """Return True if ``word`` in the hierarchy ``parent`` is followed by a list of values."""
    if word in ANYWHERE:
        return (parent, word) not in ONE_VALUE
    return (parent, word) in BELOW or word in NOT_IN_MODELS


_PFC = "Juniper documentation, congestion-notification-profile"
_BGP = r"(routing-instances / \S+ / )?protocols / bgp / "
_RESETS = "Juniper documentation, Understanding BGP Session Resets"
_GROUP = _BGP + r"(?P<of>group [^/]+) / (.* / )?"
_ON_ISIS = r"protocols / isis / (?P<of>interface \S+) / (level \d+ / )?"
_PORT = r"(?P<of>(?P<port>et-[\d/:]+)|\S+)"

DISRUPTIONS = (
    Disruption(_BGP + r".*(local-as|peer-as|local-address)", "BGP session", "it resets", OPEN),
    Disruption(_BGP + r"(?P<of>group [^/]+) / (.* / )?local-as", "BGP session", "it resets", OPEN, ("add",)),
    Disruption(
        _BGP + r"(?P<of>group [^/]+) / (.* / )?shutdown$",
        "BGP session",
        "it is shut down",
        "Juniper documentation, shutdown (Protocols BGP)",
        ("add",),
    ),
    Disruption(
        _BGP + r"disable$", "every BGP session", "they end", "Juniper documentation, disable (Protocols BGP)", ("add",)
    ),
    Disruption(
        _BGP + r".*authentication-(key|key-chain|algorithm)( |$)",
        "BGP session",
        UNTIL_BOTH_HAVE_IT,
        KEYED,
        ANY,
    ),
    Disruption(
        _BGP + r"group [^/]+( / (neighbor|dynamic-neighbor) [^/]+)?$", "BGP session", "it goes", OPEN, ("remove",)
    ),
    Disruption(
        _BGP + r".*family ",
        "BGP session",
        "it resets",
        FAMILIES,
        ANY,
    ),
    Disruption(_BGP + r".*cluster( |$)", "every BGP session of the AS number", "they reset", _RESETS, ANY),
    Disruption(
        _GROUP + r"description( |$)",
        "",
        "the session stays",
        "Juniper documentation, description (Protocols BGP)",
        ANY,
    ),
    Disruption(
        _GROUP + r"(import|export|multipath)( |$)",
        "",
        "the session stays, and its routes are selected again",
        SELECTED,
        ANY,
    ),
    Disruption(
        _GROUP + r"bfd-liveness-detection( |$)",
        "",
        "the session stays",
        BFD_TIMERS,
        ANY,
    ),
    Disruption(
        _GROUP + r"(neighbor|dynamic-neighbor) [^/]+$", "", "a new neighbor resets no other session", OPEN, ("add",)
    ),
    Disruption(_GROUP, UNKNOWN_DISRUPTION, "whether the BGP session stays up", "no source is known", ANY),
    Disruption(
        r"(routing-instances / \S+ / )?routing-options / (router-id|autonomous-system)",
        "every BGP session of the instance",
        "they reset",
        OPEN,
    ),
    Disruption(
        r"(protocols / bgp|routing-options) / (.* / )?graceful-restart",
        "every BGP session",
        "they reset",
        "Juniper documentation, graceful-restart (Protocols BGP)",
        ANY,
    ),
    Disruption(r"protocols / isis$", "every IS-IS adjacency", "the process goes", HELLOS, ("remove",)),
    Disruption(r"protocols / isis / interface \S+$", "IS-IS adjacency", "it goes", HELLOS, ("remove",)),
    Disruption(
        _ON_ISIS + r"(passive|disable)( |$)",
        "IS-IS adjacency",
        "it goes: no hellos are sent",
        "Juniper documentation, passive and disable (Protocols IS-IS)",
        ("add",),
    ),
    Disruption(
        r"protocols / isis / (?P<of>interface \S+ / level 2|level 2) / disable$",
        "IS-IS adjacency",
        "it goes: level 2 ends",
        "Juniper documentation, disable (Protocols IS-IS)",
        ("add",),
    ),
    Disruption(
        _ON_ISIS + r"point-to-point$",
        "IS-IS adjacency",
        "it resets",
        HELLOS_OF_LINKS,
        ANY,
    ),
    Disruption(
        _ON_ISIS + r"hello-authentication-",
        "IS-IS adjacency",
        AFTER_HOLDING_TIME,
        SIGNED,
        ANY,
    ),
    Disruption(
        r"protocols / (?P<of>isis) / level \d / authentication-",
        "routes of IS-IS",
        "link-state PDUs with a different key are discarded until all switches have the key, and hellos where they have no key of their own",
        f"Juniper documentation, hello-authentication-key (Protocols IS-IS); {SIGNED}",
        ANY,
    ),
    Disruption(
        r"interfaces / (?P<of>lo0) / unit \S+ / family iso / address ",
        "every IS-IS adjacency",
        "they reset if the system identifier changes",
        HELLOS,
        ("remove", "replace"),
    ),
    Disruption(
        r"protocols / isis / (.* / )?(metric|wide-metrics-only)( |$)",
        "",
        "the adjacency stays",
        METRICS,
        ANY,
    ),
    Disruption(
        r"protocols / isis / (.* / )?(hello-interval|hold-time|hello-padding|priority|overload|lsp-\S+|spf-options|traceoptions)( |$)",
        "",
        "the adjacency stays",
        HELLOS,
        ANY,
    ),
    Disruption(
        r"protocols / isis / (.* / )?bfd-liveness-detection( |$)",
        "",
        "the adjacency stays",
        BFD_TIMERS,
        ANY,
    ),
    Disruption(
        r"protocols / isis / ((interface \S+ / )?level 1( |$)|(interface \S+ / )?(level \d+|family \S+)$|interface \S+$)",
        "",
        "a new interface disrupts no other; level 1 is unused",
        HELLOS,
        ANY,
    ),
    Disruption(
        r"protocols / (?P<of>isis) / ",
        UNKNOWN_DISRUPTION,
        "whether the IS-IS adjacencies stay up",
        "no source is known",
        ANY,
    ),
    Disruption(
        r"interfaces / (?P<of>et-\S+) / (speed|number-of-sub-ports)",
        "every channel of the port",
        "the port is made again, and its links train again",
        "IEEE 802.3: both ends must run the same rate and code",
        ANY,
    ),
    Disruption(
        rf"interfaces / {_PORT} / (.* / )?mtu( |$)",
        "the interface",
        "it is deleted and added again",
        "Juniper documentation, mtu (Interfaces)",
        ANY,
        itself=True,
    ),
    Disruption(
        rf"interfaces / {_PORT}( / unit \S+( / family \S+)?)?$",
        "the interface",
        "it loses its configuration: its link, or its addresses and the sessions from them, go",
        "Juniper documentation, interfaces",
        ("remove",),
        itself=True,
    ),
    Disruption(
        rf"interfaces / {_PORT} / (unit \S+ / )?disable$",
        "the interface",
        "it is shut down",
        "Juniper documentation, disable (Interface)",
        ("add",),
    ),
    Disruption(
        rf"class-of-service / interfaces / {_PORT} / congestion-notification-profile",
        "the port",
        "it is blocked until the change of PFC is done, and loses packets of all queues",
        _PFC,
        ANY,
    ),
    Disruption(
        "class-of-service / congestion-notification-profile / ",
        "every port with the profile",
        "it is blocked until the change of PFC is done, and loses packets of all queues",
        _PFC,
    ),
    Disruption(
        rf"routing-instances / \S+ / interface {_PORT}",
        "the interface",
        "it changes its VRF, and with it the table of its routes: its neighbors and sessions go",
        "RFC 4364, section 3.1: an attachment circuit is of one VRF",
        ANY,
    ),
    Disruption(
        r"class-of-service / (shared|dedicated)-buffer",
        "every port",
        "traffic stops until the buffers are divided again",
        "Juniper documentation, Configuring Global Ingress and Egress Shared Buffers (QFX Series)",
        ANY,
    ),
    Disruption(
        r"system / packet-forwarding-options",
        "every port",
        "the forwarding engine restarts",
        "Juniper's published 23.4R2 models, description of packet-forwarding-options",
        ANY,
    ),
)


@dataclass(frozen=True)
class JunosTree:
    """The statements of a device as a ``ConfigTree``. A hierarchy disappears with its last statement."""

    nodes: tuple[Node, ...]
    keeps_empty: bool = False

    @property
    def disruptions(self) -> tuple[Disruption, ...]:
        """The traffic disruptions that changes of Junos statements cause."""
        return DISRUPTIONS

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        """Return the lines to enter in configuration mode. One commit applies all of them together.

        ``steps`` are the differences between two trees.
        """
        return [line for step in steps for line in _lines(step)]

    def refused(self, steps: Sequence[Step]) -> tuple[Refusal, ...]:
        """Return an empty tuple for all ``steps``: Junos shows which changes it refuses only after the lines are entered."""
        del steps
        return ()


def config_tree(statements: Iterable[Statement]) -> JunosTree:
    """Return ``junos.conf`` as a tree."""
    return JunosTree(_nodes(statements))


def _nodes(statements: Iterable[Statement], parent: str = "", names: bool = False) -> tuple[Node, ...]:
    """Return statements as nodes of the tree.

    ``parent`` is the keyword of the surrounding hierarchy. ``names`` is True if each statement begins with a name that the
    operator chooses.
    """
    nodes: dict[Name, Node] = {}
    for statement in statements:
        node = _node(statement, parent, names)
        nodes[node.name] = _joined(nodes[node.name], node) if node.name in nodes else node
    return tuple(nodes.values())


def _node(statement: Statement, parent: str, names: bool) -> Node:
    word = statement.words[0]
    ordered = word in ORDERED_STATEMENTS or (parent, word) in ORDERED_ACTIONS
    if statement.children is not None:
        below = parent if names else word
        inner = _nodes(statement.children, below, not names and len(statement.words) == 1 and word in NAMED_BELOW)
        return Node(statement.words, children=inner, ordered=ordered, anew=word == "then", at=statement.at)
    if word in KEYED_BY_ALL:
        return Node((*statement.words, *statement.values), ordered=ordered, at=statement.at)
    if not names and is_list(parent, word):
        return _list(
            (word,), (*statement.words[1:], *statement.values), statement.at
        )  # as read, the value may be one of the words
    if statement.several or len(statement.values) > 1:
        return _list(statement.words, statement.values, statement.at)
    values = (*statement.words[len(statement.name) :], *statement.values)
    return Node(statement.name, values, ordered=ordered, anew=bool(statement.key), at=statement.at)


def _list(name: Name, values: tuple[str, ...], at: int) -> Node:
    if name[0] in POSITIONAL:
        return Node(name, values, listed=True, anew=True, at=at)
    if not values:
        return Node(name, at=at)
    ordered = name[0] in ORDERED
    members = tuple(Node((value,), ordered=ordered, at=at) for value in dict.fromkeys(values))
    return Node(name, children=members, anew=ordered, at=at)


def _joined(node: Node, other: Node) -> Node:
    """Return one node for ``node`` and ``other``, two nodes of the same statement. Their children are joined at every level.

    If one of the two nodes has no children, the result is ``other``.
    """
    if node.children is None or other.children is None:
        return other
    below = {child.name: child for child in node.children}
    for child in other.children:
        below[child.name] = _joined(below[child.name], child) if child.name in below else child
    return replace(node, children=tuple(below.values()))


def _lines(step: Step) -> Iterator[str]:
    above = _words(step.above)
    here = f"{above}{_words([step.node.name])}".rstrip()
    if step.kind == "remove":
        names = [f" {_words([child.name])}".rstrip() for child in step.node.children or ()]
        apart = len(step.node.name) == 1 and step.node.name[0] in WITHOUT_HIERARCHY
        yield from (f"delete {here}{name}" for name in (names if apart and names else [""]))
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
    """Return the words of names as one string, each followed by a space, in quotation marks if necessary."""
    return "".join(f"{quoted(word)} " for name in names for word in name)
