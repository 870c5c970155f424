"""Quantities as text, parsed the same way everywhere: ``400G``, ``30m``, ``128us``, ``8M``.

A quantity is a number with a unit; blanks may surround either. A ``Quantity`` object defines the units of one kind of
quantity and their factors. This module defines all kinds that railweave uses. A kind that accepts a number without a
unit lists the empty unit in ``factors``. The code that reads an option, a file or a table cell checks the limits of the number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

N = TypeVar("N", int, float)

ETHERNET_HEADER = 14
"""The bytes of an Ethernet header without tags (IEEE 802.3, clause 3).

The MTU of a port includes them; the IP MTU does not.
"""

_FORM = re.compile(r"\s{0,9}(-?)(\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})\s{0,9}([A-Za-z]{0,9}|%)\s{0,9}")
_NEARLY = 1e-6
"""The tolerance for whole numbers: a number that is this close to a whole number counts as whole.

A product of a decimal number and a unit factor may be inexact, because 1.1, for example, has no exact binary form.
"""


@dataclass(frozen=True)
class Quantity(Generic[N]):
    """A kind of quantity, such as a link speed.

    - ``unit``: the base unit of the numbers, in words.
    - ``factors``: by unit, the number of base units in one such unit.
    - ``example``: a valid quantity as text.
    - ``kind``: ``int`` if only whole numbers make sense, else ``float``.
    """

    unit: str
    factors: Mapping[str, float]
    example: str
    kind: type[N]
    counts: str = ""
    """The noun for error messages, such as ``a size``. If empty, messages use ``unit``."""
    also: Mapping[str, float] = field(default_factory=dict[str, float])
    """Further spellings of units and their factors. They are accepted, but error messages do not list them."""
    any_case: bool = False
    """True if upper and lower case mean the same, for example ``8g`` and ``8G``."""
    signed: bool = False
    """True if the number may be below zero."""

    def parse(self, value: str | float) -> N:
        """Return the number of base units that ``value`` stands for. A number without a unit uses the factor of the empty unit.

        Raises ``ValueError`` with the expected form and an example.
        """
        match = _FORM.fullmatch(str(value))
        factor = self._factor(match[3]) if match and (self.signed or not match[1]) else None
        if match is None or factor is None:
            known = ", ".join(name for name in self.factors if name)
            units = f" and one of {known}" if known else ""
            raise ValueError(f"{value!r:.60} is not {self.unit}: write a number{units}, for example {self.example}")
        number = (float(match[2]) if "." in match[2] else int(match[2])) * factor
        if self.kind is int and abs(number - round(number)) > _NEARLY:
            raise ValueError(f"{value!r:.60} is not a whole number of {self.counts or self.unit}")
        return self.kind((round(number) if self.kind is int else number) * (-1 if match[1] else 1))

    def _factor(self, unit: str) -> float | None:
        known = {**self.factors, **self.also}
        if unit not in known and self.any_case:
            return {name.casefold(): factor for name, factor in known.items()}.get(unit.casefold())
        return known.get(unit)


_BINARY = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

GBPS = Quantity("Gb/s", {"": 1, "G": 1, "T": 1000}, "400G", int)
"""The speed of a link in 10^9 bits per second."""

MBPS = Quantity("a rate", {"M": 1, "G": 10**3, "T": 10**6}, "100G", int, "Mb/s")
"""A rate in 10^6 bits per second. The unit is required."""

METRES = Quantity("metres", {"": 1, "m": 1, "km": 1000, "cm": 0.01}, "30m", float)
"""A length in metres."""

PICOSECONDS = Quantity(
    "a time", {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}, "100us", int, "picoseconds"
)
"""A time or duration in picoseconds, the time unit of the engines. The unit is required."""

MICROSECONDS = Quantity("microseconds", {"": 1, "us": 1, "ms": 1000}, "128us", int)
MILLISECONDS = Quantity("milliseconds", {"": 1, "ms": 1, "s": 1000}, "1000ms", int)
SECONDS = Quantity("seconds", {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}, "30d", int)

MESSAGE_BYTES = Quantity(
    "a size",
    {"": 1, **_BINARY, "T": 1 << 40},
    "1G",
    int,
    "bytes",
    also={f"{unit}{end}": factor for unit, factor in {"": 1, **_BINARY, "T": 1 << 40}.items() for end in ("B", "iB")},
    any_case=True,
)
"""The size of a collective in the notation of nccl-tests. Units are binary: ``1G``, ``1GB`` and ``1GiB`` are 2^30 bytes."""

BYTES = Quantity("bytes", {"": 1, "B": 1}, "9216", int)
"""The size of a packet or buffer in the fabric file."""

BINARY_NUMBER = Quantity("a whole number", {"": 1, **_BINARY}, "8M", int, any_case=True, signed=True)
"""A number of an NCCL parameter, with binary units: ``8M`` is 8 x 2^20."""

SHARE = Quantity("a share", {"": 1, "%": 0.01}, "30%", float)
"""A fraction from 0 to 1."""

PERCENT = Quantity("percent", {"": 1}, "55", int)

ENGINE_BYTES = Quantity(
    "a size",
    {
        "": 1,
        "B": 1,
        **_BINARY,
        **{f"{unit}iB": factor for unit, factor in _BINARY.items()},
        "KB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
    },
    "4096",
    int,
    "bytes",
    any_case=True,
)
"""A size in the notation of the engines (docs/engine.md): ``8M`` and ``8MiB`` are binary, ``8MB`` is 8 x 10^6."""

ENGINE_TIME = replace(PICOSECONDS, example="750ns", any_case=True)
"""A time in picoseconds, in the notation of the engines (docs/engine.md)."""

_RATIO = re.compile(r"\s{0,9}([0-9]{1,3}(?:\.[0-9]{1,3})?)(?::1(?:\.0)?)?\s{0,9}")
"""A pattern of a ratio such as ``3`` or ``1.5:1``: at most six digits, because ``design.sizing.fabric_file`` writes no more."""

RATIO_FIX = "write server bandwidth over uplink bandwidth: 3:1, 3 or 1.5, for example"


def ratio(value: str | float) -> float:
    """Return an oversubscription ratio as a number, for example 3.0 for ``3:1``.

    The ratio is the server bandwidth of a leaf divided by its uplink bandwidth. Raises ``ValueError`` if the text is not valid.
    """
    match = _RATIO.fullmatch(str(value))
    if match is None or not float(match[1]):
        raise ValueError(f"{value!r:.60} is not an oversubscription ratio")
    return float(match[1])


COUNT = Quantity("a count", {"": 1}, "16", int)
