"""Pools of AS numbers, router ids and management addresses; what no pool gives is an override of its switch."""

from __future__ import annotations

import ipaddress
from itertools import pairwise
from typing import TYPE_CHECKING

from railweave.analysis.adopt.order import as_number
from railweave.design.addresses.identity import FIRST_MANAGEMENT_HOST
from railweave.model.intent.addresses import MOST_NUMBER
from railweave.model.intent.pools import Pools
from railweave.model.intent.tenants import Overlay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.model.device.model import DeviceConfig

USUAL = Pools()


def as_numbers(
    draft: Draft, role: str, numbers: Mapping[str, int], configs: Mapping[str, DeviceConfig]
) -> tuple[int, int]:
    """The pool of a role's AS numbers; switches whose number it does not give get an override.

    ``numbers`` are those that AS numbers follow from. The pool is what peers accept of the role, where they say so.
    """
    key = f"{role.replace('-', '_')}_asn"
    usual: tuple[int, int] = getattr(USUAL, key)
    asns = {name: asn for name in numbers if (asn := as_number(configs[name]))}
    if not asns:
        return usual
    shared = {asn for asn in asns.values() if list(asns.values()).count(asn) > 1}
    starts = [asn - numbers[name] + 1 for name, asn in asns.items() if asn not in shared] or sorted(shared)
    accepted = _accepted(draft, set(asns.values()), configs)
    named = {_first(one, role) for one in configs.values()} - {0}
    candidates = [
        *accepted,
        *((one, 0) for one in named if role == "spine"),
        usual,
        *((one, 0) for one in sorted(set(starts), key=starts.count, reverse=True)),
    ]
    first, last = max(candidates, key=lambda pool: starts.count(pool[0]))
    if starts.count(first) == 0:
        first, last = candidates[0]
    if first < 1 or (last < first + max(numbers.values()) - 1 and last):
        first, last = usual if first < 1 else (first, 0)
    if last == 0:
        last = usual[1] if usual[0] == first else first + max(998, 2 * max(numbers.values()))
    on_top = role == "super-spine" or (role == "spine" and "super_spines" not in draft.at("topology"))
    for asn in sorted(shared) if not on_top else ():
        alike = [name for name, one in asns.items() if one == asn]
        draft.note(
            f"{', '.join(alike[:4])}{' and others' if len(alike) > 4 else ''} share AS {asn}: in a design each switch has its own"
        )
    for name, asn in asns.items():
        if (on_top or asn not in shared) and (asn != first + numbers[name] - 1 or asn > last):
            draft.override(name)["asn"] = asn
    if (first, last) != usual:
        draft.at("pools")[key] = f"{first}-{last}"
    return first, last


def _accepted(draft: Draft, asns: set[int], configs: Mapping[str, DeviceConfig]) -> list[tuple[int, int]]:
    """Ranges that neighbors accept these AS numbers from, the most common first."""
    ranges = [
        one
        for name in draft.switches
        if (bgp := configs[name].bgp)
        for listed in bgp.as_lists.values()
        for one in listed
        if one[0] != one[1] and any(one[0] <= asn <= one[1] for asn in asns)
    ]
    return sorted(dict.fromkeys(ranges), key=ranges.count, reverse=True)


def _first(config: DeviceConfig, role: str) -> int:
    """The AS number that a switch's own communities begin with, which in our form is the first of the spines'."""
    if role != "spine" or config.bgp is None:
        return 0
    heads = {one.value.partition(":")[0] for one in config.bgp.communities if one.value.count(":") == 2}
    numbers = [int(one) for one in heads if one.isdecimal()]
    return numbers[0] if len(numbers) == 1 else 0


def apart_by_role(draft: Draft) -> None:
    """End a role's pool of AS numbers where that of another role begins; what is then outside has an override already, or gets one."""
    pools = draft.fabric.get("pools", {})
    ranges: list[tuple[int, int, str]] = []
    topology = draft.at("topology")
    absent = {"super_spine_asn"} if "super_spines" not in topology else set[str]()
    absent |= {"dci_asn"} if "routers" not in topology.get("interconnect", {}) else set[str]()
    for key in ("leaf_asn", "spine_asn", "super_spine_asn", "dci_asn"):
        if key in absent:
            continue
        usual: tuple[int, int] = getattr(USUAL, key)
        first, _, last = pools.get(key, f"{usual[0]}-{usual[1]}").partition("-")
        ranges.append((int(first), int(last), key))
    for (first, last, key), (second, _, _) in pairwise(sorted(ranges)):
        if first < second <= last:
            draft.at("pools")[key] = f"{first}-{second - 1}"


