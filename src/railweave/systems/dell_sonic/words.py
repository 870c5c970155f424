"""Functions that convert words of a configuration line to values such as numbers and interface names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from railweave.model.config.codecs import whole

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


def numbers(text: str, most: int) -> tuple[int, ...]:
    """Return the numbers in a text such as ``0-2,5``. Raises ``ValueError`` for other texts, and for numbers above ``most``."""
    values: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = whole(first), whole(last if dash else first)
        if not low <= high <= most:
            raise ValueError(text)
        values += range(low, high + 1)
    return tuple(values)


def unquoted(text: str) -> str:
    """Return a text without the quotation marks around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def fewest(values: Iterable[T]) -> T | None:
    """Return the least frequent value, so that a deviating port stays visible, or None if there are no values.

    If several values are equally rare, the first one is returned.
    """
    every = list(values)
    return min(every, key=every.count) if every else None


_KINDS = re.compile(
    r"(?P<kind>eth|ethernet|vlan|loopback|management|portchannel|port-channel)\s*(?P<rest>[\d/.:]+)", re.IGNORECASE
)
_SPELLED = {
    "eth": "Eth",
    "ethernet": "Ethernet",
    "vlan": "Vlan",
    "loopback": "Loopback",
    "management": "Management",
    "portchannel": "PortChannel",
    "port-channel": "PortChannel",
}


def interface(text: str) -> str | None:
    """Return the name of an interface in its canonical spelling, `Eth1/1` or `Vlan10`, or None if the text is not such a name."""
    match = _KINDS.fullmatch(text)
    if match is None:
        return None
    kind = _SPELLED[match["kind"].lower()]
    return f"{'Eth' if kind == 'Ethernet' and '/' in match['rest'] else kind}{match['rest']}"
