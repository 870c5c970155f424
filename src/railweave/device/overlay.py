"""The EVPN overlay of one switch: its sessions, its tunnel endpoints, its tenants' VRFs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.device.communities import standard
from railweave.device.model import OverlayConfig, Session, TunnelEndpoint, Vrf, as_host_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.network import Fabric, Network, Switch
    from railweave.device.model import Gateway


def overlay_config(network: Network, fabric: Fabric, switch: Switch, *, large: bool = True) -> OverlayConfig | None:
    """Sessions to every switch of the neighboring tier, loopback to loopback; None where the fabric has no overlay.

    ``large``: every switch has large communities.
    """
    if fabric.overlay is None:
        return None
    near: dict[str, str] = {}
    for cable in network.cables_of(switch.name):
        if cable.kind == "fabric":
            far = cable.b.device if cable.a.device == switch.name else cable.a.device
            near.setdefault(far, cable.name)
    bfd = fabric.overlay.bfd
    from_spine = f"{fabric.spine_asns[0]}:0:2"
    return OverlayConfig(
        loopback=switch.loopback,
        neighbors=tuple(
            Session(
                interface="",
                link="",
                peer=name,
                peer_as=network.switch(name).asn,
                local_address=switch.loopback,
                peer_address=network.switch(name).loopback,
            )
            for name in near
        ),
        endpoints=tuple(
            TunnelEndpoint(one.address, None if one.color is None else fabric.color_name(one.color))
            for one in switch.endpoints
        ),
        reflects=switch.role == "spine",
        from_spine=from_spine if large else standard(from_spine),
        bfd=bfd if bfd.enabled else None,
    )


def vrfs(fabric: Fabric, switch: Switch, gateways: Sequence[Gateway]) -> tuple[Vrf, ...]:
    """A VRF for every tenant that has a gateway on the switch."""
    found: list[Vrf] = []
    for tenant in fabric.tenants:
        own = [gateway for gateway in gateways if gateway.vrf == tenant.name]
        if own:
            found.append(
                Vrf(
                    name=tenant.name,
                    vni=tenant.vni,
                    route_distinguisher=f"{switch.router_id}:{tenant.slot}",
                    import_targets=(tenant.route_target,),
                    export_targets=(tenant.route_target,),
                    prefixes=tuple(prefix for gateway in own for prefix in gateway.prefixes),
                )
            )
    return tuple(found)


def underlay_prefixes(fabric: Fabric, switch: Switch) -> dict[int | None, tuple[str, ...]]:
    """What a switch originates in the underlay of an overlay, by path color: its loopback, and its tunnel endpoints."""
    version = ":" in switch.loopback
    found: dict[int | None, tuple[str, ...]] = {None: (as_host_prefix(switch.loopback),)}
    for one in switch.endpoints:
        if (":" in one.address) == version and one.color is not None:
            found[one.color] = (as_host_prefix(one.address),)
    return found if fabric.overlay is not None else {}
