"""Statements as they are read, in the shape in which they are rendered: which words of a line name it, and which are its value.

Curly text says what is a block. On a line, and in other forms, words alone do not tell a name from a value; as Juniper's models
have it, for what railweave renders. What it does not render is named by its first word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos import lists
from railweave.systems.junos.parse import KEYED, NAMES_BELOW
from railweave.systems.junos.read.words import Word
from railweave.systems.junos.tree import Statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.systems.junos.read.forms import Path

_NAMED = frozenset(
    {"address", "interface", "server", "forwarding-class", "oid", "neighbor", "unit", "term", "policy-statement"}
)
"""Words of a line that a name of the user's choosing follows."""

_NAMED_BELOW = frozenset(
    {
        ("then", "count"),
        ("from", "prefix-list"),
        ("forwarding-classes", "class"),
        ("vrf-target", "import"),
        ("vrf-target", "export"),
        ("community", "routing-instance"),
    }
)
_MORE_NAMED = frozenset(
    {
        "loss-priority",
        "usm",
        "security-model",
        "security-level",
        "security-name",
        "connectivity-association",
        "storm-control-profiles",
        "level",
        "policer",
        "tacplus-server",
        "radius-server",
        "key-chain",
        "rib",
        "rio-prefix",
        "vni",
        "ip-version",
    }
)
"""Words of blocks that a name follows, beside those that a ``set`` line of the operator's is told by."""

_BLOCKS_BY_NAME = frozenset({("key-chain", "key"), ("snmp", "community")})
_VALUES = frozenset(
    {
        ("user", "class"),
        ("vxlan", "vni"),
        ("ip-prefix-routes", "vni"),
        ("ssl", "port"),
        ("host", "port"),
        ("radius-server", "port"),
        ("tacplus-server", "port"),
        ("input", "dscp"),
        ("loss-priority", "code-point"),
        ("security-name", "group"),
        ("from", "family"),
        ("from", "rib"),
        ("then", "policer"),
        ("from", "interface"),
    }
)
"""Places of words that a value follows, where elsewhere they name a block."""

_ON_ONE_LINE = frozenset({("forwarding-classes", "class"), ("scheduler-maps", "forwarding-class"), ("ntp", "server")})
"""Entries that stand on one line with their content."""

_FLAGS = frozenset(
    {
        "netconf",
        "unicast",
        "rstp",
        "traffic-manager",
        "ether-type",
        "clients",
        "targets",
        "destination-address",
        "source-prefix-list",
        "multipath",
        "then",
        "from",
        "system",
        "protocols",
        "routing-options",
        "graceful-restart",
        "global-load-balancing",
    }
)
"""Blocks that may hold nothing but flags or names."""

_FLAGS_BELOW = frozenset({("chained-composite-next-hop", "ingress"), ("", "chassis"), ("", "snmp")})
_DROP_PROFILE = 5
"""``drop-profile-map loss-priority any protocol any`` names its line."""


def shaped(statements: Iterable[Statement], parent: str = "") -> list[Statement]:
    """Statements of curly text with values apart from names."""
    for one in statements:
        if one.children is not None:
            one.children = shaped(one.children, one.words[0])
        elif len(one.words) > 1:
            _line(one, parent)
    return list(statements)


def _line(one: Statement, parent: str) -> None:
    word = one.words[0]
    if word in {"from", "then", "to"}:  # Junos leaves out the braces around one statement
        inner = Statement(one.words[1:], one.values, several=one.several, at=one.at)
        one.words, one.values, one.several, one.children = (word,), (), False, shaped([inner], word)
        return
    if word in lists.KEYED_BY_ALL or lists.is_list(parent, word):
        return
    width = _width(parent, word)
    if width >= len(one.words):
        return
    if width > 1 or _on_one_line(parent, word):
        one.key = width  # named on a line together with its content
    else:
        one.words, one.values = one.words[:width], (*one.words[width:], *one.values)


