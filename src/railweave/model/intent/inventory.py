"""The file NAME.inventory.csv, with facts that are known only after the hardware is delivered.

Columns: ``device, interface, mac, serial, netdev, rdma, length, part``. An empty cell means an unknown fact. There are
three kinds of rows:

- Without ``interface``, a row gives a device's serial number.
- A row for a server's NIC gives its MAC address, Linux interface name and RDMA device name.
- A row for any port may give the measured length of its cable, and the serial and part number of its module.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.csv_cells import text_of_cell
from railweave.errors import FileLine, Problem, SpecError
from railweave.model.config.quantities import METRES
from railweave.reading import csv_table, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

TO_FILL_IN = ("device", "interface", "mac", "serial", "netdev", "rdma", "length")
"""The columns of an inventory that the user fills in."""
COLUMNS = (*TO_FILL_IN, "part")
"""All columns of an inventory. The command ``railweave inventory fill`` writes the part numbers of modules."""
MOST_REPORTED = 100
"""The largest number of errors that are reported for one file."""
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


@dataclass(frozen=True, slots=True)
class Item:
    """The known facts about one port, NIC or device."""

    mac: str = ""
    serial: str = ""
    netdev: str = ""
    rdma: str = ""
    length_m: float | None = None
    line: int = 0
    part: str = ""


@dataclass(frozen=True)
class Inventory:
    """An inventory: facts by (device, interface). The interface is empty for the device itself."""

    file: str = ""
    items: dict[tuple[str, str], Item] = field(default_factory=dict[tuple[str, str], Item])

    def get(self, device: str, interface: str = "") -> Item:
        """Return the known facts about an interface, or about a device if ``interface`` is empty.

        If nothing is known, all fields are empty.
        """
        return self.items.get((device, interface), _NOTHING)


_NOTHING = Item()


def template(ports: Iterable[tuple[str, str]]) -> str:
    """Return an inventory to fill in. Each (device, interface) in ``ports`` gets a row whose other cells are empty."""
    empty = "," * (len(TO_FILL_IN) - 2)
    return "".join(f"{line}\n" for line in (",".join(TO_FILL_IN), *(f"{','.join(port)}{empty}" for port in ports)))


def read_inventory(path: Path) -> Inventory:
    """Read an inventory. A missing file gives an empty inventory. Raises ``SpecError`` with every faulty line."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        return Inventory(str(path))
    reader = csv_table(text)
    try:
        return _read(path, reader)
    except csv.Error as error:
        message = f"not a table: {error}"
        raise SpecError([Problem(FileLine(str(path), reader.line_num), message, "close the quotation marks")]) from None


def _read(path: Path, reader: csv.DictReader[str]) -> Inventory:
    unknown = sorted(set(reader.fieldnames or ()) - set(COLUMNS))
    if reader.fieldnames is None or "device" not in reader.fieldnames or unknown:
        message = (
            f"unknown column {unknown[0]!r}" if unknown else "the first line must contain the names of the columns"
        )
        raise SpecError([Problem(FileLine(str(path), 1), message, f"columns are {','.join(COLUMNS)}")])
    problems: list[Problem] = []
    items: dict[tuple[str, str], Item] = {}
    seen: dict[str, int] = {}
    for row in reader:
        cells = {column: text_of_cell((row.get(column) or "").strip()) for column in COLUMNS}
        key = (cells["device"], cells["interface"])
        if not key[0] or key[0].startswith("#"):
            continue
        item, wrong = _item(cells, reader.line_num)
        for label in _unique(key, item):
            if label in seen:
                wrong.append((f"duplicate {label}", f"it is first given on line {seen[label]}"))
            seen.setdefault(label, item.line)
        problems += [Problem(FileLine(str(path), item.line), reason, fix) for reason, fix in wrong]
        items[key] = item
        if len(problems) > MOST_REPORTED:
            break
    if problems:
        raise SpecError(problems)
    return Inventory(str(path), items)


def _item(cells: dict[str, str], line: int) -> tuple[Item, list[tuple[str, str]]]:
    """Return (facts in a row's ``cells``, its faults as (message, correction))."""
    wrong: list[tuple[str, str]] = []
    mac = cells["mac"].lower().replace("-", ":")
    if mac and not _MAC.fullmatch(mac):
        wrong.append((f"{cells['mac']!r} is not a MAC address", "write it as a0:88:c2:3b:50:66"))
        mac = ""
    elif mac and int(mac[:2], 16) & 1:  # the group bit, IEEE 802
        wrong.append(
            (f"{mac} is a group address, which a NIC cannot have", "read it from the card's label or `ip link`")
        )
        mac = ""
    metres = 0.0
    try:
        metres = METRES.parse(cells["length"] or "0")
    except ValueError:
        wrong.append((f"{cells['length']!r} is not a length", "write the length in metres, for example 12.5"))
    return Item(mac, cells["serial"], cells["netdev"], cells["rdma"], metres or None, line, cells["part"]), wrong


def _unique(key: tuple[str, str], item: Item) -> Iterator[str]:
    """Yield the values of a row that no other row may have.

    These are ``key`` (device, interface), and the ``item``'s MAC address, Linux and RDMA interface names.
    """
    if item.mac:
        yield f"MAC address {item.mac}"
    yield f"entry for {':'.join(filter(None, key))}"
    for column, name in (("netdev", item.netdev), ("rdma", item.rdma)):
        if name:
            yield f"{column} {name!r} of {key[0]}"
