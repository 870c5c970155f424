"""Expansion of groups and ranges, grouping of words into statements, and derivation of IS-IS and OSPF links.

Curly braces show which statements are blocks. Within a line, and in the other formats, words do not show if they are
names or values. For statements that railweave renders, the structure of Juniper's models decides this. Other statements
are identified by their first word.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from railweave.model.config.secret_words import reference
from railweave.model.device.model import Isis, IsisPort, Ospf, OspfPort
from railweave.systems.junos import changes
from railweave.systems.junos.parse import KEYED, NAMES_BELOW
from railweave.systems.junos.read.bgp import agreed, liveness, peer_of
from railweave.systems.junos.tree import Statement, pathset, wordset
from railweave.systems.junos.words import FAMILIES, Word, unprinted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Address
    from railweave.model.device.timers import Bfd
    from railweave.systems.junos.read.forms import Path
    from railweave.systems.junos.read.ports import Port


LOOPBACK = "lo0.0"


def isis_links(top: Word) -> tuple[str, ...]:
    """Return the ports on which IS-IS has neighbors. ``top`` is the root of the configuration."""
    block = top.at_path("protocols", "isis", "interface")
    words = block.below.values() if block is not None else ()
    return tuple(
        word.text.removesuffix(".0") for word in words if "passive" not in word.below and word.text != LOOPBACK
    )


def isis(top: Word, ports: Mapping[str, Port], router_id: Address) -> Isis | None:
    """Return the IS-IS configuration, or None if there is none.

    ``top`` is the root of the configuration. ``router_id`` is the router id of the device.
    """
    word = top.at_path("protocols", "isis")
    if word is None:
        return None
    word.mark()
    links: list[IsisPort] = []
    passive: list[str] = []
    timers: list[tuple[Bfd | None, Word]] = []
    keys = {_key(word, "2", "authentication")}
    for entry in word.entries("interface"):
        entry.flag("level", "1", "disable")
        if entry.flag("passive"):
            passive += [] if entry.text == LOOPBACK else [entry.text.removesuffix(".0")]
            continue
        if entry.text == LOOPBACK or not _is_there(ports, entry.text):
            continue
        entry.flag("point-to-point")
        name = entry.text.removesuffix(".0")
        metric = entry.number("level", "2", "metric")
        links.append(
            IsisPort(name, "", peer_of(ports, name), unprinted("isis.ports.metric") if metric is None else metric)
        )
        keys.add(_key(entry, "2", "hello-authentication"))
        timers += [(liveness(family), family) for family in entry.entries("family")]
    word.flag("level", "1", "disable")
    word.flag("level", "2", "wide-metrics-only")
    off = {family for name, family in FAMILIES.items() if word.flag(f"no-ipv{'6' if name == 'inet6' else '4'}-routing")}
    wide = top.number("chassis", "maximum-ecmp")
    return Isis(
        net=_net(top),
        router_id=router_id,
        ports=tuple(links),
        passive=tuple(passive),
        families=tuple(family for family in FAMILIES.values() if family not in off),
        maximum_ecmp=unprinted("bgp.maximum_ecmp") if wide is None else wide,
        key=next((key for key in keys if key is not None), None),
        bfd=agreed([timer for timer, _ in timers], [word for _, word in timers]),
    )


def _is_there(ports: Mapping[str, Port], unit: str) -> bool:
    """Return False if the unit ``unit`` (such as ``et-0/0/1.0``) of a known port is not configured, otherwise True.

    IS-IS and OSPF find no neighbors on a unit that is not configured.
    """
    name, _, number = unit.rpartition(".")
    return name not in ports or number in ports[name].units


def _key(word: Word, level: str, statement: str) -> str | None:
    here = word.at_path("level", level)
    if here is None:
        return None
    here.mark()
    here.value(f"{statement}-type")
    return here.read(reference, f"{statement}-key")


def _net(top: Word) -> str:
    """Return the IS-IS network entity title, which is the address of ``family iso`` on the loopback.

    ``top`` is the root of the configuration.
    """
    return next(_nets(top), "")


def _nets(top: Word) -> Iterator[str]:
    for unit in top.entries("interfaces", "lo0", "unit"):
        yield from unit.names("family", "iso", "address")


def ospf_links(top: Word) -> tuple[str, ...]:
    """Return the ports on which OSPF has neighbors. ``top`` is the root of the configuration."""
    areas = top.at_path("protocols", "ospf", "area")
    interfaces = (
        word
        for area in (areas.below.values() if areas is not None else ())
        for word in area.below.get("interface", Word("")).below.values()
    )
    return tuple(
        word.text.removesuffix(".0") for word in interfaces if "passive" not in word.below and word.text != LOOPBACK
    )


def ospf(top: Word, ports: Mapping[str, Port], router_id: Address) -> Ospf | None:
    """Return the OSPF configuration, or None if there is none.

    ``top`` is the root of the configuration. ``router_id`` is the router id of the device.
    """
    word = top.at_path("protocols", "ospf")
    if word is None:
        return None
    word.mark()
    links: list[OspfPort] = []
    passive: list[str] = []
    for area in word.entries("area"):
        for entry in area.entries("interface"):
            name = entry.text.removesuffix(".0")
            if entry.text.partition(".")[0] not in ports:  # all interfaces, or an interface that does not exist
                entry.mark_unknown()
                continue
            metric = entry.number("metric")
            entry.value("interface-type")
            if entry.flag("passive") or entry.text == LOOPBACK:
                passive.append(name)
            elif _is_there(ports, entry.text):
                usual = unprinted("ospf.ports.metric")
                links.append(
                    OspfPort(name, "", peer_of(ports, name), area_id(area.text), usual if metric is None else metric)
                )
    wide = top.number("chassis", "maximum-ecmp")
    return Ospf(router_id, tuple(links), tuple(passive), unprinted("bgp.maximum_ecmp") if wide is None else wide)


def area_id(text: str) -> str:
    """Return an OSPF area number in dotted form, for example ``0.0.0.0`` for ``0``. Other texts are returned unchanged."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return text
    number = int(text)
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


