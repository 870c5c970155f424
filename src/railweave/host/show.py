"""The output of ``plan``, ``apply`` and ``show``, as text and as JSON."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

from . import __version__, gids, kernel
from .entries import Route
from .machine import CannotTellError
from .strays import firewall_drops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .changes import Changes
    from .failure import HostError
    from .host_file import HostFile
    from .kernel import Command
    from .machine import Machine
    from .readiness import NicState


SCHEMA = 1
"""The version of the JSON document; it increases when a key changes its meaning or is removed."""

_LLDP = ("lldpcli", "-f", "json", "show", "neighbors")
_LOCAL = 255
"""The number of the kernel's local table. Its routes follow from this server's addresses, so they are not shown."""
_DOUBTFUL = ("tentative", "dadfailed", "deprecated", "temporary")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose columns are as wide as their widest cell. ``rows`` has the heading first."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows]


def state_document(machine: Machine) -> dict[str, Any]:
    """Return the state of this server as data for JSON: links, addresses, rules, routes, neighbors, firewall, GIDs, RDMA ports and LLDP.

    If LLDP neighbors cannot be read, ``lldp`` is None, and ``notes`` has the reason. Any other value that cannot be read is None. Raises
    HostError if the command ``ip`` fails.
    """
    shown = kernel.ip_json("-s", "addr", "show")
    have = kernel.read()
    lldp, note = _lldp(machine)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "host": socket.gethostname(),
        "time": int(time.time()),
        "links": [_link(machine, link) for link in shown],
        "addresses": [
            _address(link["ifname"], address) for link in shown for address in link["addr_info"] if "local" in address
        ],
        "rules": [
            {
                "family": rule.family,
                "priority": rule.priority,
                "from": rule.from_,
                "to": rule.to,
                "table": rule.table,
                "plain": rule.plain,
                "more": rule.more,
            }
            for rule in have.rules
        ],
        "routes": [
            {
                "family": route.family,
                "table": route.table,
                "type": route.kind,
                "to": route.to,
                "dev": route.dev,
                "via": route.via,
                "metric": route.metric,
                "rest": list(route.rest),
                "opaque": list(route.opaque),
            }
            for route in have.routes
            if route.table != _LOCAL
        ],
        "permanent_neighbors": [
            {"dev": neighbor.get("dev"), "address": neighbor.get("dst"), "mac": neighbor.get("lladdr")}
            for neighbor in kernel.ip_json("neigh", "show", "nud", "permanent")
        ],
        "firewall": _firewall(machine),
        "gids": [gid.described() for gid in gids.read(machine, None)],
        "rdma": [_rdma(machine, *port) for port in gids.ports(machine)],
        "lldp": lldp,
        "notes": [note] if note else [],
    }


def _firewall(machine: Machine) -> list[str] | None:
    """Return, for each firewall rule that drops RoCE, the command that deletes the rule. Return None if the rules cannot be read."""
    try:
        return firewall_drops(machine)[0]
    except CannotTellError:
        return None


def table(shown: dict[str, Any]) -> str:
    """Return the state of this server as text: a line for each link and address, then the counts of rules, routes and GIDs.

    ``shown`` is the result of ``state_document``.
    """
    width = max((len(link["name"]) for link in shown["links"]), default=0)
    addresses: dict[str, list[str]] = {}
    for address in shown["addresses"]:
        addresses.setdefault(address["dev"], []).append(f"{address['address']}/{address['prefix_length']}")
    lines: list[str] = []
    for link in shown["links"]:
        state = "up" if link["up"] and link["carrier"] else "no carrier" if link["up"] else "down"
        speed = f", {link['speed_mbps'] / 1000:g} Gb/s" if link["speed_mbps"] else ""
        lines.append(f"{link['name']:{width}}  {state}, MTU {link['mtu']}{speed}")
        lines += [f"{'':{width}}    {address}" for address in addresses.get(link["name"], [])]
    rest = {name: len(shown[name]) for name in ("rules", "routes", "gids")}
    return "\n".join([*lines, ", ".join(f"{count} {name}" for name, count in rest.items()), *shown["notes"]])


def _link(machine: Machine, shown: dict[str, Any]) -> dict[str, Any]:
    received, sent = (shown.get("stats64", {}).get(way, {}) for way in ("rx", "tx"))
    folder = f"/sys/class/net/{shown['ifname']}"
    driver = machine.real(f"{folder}/device/driver")
    return {
        "name": shown["ifname"],
        "mac": shown.get("address"),
        "mtu": shown["mtu"],
        "up": "UP" in shown["flags"],
        "carrier": "LOWER_UP" in shown["flags"],
        "speed_mbps": _number(machine, f"{folder}/speed", least=1),
        "driver": driver.rpartition("/")[2] if driver else None,
        "carrier_changes": _number(machine, f"{folder}/carrier_changes"),
        "counters": {
            "rx_errors": received.get("errors"),
            "rx_dropped": received.get("dropped"),
            "rx_crc_errors": _number(machine, f"{folder}/statistics/rx_crc_errors"),
            "tx_errors": sent.get("errors"),
            "tx_dropped": sent.get("dropped"),
        },
    }


def _address(dev: str, shown: dict[str, Any]) -> dict[str, Any]:
    return {
        "dev": dev,
        "address": shown["local"],
        "prefix_length": shown["prefixlen"],
        "scope": shown.get("scope"),
        "flags": [flag for flag in _DOUBTFUL if shown.get(flag)],
    }


def _rdma(machine: Machine, device: str, port: int) -> dict[str, Any]:
    """Return the state, rate and counters of an RDMA port, as sysfs shows them, as data for JSON."""
    at = f"{gids.DEVICES}/{device}/ports/{port}"
    counters = {
        name: number
        for folder in ("counters", "hw_counters")
        for name in machine.names(f"{at}/{folder}")
        if (number := _number(machine, f"{at}/{folder}/{name}")) is not None
    }
    state, rate = (machine.readable(f"{at}/{attribute}") for attribute in ("state", "rate"))
    return {"device": device, "port": port, "state": state, "rate": rate, "counters": counters}


def _number(machine: Machine, path: str, least: int = 0) -> int | None:
    """Return the number in a file; None if it cannot be read or is below ``least`` (the speed of a link that is down is -1)."""
    try:
        value = int(machine.readable(path) or "")
    except ValueError:
        return None
    return value if value >= least else None


def _lldp(machine: Machine) -> tuple[Any, str]:
    """Return (neighbors in lldpd's JSON format, empty text), or (None, reason) if they cannot be read."""
    if not machine.has(_LLDP[0]):
        return None, "lldpcli is not there: LLDP neighbors are not known"
    try:
        return machine.json(*_LLDP), ""
    except CannotTellError as error:
        return None, f"LLDP neighbors are not known: {error}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 route`` or ``2 routes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def planned(plan: HostFile) -> str:
    """Return a line with the counts of planned routes and rules, such as ``8 routes and 16 rules``."""
    routes = sum(isinstance(entry, Route) for _, entry in plan.entries)
    return f"{count(routes, 'route')} and {count(len(plan.entries) - routes, 'rule')}"


def nics(states: list[NicState]) -> str:
    """Return the state of the NICs as text, with a line for each NIC and one for each difference from the plan."""
    width = max((len(state.netdev) for state in states), default=0)
    lines: list[str] = []
    for state in states:
        have = sum(address is not None for address in state.addresses)
        link = "up" if state.up else "down"
        say = (
            f"{link}, MTU {state.mtu}, {have} of {count(len(state.addresses), 'address')}"
            if state.there
            else "not there"
        )
        lines.append(f"{state.netdev:{width}}  {say}")
        lines += [f"{'':{width}}    {why}" for why in (*state.missing, *state.notes)]
    return "\n".join(lines)


def commands(plan: HostFile, changes: Changes, names_file: object) -> str:
    """Return the planned commands as text, grouped by network device, then the file of table names if it changes.

    Commands that delete entries come first. ``names_file`` is the path of the file of table names.
    """
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
    """Return the state of the NICs (``nics``) and the planned changes as data for JSON.

    Each of the ``commands`` is a list of words. ``table_names`` is the new text of the file of table names; None if it stays unchanged.
    """
    return {
        "host": plan.host,
        "nics": [
            {
                "netdev": state.netdev,
                "there": state.there,
                "up": state.up,
                "carrier": state.carrier,
                "mtu": state.mtu,
                "addresses": list(state.addresses),
                "blocked": state.blocked or None,
                "missing": list(state.missing),
                "notes": list(state.notes),
            }
            for state in states
        ],
        "commands": [_words(command) for command in changes.commands],
        "table_names": changes.names,
    }


def failure(error: HostError) -> dict[str, Any]:
    """Return an error as data for JSON, in the form that every railweave command uses (docs/cli.md)."""
    kind = {1: "HostError", 2: "InputError", 130: "Interrupted"}[error.exit_code]
    return {"error": kind, "exit_code": error.exit_code, "message": str(error), "problems": []}


def _words(command: Command) -> list[str]:
    return kernel.command_line(command).split()
