"""The port that an LLDP neighbor announces (IEEE 802.1AB, port id and port description).

Systems announce their ports in different ways: by name (EOS, Junos as configured), by alias and description (SONiC), by SNMP
index and description (Junos by default), by MAC address (lldpd by default, firmware of NICs). Every check of cables asks here.
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
"""The name of a port by its place: ``Ethernet8``, ``Eth1/2/1``, ``et-0/0/0:1``."""


def announced(
    ports: Mapping[str, Port], port_id: str | None, kind: str | None, description: str | None
) -> tuple[bool, Port | None]:
    """Return whether a neighbor tells which of its ports it is, and the port (None: one that ``ports`` has not).

    ``ports`` are the neighbor's ports by all their names. ``kind`` is the subtype of the id, in any system's words. A MAC address, an
    interface index and a locally assigned text mean something to the neighbor only, unless they are among the names: then the description decides.
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
    """Return ports by all their names, the first of each first: what two ports have at the same place tells neither."""
    by_name: dict[str, Port] = {}
    for rank in zip_longest(*ports.values(), fillvalue=""):
        times = Counter(plain(name) for name in rank)
        for port, name in zip(ports, map(plain, rank)):
            if name and times[name] == 1:
                by_name.setdefault(name, port)
    return by_name


def plain(name: str | None) -> str:
    """Return a port's name without quotes and the logical unit 0 (``et-0/0/0:0.0``), a MAC address with colons in small letters."""
    text = (name or "").strip().strip('"')
    if _MAC.fullmatch(text.lower()):
        digits = re.sub("[:.-]", "", text.lower())
        return ":".join(digits[place : place + 2] for place in range(0, 12, 2))
    port, dot, unit = text.rpartition(".")
    return port if dot and unit == "0" else text


def _by_place(name: str, heads: set[str]) -> bool:
    """Return whether a name is of the form that the known ports have: ``Eth1/3/1`` where another is called ``Eth1/2/1``."""
    match = _NAME.fullmatch(name)
    return match is not None and match[1] in heads