_APPLY, _EXCEPT = "apply-groups", "apply-groups-except"
_ABOUT = frozenset({_APPLY, _EXCEPT, "groups"})
MOST = 200_000
"""The largest number of words that applied groups may add. Beyond this number, groups are not expanded further."""

_RANGE = re.compile(r"(.*\D)(\d+)")


def inherit(top: Word) -> None:
    """Copy the statements of applied groups and of interface ranges to the hierarchies where they apply.

    ``top`` is the root of the configuration.
    """
    groups = top.below.get("groups")
    if groups is not None:
        for group in groups.below.values():
            group.mark_all("irrelevant")  # until it is applied somewhere
        groups.mark()
        _Walk(groups).walk(top, [], ())
    _ranges(top)


class _Walk:
    def __init__(self, groups: Word) -> None:
        self.groups = groups
        self.left = MOST

    def walk(self, here: Word, sources: list[tuple[str, Word]], path: tuple[str, ...]) -> None:
        """Add the words of applied groups at the node ``here`` and below it.

        ``sources`` are the groups that apply here, as (name, node). ``path`` are the words that lead to ``here``.
        """
        sources = [*sources, *self._applied(here, path)]
        if not sources and not _applies(here):
            return
        excepted = {word.mark().text for word in here.below.get(_EXCEPT, Word("")).below.values()}
        sources = [source for source in sources if source[0] not in excepted]
        given: dict[str, list[tuple[str, Word]]] = {}
        for name, source in sources:
            for text, inner in source.below.items():
                if not text.startswith("<"):
                    self._give(here, inner)
                    given.setdefault(text, []).append((name, inner))
        for name, source in sources:
            for text, inner in source.below.items():
                if text.startswith("<"):
                    for match in _matching(here, text):
                        _lend(inner)
                        given.setdefault(match, []).append((name, inner))
        for text, inner in list(here.below.items()):
            if text not in _ABOUT and self.left > 0:
                self.walk(inner, given.get(text, []), (*path, text))

    def _applied(self, here: Word, path: tuple[str, ...]) -> Iterator[tuple[str, Word]]:
        names = here.below.get(_APPLY)
        for name in list(names.below.values()) if names is not None else ():
            group = self.groups.below.get(name.text)
            if group is not None:
                name.mark()
                yield from ((name.text, place) for place in _places([group], path))

    def _give(self, here: Word, word: Word) -> None:
        _lend(word)
        if word.text not in here.below and self.left > 0:
            self.left -= 1
            made = here.below[word.text] = Word(word.text, word.file, word.at)
            made.inherited, made.origin = True, word


def _lend(word: Word) -> None:
    """Mark a word of a group as ``unknown`` (not yet read), because the group is applied. In a group, words are ``irrelevant`` by default.

    The reader then marks the copies of the word at the places where the group applies.
    """
    if word.kind == "irrelevant":
        word.kind = "unknown"


def _applies(here: Word) -> bool:
    """Return True if ``apply-groups`` occurs at the node ``here`` of the trie or below it."""
    return _APPLY in here.below or any(_applies(inner) for text, inner in here.below.items() if text not in _ABOUT)


