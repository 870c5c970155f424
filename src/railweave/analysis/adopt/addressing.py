"""The ``addressing`` part of a fabric file, derived from the server prefixes, gateways and VLANs of a network."""

from __future__ import annotations

import ipaddress
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.analysis.adopt.servers import rails_of
from railweave.analysis.adopt.wiring import End
from railweave.design.addresses.server_prefixes import usual_bits
from railweave.model.config.addresses import BITS, Family, Prefix
from railweave.model.intent.addresses import Pools
from railweave.model.intent.addressing import Addressing, FieldBits
from railweave.model.intent.formula import fill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.routing import Colors
    from railweave.analysis.adopt.shape import Shape
    from railweave.model.device.model import DeviceConfig, Gateway


FIELDS = ("tenant", "stripe", "server", "rail", "color")
"""The fields of a server prefix that is formed with bit fields, from the highest bits to the lowest. Each field holds a number."""


MOST_BITS = 32
"""The maximum width in bits that the fabric file allows for each of the ``FIELDS``."""


@dataclass(frozen=True, slots=True)
class NumberedPrefix:
    """A server prefix and the numbers from which a design would compute it.

    ``numbers`` holds the numbers of the tenant, stripe, server, rail and color, in the order of ``FIELDS``.
    """

    numbers: tuple[int, ...]
    prefix: Prefix

    @property
    def value(self) -> int:
        """The first address of the prefix, as an integer."""
        return int(ipaddress.ip_network(self.prefix).network_address)


def rule(
    cuts: Sequence[NumberedPrefix], pools: Sequence[str], *, routed: bool, tenants: bool
) -> dict[str, object] | None:
    """Return the ``addressing`` values of a fabric file that produce all the given prefixes, or None if no values produce them.

    The values are a pool with bit fields (bits of a prefix that hold the numbers in ``FIELDS``) if possible, otherwise a pool with a
    formula. ``cuts`` are the server prefixes with these numbers. ``pools`` are the prefixes that the leaves' policies accept; they are
    tried first as the pool. ``routed`` is True if the links to servers are routed, and ``tenants`` is True if the fabric has tenants.
    """
    lengths = {cut.prefix.length for cut in cuts}
    if len(lengths) != 1:
        return None
    length, family = lengths.pop(), cuts[0].prefix.family
    around = _common(cuts)
    known = [
        network
        for network in map(ipaddress.ip_network, pools)
        if network.version == around.version and around.subnet_of(network)  # type: ignore[arg-type]
    ]
    wider = [around.supernet(new_prefix=bits) for bits in range(around.prefixlen, 7, -1)]
    for pool in (*known, *wider):
        free = length - pool.prefixlen
        if free > 0 and _by_bits(cuts, pool, length, usual_bits(free, routed=routed, tenants=tenants)):
            return {"server_pool": str(pool), "prefix_length": length}
    factors = _factors(cuts)
    if factors is None:
        return None
    for pool in (*known, around):
        bits = _bits(factors, length, pool)
        if bits and _by_bits(cuts, pool, length, bits):
            return {"server_pool": str(pool), "prefix_length": length, "bits": bits.model_dump(exclude_defaults=True)}
    formula = _formula(cuts, factors, family == "ipv6", length)
    return {"server_pool": str((*known, around)[0]), "server_prefix": formula} if formula else None


def with_own_pools(cuts: Sequence[NumberedPrefix], tenants: Mapping[int, str], *, routed: bool) -> dict[str, list[str]]:
    """Return the address pools of the tenants that need their own pools, by tenant name.

    ``cuts`` are the server prefixes of all tenants. ``tenants`` maps each tenant's number to its name. ``routed`` is True if the links
    to servers are routed. Tenants are tried in the order of their numbers. A tenant needs its own pools if neither bit fields nor a
    formula can form its prefixes and those of the earlier tenants from one pool.
    """
    families = sorted({cut.prefix.family for cut in cuts})
    together: set[int] = set()
    tenant_pools: dict[str, list[str]] = {}
    for slot in sorted({cut.numbers[0] for cut in cuts} & tenants.keys()):
        tried = together | {slot}
        parts = [[cut for cut in cuts if cut.numbers[0] in tried and cut.prefix.family == each] for each in families]
        slot_cuts = [[cut for cut in cuts if cut.numbers[0] == slot and cut.prefix.family == each] for each in families]
        if all(part and rule(part, (), routed=routed, tenants=True) for part in parts) and all(slot_cuts):
            together = tried
            continue
        pools = [_own_pool(family_cuts, routed=routed) for family_cuts in slot_cuts if family_cuts]
        if all(pools) and together:
            tenant_pools[tenants[slot]] = [str(pool) for pool in pools]
        else:
            together = tried
    return tenant_pools


