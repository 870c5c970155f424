"""The EVPN overlay: tunnel, tenants' VRFs with their routers outside, layer-2 networks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.device import model
from railweave.model.device.overlay import MAC_VRF, MAC_VRF_NUMBER
from railweave.model.device.port_model import neighbor_of
from railweave.systems.dell_sonic.read.routing import NOWHERE, Links, is_overlay
from railweave.systems.dell_sonic.words import address, agreed, interface

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.model.config.addresses import Address, Prefix
    from railweave.model.device.model import Gateway, Interface
    from railweave.model.device.timers import Bfd
    from railweave.systems.dell_sonic.statements.bgp import Peer, Router
    from railweave.systems.dell_sonic.statements.ports import Lines, Tunnel
    from railweave.systems.frr.meaning.policy import Lists
    from railweave.systems.frr.statements.bgp import Evpn

MARK = "Vrf-"
"""What stands before a tenant's name (sonic-vrf.yang wants ``Vrf``)."""


def tenant(vrf: str) -> str:
    """The tenant of a VRF, by its name."""
    return vrf.removeprefix(MARK)


def external_maps(router: Router) -> set[str]:
    """The route-maps of a VRF's sessions with routers outside."""
    families = [one for peer in router.peers.values() for one in peer.families.values()]
    return {name for one in families for name in (one.imports, one.exports) if name}


def overlay_maps(router: Router) -> set[str]:
    """The route-maps of EVPN's sessions alone."""
    families = [one for peer in router.peers.values() for name, one in peer.families.items() if name == "evpn"]
    others = [one for peer in router.peers.values() for name, one in peer.families.items() if name != "evpn"]
    taken = {name for one in others for name in (one.imports, one.exports)} | set(router.redistributes.values())
    return {name for one in families for name in (one.imports, one.exports) if name} - taken


def vrf(
    name: str, router: Router | None, tunnelled: Tunnel, gateways: Iterable[Gateway], listed: Lists, links: Links
) -> model.Vrf:
    """A tenant's VRF."""
    own = [one for one in gateways if one.vrf == tenant(name)]
    evpn = router.evpn if router else None
    return model.Vrf(
        name=tenant(name),
        vni=tunnelled.vrfs.get(name, 0),
        route_distinguisher=evpn.distinguisher if evpn else "",
        import_targets=tuple(f"target:{one}" for one in evpn.imports) if evpn else (),
        export_targets=tuple(f"target:{one}" for one in evpn.exports) if evpn else (),
        prefixes=tuple(address.prefix for one in own for address in one.addresses),
        external=tuple(_external(router, listed, links)) if router else (),
    )


def with_loopback(found: model.Vrf, name: str, interfaces: Mapping[str, Lines]) -> model.Vrf:
    """The VRF with the addresses of its loopbacks."""
    own = [one for key, one in interfaces.items() if key.startswith("Loopback") and one.vrf == name and one.addresses]
    if not own:
        return found
    addresses = tuple(each.prefix for one in own for each in one.addresses)
    return replace(found, loopbacks=addresses, unit=own[0].number[0])


def _external(router: Router, listed: Lists, links: Links) -> Iterator[model.ExternalPeer]:
    for one in router.neighbors:
        peer = router.whole(one)
        if peer.address is None or peer.shut:
            continue
        port, local = links.of_neighbor(router.vrf, peer.address)
        family = peer.families.get(peer.address.family)
        unit = port if "." in port or not port else f"{port}.0"
        session = model.NumberedSession(
            unit, "", neighbor_of(one.description), peer.asn or 0, local or NOWHERE, peer.address
        )
        yield model.ExternalPeer(
            one.group or neighbor_of(one.description) or one.title,
            session,
            listed.prefixes.passed(listed.terms(family.imports)) if family else (),
            listed.prefixes.passed(listed.terms(family.exports)) if family else (),
        )


def sessions(router: Router) -> list[Peer]:
    """The neighbors that EVPN's routes are exchanged with."""
    whole = [router.whole(one) for one in router.neighbors]
    return [one for one in whole if (family := one.families.get("evpn")) is not None and family.active and not one.shut]


def exports(router: Router) -> set[str]:
    """Return the route-maps by which EVPN's routes go out; an empty name stands for none."""
    peers = sessions(router) or router.groups.values()
    return {family.exports for peer in peers if (family := peer.families.get("evpn"))}