def _on_one_line(parent: str, word: str) -> bool:
    """Whether the first word alone names a line: a server, a facility of syslog."""
    if parent in {"host", "file"}:
        return word not in {
            "port",
            "routing-instance",
            "structured-data",
            "source-address",
            "archive",
            "match",
            "explicit-priority",
        }
    return parent in {"name-server", "switch-options"}


def _width(parent: str, word: str) -> int:
    if parent == "then" and word == "community":
        return 3
    if word == "drop-profile-map":
        return _DROP_PROFILE
    if word == "family" and parent != "from":
        return 2
    keyed = word in _NAMED or (parent, word) in _NAMED_BELOW or (parent == "authentication" and word.startswith("ssh-"))
    return 2 if keyed else 1


def of_paths(paths: Iterable[Path]) -> list[Statement]:
    """Statements of other forms, from what follows ``set``."""
    top = Word("")
    for words, at in paths:
        top.add(words, 0, at)
    return _below(top, "")


def _below(word: Word, parent: str, *, names: bool = False) -> list[Statement]:
    """The statements below a word; ``names``: each begins with a name of the user's choosing."""
    found: list[Statement] = []
    for one in word.below.values():
        if names:
            found.append(
                Statement((one.text,), children=_below(one, parent), at=one.at)
                if one.below
                else Statement((one.text,), at=one.at)
            )
        elif _has_value(one, parent):
            found.append(_plain(one, parent))
        elif one.below and (_names_block(parent, one.text) or _width(parent, one.text) > 1):
            found += [_entry(one, name, parent) for name in one.below.values()]
        else:
            found.append(_plain(one, parent))
    return found


def _has_value(one: Word, parent: str) -> bool:
    """Whether a word that may name a block has a value here: nothing stands below it; or a filter that is bound."""
    if parent in {"classifiers", "rewrite-rules"} or one.text == "connectivity-association":
        return not any(name.below for name in one.below.values())
    return one.text == "filter" and one.below.keys() <= {"input", "output"}


def _names_block(parent: str, word: str) -> bool:
    """Whether a word has a name behind it and a block: those that ``set`` lines are told by, where they have no value instead."""
    if (parent, word) in _VALUES or word == "routing-instance":
        return False
    if (parent, word) in _BLOCKS_BY_NAME or word in _MORE_NAMED:
        return True
    return word in KEYED and not lists.is_list(parent, word)


def _entry(word: Word, name: Word, parent: str) -> Statement:
    head = (word.text, name.text)
    if (
        word.text in lists.KEYED_BY_ALL
        or (parent, word.text) in _ON_ONE_LINE
        or word.text in {"drop-profile-map", "oid"}
    ):
        made = Statement((*head, *_flat(name)), at=name.at)
        if word.text not in lists.KEYED_BY_ALL:
            made.key = _width(parent, word.text)
        return made
    if (parent, word.text) == ("then", "community"):
        return Statement((*head, *_flat(name)), at=name.at)
    if not name.below:
        return Statement(head, at=name.at)
    return Statement(head, children=_below(name, word.text), at=name.at)


def _plain(one: Word, parent: str) -> Statement:
    values = tuple(one.below)
    if lists.is_list(parent, one.text):
        return Statement((one.text,), values, several=True, at=one.at)
    if values and _on_one_line(parent, one.text):
        return Statement((one.text, *_flat(one)), key=1, at=one.at)
    named = (parent, one.text) in {("certificates", "local"), ("firewall", "profiles")} or (
        one.text in lists.NAMED_BELOW and (parent, one.text) in NAMES_BELOW
    )
    if not one.below:
        return Statement((one.text,), at=one.at)
    if (
        named
        or one.text in _FLAGS
        or (parent, one.text) in _FLAGS_BELOW
        or any(inner.below for inner in one.below.values())
    ):
        return Statement((one.text,), children=_below(one, one.text, names=named), at=one.at)
    return Statement((one.text,), values, several=len(values) > 1, at=one.at)


def _flat(word: Word) -> tuple[str, ...]:
    """Everything that follows a word, as on one line."""
    return tuple(text for one in word.below.values() for text in (one.text, *_flat(one)))
