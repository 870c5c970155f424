"""Reader of a server's shell scripts: the values in their arrays and variables, and their commands in order.

A script of railweave begins with arrays and variables that hold the design. The commands that follow are the same on
every server. Everything except these arrays and variables is treated as a command.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from railweave.analysis.checks.servers.entries import (
    ADDRESS,
    FIRMWARE,
    MTU,
    NCCL,
    NIC,
    QOS,
    ROUTE,
    RULE,
    SERVICE,
    Entry,
    Kind,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.model.findings.registry import Rule


_HERE = re.compile(r"<<(-?)\s*(['\"]?)([A-Za-z_]\w*)\2")
_BEFORE_WORD = " \t;&|()"


def code_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines with code as (line number, text). Comments and surrounding blanks are removed."""
    made: list[tuple[int, str]] = []
    open_: list[str] = []  # quotation marks and command substitutions that are not closed yet
    until: list[tuple[str, bool]] = []  # words that end a text which `<<` announced, and whether tabs may stand before
    for number, line in enumerate(text.split("\n"), 1):
        if until:
            word, tabs = until[0]
            if (line.lstrip("\t") if tabs else line) == word:
                del until[0]
            made.append((number, line))
            continue
        outside = not open_
        end = _scan(line, open_)
        code = line[:end]
        if outside or end < len(line):
            code = code.rstrip(" \t")
        if outside:
            until += [(word, bool(dash)) for dash, _, word in _HERE.findall(code) if "<<<" not in code]
            code = code.lstrip(" \t")
        if code:
            made.append((number, code))
    return made


def _scan(line: str, open_: list[str]) -> int:
    """Return the index at which the code of a line ends, before a comment.

    ``open_`` holds the quotes and substitutions that are open from earlier lines, and is updated.
    """
    at = 0
    while at < len(line):
        letter = line[at]
        inside = open_[-1] if open_ else ""
        if inside == "'":
            if letter == "'":
                open_.pop()
        elif letter == "\\":
            at += 1
        elif letter == '"':
            if inside == '"':
                open_.pop()
            else:
                open_.append('"')
        elif line.startswith("$(", at):
            open_.append(")")
            at += 1
        elif letter == inside == ")":
            open_.pop()
        elif inside != '"' and letter == "'":
            open_.append("'")
        elif inside != '"' and letter == "#" and (at == 0 or line[at - 1] in _BEFORE_WORD):
            return at
        at += 1
    return at


class Columns(NamedTuple):
    """The columns of a shell array whose elements are rows.

    ``kind`` is the kind of entry that a row becomes. ``split`` returns the fields of a row. ``key`` is the field that identifies
    the row.
    """

    kind: Kind
    split: Callable[[str], dict[str, str]]
    key: str = ""


@dataclass(frozen=True)
class Form:
    """The expected content of a script: its ``arrays`` by name, the kind of its variables, and the rule for its commands."""

    command: Rule
    arrays: Mapping[str, Columns] = field(default_factory=dict[str, Columns])
    variable: Kind = field(default_factory=lambda: Kind("variable", SERVICE))


@dataclass(frozen=True)
class Script:
    """The content of a script: the values of its arrays and variables as entries, and its commands as (line number, text)."""

    entries: list[Entry]
    commands: list[tuple[int, str]]


def _columns(*names: str) -> Callable[[str], dict[str, str]]:
    def split(row: str) -> dict[str, str]:
        words = row.split(maxsplit=len(names) - 1) if names[-1] == "why" else row.split()
        named = dict(zip(names, words, strict=False))
        named.pop("why", None)
        rest = " ".join(words[len(names) :])
        return {**named, **({"more": rest} if rest else {})}

    return split


def _address(row: str) -> dict[str, str]:
    _, _, rest = row.partition("|")
    address, _, interface = rest.partition("|")
    value, _, length = address.partition("/")
    return {"address": value, "length": length, "interface": interface}


