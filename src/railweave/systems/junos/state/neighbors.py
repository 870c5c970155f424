"""Who is at the other ends of a Junos switch's links: LLDP, the neighbor cache, router advertisements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.state.protocols import (
    AdvertisedPrefix,
    HeardAdvertisement,
    Ipv6Neighbor,
    LldpNeighbor,
    RouterAdvertising,
)

if TYPE_CHECKING:
    from railweave.model.state.values import Value

_INDEX = re.compile(r"\d+")


def port_of(name: str | None) -> str | None:
    """A port by its own name: the unit 0 of a port is the port."""
    return name.removesuffix(".0") if name and "/" in name else name


def lldp(answer: Value | None) -> dict[str, tuple[LldpNeighbor, ...]] | None:
    """The neighbors of ``show lldp neighbors`` by local port. A remote port's id that is an SNMP index gives way to its description."""
    if answer is None:
        return None
    found: dict[str, tuple[LldpNeighbor, ...]] = {}
    for one in answer.find("lldp-neighbor-information"):
        names = [one.one(key).text() for key in ("lldp-local-port-id", "lldp-local-interface")]
        port = next((name for name in names if name and not _INDEX.fullmatch(name)), None)
        if port is None:
            one.note("it does not name the local port")
            continue
        remote, description = one.one("lldp-remote-port-id").text(), one.one("lldp-remote-port-description").text()
        if remote is None or (_INDEX.fullmatch(remote) and description):
            remote = description
        heard = LldpNeighbor(
            one.one("lldp-remote-system-name").text(),
            port_of(remote),
            one.one("lldp-remote-port-id-subtype").lower(),
            description,
            one.one("lldp-remote-chassis-id").text(),
        )
        found[port_of(port) or port] = (*found.get(port_of(port) or port, ()), heard)
    return found


def ipv6_neighbors(answer: Value | None) -> tuple[Ipv6Neighbor, ...] | None:
    """The neighbor cache of ``show ipv6 neighbors``."""
    if answer is None:
        return None
    return tuple(
        Ipv6Neighbor(
            address,
            port_of(one.one("ipv6-nd-interface-name").text()),
            one.one("ipv6-nd-neighbor-l2-address").mac(),
            one.one("ipv6-nd-state").lower(),
            one.one("ipv6-nd-isrouter").flag(),
        )
        for one in answer.find("ipv6-nd-entry")
        if (address := one.one("ipv6-nd-neighbor-address").text()) is not None
    )


def advertising(answer: Value | None) -> dict[str, RouterAdvertising] | None:
    """Router advertisements by interface, of ``show ipv6 router-advertisement``."""
    if answer is None:
        return None
    found: dict[str, RouterAdvertising] = {}
    for one in answer.find("ipv6-ra-interface"):
        name = port_of(one.one("interface-name").text())
        if name is not None:
            found[name] = RouterAdvertising(
                one.one("ipv6-ra-advertisements-sent").integer(),
                one.one("ipv6-ra-advertisements-received").integer(),
                tuple(_heard(heard) for heard in one.all("ipv6-ra-advertisement")),
            )
    return found


def _heard(one: Value) -> HeardAdvertisement:
    prefixes = one.all("ipv6-ra-prefix")
    conflicts = {
        key.removesuffix("-conflict") for part in (one, *prefixes) for key in part.keys if key.endswith("-conflict")
    }
    return HeardAdvertisement(
        one.one("ipv6-source-address").text() or "",
        one.one("ipv6-ra-lifetime").integer(),
        tuple(
            AdvertisedPrefix(
                prefix,
                part.first("ipv6-ra-prefix-valid-lifetime", "ipv6-ra-valid-lifetime").integer(),
                part.first("ipv6-ra-prefix-preferred-lifetime", "ipv6-ra-preferred-lifetime").integer(),
                part.first("ipv6-ra-prefix-on-link", "ipv6-ra-on-link").flag(),
                part.first("ipv6-ra-prefix-autonomous", "ipv6-ra-autonomous").flag(),
            )
            for part in prefixes
            if (prefix := part.one("ipv6-ra-prefix-address").text()) is not None
        ),
        tuple(sorted(conflicts)),
    )