def router_ids(drafts: Sequence[Draft], configs: Mapping[str, DeviceConfig], known: Iterable[str]) -> None:
    """The pool of router ids, which all fabrics share, and the slot of each switch in it."""
    ids = {
        name: str(configs[name].loopback.address)
        for draft in drafts
        for name in draft.switches
        if configs[name].loopback
    }
    ids = {name: one for name, one in ids.items() if "." in one and not one.startswith("0.")}
    pool = _pool(ids.values(), USUAL.router_id, known, spare=2) if ids else USUAL.router_id
    for draft in drafts if pool != USUAL.router_id else ():
        draft.at("pools")["router_id"] = pool
    net = ipaddress.ip_network(pool)
    slots = drafts[0].slots("router-ids")
    for name, one in ids.items():
        host = int(ipaddress.ip_address(one)) - int(net.network_address)
        if 1 <= host < net.num_addresses - 1 and host not in slots.values():
            slots[name] = host
        elif list(ids.values()).count(one) > 1:
            drafts[0].note(f"{name} has the router id {one} that another switch has too: it gets another")
        else:
            drafts[0].override(name)["router_id"] = one


def apart(drafts: Sequence[Draft]) -> None:
    """End pools of numbers where that of the next fabric begins: fabrics that name the same pool would have an eighth of it each."""
    usual = {("pools", key): getattr(USUAL, key) for key in ("leaf_asn", "spine_asn")}
    usual |= {("overlay", key): getattr(Overlay(), key) for key in ("vni", "network_vni")}
    for (part, key), default in usual.items():
        users = [draft for draft in drafts if part == "pools" or "overlay" in draft.fabric]
        if len(users) < 2:
            continue
        pools = {id(one): one.fabric.get(part, {}).get(key, f"{default[0]}-{default[1]}") for one in users}
        ranges = sorted((tuple(map(int, pools[id(one)].split("-"))), at) for at, one in enumerate(users))
        firsts = sorted({first for (first, _), _ in ranges})
        for (first, _), at in ranges:
            after = next((one for one in firsts if one > first), MOST_NUMBER)
            most = max(last for (same, last), _ in ranges if same == first)
            users[at].at(part)[key] = f"{first}-{max(first, min(most, after - 1))}"


def management_addresses(draft: Draft, configs: Mapping[str, DeviceConfig]) -> str | None:
    """The pool of management addresses, and the slot of each switch in it. The gateway, where it is not the pool's first address."""
    found = {name: one for name in draft.switches if (one := configs[name].management_address) and one.length}
    if not found:
        return None
    prefixes = [str(one.prefix) for one in found.values()]
    pool = max(dict.fromkeys(prefixes), key=prefixes.count)
    net = ipaddress.ip_network(pool)
    slots = draft.slots("management")
    for name, one in found.items():
        address = ipaddress.ip_address(str(one.address))
        slot = int(address) - int(net.network_address) - FIRST_MANAGEMENT_HOST + 1
        if str(one.prefix) != pool:
            draft.note(f"{name}: its management address {one} is outside {pool}, which the others have")
        elif list(found.values()).count(one) > 1:
            draft.note(f"{name}: its management address {one} is that of another switch too: it gets another")
        elif slot >= 1:
            slots[name] = slot
        else:
            draft.override(name)["management_address"] = str(address)
    return pool


def _pool(values: Iterable[str], usual: str, known: Iterable[str], spare: int) -> str:
    """The prefix that addresses are of: the usual one, one that is known, else the shortest that leaves room for growth."""
    addresses = [ipaddress.ip_address(one) for one in values]
    for text in (*known, usual):
        net = ipaddress.ip_network(text)
        if all(one in net and one != net.network_address for one in addresses):
            return text
    net = ipaddress.ip_network(f"{addresses[0]}/{addresses[0].max_prefixlen - 8}", strict=False)
    while not all(one in net and one != net.network_address for one in addresses) or net.num_addresses < spare * len(
        addresses
    ):
        if net.prefixlen <= 1:
            return usual
        net = net.supernet()
    return str(net)
