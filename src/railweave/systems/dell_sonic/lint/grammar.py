"""The grammar of Enterprise SONiC's commands by configuration mode, and the rule that every command is in the grammar.

Each command names its public document:
- ``guide`` is the Thor2 guide, sections 2.4.1.3 and 2.5.2;
- ``ansible`` is the collection dellemc.enterprise_sonic, the examples of the module named;
- ``spytest`` is the test library of sonic-net/sonic-mgmt, whose ``klish`` commands are commands of this command line;
- ``acl`` is "ACL enhancements and flow based services" of sonic-net/SONiC, section 3.6.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from railweave.model.config.codecs import in_range
from railweave.model.findings.registry import check
from railweave.systems.dell_sonic.statements import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import Section
    from railweave.model.config.statements import Form, Statements

TOP = "configure"


@dataclass(frozen=True)
class Command:
    """A command: its form (such as ``mtu <bytes>``), its public document, and the configuration mode that it opens, or None."""

    form: str
    source: str
    opens: str | None = None
    of_row: Form | None = None
    """The form in a statement table from which the command was made, or None."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression that matches a whole line of this form."""
        return self.of_row.accepts if self.of_row else _compiled(self.form)


_WORDS = {
    "name": r"[A-Za-z0-9][\w.-]*",
    "text": r'(?:"[^"]*"|\S+)',
    "address": r"[0-9a-f.:]+",
    "mac": r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}",
    "prefix": r"[0-9a-f.:]+/\d+",
    "port": r"Eth\d+/\d+(?:/\d+)?",
    "list": r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*",
    "number": r"-?\d+",
}
_PATTERNS: dict[str, re.Pattern[str]] = {}


def _compiled(form: str) -> re.Pattern[str]:
    if form not in _PATTERNS:
        _PATTERNS[form] = re.compile("".join(_part(part) for part in re.split(r"(<[^>]+>|\[[^\]]+\])", form)))
    return _PATTERNS[form]


def _part(part: str) -> str:
    """Return the regular expression for ``part``, one piece of a command's form (such as ``mtu <bytes>``).

    The piece is ``<name>``, ``<0-7>`` (a number in a range), ``<a|b>``, ``[optional words]``, or plain words.
    """
    if part.startswith("["):
        return f"(?:{_compiled(part[1:-1]).pattern})?"
    if not part.startswith("<"):
        return re.escape(part)
    inside = part[1:-1]
    if inside in _WORDS:
        return _WORDS[inside]
    numbers = re.fullmatch(r"(\d+)-(\d+)", inside)
    if numbers:
        return in_range(int(numbers[1]), int(numbers[2]))
    return f"(?:{inside})"


GRAMMAR: dict[str, list[Command]] = {
    TOP: [
        Command("qos map dot1p-tc <name>", "guide", "dot1p-tc"),
        Command(
            "buffer profile <name> <egress_lossless_pool|egress_lossy_pool> <number> "
            "<static-threshold \\d+|dynamic-threshold (?:-[1-6]|[0-3])>[ pause pause-threshold <46080-8388608>]",
            "ansible sonic_qos_buffer (ranges: its options)",
        ),
        Command(
            "buffer profile <name> ingress_lossless_pool <number> static-threshold <\\d+>"
            "[ pause pause-threshold <46080-8388608>]",
            "ansible sonic_qos_buffer (ranges: its options)",
        ),
        Command(
            "buffer profile <name> ingress_lossless_pool <number> dynamic-threshold <-[1-6]|[0-3]>",
            "ansible sonic_qos_buffer (ranges: its options)",
        ),
    ],
    "dot1p-tc": [Command("dot1p <list> traffic-class <0-7>", "guide")],
}


def _add(table: Statements[Any], mode: str) -> None:
    """Add the statements of a table to the grammar of a configuration mode. Statements below a header form a mode named after the header."""
    known = GRAMMAR.setdefault(mode, [])
    for row, form, inner in table.commands():
        command = next((command for command in known if command.form == form.text), None)
        if command is None:
            header = re.split(r" ?[<\[]", row.forms[0])[0]
            opens = None if inner is None else header if mode == TOP else f"{mode}, {header}"
            command = Command(form.text, row.source, opens, form)
            known.append(command)
        if inner is not None and command.opens is not None:
            _add(inner, command.opens)


for _table in TABLES:
    _add(_table, TOP)

_NOT_READ = {
    "interface Vlan": [Command("ip proxy-arp enable all", "ansible sonic_l3_interfaces")],
    "interface": [
        Command("ip proxy-arp enable all", "ansible sonic_l3_interfaces"),
        Command("fec <FC|AUTO|none>", "guide; ansible sonic_interfaces"),
        Command("qos-map <dot1p-tc|tc-dscp|tc-dot1p|pfc-priority-pg> <name>", "guide; ansible sonic_qos_interfaces"),
        Command("priority-flow-control watchdog action alert", "guide; ansible sonic_qos_interfaces"),
        Command("buffer queue <list> <name>", "spytest qos/qos"),
    ],
    "qos wred-policy": [
        Command("<yellow|red> minimum-threshold <number> maximum-threshold <number> drop-probability <0-100>", "guide"),
        Command("ecn none", "guide"),
    ],
    "qos scheduler-policy, queue": [Command("type wrr", "guide")],
    "ars port-profile": [Command("load-future-weight <1-16>", "ansible sonic_ars")],
    "ars object": [Command("mode <fixed|flowlet-random|packet-random>", "ansible sonic_ars (options)")],
}
"""Commands that no statement table describes, by the mode in which they are entered. railweave's reader does not understand them."""
for _mode, _commands in _NOT_READ.items():
    GRAMMAR[_mode] += _commands


@check(
    "dell-command",
    why="no public document shows the command in this place, so the switch is expected to reject it",
    fix="correct it if it is yours (`extra:`); otherwise report it",
)
def known_commands(root: list[Section]) -> Iterator[str]:
    """Every command is in a public document of Enterprise SONiC, in the same section."""
    return _unknown(root, TOP)


def _unknown(sections: list[Section], mode: str) -> Iterator[str]:
    for section in sections:
        command = match(section.line, mode)
        if command is None:
            yield f"{section.line!r} is no command that is known in mode {mode}"
        elif section.body and command.opens is None:
            yield f"{section.line!r} is no command that is known as one that others stand below"
        elif command.opens is not None:
            yield from _unknown(section.body or [], command.opens)


@lru_cache(maxsize=1 << 16)
def match(line: str, mode: str) -> Command | None:
    """Return the command of a mode that matches a line, or None if no command does."""
    return next((command for command in GRAMMAR[mode] if command.pattern.fullmatch(line)), None)
