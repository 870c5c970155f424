"""Files that a shell reads for variables: ``nccl.env``, and the drop-in of the kernel's command line."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from railweave.analysis.checks.servers.entries import Entry, Kind
from railweave.analysis.checks.servers.rules import KERNEL, NCCL
from railweave.analysis.checks.servers.shell import code_lines

if TYPE_CHECKING:
    from railweave.model.findings.registry import Rule

VARIABLE = Kind("variable", NCCL)
COMMAND_LINE = Kind("variable", KERNEL)
COMMAND: dict[Rule, Kind] = {rule: Kind("command", rule) for rule in (NCCL, KERNEL)}

_ASSIGNED = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)


def nccl_env(text: str) -> list[Entry]:
    """The variables of jobs."""
    return _variables(text, VARIABLE)


def grub(text: str) -> list[Entry]:
    """The variables that ``update-grub`` reads."""
    return _variables(text, COMMAND_LINE)


def _variables(text: str, kind: Kind) -> list[Entry]:
    """Each variable with the value it has at the end; a line that is no assignment is a command."""
    found: dict[str, Entry] = {}
    for number, line in code_lines(text):
        match = _ASSIGNED.fullmatch(line)
        value = _value(match[2]) if match else None
        if match and value is not None:
            found[match[1]] = Entry(kind, {"value": value}, number, match[1])
        else:
            found[f"line {number}"] = Entry(COMMAND[kind.rule], {"command": line}, number)
    return list(found.values())


def _value(text: str) -> str | None:
    """What a shell makes of a value; as it is written where it refers to others; None where more than a value stands there."""
    try:
        words = shlex.split(text, comments=False)
    except ValueError:
        return None
    if len(words) > 1 or re.search(r"[;&|<>`]|\$\(", text):
        return None
    return text if "$" in text else "".join(words)
