"""Routers outside the fabric: neighbors in a tenant's VRF, and the route maps of what passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, section
from railweave.systems.eos.names import external_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, ExternalPeer, Vrf


def _six(peer: ExternalPeer) -> bool:
    return peer.session.local_address.family == "ipv6"


def external_policies(config: DeviceConfig) -> Iterator[Section]:
    """What is accepted from external routers, and what is advertised to them: only what is listed, in either direction."""
    for vrf in config.vrfs:
        for peer in {one.router: one for one in vrf.external}.values():
            family, most = ("ipv6", 128) if _six(peer) else ("ip", 32)
            for direction, prefixes in (("from", peer.accept), ("to", peer.advertise)):
                name = external_policy(direction, vrf.name, peer.router)
                longer = f" le {most}" if direction == "to" else ""
                numbered = [f"seq {5 * place} permit {one}{longer}" for place, one in enumerate(prefixes, 1)]
                yield section(f"{family} prefix-list {name}", numbered)
                yield section(f"route-map {name} permit 10", f"match {family} address prefix-list {name}")


def external_neighbors(vrf: Vrf) -> list[str]:
    """Lines of ``vrf`` in ``router bgp`` for the sessions."""
    lines: list[str] = []
    for one in vrf.external:
        name = f"neighbor {one.session.peer_address}"
        lines += [
            f"{name} remote-as {one.session.peer_as}",
            f"{name} description external router {one.router}",
            f"{name} route-map {external_policy('from', vrf.name, one.router)} in",
            f"{name} route-map {external_policy('to', vrf.name, one.router)} out",
            f"{name} maximum-routes 0",
        ]
    return lines


def of_family(vrf: Vrf, family: str) -> list[str]:
    """The addresses of external routers whose links are of a family."""
    return [one.session.peer_address for one in vrf.external if _six(one) == (family == "ipv6")]


def external_families(vrf: Vrf) -> Iterator[Section]:
    """The families that sessions carry: without them a neighbor is sent nothing."""
    for family in ("ipv4", "ipv6"):
        active = [f"neighbor {one} activate" for one in of_family(vrf, family)]
        if active:
            yield section(f"address-family {family}", active)
