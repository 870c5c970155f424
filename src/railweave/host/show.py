"""What ``plan`` and ``apply`` print: for people, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import kernel
from .entries import Route

if TYPE_CHECKING:
    from .changes import Changes
    from .failure import HostError
    from .host_file import HostFile
    from .kernel import Command
    from .readiness import NicState


def count(number: int, what: str) -> str:
    """``1 route``, ``2 routes``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}{'es' if what.endswith('s') else 's'}"


def planned(plan: HostFile) -> str:
    """How much is planned, in a line."""
    routes = sum(isinstance(one, Route) for _, one in plan.entries)
    return f"{count(routes, 'route')} and {count(len(plan.entries) - routes, 'rule')}"


def nics(states: list[NicState]) -> str:
    """A line for each NIC, and one for all that is not as it must be."""
    width = max((len(one.netdev) for one in states), default=0)
    lines: list[str] = []
    for one in states:
        have = sum(address is not None for address in one.addresses)
        link = "up" if one.up else "down"
        say = f"{link}, MTU {one.mtu}, {have} of {count(len(one.addresses), 'address')}" if one.there else "not there"
        lines.append(f"{one.netdev:{width}}  {say}")
        lines += [f"{'':{width}}    {why}" for why in (*one.missing, *one.notes)]
    return "\n".join(lines)


def commands(plan: HostFile, changes: Changes, names_file: object) -> str:
    """The commands under the network device each is for; what is not of the plan first."""
    groups: dict[str, list[str]] = {"no longer planned, or in the way": []}
    dev_of = {(*entry.place, entry.table): dev for dev, entry in plan.entries}
    for command in changes.commands:
        entry = command[1]
        dev = dev_of.get((*entry.place, entry.table)) if command[0] == "add" else None
        groups.setdefault(dev or next(iter(groups)), []).append(kernel.command_line(command))
    blocks = ["\n".join([f"# {group}", *lines]) for group, lines in groups.items() if lines]
    if changes.names is not None:
        lines = [line for line in changes.names.splitlines() if not line.startswith("#")]
        blocks.append("\n".join([f"# {names_file}", *(f"#   {line}" for line in lines)]))
    return "\n\n".join(blocks)


def document(plan: HostFile, states: list[NicState], changes: Changes) -> dict[str, Any]:
    """All of it for machines."""
    return {
        "host": plan.host,
        "nics": [
            {
                "netdev": one.netdev,
                "there": one.there,
                "up": one.up,
                "carrier": one.carrier,
                "mtu": one.mtu,
                "addresses": list(one.addresses),
                "blocked": one.blocked or None,
                "missing": list(one.missing),
                "notes": list(one.notes),
            }
            for one in states
        ],
        "commands": [_words(one) for one in changes.commands],
        "table_names": changes.names,
    }


def failure(error: HostError) -> dict[str, Any]:
    """An error for machines, as every verb of railweave gives it (docs/cli/README.md)."""
    kind = {1: "HostError", 2: "InputError", 130: "Interrupted"}[error.exit_code]
    return {"error": kind, "exit_code": error.exit_code, "message": str(error), "problems": []}


def _words(command: Command) -> list[str]:
    return kernel.command_line(command).split()
