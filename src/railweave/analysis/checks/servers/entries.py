"""Entries of a server's files in a common form, the comparison of two lists of entries, and the rules for differences.

An entry is, for example, a route, a variable or a NIC: its fields by name, each with its line. Entries with the same
key are compared with each other. A route, rule or address has no key. Such an entry is compared with the entry that
shares the most fields with it, so that a single changed field is reported as such.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


FIX = "put the designed value back, or change it in the fabric file and build again"

ADDRESS = Rule(
    "server-address",
    "error",
    "folder",
    "an address or prefix length in a server's file, or the way in which an interface gets its addresses, "
    "differs from the design",
    "other servers and switches send to the designed address, and path colors are derived from it",
    FIX,
)
ROUTE = Rule(
    "server-route",
    "error",
    "folder",
    "a route in a server's file, its next hop or its routing table differs from the design",
    "packets leave by a different NIC or gateway than their path requires, or are not sent",
    FIX,
)
RULE = Rule(
    "server-rule",
    "error",
    "folder",
    "a rule in a server's file that selects a routing table differs from the design",
    "packets from one address use the routes of a different address, and leave by a different NIC",
    FIX,
)
MTU = Rule(
    "server-mtu",
    "error",
    "folder",
    "an MTU in a server's file differs from the design",
    "packets longer than the MTU of the other end are dropped, RoCE packets among them",
    FIX,
)
QOS = Rule(
    "server-qos",
    "error",
    "folder",
    "a DSCP, priority, bandwidth share, PFC setting or congestion control setting in a server's file differs "
    "from the design",
    "NIC and switch put RDMA data into different classes: packets are dropped instead of paused, or senders "
    "do not slow down",
    FIX,
)
NIC = Rule(
    "server-nic",
    "error",
    "folder",
    "the name, RDMA device or cable of a NIC in a server's file differs from the design",
    "settings are applied to the wrong NIC, or jobs use an RDMA device that does not exist",
    FIX,
)
FIRMWARE = Rule(
    "server-firmware",
    "error",
    "folder",
    "a setting for a NIC's flash memory in a server's file differs from the design",
    "the NIC starts with a setting that switches and jobs do not expect",
    FIX,
)
NCCL = Rule(
    "server-nccl",
    "error",
    "folder",
    "an NCCL variable, the tuner table or the start command of jobs in a server's file differs from the design",
    "NCCL uses other NICs, addresses, classes or queue pairs than designed; if servers disagree, a job can hang",
    FIX,
)
KERNEL = Rule(
    "server-kernel",
    "error",
    "folder",
    "a kernel parameter, an option of the kernel's command line or a limit in a server's file differs from the design",
    "the kernel handles addresses, neighbors or locked memory differently than designed",
    FIX,
)
SERVICE = Rule(
    "server-service",
    "error",
    "folder",
    "a systemd unit or setting, or a command of a script, in a server's file differs from the design",
    "at its start the server runs the wrong set-up, runs it at the wrong time, or does not run it",
    FIX,
)


MOST_PAIRED = 300
"""The largest number of entries without a key (such as routes) for which the most similar entry is searched.

If there are more, each entry without an equal one is reported as missing or as not designed.
"""

MOST_ALIGNED = 5000
"""The largest number of lines in a text for which the positions of missing lines are calculated. In longer texts, they are estimated."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of entry, for example routes or environment variables.

    - ``called``: the kind's name in findings.
    - ``rule``: the rule for differences in fields of such entries.
    - ``rules``: the rules for single fields, if they differ from ``rule``.
    - ``names``: the names of fields in findings.
    - ``ordered``: True if the order of entries matters.
    """

    called: str
    rule: Rule
    rules: Mapping[str, Rule] = field(default_factory=dict[str, "Rule"])
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    ordered: bool = False

    def of(self, name: str) -> Rule:
        """Return the rule (kind of finding) for a difference in the field ``name`` of an entry of this kind."""
        return self.rules.get(name, self.rule)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a server's file, for example a route or a variable.

    - ``key``: the name by which the entry is compared with another version of the file; None for routes, rules and addresses.
    - ``whose``: the entry's owner, such as an interface or a section.
    - ``line`` and ``lines``: the line of the entry, and the line of each field.
    """

    kind: Kind
    fields: dict[str, str]
    line: int
    key: str | None = None
    whose: str = ""
    lines: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def title(self) -> str:
        """The name of the entry in findings: its key, or its fields if there is no key."""
        words = self.key if self.key is not None else " ".join(f"{name} {value}" for name, value in self.fields.items())
        return f"{self.kind.called} {words}" + (f" of {self.whose}" if self.whose else "")

    def line_of(self, name: str) -> int:
        """Return the line of a field, or of the entry if the field has no line."""
        return self.lines.get(name, self.line)


