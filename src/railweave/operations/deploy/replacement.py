"""What follows from hardware that was replaced: the row of the inventory, addresses, labels, and what is rendered otherwise."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.errors import Argument, InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Replacement:
    """What a plan does beyond devices: ``before`` and ``after`` are texts of the inventory, ``file`` is its path.

    ``what`` was replaced; ``lines`` tell what follows, ``refused`` why it cannot be applied.
    """

    what: str
    file: str
    before: str
    after: str
    lines: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Its form in a plan's file."""
        return {**vars(self), "lines": list(self.lines), "refused": list(self.refused)}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Replacement:
        """The other way. Raises ``KeyError`` and ``TypeError`` for what is none."""
        return cls(
            str(found["what"]),
            str(found["file"]),
            str(found["before"]),
            str(found["after"]),
            tuple(found["lines"]),
            tuple(found["refused"]),
        )

    def other_way(self) -> Replacement:
        """What takes it back."""
        return Replacement(self.what, self.file, self.after, self.before)


def part(network: Network, word: str) -> tuple[str, str]:
    """The device and the interface that a word names, as the inventory has them: a switch, a server, or ``SERVER:NIC``. Raises ``InputError``."""
    device, colon, interface = word.partition(":")
    if not colon and word in {one.name for one in (*network.switches, *network.servers)}:
        return word, ""
    for server in network.servers:
        if server.name == device and interface in {nic.name for nic in server.nics}:
            return device, interface
    fix = "name a switch, a server, or SERVER:NIC, as cabling.csv has them"
    raise InputError([Problem(Argument("what"), f"there is no switch, server or NIC {word!r}", fix)])


def cells(network: Network, word: str, serial: str, mac: str) -> dict[tuple[str, str], dict[str, str]]:
    """The cells of the inventory that are new. Raises ``InputError`` where what is given does not go with what was replaced."""
    key = part(network, word)
    if mac and not key[1]:
        fix = "name the NIC: SERVER:NIC"
        raise InputError([Problem(Option("--mac", mac), f"{word} has no MAC address in the inventory", fix)])
    if not mac and (key[1] or not serial):
        what = f"{word} was replaced, and {'the MAC address' if key[1] else 'the serial number'} of the new one is not given"
        raise InputError([Problem(Argument("what"), what, "give --mac" if key[1] else "give --serial")])
    given = {"mac": mac.lower().replace("-", ":"), "serial": serial}
    return {key: {column: value for column, value in given.items() if value}}


def differences(old: str, new: str, file: str) -> Iterator[str]:
    """What changes in a text, as a unified diff without what surrounds it; nothing where nothing does."""
    yield from difflib.unified_diff(old.splitlines(), new.splitlines(), file, file, lineterm="", n=0)


def follows(before: Network, after: Network, word: str) -> Iterator[str]:
    """What follows from new hardware, file by file of a build: addresses, labels, configurations of switches, files of servers."""
    from railweave.outputs.folder.differences import diff
    from railweave.outputs.rendering.tables import addresses_csv, cabling_csv, racks_csv

    device, _ = part(before, word)
    for name, of in (("addresses.csv", addresses_csv), ("cabling.csv", cabling_csv), ("racks.csv", racks_csv)):
        yield from differences(of(before), of(after), name)
    found = diff(before, after)
    yield from found.lines()
    if not (found.devices or found.servers or found.shared):
        yield "no configuration of a switch and no file of a server changes"
    mine = [cable for cable in after.cables_of(device) if word in {device, f"{device}:{cable.a.port}"}]
    for cable in mine:
        a, b = cable.a, cable.b
        yield f"cable to plug in as before: {a.device} {a.port} -- {b.device} {b.port}"


def inventory_text(path: Path) -> str:
    """The text of an inventory; empty where there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""
