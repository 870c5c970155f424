"""What this server has now: links with counters, addresses, routes, rules, GIDs, LLDP neighbors. Nothing is changed.

``railweave check`` compares it with the design (docs/collect.md), so nothing here needs ``host.json``.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

from . import __version__, gids, kernel

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = 1
"""Of the document: it rises when a key changes its meaning or goes."""

_LLDP = ("lldpcli", "-f", "json", "show", "neighbors")
_LLDP_S = 10
_LOCAL = 255
"""The kernel's own table, of addresses of this server: it follows from them."""
_DOUBTFUL = ("tentative", "dadfailed", "deprecated", "temporary")


def document(sysfs: Path) -> dict[str, Any]:
    """All of it for machines. Raises HostError where ``ip`` cannot say; what else is not there is a note."""
    shown = kernel.ip_json("-s", "addr", "show")
    have = kernel.read()
    lldp, note = _lldp()
    return {
        "schema": SCHEMA,
        "version": __version__,
        "host": socket.gethostname(),
        "time": int(time.time()),
        "links": [_link(one, sysfs / "class/net" / one["ifname"]) for one in shown],
        "addresses": [_address(link["ifname"], one) for link in shown for one in link["addr_info"] if "local" in one],
        "rules": [
            {
                "family": one.family,
                "priority": one.priority,
                "from": one.from_,
                "to": one.to,
                "table": one.table,
                "plain": one.plain,
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
            }
            for one in have.routes
            if one.table != _LOCAL
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
            for one in gids.read(sysfs, None)
        ],
        "rdma": [_rdma(port) for port in gids.ports(sysfs)],
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


def _link(shown: dict[str, Any], folder: Path) -> dict[str, Any]:
    received, sent = (shown.get("stats64", {}).get(way, {}) for way in ("rx", "tx"))
    driver = folder / "device/driver"
    return {
        "name": shown["ifname"],
        "mac": shown.get("address"),
        "mtu": shown["mtu"],
        "up": "UP" in shown["flags"],
        "carrier": "LOWER_UP" in shown["flags"],
        "speed_mbps": _number(folder / "speed", least=1),
        "driver": driver.resolve().name if driver.exists() else None,
        "carrier_changes": _number(folder / "carrier_changes"),
        "counters": {
            "rx_errors": received.get("errors"),
            "rx_dropped": received.get("dropped"),
            "rx_crc_errors": _number(folder / "statistics/rx_crc_errors"),
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


def _rdma(port: Path) -> dict[str, Any]:
    """A port of an RDMA device: its state and rate in the kernel's words, and every counter that it has."""
    counters = {
        one.name: number
        for folder in ("counters", "hw_counters")
        for one in sorted((port / folder).glob("*"))
        if (number := _number(one)) is not None
    }
    return {
        "device": port.parents[1].name,
        "port": int(port.name),
        "state": gids.text(port / "state"),
        "rate": gids.text(port / "rate"),
        "counters": counters,
    }


def _number(file: Path, least: int = 0) -> int | None:
    """A file's number; None where the kernel refuses or it is less: the speed of a link that is down is -1."""
    try:
        value = int(gids.text(file) or "")
    except ValueError:
        return None
    return value if value >= least else None


def _lldp() -> tuple[Any, str]:
    """What lldpd hears, in its own form, or why nobody can say."""
    try:
        done = subprocess.run(
            _LLDP, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LLDP_S
        )
    except FileNotFoundError:
        return None, "lldpcli is not there: LLDP neighbors are not known"
    except subprocess.TimeoutExpired:
        return None, f"lldpcli did not answer in {_LLDP_S} s: LLDP neighbors are not known"
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it failed without saying why"])[-1]
        return None, f"LLDP neighbors are not known: lldpcli: {why}"
    try:
        return json.loads(done.stdout), ""
    except ValueError:
        return None, "LLDP neighbors are not known: lldpcli printed no JSON"
