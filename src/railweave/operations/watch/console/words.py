"""Numbers as the console shows them: short, with their unit, and a dash for what is not known."""

from __future__ import annotations

from time import localtime, strftime

UNKNOWN = "–"


def rate(bits_per_second: float) -> str:
    """Bit/s in the unit that is read best: ``0``, ``940 Mb/s``, ``391 Gb/s``, ``25.6 Tb/s``."""
    if bits_per_second != bits_per_second:
        return UNKNOWN
    for unit, size in (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if bits_per_second >= size:
            return f"{bits_per_second / size:.3g} {unit}" if bits_per_second < 999.5 * size else f"{bits_per_second / size:,.0f} {unit}"  # fmt: skip
    return f"{bits_per_second:.0f} b/s" if bits_per_second >= 0.5 else "0"


def percent(share: float) -> str:
    """A share of one: ``0 %``, ``<1 %``, ``87 %``."""
    if share != share:
        return UNKNOWN
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def per_second(number: float) -> str:
    """Packets or frames per second: ``0``, ``0.4``, ``1,250``."""
    if number != number:
        return UNKNOWN
    return "0" if not number else f"{number:.1g}" if number < 1 else f"{number:,.0f}"


def size(number: float) -> str:
    """Bytes of a buffer: ``0``, ``18 kB``, ``1.2 MB``."""
    if number != number:
        return UNKNOWN
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= one:
            return f"{number / one:.3g} {unit}" if number < 999.5 * one else f"{number / one:,.0f} {unit}"
    return f"{number:.0f} B" if number else "0"


def clock(at: float) -> str:
    """A time of today: ``14:03:22``; of another day with its date."""
    there = localtime(at)
    return strftime("%H:%M:%S" if there[:3] == localtime()[:3] else "%Y-%m-%d %H:%M:%S", there)


def ago(seconds: float) -> str:
    """How long: ``4 s``, ``12 min``, ``3 h``, ``2 days``."""
    for unit, length, least in (("days", 86400, 2 * 86400), ("h", 3600, 2 * 3600), ("min", 60, 120)):
        if seconds >= least:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
