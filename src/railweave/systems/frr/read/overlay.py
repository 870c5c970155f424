"""EVPN and VRFs: sessions between loopbacks, VNIs, and routers outside the fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.select import has
from railweave.model.device.model import (
    BridgedVlan,
    ExternalPeer,
    MacVrf,
    NumberedSession,
    OverlayConfig,
    TunnelEndpoint,
    Vrf,
)
from railweave.model.device.overlay import MAC_VRF, MAC_VRF_NUMBER
from railweave.systems.frr.read.instance import EVPN, Instance
from railweave.systems.frr.read.printout import PRINTED
from railweave.systems.frr.read.sessions import UNKNOWN
from railweave.systems.frr.read.values import number
from railweave.systems.frr.render.overlay import FIRST_BRIDGED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Address, Family, Prefix
    from railweave.model.config.taking import Taking
    from railweave.model.device.model import Term
    from railweave.systems.frr.read.policy import Policies
    from railweave.systems.frr.read.sessions import Sessions

_SHORT = 65535


def vrf_sections(taking: Taking) -> dict[str, int]:
    """The VNI of every VRF; 0: it has none."""
    found: dict[str, int] = {}
    for one in taking.each("vrf <name>"):
        found.setdefault(one["name"], 0)
        for line in taking.each("vni <vni> **", below=one) if one.below else ():
            value = number(line["vni"])
            if value is None:
                taking.leave(line)
            else:
                found[one["name"]] = value
    return found


def overlay(
    sessions: Sessions, policies: Policies, loopbacks: Sequence[Address], taking: Taking
) -> OverlayConfig | None:
    """The overlay as a device sees it. Without neighbors of its own, its routes go over the sessions of the fabric."""
    here = sessions.here
    if not here.evpn:
        return None
    peers = [one for one, _ in sessions.peers() if sessions.evpn(one)]
    own = [one for one in peers if not sessions.unicast(one)]
    found = [(one, session) for one in own if sessions.reaches(one) and (session := sessions.numbered(one)) is not None]
    neighbors = tuple(session for _, session in found)
    sources = [one.local_address for one in neighbors if one.local_address != UNKNOWN]
    loopback = next(iter((*sources, *loopbacks)), here.router_id)
    if loopback is None:
        return None
    levels = [level for one in peers for level in (one, here.group_of(one)) if level and EVPN in level.families]
    said = [level.families[EVPN] for level in levels]
    return OverlayConfig(
        loopback=loopback,
        neighbors=neighbors,
        endpoints=_endpoints(loopback, loopbacks) if here.all_vnis else (),
        reflects=any(one.next_hop_kept or one.reflected for one in said)
        or (has(taking.sections, PRINTED) and not here.all_vnis),
        from_spine=_mark(policies, dict.fromkeys(one.exports for one in said if one.exports)),
        bfd=sessions.common_bfd([one for one, _ in found], taking),
    )


def _endpoints(loopback: Address, loopbacks: Sequence[Address]) -> tuple[TunnelEndpoint, ...]:
    """Addresses that tunnels end on: others than that of the sessions and the device's own, where there are others."""
    others = [one for one in loopbacks[1:] if one != loopback]
    return tuple(TunnelEndpoint(one, None) for one in others or [loopback])


def _mark(policies: Policies, maps: Mapping[str, None]) -> str:
    """The community by which leaves know what not to send back: those of spines set it, those of leaves refuse it."""
    for name in maps:
        for term in policies.maps.get(name, ()):
            if term.action.accept and term.action.add_communities:
                named = term.action.add_communities[0]
                return policies.values.get(named, named)
            if not term.action.accept and term.match.community:
                return policies.values.get(term.match.community, "")
    return ""


def evpn_maps(here: Instance) -> Iterator[str]:
    """Route-maps of EVPN routes."""
    for one in here.neighbors.values():
        said = one.families.get(EVPN)
        if said:
            yield from (name for name in (said.imports, said.exports) if name)


