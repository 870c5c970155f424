"""Routers outside the fabric: neighbors in a tenant's VRF, and the route maps of what passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.config.sections import Section, section
from railweave.systems.eos.names import external_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.device.model import DeviceConfig, ExternalPeer, Vrf


class Listed(NamedTuple):
    """A prefix list with its route map, both of one name. ``family`` is EOS's word for the address family."""

    name: str
    family: str
    entries: tuple[tuple[int, str], ...]


def _six(peer: ExternalPeer) -> bool:
    return ":" in peer.session.local_address


def listed(config: DeviceConfig) -> Iterator[Listed]:
    """What external routers are believed, and what they are told: nothing but what is listed, in either direction."""
    for vrf in config.vrfs:
        for peer in {one.router: one for one in vrf.external}.values():
            word, most = ("ipv6", 128) if _six(peer) else ("ip", 32)
            for direction, prefixes in (("from", peer.accept), ("to", peer.advertise)):
                longer = f" le {most}" if direction == "to" else ""
                numbered = tuple((5 * place, f"permit {one}{longer}") for place, one in enumerate(prefixes, 1))
                yield Listed(external_policy(direction, vrf.name, peer.router), word, numbered)


def external_policies(config: DeviceConfig) -> Iterator[Section]:
    """Prefix lists and route maps."""
    for one in listed(config):
        yield section(f"{one.family} prefix-list {one.name}", [f"seq {number} {text}" for number, text in one.entries])
        yield section(f"route-map {one.name} permit 10", f"match {one.family} address prefix-list {one.name}")


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