def _places(sources: Sequence[Word], path: Sequence[str]) -> Sequence[Word]:
    """Return the nodes at the end of ``path`` in each group of ``sources``.

    A name such as ``<*>`` in a group matches every name that fits the pattern.
    """
    for text in path:
        sources = [
            inner
            for here in sources
            for name, inner in here.below.items()
            if name == text or (name.startswith("<") and _matches(name, text))
        ]
        for word in sources:
            _lend(word)
    return sources


def _matching(here: Word, pattern: str) -> list[str]:
    return [text for text in here.below if text not in _ABOUT and _matches(pattern, text)]


def _matches(pattern: str, text: str) -> bool:
    return fnmatchcase(text, pattern.strip("<>"))


def _ranges(top: Word) -> None:
    """Copy the statements of each ``interface-range`` to all its members. ``top`` is the root of the configuration."""
    interfaces = top.below.get("interfaces")
    ranges = interfaces.below.get("interface-range") if interfaces is not None else None
    if interfaces is None or ranges is None:
        return
    left = MOST
    for interface_range in ranges.below.values():
        interface_range.mark()
        for name in _members(interface_range, interfaces):
            member = interfaces.below.get(name) or interfaces.add([name], interface_range.file, interface_range.at)
            for text, inner in interface_range.below.items():
                if text not in {"member", "member-range"} and left > 0:
                    left -= _copied(member, inner)


def _members(interface_range: Word, interfaces: Word) -> list[str]:
    members: list[str] = []
    for name in interface_range.names("member"):
        pattern = name.replace("[", "[").strip()
        names = [text for text in interfaces.below if fnmatchcase(text, pattern)] if set("*[?") & set(name) else [name]
        members += names
    for first in interface_range.entries("member-range"):
        for last in first.entries("to"):
            low, high = _RANGE.fullmatch(first.text), _RANGE.fullmatch(last.text)
            if low and high and low[1] == high[1] and len(high[2]) < 6:
                members += [
                    f"{low[1]}{number}" for number in range(int(low[2]), min(int(high[2]), int(low[2]) + 999) + 1)
                ]
    return members


def _copied(there: Word, word: Word) -> int:
    made = there.below.get(word.text)
    if made is None:
        made = there.below[word.text] = Word(word.text, word.file, word.at)
        made.inherited, made.origin = True, word
    return 1 + sum(_copied(made, inner) for inner in word.below.values())


_NAMED = frozenset(
    {"address", "interface", "server", "forwarding-class", "oid", "neighbor", "unit", "term", "policy-statement"}
)
"""Keywords of one-line statements that are followed by a name that the operator chooses."""

_NAMED_BELOW = pathset(
    "then count, from prefix-list, forwarding-classes class, vrf-target import, vrf-target export, community "
    "routing-instance"
)
_MORE_NAMED = wordset(
    "loss-priority usm security-model security-level security-name connectivity-association storm-control-profiles "
    "level policer tacplus-server radius-server key-chain rib rio-prefix vni ip-version"
)
"""Keywords of blocks that are followed by a name, in addition to those in ``KEYED`` of the parser."""

_BLOCKS_BY_NAME = frozenset({("key-chain", "key"), ("snmp", "community")})
_VALUES = pathset(
    "user class, vxlan vni, ip-prefix-routes vni, ssl port, host port, radius-server port, tacplus-server port, input "
    "dscp, loss-priority code-point, security-name group, from family, from rib, then policer, from interface"
)
"""The pairs (parent, keyword) for which the keyword is followed by a value, and not by the name of a block."""

_ON_ONE_LINE = frozenset({("forwarding-classes", "class"), ("scheduler-maps", "forwarding-class"), ("ntp", "server")})
"""The pairs (parent, keyword) of statements whose content is on the same line as their name."""

_FLAGS = wordset(
    "netconf unicast rstp traffic-manager ether-type clients targets destination-address source-prefix-list multipath "
    "then from system protocols routing-options graceful-restart global-load-balancing"
)
"""Keywords of blocks whose statements may all lack a value."""

_FLAGS_BELOW = frozenset({("chained-composite-next-hop", "ingress"), ("", "chassis"), ("", "snmp")})
_DROP_PROFILE = 5
"""The number of words that identify a line such as ``drop-profile-map loss-priority any protocol any``. The value follows them."""


def shaped(statements: Iterable[Statement], parent: str = "") -> list[Statement]:
    """Return the statements of curly-brace text with values separated from names. ``parent`` is the keyword of the surrounding block."""
    for statement in statements:
        if statement.children is not None:
            statement.children = shaped(statement.children, statement.words[0])
        elif len(statement.words) > 1:
            _line(statement, parent)
    return list(statements)


