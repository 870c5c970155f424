"""A changed word of a rendered statement changes the configuration that is read, or the statement is not understood."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest

from railweave.model.catalog import in_force
from railweave.model.config.sections import SectionReader, parse
from railweave.model.device.build import device_config
from railweave.systems import system
from tests.protection.test_sessions import guarded
from tests.retarget import retargeted
from tests.systems.test_statement_rows import TABLES

SILENT = {
    r"(neighbor \S+ )?description": "a name, which is another in the design",
    "interface Management": "the only management port",
    "ip forwarding": "the kernel of a router forwards, unless a statement forbids it",
    "ipv6 forwarding": "the same",
    "ipv6 nd ra-interval": "on a link to a switch, how soon BGP finds its neighbor",
    r"neighbor \S+ timers connect": "how soon a session is tried again, which no field has",
    r"maximum-paths \d+ ecmp": "of two numbers, the fewer is how many paths are used",
    r"(neighbor \S+ )?ebgp-multihop": "a session that may take more hops than it needs",
}
"""How lines begin of which a word changes nothing, as regular expressions, and why."""
ENTRY = re.compile(
    r"((?:ip|ipv6) prefix-list \S+ seq|bgp \S+-list standard \S+ seq|route-map \S+|\s+seq|\s\s(?=\s\d+ match )) (?:(?:permit|deny) )?(\d+)(?: |$)"
)
"""An entry of an ordered list: the list (a blank first: that of the header above), and the number by which the entry has its place."""
LAST = "65535"
"""The number of an entry behind all others."""
OPPOSITES = {"permit": "deny", "deny": "permit", "in": "out", "out": "in", "ip": "ipv6", "ipv6": "ip"}


def other(word: str) -> str:
    """Another word of the same kind."""
    if word in OPPOSITES:
        return OPPOSITES[word]
    if re.fullmatch(r"\d+", word):
        return str(int(word) + 1)
    if re.fullmatch(r"<secret:[\w-]+>", word):
        return f"{word[:-1]}x>"
    if re.fullmatch(r"[0-9.]+/\d+", word) and "." in word:  # its first number: FRR drops bits beyond the length
        return re.sub(r"\d+", lambda part: str((int(part[0]) + 1) % 250), word, count=1)
    if re.fullmatch(r"[0-9.]+(/\d+)?", word) and "." in word:
        return re.sub(r"(\d+)(?=$|/)", lambda part: str((int(part[1]) + 1) % 250), word, count=1)
    if re.fullmatch(r"[0-9a-f:]+(/\d+)?", word) and ":" in word:
        return re.sub(r"(.)(?=$|/)", lambda part: "2" if part[1] == "1" else "1", word, count=1)
    return f"{word}x"


def changed_word(lines: list[str], place: int, at: int) -> str | None:
    """Another word for a word of a line. Of an entry's number, only the order counts: the number puts it behind the others of its list.

    None if the entry is behind them already.
    """
    entry = ENTRY.match(lines[place])
    if entry is None or at != len(lines[place][: entry.start(2)].split()):
        return other(lines[place].split()[at])
    after = lines[place + 1 :]
    if entry[1][0] == " ":
        after = list(itertools.takewhile(ENTRY.match, after))
    behind = (ENTRY.match(line) for line in after)
    return LAST if any(line is not None and line[1] == entry[1] for line in behind) else None


def changes(text: str, known: set[int]) -> Iterator[tuple[int, str, str]]:
    """Lines with one word changed: the number of the line, the line, and the whole text. Lines that differ in numbers alone are tried once."""
    lines, tried = text.split("\n"), set[tuple[str, int]]()
    for place, line in enumerate(lines):
        words = line.split()
        for at in range(len(words) if place + 1 in known else 0):
            key = (re.sub(r"\d+", "#", line), at)
            new = None if key in tried else changed_word(lines, place, at)
            if new is not None:
                tried.add(key)
                indent = line[: len(line) - len(line.lstrip())]
                changed = indent + " ".join([*words[:at], new, *words[at + 1 :]])
                yield place + 1, changed.strip(), "\n".join([*lines[:place], changed, *lines[place + 1 :]])


def in_tables(nos: str, text: str) -> set[int]:
    """The numbers of the lines that a statement table takes."""
    sections = parse(
        "\n".join(line if line not in {"configure terminal", "write memory"} else "" for line in text.split("\n"))
    )
    reader = SectionReader(sections)
    for name, table in TABLES.items():
        if name.startswith(f"{nos}."):
            table.collect(sections, reader)
    return {section.at for section, _, understood in reader.lines() if understood}


FILES = {"dell_sonic": "sonic.cli", "eos": "eos.conf", "frr": "frr.conf"}


@pytest.mark.parametrize(
    ("nos", "name", "least"),
    [
        (nos, name, least)
        for nos, least in (("dell_sonic", 60), ("eos", 40), ("frr", 25))
        for name in ("h100-rlb", "evpn-functional")
    ],
)
def test_no_change_is_silent(nos: str, name: str, least: int) -> None:
    reader, file = system(nos).reader, FILES[nos]
    assert reader is not None
    network = guarded(retargeted(name, nos))
    with in_force(network.catalog):
        text = system(nos).files(device_config(network, network.switches[-1].name, nos))[file]
    base = reader.read({file: text})
    silent: list[str] = []
    count = 0
    for number, line, changed in changes(text, in_tables(nos, text)):
        count += 1
        found = reader.read({file: changed})
        understood = {one.line for one in found.statements if one.kind == "understood"}
        if number in understood and found.config == base.config and not re.match("|".join(SILENT), line):
            silent.append(line)
    assert silent == []
    assert count > least
