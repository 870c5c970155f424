"""Identification of the port that an LLDP neighbor announces (IEEE 802.1AB, port ID and port description).

Systems announce their ports in different ways: by name (EOS, Junos as configured), by alias and description (SONiC), by SNMP
index and description (Junos by default), by MAC address (lldpd by default, firmware of NICs). All cabling checks use this module.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Port = TypeVar("Port")

_MAC = re.compile(r"[0-9a-f]{2}([:.-]?[0-9a-f]{2}){5}")
_INDEX = re.compile(r"\d+")
_NAME = re.compile(r"([a-z]+[-_]?)[\d/:._-]*\d", re.IGNORECASE)
"""A port name with its position, such as ``Ethernet8``, ``Eth1/2/1`` or ``et-0/0/0:1``."""


def announced(
    ports: Mapping[str, Port], port_id: str | None, kind: str | None, description: str | None
) -> tuple[bool, Port | None]:
    """Return (identified, port) for an LLDP announcement: True if it identifies a port, and that port. The port is None if ``ports`` lacks it.

    ``ports`` has the neighbor's ports, by all their names. ``kind`` is the subtype of the port ID, as any system writes it. The description
    identifies the port if the ID is unknown and is a MAC address, an interface index or a local text.
    """
    port_name, about = plain(port_id), plain(description)
    if port_name in ports:
        return True, ports[port_name]
    places = {match[1] for name in ports if (match := _NAME.fullmatch(name))}
    if _by_place(port_name, places):
        return True, None
    if about in ports:
        return True, ports[about]
    opaque = (
        not port_name
        or _MAC.fullmatch(port_name)
        or _INDEX.fullmatch(port_name)
        or "name" not in (kind or "name").lower()
    )
    return not opaque or _by_place(about, places), None


def by_names(ports: Mapping[Port, Sequence[str]]) -> dict[str, Port]:
    """Return the port by each of its names. ``ports`` has the names of each port, the most reliable name first.

    A name that several ports have at the same position in their lists is not used at that position. If two ports have a name at different
    positions, the earlier position takes precedence.
    """
    by_name: dict[str, Port] = {}
    for rank in zip_longest(*ports.values(), fillvalue=""):
        times = Counter(plain(name) for name in rank)
        for port, name in zip(ports, map(plain, rank)):
            if name and times[name] == 1:
                by_name.setdefault(name, port)
    return by_name


def plain(name: str | None) -> str:
    """Return a port's name without quotes and logical unit 0 (``et-0/0/0:0.0``), or a MAC address in lower case with colons."""
    text = (name or "").strip().strip('"')
    if _MAC.fullmatch(text.lower()):
        digits = re.sub("[:.-]", "", text.lower())
        return ":".join(digits[place : place + 2] for place in range(0, 12, 2))
    port, dot, unit = text.rpartition(".")
    return port if dot and unit == "0" else text


def _by_place(name: str, heads: set[str]) -> bool:
    """Return True if a name has the form of a known port name. For example, ``Eth1/3/1`` has the form of ``Eth1/2/1``.

    ``heads`` are the letters with which known names begin, such as ``Eth``.
    """
    match = _NAME.fullmatch(name)
    return match is not None and match[1] in heads