def _line(statement: Statement, parent: str) -> None:
    word = statement.words[0]
    if word in {"from", "then", "to"}:  # Junos leaves out the braces around a single statement
        inner = Statement(statement.words[1:], statement.values, several=statement.several, at=statement.at)
        statement.words, statement.values, statement.several, statement.children = (
            (word,),
            (),
            False,
            shaped([inner], word),
        )
        return
    if word in changes.KEYED_BY_ALL or changes.is_list(parent, word):
        return
    width = _width(parent, word)
    if width >= len(statement.words):
        return
    if width > 1 or _on_one_line(parent, word):
        statement.key = width  # the name and the content are on one line
    else:
        statement.words, statement.values = statement.words[:width], (*statement.words[width:], *statement.values)


def _on_one_line(parent: str, word: str) -> bool:
    """Return True if a line's first word (``word``) is enough to identify it, for example a syslog facility below ``host``.

    ``parent`` is the keyword of the surrounding block.
    """
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
    """Return the statements of ``set`` lines. A path has the words after ``set`` and the line number; XML and JSON become such paths, too."""
    top = Word("")
    for words, at in paths:
        top.add(words, 0, at)
    return _below(top, "")


def _below(word: Word, parent: str, *, names: bool = False) -> list[Statement]:
    """Return the statements below the node ``word`` of the trie. ``parent`` is the keyword of the surrounding block.

    ``names`` is True if each statement begins with a name that the operator chooses.
    """
    statements: list[Statement] = []
    for inner in word.below.values():
        if names:
            statements.append(
                Statement((inner.text,), children=_below(inner, parent), at=inner.at)
                if inner.below
                else Statement((inner.text,), at=inner.at)
            )
        elif _has_value(inner, parent):
            statements.append(_plain(inner, parent))
        elif inner.below and (_names_block(parent, inner.text) or _width(parent, inner.text) > 1):
            statements += [_entry(inner, name, parent) for name in inner.below.values()]
        else:
            statements.append(_plain(inner, parent))
    return statements


def _has_value(word: Word, parent: str) -> bool:
    """Return True if the keyword ``word`` is followed by a value here. At other places, the name of a block may follow it.

    A value follows if no words are below it, or if the keyword applies a filter. ``parent`` is the keyword of the surrounding block.
    """
    if parent in {"classifiers", "rewrite-rules"} or word.text == "connectivity-association":
        return not any(name.below for name in word.below.values())
    return word.text == "filter" and word.below.keys() <= {"input", "output"}


def _names_block(parent: str, word: str) -> bool:
    """Return True if ``word`` is followed by the name of a block, and False if it is followed by a value.

    ``parent`` is the keyword of the surrounding block.
    """
    if (parent, word) in _VALUES or word == "routing-instance":
        return False
    if (parent, word) in _BLOCKS_BY_NAME or word in _MORE_NAMED:
        return True
    return word in KEYED and not changes.is_list(parent, word)


def _entry(word: Word, name: Word, parent: str) -> Statement:
    head = (word.text, name.text)
    if (
        word.text in changes.KEYED_BY_ALL
        or (parent, word.text) in _ON_ONE_LINE
        or word.text in {"drop-profile-map", "oid"}
    ):
        made = Statement((*head, *_flat(name)), at=name.at)
        if word.text not in changes.KEYED_BY_ALL:
            made.key = _width(parent, word.text)
        return made
    if (parent, word.text) == ("then", "community"):
        return Statement((*head, *_flat(name)), at=name.at)
    if not name.below:
        return Statement(head, at=name.at)
    return Statement(head, children=_below(name, word.text), at=name.at)


def _plain(word: Word, parent: str) -> Statement:
    values = tuple(word.below)
    if changes.is_list(parent, word.text):
        return Statement((word.text,), values, several=True, at=word.at)
    if values and _on_one_line(parent, word.text):
        return Statement((word.text, *_flat(word)), key=1, at=word.at)
    named = (parent, word.text) in {("certificates", "local"), ("firewall", "profiles")} or (
        word.text in changes.NAMED_BELOW and (parent, word.text) in NAMES_BELOW
    )
    if not word.below:
        return Statement((word.text,), at=word.at)
    if (
        named
        or word.text in _FLAGS
        or (parent, word.text) in _FLAGS_BELOW
        or any(inner.below for inner in word.below.values())
    ):
        return Statement((word.text,), children=_below(word, word.text, names=named), at=word.at)
    return Statement((word.text,), values, several=len(values) > 1, at=word.at)


def _flat(word: Word) -> tuple[str, ...]:
    """Return all words below a node of the trie, in the order in which they are on one line."""
    return tuple(text for inner in word.below.values() for text in (inner.text, *_flat(inner)))
