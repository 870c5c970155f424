"""Texts that are nearly configurations, to try the reader with: ``python -m tests.systems.dell_sonic.fuzz 1000000``."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 4096
WORDS = [
    "0",
    "1",
    "7",
    "65",
    "4095",
    "99999999999999999999",
    "-1",
    "1.5",
    "ffff::/129",
    "10.0.0.0/8",
    "10.0.0.1",
    "300.0.0.1",
    "::",
    "any",
    "host",
    "eq",
    "range",
    "permit",
    "deny",
    "discard",
    "seq",
    "no",
    "exit",
    "end",
    "!",
    "interface",
    "Eth1/1",
    "Eth1/1/1",
    "Eth1/1.5",
    "Vlan",
    "vlan",
    "Loopback",
    "PortChannel",
    "range",
    "router",
    "bgp",
    "neighbor",
    "peer-group",
    "address-family",
    "unicast",
    "l2vpn",
    "evpn",
    "vni",
    "queue",
    "profile",
    "description",
    '"',
    '""',
    '"a',
    'b"',
    "<secret:x>",
    "<secret:",
    "\t",
    "",
    "",
    "é",
    "²",
    "٣",
    "mtu",
    "speed",
    "0-2,5",
    "7-0",
    "1-999999999",
    "64512:1",
    "route-map",
    "in",
    "out",
    "map",
    "vrf",
    "vlan-id",
]


def texts(lines: list[str], seed: int, number: int) -> Iterator[str]:
    """Texts of up to 4 KB: lines of configurations, with words changed, dropped, doubled, and indented otherwise."""
    draw = random.Random(seed)  # noqa: S311 - nothing is kept secret with it
    for _ in range(number):
        some = [draw.choice(lines) for _ in range(draw.randint(0, 60))]
        if draw.random() < 0.5:
            at = draw.randrange(len(lines))
            some = lines[at : at + draw.randint(1, 60)]
        yield "\n".join(_changed(one, draw) for one in some)[:MOST]


def _changed(line: str, draw: random.Random) -> str:
    if draw.random() < 0.6:
        return line
    words = line.strip().split(" ")
    place = draw.randrange(len(words))
    match draw.randrange(4):
        case 0:
            words[place] = draw.choice(WORDS)
        case 1:
            del words[place]
        case 2:
            words.insert(place, draw.choice(WORDS))
        case _:
            words[place] = "".join(draw.sample(words[place], len(words[place])))
    return " " * draw.choice((0, 0, 1, 1, 2, 3, 9)) + " ".join(words)


def tried(lines: list[str], seed: int, number: int) -> int:
    """How many texts are read. Raises whatever reading one raises, but for a text whose form is broken."""
    reader = system("dell_sonic").reader
    assert reader is not None
    read = 0
    for text in texts(lines, seed, number):
        try:
            reader.read({"sonic.cli": text})
            tree = reader.parsed("sonic.cli", text)
            reader.read({"sonic.cli": reader.printed("sonic.cli", tree.nodes)})
            read += 1
        except RenderError as error:
            if error.line is None:
                raise
    return read


if __name__ == "__main__":
    from tests.systems.dell_sonic.test_read import every_line

    print(tried(every_line(), 1, int(sys.argv[1])))