def overlay(
    router: Router,
    source: Address | None,
    loopbacks: tuple[Prefix, ...],
    interfaces: Mapping[str, Lines],
    listed: Lists,
    bfd: dict[str, Bfd],
    links: Links,
) -> model.OverlayConfig | None:
    """The overlay; None where no neighbor has EVPN's routes, and no group is for them."""
    every = sessions(router)
    ports = {
        one.title: one.interface or (links.of_neighbor("", one.address)[0] if one.address else "") for one in every
    }
    shared = [one for one in every if ports[one.title] and not is_overlay(one)]
    members = [one for one in every if one not in shared]
    groups = [one for one in router.groups.values() if "evpn" in one.families]
    if not every and not groups:
        return None
    everybody = [*groups, *(one for one in members if one.group not in router.groups)]
    loopback = next((found for one in everybody if (found := at(one.update_source, interfaces))), None)
    loopback = loopback or (loopbacks[0].address if loopbacks else NOWHERE)
    watched = [one.bfd for one in everybody if is_overlay(one)]
    families = [one.families["evpn"] for one in everybody]
    kept = bool(families) and all(one.next_hop_unchanged for one in families)
    reflects = kept or (bool(shared) and source is None)
    ends = [source] if source else []
    if not reflects:  # the loopback has the addresses of all endpoints, beside those that sessions begin at
        ends += [one.address for one in loopbacks if one.address not in {loopbacks[0].address, loopback, *ends}]
    return model.OverlayConfig(
        loopback=loopback,
        neighbors=tuple(
            model.NumberedSession(
                "", "", neighbor_of(one.description), one.asn or 0, _local(one, links) or loopback, one.address
            )
            for one in members
            if one.address is not None
        ),
        endpoints=tuple(model.TunnelEndpoint(one, None) for one in ends),
        reflects=reflects,
        from_spine=listed.mark(exports(router)) or "",
        bfd=bfd.get(watched[0] or "") if agreed(watched) and watched[0] is not None else None,
        links=tuple(dict.fromkeys(ports[one.title] for one in shared)),
    )


def _local(one: Peer, links: Links) -> Address | None:
    """The address of the link to a neighbor of which nothing says where its session comes from."""
    return links.of_neighbor("", one.address)[1] if one.address and not one.update_source else None


def at(text: str, interfaces: Mapping[str, Lines]) -> Address | None:
    """An address, or that of an interface."""
    name = interface(text)
    lines = interfaces.get(name) if name else None
    if lines is not None and lines.addresses:
        return lines.addresses[0].address
    return address(text)


def mac_vrf(
    evpn: Evpn, tunnelled: Tunnel, names: Mapping[int, str], ports: Iterable[Interface], router_id: Address
) -> model.MacVrf | None:
    """The bridging instance: each layer-2 VNI with its own route target."""
    routed = tunnelled.transit()
    vlans = [(vlan, vni) for vlan, vni in tunnelled.vlans.items() if vlan not in routed]
    if not vlans:
        return None
    targets = {vni: one.imports or one.exports for vni, one in evpn.vnis.items()}
    uneven = {vni for vni, one in evpn.vnis.items() if one.imports != one.exports}
    made = tuple(
        model.BridgedVlan(
            vlan, names.get(vlan, f"vn{vlan}"), vni, _targets(evpn, vni) if vni in uneven else _first(targets, vni)
        )
        for vlan, vni in vlans
    )
    own, numbers = {one.name for one in made}, {one.vlan for one in made}
    return model.MacVrf(
        name=MAC_VRF,
        route_distinguisher=f"{router_id}:{MAC_VRF_NUMBER}",
        route_target="",
        vlans=made,
        ports=tuple(one.name for one in ports if one.vlan in own or not numbers.isdisjoint(one.tagged)),
    )


def _first(targets: Mapping[int, tuple[str, ...]], vni: int) -> str:
    found = targets.get(vni)
    return f"target:{found[0]}" if found else ""


def _targets(evpn: Evpn, vni: int) -> str:
    """What stands for a VNI that takes other routes than it sends."""
    one = evpn.vnis[vni]
    return f"target:{'+'.join(one.imports)}/{'+'.join(one.exports)}"
