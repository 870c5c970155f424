"""Server prefixes, gateways and VLANs of a fabric."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import TYPE_CHECKING, Any

from railweave.analysis.adopt.prefixes import Cut, rule, with_own_pools
from railweave.analysis.adopt.server_models import rails_of
from railweave.analysis.adopt.wiring import End
from railweave.model.config.addresses import BITS
from railweave.model.intent.addressing import Addressing
from railweave.model.intent.pools import Pools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.analysis.adopt.colors import Colors
    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.shape import Shape
    from railweave.model.config.addresses import Family
    from railweave.model.device.model import DeviceConfig, Gateway

VLANS = Pools().vlan


def rails_by_vlan(found: Shape, configs: Mapping[str, DeviceConfig]) -> dict[tuple[str, str], int]:
    """The rail that the NICs on a VLAN, or on a port, of a leaf are of, by the leaf and the VLAN's or the port's name."""
    rail_of = rails_of(found.wiring.servers.values())
    result: dict[tuple[str, str], int] = {}
    for stripe in found.stripes:
        each = max(1, found.rails // found.per_stripe)
        for at, leaf in enumerate(stripe.leaves):
            for one in configs[leaf].interfaces:
                nic = found.wiring.servers.get(End(leaf, one.name))
                rail = rail_of.get(nic, at * each + 1) if nic else 0
                if nic and one.vlan:
                    result.setdefault((leaf, one.vlan), rail)
                elif nic:
                    result[leaf, one.name] = rail
            for gateway in configs[leaf].gateways:  # of which no port says the VLAN
                nic = found.wiring.servers.get(End(leaf, gateway.port or gateway.name))
                if nic in rail_of:
                    result.setdefault((leaf, gateway.port or gateway.vlan_name or gateway.name), rail_of[nic])
    return result


def addressing(
    draft: Draft,
    found: Shape,
    configs: Mapping[str, DeviceConfig],
    own: Mapping[str, Colors],
    order: Mapping[str, int],
    pools: Sequence[str],
    tenants: Mapping[str, int],
    *,
    slaac: bool,
) -> dict[str, list[str]]:
    """``addressing`` and the pool of VLANs; returns the pools of tenants that have their own, by VRF.

    ``pools`` are prefixes let through; ``tenants`` the slots of tenants by their VRF.
    """
    gateways = [(name, one) for name in found.leaves for one in configs[name].gateways if not one.mac]
    part = draft.at("addressing")
    usual = Addressing()
    if not slaac:
        part["server_mode"] = "static"
    if any(one.port for _, one in gateways):
        part["server_link"] = "proxy-arp" if any(one.proxy_arp for _, one in gateways) else "routed"
    elif any(one.native_vlan for name in found.leaves for one in configs[name].interfaces):
        part["server_link"] = "trunk"
    rails = rails_by_vlan(found, configs)
    cuts = list(_cuts(found, gateways, rails, own, order, tenants))
    routed = part.get("server_link") in {"routed", "proxy-arp"}
    alone = with_own_pools(cuts, {slot: name for name, slot in tenants.items()}, routed=routed)
    cuts = [one for one in cuts if not any(tenants.get(name) == one.numbers[0] for name in alone)]
    both: set[Family] = {one.prefix.family for one in cuts}
    families = sorted(both, reverse=slaac)  # the first is that of `server_pool`
    for family in families:
        here = part if family == families[0] else part.setdefault("dual_stack", {})
        _gateway_host(draft, here, gateways, family)
        own_cuts = [one for one in cuts if one.prefix.family == family]
        local = [one for one in pools if (":" in one) == (family == "ipv6")]
        _apply_rule(draft, here, own_cuts, local, routed=routed, tenants=bool(tenants), second=here is not part)
    if not cuts and not slaac:
        part |= {"server_pool": "10.0.0.0/8", "prefix_length": 24}
    made = {
        part.get("server_pool", usual.server_pool),
        *(one["server_pool"] for one in [part.get("dual_stack")] if one),
    }
    if not tenants and pools and (len(pools) > len(made) or set(pools) != made):
        part["local_prefixes"] = list(pools)
    _vlans(draft, found, gateways, rails, tenants)
    if not part:
        del draft.fabric["addressing"]
    return alone


def _gateway_host(draft: Draft, part: dict[str, Any], gateways: Sequence[tuple[str, Gateway]], family: Family) -> None:
    """The host part of gateways' addresses of one family."""
    hosts = Counter(
        int(ipaddress.ip_address(str(one.address))) - int(ipaddress.ip_network(str(one.prefix)).network_address)
        for _, gateway in gateways
        for one in gateway.addresses
        if one.family == family
        and (
            str(one.address) != str(one.prefix).partition("/")[0] or one.length + 1 == BITS[one.family]
        )  # of a /31, any
    )
    if hosts and hosts.most_common(1)[0][0] != Addressing().gateway_host and hosts.most_common(1)[0][0] <= 254:
        part["gateway_host"] = hosts.most_common(1)[0][0]
    if len(hosts) > 1:
        draft.note("gateways have different host parts in their prefixes; the file has that of most")


