"""NAME.inventory.csv: facts that are known only when hardware has been delivered.

Columns: ``device, interface, mac, serial, netdev, rdma, length``. A row without ``interface`` gives a device's serial
number; a row for a server's NIC gives its MAC address, Linux interface name and RDMA device name; a row for any port
may give the measured length of the cable in it. Empty cells are not known yet.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.errors import Problem, SpecError

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = ("device", "interface", "mac", "serial", "netdev", "rdma", "length")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*m?")


@dataclass(frozen=True, slots=True)
class Item:
    """What is known about one port, NIC or device."""

    mac: str = ""
    serial: str = ""
    netdev: str = ""
    rdma: str = ""
    length_m: float | None = None
    line: int = 0


@dataclass(frozen=True)
class Inventory:
    """Items by (device, interface); interface is empty for the device itself."""

    file: str = ""
    items: dict[tuple[str, str], Item] = field(default_factory=dict[tuple[str, str], Item])

    def get(self, device: str, interface: str = "") -> Item:
        """What is known; an empty item where nothing is."""
        return self.items.get((device, interface), _NOTHING)


_NOTHING = Item()


def read_inventory(path: Path) -> Inventory:
    """Read an inventory; a missing file is an empty one. Raises ``SpecError`` with every bad line."""
    if not path.exists():
        return Inventory(str(path))
    problems: list[Problem] = []
    items: dict[tuple[str, str], Item] = {}
    macs: dict[str, int] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(row for row in stream)
        unknown = sorted(set(reader.fieldnames or ()) - set(COLUMNS))
        if reader.fieldnames is None or "device" not in reader.fieldnames or unknown:
            what = f"unknown column {unknown[0]!r}" if unknown else "the first line must name the columns"
            raise SpecError([Problem(str(path), 1, what, f"columns are {','.join(COLUMNS)}")])
        for row in reader:
            line = reader.line_num
            key = ((row.get("device") or "").strip(), (row.get("interface") or "").strip())
            if not key[0] or key[0].startswith("#"):
                continue
            mac = (row.get("mac") or "").strip().lower().replace("-", ":")
            length = _LENGTH.fullmatch((row.get("length") or "").strip() or "0")
            if mac and not _MAC.fullmatch(mac):
                problems.append(
                    Problem(str(path), line, f"{row['mac']!r} is not a MAC address", "write it as a0:88:c2:3b:50:66")
                )
            elif mac and mac in macs:
                problems.append(
                    Problem(str(path), line, f"duplicate MAC address {mac}", f"it is first given on line {macs[mac]}")
                )
            if length is None:
                problems.append(
                    Problem(str(path), line, f"{row['length']!r} is not a length", "write metres, for example 12.5")
                )
            if key in items:
                problems.append(
                    Problem(
                        str(path),
                        line,
                        f"duplicate entry for {':'.join(filter(None, key))}",
                        f"it is first given on line {items[key].line}",
                    )
                )
            if mac:
                macs.setdefault(mac, line)
            items[key] = Item(
                mac=mac,
                serial=(row.get("serial") or "").strip(),
                netdev=(row.get("netdev") or "").strip(),
                rdma=(row.get("rdma") or "").strip(),
                length_m=float(length[1]) if length and float(length[1]) else None,
                line=line,
            )
    if problems:
        raise SpecError(problems)
    return Inventory(str(path), items)
