"""Faults in configurations of devices, drawn by a seed: what a check of configurations must find.

``mutants`` takes the files that small examples are rendered to on an operating system, and makes one mistake in them: a
statement that is missing, another, in another place or one too many; at one end of a link or at both. Each knows what it is
and where. What does not matter is left alone: descriptions, comments, and the order of what has none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.intent.management import ControlPlane, Security
from railweave.model.network.model import Network
from railweave.systems import system
from tests.conftest import example
from tests.mutants import dell_sonic, eos, frr, junos, sonic
from tests.mutants.kinds import NAMED_BY, Kind
from tests.mutants.rows import Row
from tests.mutants.texts import Statement, added, is_whole, replaced, statements, swapped, without
from tests.retarget import retargeted

__all__ = ["EXAMPLES", "NAMED_BY", "Kind", "Mutant", "configs_of", "designed_files", "mutants", "network_of"]

EXAMPLES = ("h100-rlb", "evpn-functional", "evpn-server-isolation", "aidc-three-fabrics", "mi300x-leaf-24")
"""Examples that have, between them, what a configuration can have; each with and without protection of its control plane."""

ROWS = {
    "junos": junos.ROWS,
    "eos": eos.ROWS,
    "sonic": sonic.ROWS,
    "dell_sonic": dell_sonic.ROWS,
    "frr": frr.ROWS,
}
BOTH_ENDS = 0.3
"""Of faults on a link, those at both ends."""


@dataclass(frozen=True)
class Mutant:
    """A mistake in the files of a network. ``edits`` are the files as they stand now, by device and name.

    ``places`` are where the mistake stands: device, file and line (from 1). Of a statement that is missing, that is the line
    of what it stood in; of what moved, each of the two lines; of an interface's VRF, that of the interface too.
    """

    network: Network
    nos: str
    edits: dict[tuple[str, str], str]
    kind: Kind
    places: tuple[tuple[str, str, int], ...]
    what: str
    """The statement before and after, for people."""


@dataclass(frozen=True)
class _Site:
    """A statement that a row of the table is about."""

    example: str
    device: str
    file: str
    row: Row
    statement: Statement


def mutants(nos: str, seed: int, number: int) -> Iterator[Mutant]:
    """So many faults, none twice; every kind as often as another as far as there are different ones."""
    draw = random.Random(f"{nos} {seed}")  # noqa: S311 - faults are drawn, not secrets
    sites = {kind: list(some) for kind, some in _sites(nos).items()}
    kinds = sorted(sites)
    seen: set[tuple[object, ...]] = set()
    made = fruitless = 0
    while made < number and fruitless < 100 * number:
        kind = draw.choice(kinds)
        found = _mutant(nos, draw.choice(sites[kind]), draw)
        key = (found.kind, found.what, *sorted(found.edits)) if found else ()
        if found is None or key in seen:
            fruitless += 1
            continue
        seen.add(key)
        made += 1
        yield found


@cache
def network_of(name: str, nos: str) -> Network:
    """An example on an operating system; ``+`` before its name: with its control planes protected."""
    plain = name.removeprefix("+")
    network = example(plain) if nos in {"junos", "frr"} else retargeted(plain, nos)
    if plain == name:
        return network
    managers = ("192.0.2.0/24", "2001:db8:99::/64")
    wanted = network.management
    snmp = wanted.snmp and wanted.snmp.model_copy(update={"clients": managers})
    security = Security(control_plane=ControlPlane(management_prefixes=managers))
    return replace(network, management=wanted.model_copy(update={"security": security, "snmp": snmp}))


@cache
def configs_of(name: str, nos: str) -> dict[str, DeviceConfig]:
    network = network_of(name, nos)
    return {one.name: device_config(network, one.name, nos) for one in network.switches}


@cache
def designed_files(name: str, nos: str) -> dict[str, dict[str, str]]:
    """The files of every device of an example, as designed."""
    return {device: system(nos).files(config) for device, config in configs_of(name, nos).items()}


@cache
def _sites(nos: str) -> dict[Kind, tuple[_Site, ...]]:
    found: dict[Kind, list[_Site]] = {}
    patterns = [(row, re.compile(row.pattern)) for row in ROWS[nos]]
    for name in (*EXAMPLES, *(f"+{one}" for one in EXAMPLES[:2])):
        for device, files in designed_files(name, nos).items():
            for file, text in files.items():
                for one in statements(text):
                    for row, pattern in patterns:
                        if name.startswith("+") is (row.kind is Kind.PROTECTION) and pattern.fullmatch(one.path):
                            found.setdefault(row.kind, []).append(_Site(name, device, file, row, one))
    return {kind: tuple(some) for kind, some in found.items()}


def _mutant(nos: str, site: _Site, draw: random.Random) -> Mutant | None:
    how = draw.choice(_ways(site.row))
    state = draw.getstate()
    first = _changed(nos, site, how, draw)
    if first is None:
        return None
    text, lines, what = first
    edits, places = {(site.device, site.file): text}, [(site.device, site.file, line) for line in lines]
    if "(?P<port>" in site.row.pattern and draw.random() < BOTH_ENDS:
        other = _other_end(nos, site)
        if other is not None:
            draw.setstate(state)
            second = _changed(nos, other, how, draw)
            if second is not None:
                edits[other.device, other.file] = second[0]
                places += [(other.device, other.file, line) for line in second[1]]
    return Mutant(network_of(site.example, nos), nos, edits, site.row.kind, tuple(places), what)


def _ways(row: Row) -> list[str]:
    ways = ["drop"] if row.drops else []
    ways += ["move"] if row.moves else []
    ways += ["change", "change"] if row.value is not None and row.changes else []
    return ways + (["add"] if row.adds and row.value is not None else [])


def _changed(nos: str, site: _Site, how: str, draw: random.Random) -> tuple[str, tuple[int, ...], str] | None:
    text = designed_files(site.example, nos)[site.device][site.file]
    one, row = site.statement, site.row
    line = text.splitlines()[one.first]
    if how == "drop":
        new, at = without(text, one)
        return (new, (at,), f"drop {one.path}") if is_whole(new) else None
    if how == "move":
        return _moved(text, one, row)
    found = re.fullmatch(row.pattern, one.path)
    if found is None or row.value is None:
        return None
    old = found["value"]
    if old is None:  # a form that has none
        return None
    value = row.value(old, draw)
    place = line.rfind(old)
    if value == old or place < 0:
        return None
    changed = f"{line[:place]}{value}{line[place + len(old) :]}"
    if how == "add" and one.last == one.first + 1:
        sequence = re.search(r"\bseq (\d+)", changed)
        if sequence:
            changed = changed.replace(sequence[0], f"seq {int(sequence[1]) + 1}", 1)
        new, at = added(text, one, changed)
    else:
        new, at = replaced(text, one, changed)
    # Some systems empty an interface whose VRF changes: then all of it is another.
    lines = (at, one.above + 1) if row.kind is Kind.VRF and one.above >= 0 else (at,)
    return (new, lines, f"{how} {one.path} to {value}") if is_whole(new) else None


def _moved(text: str, one: Statement, row: Row) -> tuple[str, tuple[int, ...], str] | None:
    """Two statements in each other's place; where they are numbered the numbers change places."""
    family = re.sub(r"\d+$", "", re.sub(r" (permit|deny) \d+$", "", one.path))
    others = [
        other
        for other in statements(text)
        if other.above == one.above and other.first >= one.last and re.fullmatch(row.pattern, other.path)
    ]
    other = others[0] if others else None
    if other is None or (
        (" permit " in one.path or " deny " in one.path) and not other.path.startswith(family.rstrip())
    ):
        return None
    lines = text.splitlines()
    mine, its = (re.search(r"(?<=permit |..deny )\d+$|(?<=seq )\d+", lines[at.first]) for at in (one, other))
    if mine and its:
        head, tail = lines[one.first], lines[other.first]
        lines[one.first] = f"{head[: mine.start()]}{its[0]}{head[mine.end() :]}"
        lines[other.first] = f"{tail[: its.start()]}{mine[0]}{tail[its.end() :]}"
        return "\n".join(lines) + "\n", (one.first + 1, other.first + 1), f"move {one.path}"
    new, at = swapped(text, one, other)
    if not is_whole(new):
        return None
    return new, (at, one.first + 1), f"move {one.path}"


def _other_end(nos: str, site: _Site) -> _Site | None:
    """The same statement at the other end of its link."""
    configs = configs_of(site.example, nos)
    found = re.fullmatch(site.row.pattern, site.statement.path)
    port = found["port"] if found else ""
    near_end = next((one for one in configs[site.device].interfaces if one.name == port and one.kind == "fabric"), None)
    if near_end is None or near_end.peer not in configs:
        return None
    far = next((one.name for one in configs[near_end.peer].interfaces if one.link == near_end.link), None)
    for file, text in designed_files(site.example, nos)[near_end.peer].items():
        for one in statements(text):
            there = re.fullmatch(site.row.pattern, one.path)
            if there and there["port"] == far:
                return _Site(site.example, near_end.peer, file, site.row, one)
    return None
