"""Conversion between a device's general settings and its statements (``statements.general``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.config.sections import has
from railweave.systems.frr.statements import FAMILY
from railweave.systems.frr.statements.general import General
from railweave.systems.frr.statements.ports import LOOPBACKS

if TYPE_CHECKING:
    from railweave.model.config.sections import Section, SectionReader
    from railweave.model.device.model import DeviceConfig

REQUIRES_POLICY = [7, 4]
"""The first release in which external sessions without a route-map pass no routes by default."""


def general_of(config: DeviceConfig) -> General:
    """Return the general settings of a device: its name, FRR's defaults profile, and forwarding."""
    ipv4 = True if "ipv4" in config.balancing.ether_types else None
    return General(config.name, profile="datacenter", ipv4=ipv4, ipv6=True)


def passes(general: General) -> bool:
    """Return True if external sessions without a route-map pass all routes by default. A BGP instance may override this default.

    The default depends on FRR's release and defaults profile, which ``general`` has.
    """
    release = [int(part) for part in re.findall(r"\d+", general.release)[:2]]
    return general.profile == "datacenter" or (general.release != "" and release < REQUIRES_POLICY)


def mark_general_unknown(reader: SectionReader) -> None:
    """Mark statements as not understood if they disable forwarding for an address family in use, or filter routes.

    ``DeviceConfig`` cannot represent these two effects. ``reader`` has the lines of the configuration.
    """
    for section in reader.sections:
        match section.line.split():
            case ["no", "ip" | "ipv6" as word, "forwarding"] if _uses(reader, word):
                reader.mark_unknown(section)
            case ["ip" | "ipv6", "protocol", _, "route-map", name] if not _sets_source(reader, name):
                reader.mark_unknown(section)
            case _:
                pass


def _uses(reader: SectionReader, word: str) -> bool:
    """Return True if the device uses an address family (``word`` is ``ip`` or ``ipv6``).

    This means that BGP has the family, or that an interface other than a loopback has an address of it. ``reader`` has the lines of the
    configuration.
    """
    return has(reader.sections, "router bgp **", f"address-family {FAMILY.read(word)} **") or any(
        _has_address(section, word) for section in reader.sections
    )


def _has_address(section: Section, word: str) -> bool:
    header, loopbacks = section.line, tuple(f"interface {name}" for name in LOOPBACKS)
    begins = header.startswith("interface ") and not header.startswith(loopbacks)
    return begins and any(line.line.startswith(f"{word} address ") for line in section.body or ())


def _sets_source(reader: SectionReader, name: str) -> bool:
    """Return True if the route-map ``name`` permits every route and only sets the source address of the device's own packets.

    ``reader`` has the lines of the configuration.
    """
    entries = [section for section in reader.sections if section.line.startswith(f"route-map {name} ")]
    permits = all(entry.line.split()[2] == "permit" for entry in entries)
    return permits and any(not any(line.line.startswith("match ") for line in entry.body or ()) for entry in entries)
