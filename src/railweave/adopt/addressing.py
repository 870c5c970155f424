"""Server prefixes, gateways and VLANs of a fabric."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import TYPE_CHECKING, Any

from railweave.adopt.prefixes import Cut, rule
from railweave.adopt.server_models import rails_of
from railweave.adopt.wiring import End
from railweave.config.addresses import BITS
from railweave.intent.addressing import Addressing, Pools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.adopt.colors import Colors
    from railweave.adopt.draft import Draft
    from railweave.adopt.shape import Shape
    from railweave.device.model import DeviceConfig, Gateway

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
) -> None:
    """``addressing`` and the pool of VLANs. ``pools`` are prefixes let through; ``tenants`` the slots of tenants by their VRF."""
    gateways = [(name, one) for name in found.leaves for one in configs[name].gateways if not one.mac]
    part = draft.at("addressing")
    usual = Addressing()
    if not slaac:
        part["server_mode"] = "static"
    if any(one.port for _, one in gateways):
        part["server_link"] = "proxy-arp" if any(one.proxy_arp for _, one in gateways) else "routed"
    elif any(one.native_vlan for name in found.leaves for one in configs[name].interfaces):
        part["server_link"] = "trunk"
    hosts = Counter(
        int(ipaddress.ip_address(str(one.address))) - int(ipaddress.ip_network(str(one.prefix)).network_address)
        for _, gateway in gateways
        for one in gateway.addresses
        if str(one.address) != str(one.prefix).partition("/")[0] or one.length + 1 == BITS[one.family]  # of a /31, any
    )
    if hosts and hosts.most_common(1)[0][0] != usual.gateway_host and hosts.most_common(1)[0][0] <= 254:
        part["gateway_host"] = hosts.most_common(1)[0][0]
    if len(hosts) > 1:
        draft.note("gateways have different host parts in their prefixes; the file has that of most")
    rails = rails_by_vlan(found, configs)
    cuts = list(_cuts(found, gateways, rails, own, order, tenants))
    if cuts:
        _apply_rule(draft, part, cuts, pools, tenants=bool(tenants))
    elif not slaac:
        part |= {"server_pool": "10.0.0.0/8", "prefix_length": 24}
    if (not tenants and len(pools) > 1) or (
        not tenants and pools and pools[0] != part.get("server_pool", usual.server_pool)
    ):
        part["local_prefixes"] = list(pools)
    _vlans(draft, found, gateways, rails, tenants)
    if not part:
        del draft.fabric["addressing"]


def _apply_rule(
    draft: Draft, part: dict[str, Any], cuts: Sequence[Cut], pools: Sequence[str], *, tenants: bool
) -> None:
    usual = Addressing()
    routed = part.get("server_link") in {"routed", "proxy-arp"}
    known: Sequence[str] = () if tenants else pools
    made = rule(cuts, [*known, usual.server_pool], routed=routed, tenants=tenants)
    if made is None:
        draft.note(f"no rule gives the {len(cuts)} server prefixes: servers get others")
        six = cuts[0].prefix.family == "ipv6"
        made = {} if six else {"server_pool": "10.0.0.0/8", "prefix_length": 31 if routed else 24}
    part |= {key: value for key, value in made.items() if value != getattr(usual, key)}


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
        for at, prefix in enumerate(one.prefixes, 1):
            color = (
                order.get(own[leaf].of_prefix.get(prefix, ""), at if len(one.prefixes) > 1 else 1) if leaf in own else 1
            )
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
