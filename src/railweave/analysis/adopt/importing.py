"""A fabric file with its lock from the configurations of an existing network's switches."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from railweave.analysis.adopt.addressing import addressing, rails_by_vlan
from railweave.analysis.adopt.cabling import cabling
from railweave.analysis.adopt.draft import Draft, Note
from railweave.analysis.adopt.management import management
from railweave.analysis.adopt.names import name_leaves, name_spines, name_vlans
from railweave.analysis.adopt.numbers import apart, apart_by_role, as_numbers, router_ids
from railweave.analysis.adopt.order import common_start
from railweave.analysis.adopt.overlay import loopbacks, overlay
from railweave.analysis.adopt.routing import (
    advertisements,
    color_order,
    group_names,
    local_prefixes,
    path_colors,
    underlay,
)
from railweave.analysis.adopt.server_names import with_servers
from railweave.analysis.adopt.servers import OnFabric, nics_of, server_groups
from railweave.analysis.adopt.shape import shape
from railweave.analysis.adopt.sites import interconnect
from railweave.analysis.adopt.stand_in import hardware
from railweave.analysis.adopt.tenancy import tenant_slots, tenants
from railweave.analysis.adopt.tiers import between_tiers, by_role, fabrics, joined, neighbors, roles, routed
from railweave.analysis.adopt.traffic import load_balancing, mtus, qos
from railweave.analysis.adopt.wiring import wiring
from railweave.errors import InputError, NetworkPart, Problem
from railweave.model.catalog import catalog
from railweave.model.intent.names import NAME
from railweave.model.intent.topology import DEFAULT_SYSTEM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.analysis.adopt.shape import Shape
    from railweave.analysis.adopt.wiring import Lldp, Wiring
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.fabric import RoleName


@dataclass(frozen=True)
class Files:
    """A fabric file as plain values, the pools of its lock, lengths of single cables, and what is not in it."""

    document: dict[str, Any]
    lock: dict[str, dict[str, int]]
    lengths: dict[tuple[str, str], int]
    notes: list[Note]
    configs: Mapping[str, DeviceConfig]
    """What was read, with ports as the design names them."""
    ports: Mapping[str, Mapping[str, str]]
    """What the design calls ports of a switch that its text calls otherwise."""


def files(name: str, configs: Mapping[str, DeviceConfig], lldp: Lldp, given: Mapping[str, str] | None = None) -> Files:
    """The files of a network. ``given`` has the model of switches by role, where it is known.

    Raises ``InputError`` where nothing is a network: no switch, or no model of the catalog that has a switch's ports.
    """
    every = configs
    configs, apart_from = routed(configs)
    found = wiring(configs, lldp)
    near = neighbors(configs, found)
    role = roles(configs, found, near)
    found, within = between_tiers(found, role)
    near = neighbors(configs, found)
    there, alone = joined(near)
    configs = {name: configs[name] for name in there}
    sets = fabrics({name: near[name] for name in there})
    equipped = hardware(configs, found, role, sets, given or {})
    configs, found = equipped.configs, equipped.wiring
    notes = [Note(one) for one in (*apart_from, *within, *alone, *found.notes, *equipped.notes)]
    whole: dict[str, Any] = {"name": name, "fabrics": {}}
    lock: dict[str, dict[str, int]] = {}
    lengths: dict[tuple[str, str], int] = {}
    servers: list[OnFabric] = []
    drafts = [Draft(fabric, whole, lock, names, notes) for fabric, names in zip(_fabric_names(sets), sets, strict=True)]
    local = {draft.name: local_prefixes(draft, configs) for draft in drafts}
    evpn = [draft for draft in drafts if any(configs[name].overlay for name in draft.switches)]
    router_ids(drafts, configs, [pool for draft in evpn for pool in local[draft.name] if ":" not in pool])
    for draft in drafts:
        tiers = by_role(draft.switches, role)
        servers.append(_fabric(draft, found, tiers, configs, equipped.models, lengths, local[draft.name]))
    apart(drafts)
    for draft in drafts:
        apart_by_role(draft)
    whole["servers"] = server_groups(servers)
    whole["management"] = management(Draft("", whole, lock, list(configs), notes), configs)
    overrides = whole.get("overrides", {}).get("devices", {})
    if overrides:
        whole["overrides"] = {"devices": overrides} | {k: v for k, v in whole["overrides"].items() if k != "devices"}
    _name_secrets(whole, ())
    return Files(whole, lock, lengths, notes, {**every, **configs}, equipped.names)


def _name_secrets(part: dict[str, Any], at: tuple[str, ...]) -> None:
    """Give secrets whose value a text hides the names of their places: ``build --secrets`` asks for them by these."""
    for key, value in part.items():
        if isinstance(value, dict):
            _name_secrets(cast("dict[str, Any]", value), (*at, key))
        elif value == "secret:?":
            part[key] = f"secret:{re.sub(r'[^A-Za-z0-9_.-]+', '-', '/'.join((*at, key))).removeprefix('fabrics-')}"


def _fabric_names(sets: Sequence[Sequence[str]]) -> list[str]:
    """Names for fabrics: what the names of their switches begin with, where that tells them apart."""
    if len(sets) == 1:
        return ["backend"]
    heads = [re.sub(r"[^A-Za-z0-9]+[^-_.]*$", "", common_start(names)) for names in sets]
    good = len({one.casefold() for one in heads}) == len(heads) and all(re.fullmatch(NAME, one) for one in heads)
    return heads if good else [f"fabric{at}" for at in range(1, len(sets) + 1)]


def _fabric(
    draft: Draft,
    found: Wiring,
    tiers: dict[RoleName, list[str]],
    configs: Mapping[str, DeviceConfig],
    model: Mapping[str, str],
    lengths: dict[tuple[str, str], int],
    local: list[str],
) -> OnFabric:
    """One fabric of the file; its servers."""
    _equipment(draft, tiers, configs, model)
    own_wiring = with_servers(draft.name, found, configs, tiers.get("leaf", []))
    there = shape(configs, own_wiring, tiers, model)
    for text in (*own_wiring.notes, *there.notes):
        draft.note(text)
    draft.leaf_numbers = there.numbers
    topology = draft.at("topology")
    name_leaves(draft, there)
    keys = name_spines(draft, there)
    if there.super_spines and there.pods > 0:
        topology["stripes_per_pod"] = -(-len(there.stripes) // there.pods)
        if len(there.super_spines) * there.pods < len(there.spines):
            what = f"{len(there.super_spines)} super-spines join {len(there.spines)} spines: each joins spines of one number only, in planes"
            raise InputError([Problem(NetworkPart(there.super_spines[0]), what, "import one pod by itself")])
        topology["super_spines"] = len(there.super_spines) * there.pods // len(there.spines)
        if there.super_links != 1:
            topology["links_per_super_spine"] = there.super_links
        as_numbers(draft, "super-spine", {name: at for at, name in enumerate(there.super_spines, 1)}, configs)
    interconnect(draft, there, configs)
    if there.spines and there.links != 1:
        topology["links_per_spine"] = there.links
    if there.spines and there.link_speed != 400:
        topology["link_speed"] = f"{there.link_speed}G"
    cabling(draft, there, configs, model, lengths)
    as_numbers(draft, "leaf", there.numbers, configs)
    as_numbers(draft, "spine", {name: at for at, name in enumerate(there.spines, 1)}, configs)
    as_numbers(draft, "dci", {name: at for at, name in enumerate(there.routers, 1)}, configs)
    apart_by_role(draft)
    slots = tenant_slots(draft, configs)
    evpn = overlay(draft, there, configs)
    if evpn:
        loopbacks(draft, configs, local)
    underlay(draft, configs)
    own = path_colors(draft, there, configs, keys)
    order = color_order(own)
    slaac = advertisements(draft, configs)
    alone = addressing(draft, there, configs, own, order, local, slots if evpn else {}, slaac=slaac)
    rails = rails_by_vlan(there, configs)
    stripe_of = {leaf: one.name for one in there.stripes for leaf in one.leaves}
    named = {
        (leaf, one.vlan): (stripe_of[leaf], rails.get((leaf, one.vlan_name or one.name), 0))
        for leaf in there.leaves
        for one in configs[leaf].gateways
        if one.vlan is not None
    }
    name_vlans(draft, configs, named)
    group_names(draft, own, configs, tiers)
    load_balancing(draft, configs, there.leaves, colored=bool(own))
    qos(draft, tiers, configs, model, own_wiring)
    mtus(draft, configs, there)
    tenants(draft, there, configs, slots)
    for name, pools in alone.items():
        draft.at("tenants", name)["server_pools"] = pools
    homes = {server: one.name for one in there.stripes for server in one.servers}
    return OnFabric(draft, nics_of(draft, there), homes, there.per_stripe, _up(there))


def _equipment(
    draft: Draft, tiers: Mapping[RoleName, Sequence[str]], configs: Mapping[str, DeviceConfig], model: Mapping[str, str]
) -> None:
    """Write model, system and release of each role, and of switches that differ."""
    for role, names in tiers.items():
        kinds = {name: (model[name], configs[name].nos, configs[name].release) for name in names}
        most = Counter(kinds.values()).most_common(1)[0][0]
        part = draft.at(role.replace("-", "_"))
        part["device"] = most[0]
        if most[1] != DEFAULT_SYSTEM:
            part["nos"] = most[1]
        if most[2] and most[2] != catalog().release_of(most[1], most[0]):
            part["release"] = most[2]
        for name, kind in kinds.items():
            for key, value, usual in zip(("device", "nos", "release"), kind, most, strict=True):
                if value and value != usual:
                    draft.override(name)[key] = value


def _up(found: Shape) -> dict[str, int]:
    """What the uplinks of each stripe carry, Gb/s: those of its leaf with the fewest."""
    carried: Counter[str] = Counter()
    for end, _ in found.wiring.between(found.leaves, found.spines):
        place = found.places.get((end.device, end.port))
        if place:
            carried[end.device] += place.speed_gbps
    return {one.name: min(carried[leaf] for leaf in one.leaves) for one in found.stripes}
