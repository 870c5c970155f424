"""Routers outside the fabric: BGP in a tenant's VRF, what is taken from them and what they are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.render.sessions import neighbor
from railweave.systems.junos.tree import block, entry, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, ExternalPeer, Vrf
    from railweave.systems.junos.tree import Statement


def _name(direction: str, vrf: Vrf, peer: ExternalPeer) -> str:
    return f"{direction}-{vrf.name}-{peer.router}"


def external_groups(vrf: Vrf) -> Statement | None:
    """``protocols bgp`` of a VRF: a group for each router, a session for each link to it."""
    routers = dict.fromkeys(one.router for one in vrf.external)
    return block("bgp", [_group(vrf, [one for one in vrf.external if one.router == name]) for name in routers])


def _group(vrf: Vrf, peers: list[ExternalPeer]) -> Statement | None:
    first = peers[0]
    family = "inet6" if first.session.local_address.family == "ipv6" else "inet"
    return block(
        ("group", first.router),
        leaf("type", "external"),
        leaf("description", f"external router {first.router}"),
        leaf("import", _name("from", vrf, first)),
        block(("family", family), leaf("unicast")),
        leaf("export", _name("to", vrf, first)),
        block("multipath", leaf("multiple-as")),
        [neighbor(one.session) for one in peers],
    )


def external_policies(config: DeviceConfig) -> list[Statement | None]:
    """What is accepted from external routers, and what is advertised to them: only what is listed, in either direction."""
    found: dict[str, Statement | None] = {}
    for vrf in config.vrfs:
        for peer in vrf.external:
            for direction, prefixes, how in (("from", peer.accept, "exact"), ("to", peer.advertise, "orlonger")):
                name = _name(direction, vrf, peer)
                listed = block(
                    ("term", "listed"),
                    block("from", [entry("route-filter", prefix, how, key=2) for prefix in prefixes]),
                    block("then", leaf("accept")),
                )
                found[name] = block(
                    ("policy-statement", name),
                    listed if prefixes else None,  # a term without conditions would accept everything
                    block(("term", "rest"), block("then", leaf("reject"))),
                )
    return list(found.values())
