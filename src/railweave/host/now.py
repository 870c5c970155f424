"""What this server has now: links with counters, addresses, routes, rules, GIDs, LLDP neighbors. Nothing is changed.

``railweave check`` compares it with the design (docs/collect.md), so nothing here needs ``host.json``.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

from . import __version__, gids, kernel
from .machine import CannotTellError

if TYPE_CHECKING:
    from .machine import Machine

SCHEMA = 1
"""Of the document: it rises when a key changes its meaning or goes."""

_LLDP = ("lldpcli", "-f", "json", "show", "neighbors")
_LOCAL = 255
"""The kernel's own table, of addresses of this server: it follows from them."""
_DOUBTFUL = ("tentative", "dadfailed", "deprecated", "temporary")


def document(machine: Machine) -> dict[str, Any]:
    """All of it for machines. Raises HostError where ``ip`` cannot say; what else is not there is a note."""
    shown = kernel.ip_json("-s", "addr", "show")
    have = kernel.read()
    lldp, note = _lldp(machine)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "host": socket.gethostname(),
        "time": int(time.time()),
        "links": [_link(machine, one) for one in shown],
        "addresses": [_address(link["ifname"], one) for link in shown for one in link["addr_info"] if "local" in one],
        "rules": [
            {
                "family": one.family,
                "priority": one.priority,
                "from": one.from_,
                "to": one.to,
                "table": one.table,
                "plain": one.plain,
                "more": one.more,
            }
            for one in have.rules
        ],
        "routes": [
            {
                "family": one.family,
                "table": one.table,
                "type": one.kind,
                "to": one.to,
                "dev": one.dev,
                "via": one.via,
                "metric": one.metric,
                "rest": list(one.rest),
                "opaque": list(one.opaque),
            }
            for one in have.routes
            if one.table != _LOCAL
        ],
        "permanent_neighbors": [
            {"dev": one.get("dev"), "address": one.get("dst"), "mac": one.get("lladdr")}
            for one in kernel.ip_json("neigh", "show", "nud", "permanent")
        ],
        "gids": [
            {
                "device": one.device,
                "port": one.port,
                "index": one.index,
                "gid": str(one.address),
                "type": one.type,
                "netdev": one.netdev,
            }
            for one in gids.read(machine, None)
        ],
        "rdma": [_rdma(machine, *port) for port in gids.ports(machine)],
        "lldp": lldp,
        "notes": [note] if note else [],
    }


def table(shown: dict[str, Any]) -> str:
    """A line for each link, and one of the rest, for people."""
    width = max((len(one["name"]) for one in shown["links"]), default=0)
    addresses: dict[str, list[str]] = {}
    for one in shown["addresses"]:
        addresses.setdefault(one["dev"], []).append(f"{one['address']}/{one['prefix_length']}")
    lines: list[str] = []
    for one in shown["links"]:
        state = "up" if one["up"] and one["carrier"] else "no carrier" if one["up"] else "down"
        speed = f", {one['speed_mbps'] / 1000:g} Gb/s" if one["speed_mbps"] else ""
        lines.append(f"{one['name']:{width}}  {state}, MTU {one['mtu']}{speed}")
        lines += [f"{'':{width}}    {address}" for address in addresses.get(one["name"], [])]
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
        "flags": [one for one in _DOUBTFUL if shown.get(one)],
    }


def _rdma(machine: Machine, device: str, port: int) -> dict[str, Any]:
    """A port of an RDMA device: its state and rate in the kernel's words, and every counter that it has."""
    at = f"{gids.DEVICES}/{device}/ports/{port}"
    counters = {
        name: number
        for folder in ("counters", "hw_counters")
        for name in machine.names(f"{at}/{folder}")
        if (number := _number(machine, f"{at}/{folder}/{name}")) is not None
    }
    state, rate = (machine.readable(f"{at}/{one}") for one in ("state", "rate"))
    return {"device": device, "port": port, "state": state, "rate": rate, "counters": counters}


def _number(machine: Machine, path: str, least: int = 0) -> int | None:
    """A file's number; None where the kernel refuses or it is less: the speed of a link that is down is -1."""
    try:
        value = int(machine.readable(path) or "")
    except ValueError:
        return None
    return value if value >= least else None


def _lldp(machine: Machine) -> tuple[Any, str]:
    """What lldpd hears, in its own form, or why nobody can say."""
    if not machine.has(_LLDP[0]):
        return None, "lldpcli is not there: LLDP neighbors are not known"
    try:
        return machine.json(*_LLDP), ""
    except CannotTellError as error:
        return None, f"LLDP neighbors are not known: {error}"