def _apply_rule(
    draft: Draft,
    part: dict[str, Any],
    cuts: Sequence[Cut],
    pools: Sequence[str],
    *,
    routed: bool,
    tenants: bool,
    second: bool,
) -> None:
    usual = Addressing()
    known: Sequence[str] = () if tenants else pools
    made = rule(cuts, [*known, usual.server_pool], routed=routed, tenants=tenants)
    if made is None:
        draft.note(f"no rule gives the {len(cuts)} server prefixes: servers get others")
        six = cuts[0].prefix.family == "ipv6"
        made = {} if six else {"server_pool": "10.0.0.0/8", "prefix_length": 31 if routed else 24}
        made = {"server_pool": usual.server_pool, **made} if second else made
    default = usual.model_copy(update={"server_pool": ""}) if second else usual
    part |= {key: value for key, value in made.items() if value != getattr(default, key)}
    if second and "server_prefix" not in part:  # what is left out is not the same as beside it
        part.setdefault("prefix_length", usual.prefix_length)


def _cuts(
    found: Shape,
    gateways: Sequence[tuple[str, Gateway]],
    rails: Mapping[tuple[str, str], int],
    own: Mapping[str, Colors],
    order: Mapping[str, int],
    tenants: Mapping[str, int],
) -> Iterator[Cut]:
    slots = {leaf: one for one in found.stripes for leaf in one.leaves}
    for leaf, one in gateways:
        nic = found.wiring.servers.get(End(leaf, one.port)) if one.port else None
        rail = rails.get((leaf, one.port or one.vlan_name or one.name), 0)
        stripe = slots[leaf]
        server = stripe.servers.get(nic.device, 0) if nic else 0
        if not rail or (one.port and not server):
            continue
        for family in one.families:
            prefixes = [prefix for prefix in one.prefixes if prefix.family == family]
            for at, prefix in enumerate(prefixes, 1):
                usual = at if len(prefixes) > 1 else 1
                color = order.get(own[leaf].of_prefix.get(prefix, ""), usual) if leaf in own else 1
                yield Cut((tenants.get(one.vrf, 0), stripe.slot, server, rail, color), prefix)


def _vlans(
    draft: Draft,
    found: Shape,
    gateways: Sequence[tuple[str, Gateway]],
    rails: Mapping[tuple[str, str], int],
    tenants: Mapping[str, int],
) -> None:
    slots = {leaf: one.slot for one in found.stripes for leaf in one.leaves}
    starts = [
        one.vlan - ((tenants[one.vrf] if one.vrf in tenants else slots[leaf]) - 1) * found.rails - rail + 1
        for leaf, one in gateways
        if one.vlan is not None and (rail := rails.get((leaf, one.vlan_name or one.name), 0))
    ]
    if not starts:
        return
    first = max(dict.fromkeys(starts), key=starts.count)
    if first >= 1 and first != VLANS[0]:
        draft.at("pools")["vlan"] = f"{first}-{VLANS[1]}"
    if starts.count(first) < len(starts):
        draft.note(
            f"{len(starts) - starts.count(first)} of {len(starts)} VLANs have ids that no pool gives: they get other ids"
        )