def _words(row: str) -> dict[str, str]:
    """Return the fields of an array row ``family|to via … dev … table …|more`` by name.

    The middle part has pairs of words, as in ``ip route``.
    """
    family, _, rest = row.partition("|")
    middle, _, more = rest.partition("|")
    words = middle.split()
    fields = {"family": family}
    if words and words[0] not in {"from", "to"}:
        fields["to"] = words.pop(0)
    fields |= dict(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2:
        fields["last word"] = words[-1]
    return {**fields, "more": more}


_VIA = {
    "via": "next hop (via)",
    "to": "destination (to)",
    "lookup": "table",
    "from": "source (from)",
    "more": "priority",
}
QOS_VARIABLES = {
    "PRIORITY": "priority of RDMA data",
    "LOSSLESS": "PFC for RDMA data",
    "ECN": "ECN, congestion control",
    "SHARE": "share of RDMA data in percent",
    "CLASS": "traffic class byte of RDMA data",
    "CNP_DSCP": "DSCP of congestion notification",
    "CNP_PRIORITY": "priority of congestion notification",
    "ADAPTIVE": "adaptive routing",
    "DESIGNED": "priorities of designed DSCPs",
}

NIC_QOS = Form(
    QOS,
    {
        "NICS": Columns(
            Kind("NIC", NIC), _columns("interface", "RDMA device", "port", "vendor", "fabric", "cable"), "interface"
        )
    },
    Kind("variable", QOS),
)
NIC_NVM = Form(
    FIRMWARE,
    {
        "NICS": Columns(Kind("NIC", FIRMWARE), _columns("interface", "vendor", "settings"), "interface"),
        "OPTIONS_": Columns(Kind("setting", FIRMWARE), _columns("name", "value", "scope", "why"), "name"),
    },
)
NET_SETUP = Form(
    SERVICE,
    {
        "links": Columns(
            Kind("interface", ADDRESS, {"mtu": MTU}, {"mtu": "MTU"}), _columns("interface", "mtu", "addresses by"),
            "interface",
        ),
        "addresses": Columns(Kind("address", ADDRESS, names={"length": "prefix length"}), _address),
        "routes": Columns(Kind("route", ROUTE, names={**_VIA, "more": "more words"}), _words),
        "rules": Columns(Kind("rule", RULE, names=_VIA), _words),
    },
)  # fmt: skip
MPIRUN = Form(NCCL, variable=Kind("variable", NCCL))
OTHER = Form(SERVICE)
FORMS = {"nic-qos.sh": NIC_QOS, "nic-nvm.sh": NIC_NVM, "net-setup.sh": NET_SETUP}

_SUBJECTS = (
    (r"\bmtu\b", MTU),
    (r"\bip\b.*\brule\b", RULE),
    (r"\bip\b.*\baddr(ess)?\b", ADDRESS),
    (r"\bip\b.*\broute\b", ROUTE),
    (r"mlnx_qos|\bdcb\b|\bniccli\b|\bpfc\b|\bdscp\b", QOS),
)

_OPENS = re.compile(r"([A-Za-z_]\w*)=\(")
_FILLED = re.compile(r"([A-Za-z_]\w*)=\(([^()]*)\)")
_FUNCTION = re.compile(r"([A-Za-z_]\w*)\(\) \{")
_CASE = re.compile(r"([^\s()]+)\)")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)")
_DIGITS = "0123456789"
_DESIGN = "design"
"""The name of the shell function that holds the values of each fabric."""


def form_of(file: str) -> Form:
    """Return the expected content of a script by its file name: its arrays, the kind of its variables, and the rule for its commands.

    For an unknown name, return ``OTHER``, which has no arrays.
    """
    return MPIRUN if file.startswith("mpirun") else FORMS.get(file, OTHER)


def about(form: Form, text: str) -> Rule:
    """Return the rule for commands that differ from the design. ``text`` is the text of these commands.

    The first topic that the text mentions (MTU, rules, addresses, routes, QoS) determines the rule. If the text mentions
    none, it is the rule ``form.command``.
    """
    return next((rule for pattern, rule in _SUBJECTS if re.search(pattern, text)), form.command)


def read(text: str, form: Form) -> Script:
    """Return the values and the commands of a script. ``form`` tells which arrays hold values."""
    script = Script([], [])
    array: str | None = None
    function = fabric = ""
    for number, line in code_lines(text):
        opened, started, case = _OPENS.fullmatch(line), _FUNCTION.fullmatch(line), _CASE.fullmatch(line)
        if array is not None:
            if line == ")":
                array = None
            else:
                _row(script, form, array, number, line)
        elif opened and not function:
            array = str(opened[1])
            if array.rstrip(_DIGITS) not in form.arrays:
                script.commands.append((number, line))
        elif started:
            function, fabric = started[1], ""
            script.commands.append((number, line))
        elif line == "}":
            function = ""
            script.commands.append((number, line))
        elif function == _DESIGN and case:
            fabric = case[1]
            script.commands.append((number, line))
        elif function in {"", _DESIGN} and (values := _values(line)):
            for name, value in values.items():
                _variable(script, form, fabric, number, name, value)
        else:
            script.commands.append((number, line))
    return script


def _row(script: Script, form: Form, array: str, number: int, line: str) -> None:
    name = array.rstrip(_DIGITS)
    columns = form.arrays.get(name)
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if columns is None or len(words) != 1 or re.search(r"[$`]", line):
        script.commands.append((number, line))
        return
    fields = columns.split(words[0])
    key = fields.get(columns.key) if columns.key else None
    script.entries.append(Entry(columns.kind, fields, number, key, array if array != name else ""))


def _variable(script: Script, form: Form, fabric: str, number: int, name: str, value: str) -> None:
    whose = f"fabric {fabric}" if fabric else ""
    parts = value.split()
    if name == "MAP" and fabric and len(parts) == 64:
        script.entries.extend(
            Entry(_PRIORITY, {"value": priority}, number, f"DSCP {dscp}", whose) for dscp, priority in enumerate(parts)
        )
        return
    called = f"{name} ({QOS_VARIABLES[name]})" if fabric and name in QOS_VARIABLES else name
    script.entries.append(Entry(form.variable, {"value": value}, number, called, whose))


_PRIORITY = Kind("priority of", QOS)


def _values(line: str) -> dict[str, str] | None:
    """Return the variables that a line assigns, by name.

    Return None if the line also has other content, or if a value is not a literal.
    """
    filled = _FILLED.fullmatch(line)
    if filled and not re.search(r"[$`;|&<>'\"]", filled[2]):
        return {filled[1]: filled[2]}
    if not _ASSIGNED.fullmatch(line) or re.search(r"[$`;|&<>()]", line):
        return None
    try:
        pairs = [_ASSIGNED.fullmatch(word) for word in shlex.split(line)]
    except ValueError:
        return None
    return {pair[1]: pair[2] for pair in pairs if pair} if all(pairs) else None
