"""Functions that convert words of statements to values, and section headers to names.

Most return None if the text has no such value. The caller then marks the line as not understood.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.config.secret_words import reference
from railweave.model.device.management import Authentication
from railweave.model.device.port_model import far_end, neighbor_of
from railweave.model.device.timers import Bfd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import SectionReader, SelectedLine


MOST_NAMES = 4096
"""The largest number of ports or VLANs that a range may contain."""

_HIDDEN = re.compile(
    r"((?:(?<![-\w])(?:key \S+ [078]a?(?= \S)|secret|password|key(?! \S+ [078]a? )|snmp-server community|version (?:1|2c)|auth \S+|priv \S+"
    r"|message-digest-key|authentication-key)(?: (?:\d{1,5}|\da|sha\d{1,3}|md5)(?= ))* (?!(?:\d{1,5}|\da|sha\d{1,3}|md5) ))|cvauth=\w+,)"
    r"(?!<secret:|shared-secret |profile )(\S+)"
)
"""A pattern of a secret and the words before it. Possessive quantifiers are avoided: Python 3.11.2 matches them wrongly in groups."""

_NUMBER = re.compile(r"[0-9]{1,10}")
_KIND = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?")
_LAST = re.compile(r"((?:\d+/)*)(\d+)(?:-(\d+))?")


def number(text: str, low: int = 0, high: int = 2**32 - 1) -> int | None:
    """Return the number in a text, or None if the text is not a number from ``low`` to ``high``."""
    value = int(text) if _NUMBER.fullmatch(text) else -1
    return value if low <= value <= high else None


@lru_cache(maxsize=1 << 14)
def address(text: str) -> Address | None:
    """Return the address in a text, or None if the text is no address or has an IPv6 zone such as ``%eth0``."""
    try:
        return Address.read(text) if "%" not in text else None
    except ValueError:
        return None


@lru_cache(maxsize=1 << 14)
def prefix(text: str) -> Prefix | None:
    """Return the prefix in a text, or None for any other text. Host bits are set to zero, as EOS does."""
    try:
        return InterfaceAddress.read(text).prefix if "%" not in text else None
    except ValueError:
        return None


@lru_cache(maxsize=1 << 14)
def interface_address(text: str) -> InterfaceAddress | None:
    """Return the address with a prefix length in a text, or None for any other text."""
    try:
        return InterfaceAddress.read(text) if "%" not in text else None
    except ValueError:
        return None


def redacted(line: str) -> str:
    """Return a line for display, with secrets replaced by ``<secret:?>``."""
    return _HIDDEN.sub(r"\1<secret:?>", line)


def numbers(text: str, high: int = 4094) -> tuple[int, ...] | None:
    """Return the numbers in a text such as ``10-20,30``.

    Return None if a part is not a number up to ``high``, or if there are more than ``MOST_NAMES`` numbers.
    """
    values: list[int] = []
    for part in text.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        low, most = number(first, 0, high), number(last or first, 0, high)
        if low is None or most is None or low > most or (dash and not last) or most - low >= MOST_NAMES:
            return None
        values += range(low, most + 1)
    return tuple(values) if len(values) <= MOST_NAMES else None


def interface_names(text: str) -> tuple[str, ...]:
    """Return the interface names in a section header: a single name, or a range such as ``Ethernet1-4,9`` or ``Ethernet5/1-8``."""
    text = text.replace(" ", "")
    kind = _KIND.match(text)
    if kind is None or not ("," in text or "-" in text[kind.end() :]):
        return (text,)
    names: list[str] = []
    for part in text[kind.end() :].split(","):
        match = _LAST.fullmatch(part.removeprefix(kind[0]))
        low, high = (number(match[2]), number(match[3] or match[2])) if match else (None, None)
        if match is None or low is None or high is None or high - low >= MOST_NAMES:
            return (text,)
        names += [f"{kind[0]}{match[1]}{place}" for place in range(low, high + 1)]
    return tuple(names[:MOST_NAMES])


def peer_of(description: str) -> tuple[str, str]:
    """Return (device, port) at the other end from a description such as ``spine1 Ethernet1/1``. Both are empty for other descriptions.

    Descriptions of Arista's generator are read too: `P2P_LINK_TO_SPINE1_Ethernet1` and `SERVER_host1_eth0`.
    """
    match = _GENERATED.fullmatch(description)
    return (match[1], match[2]) if match else far_end(description)


def neighbor(description: str) -> str:
    """Return the name of the device in the description of a session; empty if the description contains none."""
    return peer_of(description)[0] or neighbor_of(description)


_GENERATED = re.compile(
    r"(?:P2P_LINK_TO_|P2P_|SERVER_|TO_)?([A-Za-z0-9.-]+)_((?:Ethernet|eth|Eth|ens|eno|Vlan|Loopback)[\w/.-]*)"
)


class Stanzas:
    """The lines in ``interface`` sections. Each method marks the matching lines as understood. Later lines override earlier ones."""

    def __init__(self, reader: SectionReader) -> None:
        self.reader = reader
        self._found = [(interface_names(line["names"]), line) for line in reader.each("interface <names...>")]
        self.names = tuple(dict.fromkeys(name for names, _ in self._found for name in names))

    def each(self, *forms: str) -> Iterator[tuple[str, SelectedLine]]:
        """Yield (interface, line) for every line in an ``interface`` section that matches one of the patterns in ``forms``."""
        for names, header in self._found:
            if header.below:
                for line in self.reader.each(*forms, below=header):
                    for name in names:
                        yield name, line

    def last(self, *forms: str) -> dict[str, SelectedLine]:
        """Return, by interface, the last line that matches one of the patterns in ``forms``."""
        return dict(self.each(*forms))

    def word(self, form: str) -> dict[str, str]:
        """Return, by interface, the word at ``<value>`` in the last line that matches the pattern ``form``."""
        return {name: line["value"] for name, line in self.each(form)}

    def number(self, form: str, low: int = 0, high: int = 2**32 - 1) -> dict[str, int]:
        """Return, by interface, the number at ``<value>`` in the last line that matches the pattern ``form``.

        Lines without a number from ``low`` to ``high`` are left out, and marked as not understood.
        """
        values: dict[str, int] = {}
        for name, line in self.each(form):
            value = number(line["value"], low, high)
            if value is None:
                self.reader.mark_unknown(line)
            else:
                values[name] = value
        return values

    def flag(self, line: str) -> dict[str, bool]:
        """Return, by interface: True if the line is present, False if ``no`` or ``default`` precedes it. Later lines override earlier ones."""
        flags: dict[str, bool] = {}
        for name, statement in self.each(f"** {line}"):
            before = statement.line.removesuffix(line).strip()
            if before in {"", "no", "default"}:
                flags[name] = not before
            else:
                self.reader.mark_unknown(statement)
        return flags


def bfd_of(line: SelectedLine) -> Bfd | None:
    """Return the BFD settings from the words ``interval``, ``receive`` and ``times`` of a line.

    Return None if a value is out of range, or if the intervals of the two directions differ.
    """
    sent, times = number(line["interval"], 1, 100_000), number(line["times"], 1, 255)
    if sent is None or times is None or line["receive"] != line["interval"]:
        return None
    return Bfd(minimum_interval=sent, multiplier=times)


def key_profiles(reader: SectionReader) -> dict[str, Authentication]:
    """Return the keys of ``session shared-secret profile``, by profile. If a profile has several keys, the first one is used.

    ``reader`` has the lines of the configuration.
    """
    profiles: dict[str, Authentication] = {}
    for security in reader.each("management security"):
        for header in reader.each("session shared-secret profile <name>", below=security):
            for line in reader.each("secret <number> 0|7|8a <secret> **", below=header):
                place = number(line["number"], 0, 255)
                if place is None or header["name"] in profiles:
                    reader.mark_unknown(line)
                else:
                    profiles[header["name"]] = Authentication(reference(line["secret"]), "ao-aes-128-cmac", place)
    return profiles