class Difference(NamedTuple):
    """A difference from the design: the rule that it violates, a description, and the line.

    For a missing entry, ``gone`` is its line in the designed text, and ``line`` is an estimate that ``placed`` corrects.
    Otherwise ``gone`` is 0.
    """

    rule: Rule
    what: str
    line: int
    gone: int = 0


def differences(designed: Sequence[Entry], actual: Sequence[Entry]) -> list[Difference]:
    """Return the differences between designed and actual entries (routes, variables and other values of a server's file)."""
    there: dict[tuple[Kind, str], list[Entry]] = {}
    for entry in actual:
        there.setdefault((entry.kind, entry.whose), []).append(entry)
    groups: dict[tuple[Kind, str], list[Entry]] = {}
    for entry in designed:
        groups.setdefault((entry.kind, entry.whose), []).append(entry)
    made: list[Difference] = []
    last = 1
    for group in dict.fromkeys([*groups, *there]):
        wanted, has = groups.get(group, []), there.get(group, [])
        pairs = _paired(wanted, has)
        last = has[0].line if has else last  # where what is missing should stand, or as near to it as can be said
        for entry in wanted:
            other = pairs.get(id(entry))
            if other is None:
                made.append(Difference(_first_rule(entry), f"{entry.title}{_with(entry)} is missing", last, entry.line))
            else:
                last = other.line
                made += _of_fields(entry, other)
        taken = {id(other) for other in pairs.values()}
        for other in has:
            if id(other) not in taken:
                message = f"{other.title}{_with(other)} is not designed"
                made.append(Difference(_first_rule(other), message, other.line))
        if group[0].ordered:
            made += _in_order(wanted, has, pairs)
    return made


def placed(made: Sequence[Difference], designed: str, actual: str) -> list[Difference]:
    """Return the differences (``made``) sorted by line. A missing entry gets the line in the actual text where the entry should be.

    ``designed`` and ``actual`` are the two texts of the file.
    """
    if not any(difference.gone for difference in made):
        return sorted(made, key=lambda difference: difference.line)
    old, new = designed.splitlines(), actual.splitlines()
    if max(len(old), len(new)) > MOST_ALIGNED:
        return sorted(made, key=lambda difference: difference.line)
    match = SequenceMatcher(None, old, new, autojunk=False)
    where: dict[int, int] = {}
    for _, begin, end, at, to in match.get_opcodes():
        where |= {begin + 1 + step: 1 + min(at + step, max(at, to - 1)) for step in range(end - begin)}
    there = [
        difference._replace(line=min(where.get(difference.gone, 1), len(new))) if difference.gone else difference
        for difference in made
    ]
    return sorted(there, key=lambda difference: difference.line)


def in_sequence(
    designed: Sequence[tuple[int, str]], actual: Sequence[tuple[int, str]], rule: Callable[[str], Rule]
) -> Iterator[Difference]:
    """Yield the differences between the designed and the actual commands of a file, two ordered lists of (line number, text).

    ``rule`` returns the rule of a difference, from the text of the commands that differ.
    """
    if max(len(designed), len(actual)) > MOST_ALIGNED:
        message = f"{len(actual)} commands stand in place of {len(designed)}"
        yield Difference(rule(""), message, actual[0][0] if actual else 1)
        return
    match = SequenceMatcher(None, [text for _, text in designed], [text for _, text in actual], autojunk=False)
    for tag, begin, end, at, to in match.get_opcodes():
        if tag == "equal":
            continue
        old, new = [text for _, text in designed[begin:end]], [text for _, text in actual[at:to]]
        line = actual[at][0] if at < to else actual[max(0, at - 1)][0] if actual else 1
        if not new:
            message = f"`{_short(old)}` is missing"
        elif not old:
            message = f"`{_short(new)}` is not designed"
        else:
            message = f"`{_short(new)}` stands in place of `{_short(old)}`"
        yield Difference(rule(" ".join([*new, *old])), message, line, 0 if new else designed[begin][0])


