"""Routers outside the fabric, in FRR: neighbors of a tenant's VRF, and the route-maps of what passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, line, section
from railweave.systems.frr.render.sessions import neighbor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import Vrf

_WORDS = {"ipv4": ("ip", 32), "ipv6": ("ipv6", 128)}


def external_maps(vrf: Vrf) -> Iterator[Section]:
    """Prefix lists and route-maps of each router: nothing but what is listed, in either direction."""
    for peer in {one.router: one for one in vrf.external}.values():
        word, most = _WORDS[peer.session.local_address.family]
        for direction, prefixes in (("from", peer.accept), ("to", peer.advertise)):
            name = f"{direction}-{vrf.name}-{peer.router}"
            for place, prefix in enumerate(prefixes, 1):
                longer = f" le {most}" if direction == "to" else ""
                yield line(f"{word} prefix-list {name} seq {5 * place} permit {prefix}{longer}")
            yield section(f"route-map {name} permit 10", f"match {word} address prefix-list {name}")


def external_neighbors(vrf: Vrf) -> list[str]:
    """Lines of ``router bgp … vrf …`` for the sessions."""
    lines: list[str] = []
    for router in dict.fromkeys(one.router for one in vrf.external):
        lines += [f"neighbor {router} peer-group", f"neighbor {router} description external router {router}"]
    for one in vrf.external:
        lines += neighbor(one.session, one.router)
    return lines


def external_family(vrf: Vrf, family: str) -> list[str]:
    """Lines of an address family: routers whose links are of it."""
    six = family == "ipv6"
    routers = dict.fromkeys(one.router for one in vrf.external if (one.session.local_address.family == "ipv6") == six)
    return [
        text
        for router in routers
        for text in (
            f"neighbor {router} activate",
            f"neighbor {router} route-map from-{vrf.name}-{router} in",
            f"neighbor {router} route-map to-{vrf.name}-{router} out",
        )
    ]
