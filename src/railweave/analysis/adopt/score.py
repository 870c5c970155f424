"""How well an imported fabric file gives back what switches have, statement by statement and field by field."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from railweave.model.catalog import catalog
from railweave.model.config.secret import alike
from railweave.model.device.fields import FieldDifference, differences
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from railweave.model.config.tree import ConfigTree, Node
    from railweave.model.device.model import BgpGroup, DeviceConfig


@dataclass(frozen=True)
class Score:
    """Statements of one switch: ``equal`` in both, ``equivalent`` but for names, ``extra`` in the design alone, ``lost`` from it.

    ``fields`` are the fields of its configuration that differ.
    """

    device: str
    equal: int
    equivalent: int
    extra: tuple[str, ...]
    lost: tuple[str, ...]
    fields: tuple[FieldDifference, ...] = field(default=())

    @property
    def percent(self) -> float:
        """Statements that were read and are there again, of all that were read."""
        kept = self.equal + self.equivalent
        return 100 * kept / (kept + len(self.lost)) if kept or self.lost else 100.0

    @property
    def reordered(self) -> tuple[str, ...]:
        """Policies whose terms the design has in another order."""
        return tuple(one.place[2] for one in self.fields if one.field == "bgp.policies.terms.order")

    @property
    def whole(self) -> bool:
        """Whether the design has every statement, no other, and in the order that counts."""
        return not (self.lost or self.extra or self.reordered)

    def to_json(self) -> dict[str, Any]:
        """The score as plain values."""
        return {
            "device": self.device,
            "equal": self.equal,
            "equivalent": self.equivalent,
            "extra": list(self.extra),
            "lost": list(self.lost),
            "fields": [{"place": list(one.place), "read": one.old, "designed": one.new} for one in self.fields],
        }


_NOT_SAID = (
    *("role", "model", "release", "left_out", "extra", "schema"),
    *("interfaces.link", "interfaces.lanes", "interfaces.length_m"),
    *("bgp.groups.sessions.link", "isis.ports.link", "vrfs.external.session.link", "qos.moved"),
)
"""Fields that no text of any system says."""


def score(
    read: DeviceConfig,
    designed: DeviceConfig,
    trees: Mapping[str, ConfigTree] | None = None,
    ports: Mapping[str, str] | None = None,
) -> Score:
    """Compare a switch as it was read with what is designed for it. ``trees`` are those of its texts, else of what was read.

    ``ports`` has the design's names of ports that the texts call otherwise; statements that differ by them alone are equivalent.
    """
    own = system(read.nos)
    said = list(_all(trees if trees is not None else own.trees(replace(read, model=read.model or designed.model))))
    moved = _moved(said, ports or {}) if trees is not None else {}
    old = Counter(moved.get(line, line) for line in said)
    new = Counter(_all(own.trees(designed)))
    both = old & new
    equivalent = sum(both[line] for line in {*moved.values()} if line in both)
    equal = sum(both.values()) - equivalent
    left, come = list((old - new).elements()), list((new - old).elements())
    secret = _take(left, come, _alike_secret)
    words = _renames(read, designed)
    equivalent += _take(left, come, partial(_renamed, words)) if left and come else 0
    equivalent += _take(left, come, _without_text) if left and come else 0
    unsaid = (*catalog().systems[read.nos].reads.unsaid, *_NOT_SAID)
    fields = tuple(differences(read, designed, without=unsaid))
    return Score(read.name, equal + secret, equivalent, tuple(come), tuple(left), fields)


def nothing_of(name: str, read: DeviceConfig, trees: Mapping[str, ConfigTree] | None = None) -> Score:
    """The score of a switch that no switch of the design stands for: every statement is lost."""
    return Score(name, 0, 0, (), tuple(_all(trees if trees is not None else system(read.nos).trees(read))))


def _moved(lines: Iterable[str], ports: Mapping[str, str]) -> dict[str, str]:
    """Statements that name a port which is called otherwise, with its other name."""
    names = {old: new for old, new in ports.items() if old != new}
    if not names:
        return {}
    either = "|".join(re.escape(one) for one in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w:/-])({either})(?![\w:/-])")
    made = {line: pattern.sub(lambda match: names[match[0]], line) for line in lines}
    return {line: text for line, text in made.items() if text != line}


def _take(left: list[str], come: list[str], form: Callable[[str], str]) -> int:
    """Take out of both lists what is the same in some form of it; how many pairs there were."""
    there: dict[str, list[str]] = {}
    for line in come:
        there.setdefault(form(line), []).append(line)
        if form(line) != line:
            there.setdefault(line, []).append(line)
    found = 0
    for line in list(left):
        for key in (form(line), line):
            match = next((one for one in there.get(key, ()) if one in come), None)
            if match is not None:
                left.remove(line)
                come.remove(match)
                found += 1
                break
    return found


_SECRET = re.compile(r"<(?:secret|hidden)(?:[-:][^<>]*)?>")


def _alike_secret(line: str) -> str:
    return _SECRET.sub("<secret>", line)


_TEXT = re.compile(r"(\bdescription\b)(.*)$")


def _without_text(line: str) -> str:
    """A statement without its free text: descriptions have no effect."""
    return _TEXT.sub(r"\1", line)


def _renamed(words: Mapping[str, str], line: str) -> str:
    return re.sub(r"[^\s/;\"]+", lambda match: words.get(match[0], match[0]), line)


def _all(trees: Mapping[str, ConfigTree]) -> Iterator[str]:
    for tree in trees.values():
        yield from _lines(tree.nodes, "")


def _lines(nodes: Iterable[Node], above: str) -> Iterator[str]:
    for one in nodes:
        here = f"{above}{' '.join(one.name)}"
        if one.values:
            yield f"{here} {' '.join(one.values)}"
        elif not one.children:
            yield here
        if one.children:
            yield from _lines(one.children, f"{here} / ")


def _renames(read: DeviceConfig, designed: DeviceConfig) -> dict[str, str]:
    """What the design calls otherwise: VLANs, groups, policies, their terms and lists, communities, classes."""
    found: dict[str, str] = {}
    vlans = {one.vlan: one.vlan_name for one in designed.gateways}
    found |= {one.vlan_name: vlans[one.vlan] for one in read.gateways if one.vlan in vlans}
    one, other = read.bgp, designed.bgp
    if one is None or other is None:
        return found
    groups = {_sessions(group): group for group in other.groups}
    policies = {policy.name: policy for policy in other.policies}
    for group in one.groups:
        there = groups.get(_sessions(group))
        if there is None:
            continue
        found |= {
            group.name: there.name,
            group.import_policy: there.import_policy,
            group.export_policy: there.export_policy,
        }
        if group.peer_as_list and there.peer_as_list:
            found[group.peer_as_list] = there.peer_as_list
    for policy in one.policies:
        named = policies.get(found.get(policy.name, policy.name))
        if named is not None and len(named.terms) == len(policy.terms):
            found |= {a.name: b.name for a, b in zip(policy.terms, named.terms, strict=True) if a.name != b.name}
    lists = {prefixes: name for name, prefixes in other.prefix_lists.items()}
    found |= {name: lists[prefixes] for name, prefixes in one.prefix_lists.items() if prefixes in lists}
    values = {community.value: community.name for community in other.communities}
    found |= {community.name: values[community.value] for community in one.communities if community.value in values}
    return {name: word for name, word in found.items() if name and word and name != word}


def _sessions(group: BgpGroup) -> tuple[str, ...]:
    return tuple(sorted(one.interface or str(one.peer_address) for one in group.sessions))


def secrets_alike(one: str, other: str) -> bool:
    """Whether two statements are the same, but for values in the place of secrets."""
    return alike(one, other) is not False