def _short(texts: Sequence[str]) -> str:
    more = f" … ({len(texts)} lines)" if len(texts) > 1 else ""
    return shown(texts[0]) + more


def shown(text: str, most: int = 120) -> str:
    """Return a value for use in a message, shortened to ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _paired(designed: Sequence[Entry], actual: Sequence[Entry]) -> dict[int, Entry]:
    """Return the matching actual entry of each designed entry, by ``id()`` of the designed entry.

    All entries are of one kind. Equal entries match first, then entries with the same key, then similar entries.
    """
    pairs: dict[int, Entry] = {}
    for same in (_whole, _by_key):
        taken = {id(pair) for pair in pairs.values()}
        waiting: dict[object, list[Entry]] = {}
        for entry in reversed(actual):
            if id(entry) not in taken and (word := same(entry)) is not None:
                waiting.setdefault(word, []).append(entry)
        for entry in designed:
            if id(entry) not in pairs and (word := same(entry)) is not None and waiting.get(word):
                pairs[id(entry)] = waiting[word].pop()
    taken = {id(pair) for pair in pairs.values()}
    left = [entry for entry in designed if id(entry) not in pairs and len(entry.fields) > 1]
    right = [entry for entry in actual if id(entry) not in taken and len(entry.fields) > 1]
    if len(left) <= MOST_PAIRED and len(right) <= MOST_PAIRED:
        ranked = sorted(
            ((alike, -abs(place - at), place, at) for place, entry in enumerate(left) for at, other in enumerate(right)
             if 2 * (alike := len(entry.fields.items() & other.fields.items())) >= len(entry.fields)),
            reverse=True,
        )  # fmt: skip
        used: set[tuple[str, int]] = set()
        for _, _, place, at in ranked:
            if ("left", place) not in used and ("right", at) not in used:
                used |= {("left", place), ("right", at)}
                pairs[id(left[place])] = right[at]
    return pairs


def _whole(entry: Entry) -> object:
    return entry.key, tuple(sorted(entry.fields.items()))


def _by_key(entry: Entry) -> object:
    return entry.key


def _of_fields(entry: Entry, other: Entry) -> Iterator[Difference]:
    title = entry.title
    if entry.key != other.key and entry.fields == other.fields:
        yield Difference(_first_rule(entry), f"{title} is called {other.key}", other.line)
    last = other.line
    for name in dict.fromkeys([*entry.fields, *other.fields]):
        old, new = entry.fields.get(name), other.fields.get(name)
        last = other.line_of(name) if new is not None else last
        if old == new:
            continue
        called = entry.kind.names.get(name, name)
        if new is None:
            message = f"{title}: {called} {shown(old or '')} is missing"
        elif old is None:
            message = f"{title}: {called} {shown(new)} is not designed"
        elif name == "value":
            message = f"{title} is {shown(new) or 'empty'}, not {shown(old) or 'empty'}"
        else:
            message = f"{title}: {called} is {shown(new) or 'empty'}, not {shown(old) or 'empty'}"
        yield Difference(entry.kind.of(name), message, last, entry.line_of(name) if new is None else 0)


def _with(entry: Entry) -> str:
    """Return the value in parentheses, after a space, for an entry that has only a key and a value. Return "" for other entries."""
    return f" ({shown(entry.fields['value'])})" if entry.key is not None and set(entry.fields) == {"value"} else ""


def _first_rule(entry: Entry) -> Rule:
    return entry.kind.of("value") if "value" in entry.fields else entry.kind.rule


def _in_order(designed: Iterable[Entry], actual: Sequence[Entry], pairs: Mapping[int, Entry]) -> Iterator[Difference]:
    wanted = [pairs[id(entry)] for entry in designed if id(entry) in pairs]
    places = {id(entry): place for place, entry in enumerate(wanted)}
    has = [entry for entry in actual if id(entry) in places]
    moved = next((other for entry, other in zip(wanted, has, strict=True) if entry is not other), None)
    if moved is not None:
        yield Difference(_first_rule(moved), f"{moved.title} stands in another place than designed", moved.line)