def mac_vrf(here: Instance) -> MacVrf | None:
    """The bridging instance: VNIs with a route target each. Of ours the route distinguisher has the VLAN in it."""
    if not here.vnis:
        return None
    vlans = tuple(
        BridgedVlan(
            _vlan(one.distinguisher),
            "",
            one.number,
            _target(one.imports[0] if one.imports else _automatic(here, one.number)),
        )
        for one in here.vnis.values()
    )
    first = next(iter(here.vnis.values())).distinguisher
    router = first.rpartition(":")[0] or here.router_id
    return MacVrf(MAC_VRF, f"{router}:{MAC_VRF_NUMBER}", "", vlans, ())


def _vlan(distinguisher: str) -> int:
    value = number(distinguisher.rpartition(":")[2])
    return value - FIRST_BRIDGED if value is not None and FIRST_BRIDGED < value <= FIRST_BRIDGED + 4094 else 0


def _target(text: str) -> str:
    return text if not text else f"target:{text}"


def _automatic(here: Instance, vni: int) -> str:
    """The route target that FRR makes where the text does not say: of the AS number's lower half, and the VNI (RFC 8365)."""
    return f"{here.asn & _SHORT}:{vni}"


def vrfs(
    found: Mapping[str, int],
    instances: Mapping[str, Sessions],
    policies: Policies,
    prefixes: Mapping[str, Sequence[Prefix]],
) -> tuple[Vrf, ...]:
    """The VRFs that route: those with a VNI, or with BGP."""
    names = dict.fromkeys(name for name in (*found, *instances) if name and (found.get(name) or name in instances))
    return tuple(
        _vrf(name, found.get(name, 0), instances.get(name), policies, prefixes.get(name, ())) for name in names
    )


def _vrf(name: str, vni: int, own: Sessions | None, policies: Policies, prefixes: Sequence[Prefix]) -> Vrf:
    here = own.here if own else None
    automatic = [_automatic(here, vni)] if here and vni else []
    return Vrf(
        name=name,
        vni=vni,
        route_distinguisher=here.distinguisher if here else "",
        import_targets=tuple(map(_target, here.imports or automatic)) if here else (),
        export_targets=tuple(map(_target, here.exports or automatic)) if here else (),
        prefixes=tuple(one for one in prefixes if here and _told(here, one.family)),
        external=tuple(_external(own, policies)) if own else (),
    )


def _told(here: Instance, family: Family) -> bool:
    """Whether connected prefixes of a family go out as routes of type 5."""
    own = here.families.get(family)
    return family in here.advertised and own is not None and (own.connected is not None or bool(own.networks))


def _external(own: Sessions, policies: Policies) -> Iterator[ExternalPeer]:
    """Sessions with routers outside, and the prefixes that pass in either direction."""
    for one, group in own.peers():
        session = own.session(one)
        if session.peer_address is None or session.local_address is None or not own.unicast(one):
            continue
        imports, exports = own.policies(one)
        router = group.name if group else session.peer
        unit = session.interface if "." in session.interface else f"{session.interface}.0"
        numbered = NumberedSession(
            unit, "", session.peer or router, session.peer_as, session.local_address, session.peer_address
        )
        yield ExternalPeer(router, numbered, _listed(policies, imports), _listed(policies, exports))


def _listed(policies: Policies, name: str) -> tuple[Prefix, ...]:
    """The prefixes of a route-map that permits what one list has."""
    terms: Sequence[Term] = policies.maps.get(name, ())
    listed = terms[0].match.prefix_list if terms else None
    return policies.lists[listed].prefixes() if listed in policies.lists else ()


def external_maps(instances: Mapping[str, Sessions]) -> Iterator[str]:
    """Route-maps of sessions in VRFs."""
    for name, own in instances.items():
        if name:
            for one, _ in own.peers():
                yield from own.policies(one)