def _own_pool(cuts: Sequence[NumberedPrefix], *, routed: bool) -> str:
    """Return a pool in which the default bit fields form the prefixes of one tenant (``cuts``), or "" if there is none.

    The bit fields contain no tenant number, because only this tenant uses the pool. ``routed`` is True if the links to servers are
    routed.
    """
    lengths = {cut.prefix.length for cut in cuts}
    around = _common(cuts)
    for bits in range(around.prefixlen, 7, -1) if len(lengths) == 1 else ():
        pool, length = around.supernet(new_prefix=bits), next(iter(lengths))
        if length > bits and _by_bits(cuts, pool, length, usual_bits(length - bits, routed=routed, tenants=False)):
            return str(pool)
    return ""


def _common(cuts: Sequence[NumberedPrefix]) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return the longest prefix that contains all server prefixes (``cuts``), and whose length is less than theirs."""
    nets = [ipaddress.ip_network(cut.prefix) for cut in cuts]
    supernet = nets[0].supernet()
    while not all(net.network_address in supernet for net in nets):
        supernet = supernet.supernet()
    return supernet


def _by_bits(
    cuts: Sequence[NumberedPrefix], pool: ipaddress.IPv4Network | ipaddress.IPv6Network, length: int, bits: FieldBits
) -> bool:
    widths = [getattr(bits, name) for name in FIELDS]
    if sum(widths) != length - pool.prefixlen:
        return False
    for cut in cuts:
        field = 0
        for width, number in zip(widths, cut.numbers, strict=True):
            if width and number >> width:
                return False
            field = field << width | (number if width else 0)
        if int(pool.network_address) | field << (pool.max_prefixlen - length) != cut.value:
            return False
    return True


def _factors(cuts: Sequence[NumberedPrefix]) -> tuple[int, ...] | None:
    """Return, for each field in ``FIELDS``, by how much the first address of a server prefix grows if the field's number grows by 1.

    ``cuts`` are the server prefixes with their numbers. Return None if no such factors give all prefixes. A field with the same number
    in every prefix has the factor 0.
    """
    factors: dict[int, int] = {}
    for _ in FIELDS:
        for place in range(len(FIELDS)):
            if place not in factors:
                pair = next(_pairs(cuts, place, factors), None)
                if pair is not None:
                    factors[place] = pair
    all_factors = tuple(factors.get(place, 0) for place in range(len(FIELDS)))
    start = _start(cuts[0], all_factors)
    return all_factors if all(_start(cut, all_factors) == start for cut in cuts) else None


def _pairs(cuts: Sequence[NumberedPrefix], place: int, known: dict[int, int]) -> Iterator[int]:
    """Yield the factor of one field, once for each pair of prefixes from which the factor can be computed.

    ``cuts`` are the server prefixes with their numbers. ``place`` is the index of the field in ``FIELDS``. ``known`` holds the factors
    found so far, by field index. The two prefixes of a pair differ in this field; other fields may differ only if their factors are
    known.
    """
    seen: dict[tuple[int, ...], NumberedPrefix] = {}
    for cut in cuts:
        rest = tuple(n for at, n in enumerate(cut.numbers) if at != place and at not in known)
        other = seen.setdefault(rest, cut)
        step = cut.numbers[place] - other.numbers[place]
        if step:
            added = sum(known[at] * (cut.numbers[at] - other.numbers[at]) for at in known)
            difference = cut.value - other.value - added
            if difference % step == 0:
                yield difference // step


def _start(cut: NumberedPrefix, factors: tuple[int, ...]) -> int:
    return cut.value - sum(factor * number for factor, number in zip(factors, cut.numbers, strict=True))


def _bits(
    factors: tuple[int, ...], length: int, pool: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> FieldBits | None:
    """Return the widths of the bit fields that correspond to the factors (see ``_factors``), or None if no bit fields do.

    ``length`` is the length of a server prefix. The bit fields begin where the prefix of ``pool`` ends. A field with factor 0 gets no
    bits. If bits remain after the last field, and the color has none, the color gets the remaining bits.
    """
    unit = pool.max_prefixlen - length
    top = length - pool.prefixlen
    widths = dict.fromkeys(FIELDS, 0)
    for name, factor in zip(FIELDS, factors, strict=True):
        if not factor:
            continue
        shift = factor.bit_length() - 1 - unit
        if factor < 0 or factor & (factor - 1) or shift < 0 or shift >= top:
            return None
        widths[name] = top - shift
        top = shift
    if top and "color" in widths and not widths["color"]:
        widths["color"] = top  # room below the numbers that are known
    return FieldBits(**widths) if max(widths.values()) <= MOST_BITS else None


def _formula(cuts: Sequence[NumberedPrefix], factors: tuple[int, ...], six: bool, length: int) -> str | None:
    """Return a formula that gives the server prefixes (``cuts``), or None if there is no such formula.

    ``factors`` holds one factor per field, from ``_factors``. ``six`` is True for IPv6. ``length`` is the prefix length. Each group of
    the formula (one byte in IPv4, 16 bits in IPv6) is a sum of fields.
    """
    width, groups = (16, 8) if six else (8, 4)
    used: list[list[str]] = [[] for _ in range(groups)]
    counted = [0] * groups
    for name, factor, number in zip(FIELDS, factors, cuts[0].numbers, strict=True):
        if not factor:
            continue
        place = next((at for at in range(groups) if factor % (1 << width * (groups - 1 - at)) == 0), None)
        if place is None or factor < 0:
            return None
        times = factor >> width * (groups - 1 - place)
        used[place].append(name if times == 1 else f"{name}*{times}")
        counted[place] += times * number
    words: list[str] = []
    for at in range(groups):
        rest = (cuts[0].value >> width * (groups - 1 - at) & ((1 << width) - 1)) - counted[at]
        terms = "+".join(used[at]) + (f"{rest:+d}" if rest else "")
        words.append("{" + terms + "}" if used[at] else format(rest, "x" if six else "d"))
    formula = f"{(':' if six else '.').join(words)}/{length}"
    try:
        good = all(fill(formula, dict(zip(FIELDS, cut.numbers, strict=True))) == str(cut.prefix) for cut in cuts)
    except ValueError:
        return None
    return formula if good else None


VLANS = Pools().vlan


def rails_by_vlan(shape: Shape, configs: Mapping[str, DeviceConfig]) -> dict[tuple[str, str], int]:
    """Return the rail number of the NICs behind each VLAN or routed server port of a leaf.

    The keys are (leaf name, VLAN or port name).
    """
    rail_of = rails_of(shape.wiring.servers.values())
    result: dict[tuple[str, str], int] = {}
    for stripe in shape.stripes:
        each = max(1, shape.rails // shape.per_stripe)
        for at, leaf in enumerate(stripe.leaves):
            for interface in configs[leaf].interfaces:
                nic = shape.wiring.servers.get(End(leaf, interface.name))
                rail = rail_of.get(nic, at * each + 1) if nic else 0
                if nic and interface.vlan:
                    result.setdefault((leaf, interface.vlan), rail)
                elif nic:
                    result[leaf, interface.name] = rail
            for gateway in configs[leaf].gateways:  # of which no port says the VLAN
                nic = shape.wiring.servers.get(End(leaf, gateway.port or gateway.name))
                if nic in rail_of:
                    result.setdefault((leaf, gateway.port or gateway.vlan_name or gateway.name), rail_of[nic])
    return result


def addressing(
    draft: Draft,
    shape: Shape,
    configs: Mapping[str, DeviceConfig],
    leaf_colors: Mapping[str, Colors],
    order: Mapping[str, int],
    pools: Sequence[str],
    tenants: Mapping[str, int],
    *,
    slaac: bool,
) -> dict[str, list[str]]:
    """Write the ``addressing`` section and the pool of VLANs into the draft. Return the pools of tenants that have their own, by VRF.

    - ``draft``: the fabric file that is being reconstructed.
    - ``leaf_colors``: the path colors by leaf.
    - ``order``: the index of each color.
    - ``pools``: the prefixes that the leaves' policies accept.
    - ``tenants``: the number of each tenant in the lock file, by VRF.
    - ``slaac``: True if servers form their own addresses.
    """
    gateways = [(name, gateway) for name in shape.leaves for gateway in configs[name].gateways if not gateway.mac]
    part = draft.at("addressing")
    usual = Addressing()
    if not slaac:
        part["server_mode"] = "static"
    if any(gateway.port for _, gateway in gateways):
        part["server_link"] = "proxy-arp" if any(gateway.proxy_arp for _, gateway in gateways) else "routed"
    elif any(interface.native_vlan for name in shape.leaves for interface in configs[name].interfaces):
        part["server_link"] = "trunk"
    rails = rails_by_vlan(shape, configs)
    cuts = list(_cuts(shape, gateways, rails, leaf_colors, order, tenants))
    routed = part.get("server_link") in {"routed", "proxy-arp"}
    alone = with_own_pools(cuts, {slot: name for name, slot in tenants.items()}, routed=routed)
    cuts = [cut for cut in cuts if not any(tenants.get(name) == cut.numbers[0] for name in alone)]
    both: set[Family] = {cut.prefix.family for cut in cuts}
    families = sorted(both, reverse=slaac)  # the first is that of `server_pool`
    for family in families:
        here = part if family == families[0] else part.setdefault("dual_stack", {})
        _gateway_host(draft, here, gateways, family)
        own_cuts = [cut for cut in cuts if cut.prefix.family == family]
        local = [pool for pool in pools if (":" in pool) == (family == "ipv6")]
        _apply_rule(draft, here, own_cuts, local, routed=routed, tenants=bool(tenants), second=here is not part)
    if not cuts and not slaac:
        part |= {"server_pool": "10.0.0.0/8", "prefix_length": 24}
    made = {
        part.get("server_pool", usual.server_pool),
        *(dual_stack["server_pool"] for dual_stack in [part.get("dual_stack")] if dual_stack),
    }
    if not tenants and pools and (len(pools) > len(made) or set(pools) != made):
        part["local_prefixes"] = list(pools)
    _vlans(draft, shape, gateways, rails, tenants)
    if not part:
        del draft.fabric["addressing"]
    return alone


def _gateway_host(draft: Draft, part: dict[str, Any], gateways: Sequence[tuple[str, Gateway]], family: Family) -> None:
    """Write ``gateway_host``, the most common host number of the gateway addresses, if it differs from the default.

    ``part`` is the section of the file to write to. ``gateways`` are (leaf name, gateway). Only addresses of ``family`` count. If
    gateways have different host numbers, ``draft`` gets a note.
    """
    hosts = Counter(
        int(ipaddress.ip_address(str(address.address))) - int(ipaddress.ip_network(str(address.prefix)).network_address)
        for _, gateway in gateways
        for address in gateway.addresses
        if address.family == family
        and (
            str(address.address) != str(address.prefix).partition("/")[0] or address.length + 1 == BITS[address.family]
        )  # of a /31, any
    )
    if hosts and hosts.most_common(1)[0][0] != Addressing().gateway_host and hosts.most_common(1)[0][0] <= 254:
        part["gateway_host"] = hosts.most_common(1)[0][0]
    if len(hosts) > 1:
        draft.note("gateways have different host parts in their prefixes; the file has the most common one")


def _apply_rule(
    draft: Draft,
    part: dict[str, Any],
    cuts: Sequence[NumberedPrefix],
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
        draft.note(f"no addressing rule produces the {len(cuts)} server prefixes; servers get different prefixes")
        six = cuts[0].prefix.family == "ipv6"
        made = {} if six else {"server_pool": "10.0.0.0/8", "prefix_length": 31 if routed else 24}
        made = {"server_pool": usual.server_pool, **made} if second else made
    default = usual.model_copy(update={"server_pool": ""}) if second else usual
    part |= {key: value for key, value in made.items() if value != getattr(default, key)}
    if second and "server_prefix" not in part:  # what is left out is not the same as beside it
        part.setdefault("prefix_length", usual.prefix_length)


def _cuts(
    shape: Shape,
    gateways: Sequence[tuple[str, Gateway]],
    rails: Mapping[tuple[str, str], int],
    leaf_colors: Mapping[str, Colors],
    order: Mapping[str, int],
    tenants: Mapping[str, int],
) -> Iterator[NumberedPrefix]:
    slots = {leaf: stripe for stripe in shape.stripes for leaf in stripe.leaves}
    for leaf, gateway in gateways:
        nic = shape.wiring.servers.get(End(leaf, gateway.port)) if gateway.port else None
        rail = rails.get((leaf, gateway.port or gateway.vlan_name or gateway.name), 0)
        stripe = slots[leaf]
        server = stripe.servers.get(nic.device, 0) if nic else 0
        if not rail or (gateway.port and not server):
            continue
        for family in gateway.families:
            prefixes = [prefix for prefix in gateway.prefixes if prefix.family == family]
            for at, prefix in enumerate(prefixes, 1):
                usual = at if len(prefixes) > 1 else 1
                color = order.get(leaf_colors[leaf].of_prefix.get(prefix, ""), usual) if leaf in leaf_colors else 1
                yield NumberedPrefix((tenants.get(gateway.vrf, 0), stripe.slot, server, rail, color), prefix)


def _vlans(
    draft: Draft,
    shape: Shape,
    gateways: Sequence[tuple[str, Gateway]],
    rails: Mapping[tuple[str, str], int],
    tenants: Mapping[str, int],
) -> None:
    slots = {leaf: stripe.slot for stripe in shape.stripes for leaf in stripe.leaves}
    starts = [
        gateway.vlan - ((tenants[gateway.vrf] if gateway.vrf in tenants else slots[leaf]) - 1) * shape.rails - rail + 1
        for leaf, gateway in gateways
        if gateway.vlan is not None and (rail := rails.get((leaf, gateway.vlan_name or gateway.name), 0))
    ]
    if not starts:
        return
    first = max(dict.fromkeys(starts), key=starts.count)
    if first >= 1 and first != VLANS[0]:
        draft.at("pools")["vlan"] = f"{first}-{VLANS[1]}"
    if starts.count(first) < len(starts):
        draft.note(
            f"{len(starts) - starts.count(first)} of {len(starts)} VLANs have IDs that no pool produces; they get different IDs"
        )
