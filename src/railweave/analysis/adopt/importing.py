"""The fabric file and lock of an existing network, derived from its switch configurations: fabrics, number pools and management."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from railweave.analysis.adopt import routing
from railweave.analysis.adopt.addressing import addressing, rails_by_vlan
from railweave.analysis.adopt.cabling import cabling
from railweave.analysis.adopt.draft import Draft, Note, as_number, common, common_start, given
from railweave.analysis.adopt.names import name_leaves, name_spines, name_vlans, with_servers
from railweave.analysis.adopt.servers import FabricServers, nics_of, server_groups
from railweave.analysis.adopt.shape import between_tiers, by_role, fabrics, joined, neighbors, roles, routed, shape
from railweave.analysis.adopt.sites import interconnect
from railweave.analysis.adopt.stand_in import hardware
from railweave.analysis.adopt.tenancy import loopbacks, overlay, tenant_slots, tenants
from railweave.analysis.adopt.traffic import load_balancing, mtus, qos
from railweave.analysis.adopt.wiring import Lldp, Wiring, wiring
from railweave.counting import counted
from railweave.design.addresses.identity import FIRST_MANAGEMENT_HOST
from railweave.errors import InputError, NetworkPart, Problem
from railweave.model.catalog import catalog
from railweave.model.device.model import NO_LOOPBACK
from railweave.model.intent.addresses import MOST_NUMBER, Pools
from railweave.model.intent.base import NAME, secret_reference
from railweave.model.intent.management import Management
from railweave.model.intent.tenants import Overlay
from railweave.model.intent.topology import DEFAULT_SYSTEM

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.analysis.adopt.shape import Shape
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import RoleName


USUAL = Pools()


def as_numbers(
    draft: Draft, role: str, numbers: Mapping[str, int], configs: Mapping[str, DeviceConfig]
) -> tuple[int, int]:
    """Write the AS number pool of a role into the draft (the reconstructed fabric file). Return the pool as (first, last).

    Also write an override for each switch whose AS number the pool does not give. ``numbers`` holds the number of each switch within
    its role, from 1; switch N has the Nth AS number of the pool. A range of AS numbers that neighbors accept is preferred as the pool.
    """
    key = f"{role.replace('-', '_')}_asn"
    usual: tuple[int, int] = getattr(USUAL, key)
    asns = {name: asn for name in numbers if (asn := as_number(configs[name]))}
    if not asns:
        return usual
    shared = {asn for asn in asns.values() if list(asns.values()).count(asn) > 1}
    starts = [asn - numbers[name] + 1 for name, asn in asns.items() if asn not in shared] or sorted(shared)
    accepted = _accepted(draft, set(asns.values()), configs)
    named = {_first(config, role) for config in configs.values()} - {0}
    candidates = [
        *accepted,
        *((first_asn, 0) for first_asn in named if role == "spine"),
        usual,
        *((start, 0) for start in sorted(set(starts), key=starts.count, reverse=True)),
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
        alike = [name for name, other_asn in asns.items() if other_asn == asn]
        draft.note(
            f"{', '.join(alike[:4])}{' and others' if len(alike) > 4 else ''} share AS {asn}; a design gives each switch its own AS number"
        )
    for name, asn in asns.items():
        if (on_top or asn not in shared) and (asn != first + numbers[name] - 1 or asn > last):
            draft.override(name)["asn"] = asn
    if (first, last) != usual:
        draft.at("pools")[key] = f"{first}-{last}"
    return first, last


def _accepted(draft: Draft, asns: set[int], configs: Mapping[str, DeviceConfig]) -> list[tuple[int, int]]:
    """Return the AS number ranges that a fabric's switches accept from neighbors, as (first, last), the most common range first.

    ``draft`` names the switches. Only ranges of several numbers that contain one of ``asns`` are returned.
    """
    ranges = [
        asn_range
        for name in draft.switches
        if (bgp := configs[name].bgp)
        for listed in bgp.as_lists.values()
        for asn_range in listed
        if asn_range[0] != asn_range[1] and any(asn_range[0] <= asn <= asn_range[1] for asn in asns)
    ]
    return sorted(dict.fromkeys(ranges), key=ranges.count, reverse=True)


def _first(config: DeviceConfig, role: str) -> int:
    """Return the first number of a spine's large communities, if all of them begin with the same number. Otherwise return 0.

    Return 0 for switches that are not spines. In railweave's designs, this number is the AS number of the first spine.
    """
    if role != "spine" or config.bgp is None:
        return 0
    heads = {
        community.value.partition(":")[0] for community in config.bgp.communities if community.value.count(":") == 2
    }
    numbers = [int(head) for head in heads if head.isdecimal()]
    return numbers[0] if len(numbers) == 1 else 0


def apart_by_role(draft: Draft) -> None:
    """Shorten each role's AS number pool so that it ends before the next role's pool.

    Switches outside their pool already have overrides.
    """
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
    """Write the pool of router IDs (``pools: router_id``) into the file, and each switch's number in the pool into the lock file.

    All fabrics (``drafts``) share the pool. It is the first prefix that contains all router IDs: a prefix of ``known`` (the prefixes
    that switches accept), or else the default pool. If neither contains them all, the pool is the longest prefix that does, with room
    for growth. A switch whose router ID does not fit into the pool gets an override.
    """
    ids = {
        name: str(config.bgp.router_id if config.loopback == NO_LOOPBACK and config.bgp else config.loopback.address)
        for draft in drafts
        for name, config in ((name, configs[name]) for name in draft.switches)
    }
    ids = {name: address for name, address in ids.items() if "." in address and not address.startswith("0.")}
    pool = _pool(ids.values(), USUAL.router_id, known, spare=2) if ids else USUAL.router_id
    for draft in drafts if pool != USUAL.router_id else ():
        draft.at("pools")["router_id"] = pool
    net = ipaddress.ip_network(pool)
    slots = drafts[0].slots("router-ids")
    for name, router_id in ids.items():
        host = int(ipaddress.ip_address(router_id)) - int(net.network_address)
        if 1 <= host < net.num_addresses - 1 and host not in slots.values():
            slots[name] = host
        elif list(ids.values()).count(router_id) > 1:
            drafts[0].note(
                f"{name} and another switch have the same router ID {router_id}; {name} gets a different one"
            )
        else:
            drafts[0].override(name)["router_id"] = router_id


def apart(drafts: Sequence[Draft]) -> None:
    """Shorten the number pools of each fabric (``drafts``) so that they end before the pools of the next fabric.

    If two fabrics had equal pools, the design would give each fabric one eighth of the pool.
    """
    usual = {("pools", key): getattr(USUAL, key) for key in ("leaf_asn", "spine_asn")}
    usual |= {("overlay", key): getattr(Overlay(), key) for key in ("vni", "network_vni")}
    for (part, key), default in usual.items():
        users = [draft for draft in drafts if part == "pools" or "overlay" in draft.fabric]
        if len(users) < 2:
            continue
        pools = {id(user): user.fabric.get(part, {}).get(key, f"{default[0]}-{default[1]}") for user in users}
        ranges = sorted((tuple(map(int, pools[id(user)].split("-"))), at) for at, user in enumerate(users))
        firsts = sorted({first for (first, _), _ in ranges})
        for (first, _), at in ranges:
            after = next((later for later in firsts if later > first), MOST_NUMBER)
            most = max(last for (same, last), _ in ranges if same == first)
            users[at].at(part)[key] = f"{first}-{max(first, min(most, after - 1))}"


def management_addresses(draft: Draft, configs: Mapping[str, DeviceConfig]) -> str | None:
    """Write each switch's number in the pool of management addresses into the lock file.

    Return the pool as a prefix, or None if no switch has a management address.
    """
    addresses = {
        name: candidate
        for name in draft.switches
        if (candidate := configs[name].management_address) and candidate.length
    }
    if not addresses:
        return None
    prefixes = [str(interface_address.prefix) for interface_address in addresses.values()]
    pool = max(dict.fromkeys(prefixes), key=prefixes.count)
    net = ipaddress.ip_network(pool)
    slots = draft.slots("management")
    for name, interface_address in addresses.items():
        address = ipaddress.ip_address(str(interface_address.address))
        slot = int(address) - int(net.network_address) - FIRST_MANAGEMENT_HOST + 1
        if str(interface_address.prefix) != pool:
            draft.note(
                f"{name}: its management address {interface_address} is outside {pool}, the pool of the other switches"
            )
        elif list(addresses.values()).count(interface_address) > 1:
            draft.note(
                f"{name}: its management address {interface_address} also belongs to another switch; it gets a different one"
            )
        elif slot >= 1:
            slots[name] = slot
        else:
            draft.override(name)["management_address"] = str(address)
    return pool


def _pool(values: Iterable[str], usual: str, known: Iterable[str], spare: int) -> str:
    """Return a prefix that contains all the addresses in ``values``.

    It is the first such prefix of ``known`` (prefixes that switches accept), or else ``usual`` (the default pool). If neither contains
    all the addresses, it is the longest prefix that does and that has at least ``spare`` times as many addresses as ``values``.
    """
    addresses = [ipaddress.ip_address(value) for value in values]
    for text in (*known, usual):
        net = ipaddress.ip_network(text)
        if all(address in net and address != net.network_address for address in addresses):
            return text
    net = ipaddress.ip_network(f"{addresses[0]}/{addresses[0].max_prefixlen - 8}", strict=False)
    while not all(
        address in net and address != net.network_address for address in addresses
    ) or net.num_addresses < spare * len(addresses):
        if net.prefixlen <= 1:
            return usual
        net = net.supernet()
    return str(net)


def management(draft: Draft, configs: Mapping[str, DeviceConfig]) -> dict[str, Any]:
    """Return the ``management`` section of the file. Secrets are replaced by references such as ``secret:NAME``."""
    pool = management_addresses(draft, configs)
    made: dict[str, Any] = {}
    if pool is not None and pool != Management().pool:
        made["pool"] = pool
    net = ipaddress.ip_network(pool or Management().pool)
    gateways = [str(config.management_gateway) for config in configs.values() if str(config.management_gateway)]
    if gateways:
        gateway, _ = common(list(gateways))
        if gateway != str(net.network_address + 1) and ipaddress.ip_address(gateway) in net:
            made["gateway"] = gateway
    settings = {
        name: _expressible(config.nos, given(config.management, Management())) for name, config in configs.items()
    }
    most, others = common(list(settings.values()))
    if others:
        unlike = [name for name, value in settings.items() if value != most]
        fields = dict.fromkeys(
            field
            for name in unlike
            for field in {**most, **settings[name]}
            if most.get(field) != settings[name].get(field)
        )
        draft.note(
            f"{counted(others, 'switch has', 'switches have')} other management settings than most ({', '.join(unlike[:4])}"
            f"{', …' * (others > 4)}: {', '.join(fields)}); a build gives them the most common settings",
            "management",
        )
    return made | _as_references(draft, most, "imported")


def _expressible(nos: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return management settings without the services that railweave cannot configure on the system ``nos``.

    A fabric file with such services would be rejected.
    """
    unsaid = catalog().systems[nos].reads.unsaid
    services = {
        name: value
        for name, value in settings.get("services", {}).items()
        if f"management.services.{name}" not in unsaid
    }
    others = {name: value for name, value in settings.items() if name != "services"}
    return others | ({"services": services} if services else {})


_SECRETS = frozenset({"root_password", "password", "community", "auth", "privacy", "key", "grpc_certificate"})
"""Keys whose values are secrets. The fabric file holds only references to them."""


def _as_references(draft: Draft, value: Any, name: str) -> Any:  # noqa: ANN401 - YAML values
    """Return a YAML value with each plain-text secret in it replaced by ``secret:NAME``, because fabric files hold no secrets.

    Every NAME begins with ``name``. A note is added for each secret.
    """
    if isinstance(value, list):
        value = cast("list[Any]", value)
        return [_as_references(draft, element, f"{name}-{at}") for at, element in enumerate(value, 1)]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, child in cast("dict[str, Any]", value).items():
        if key in _SECRETS and isinstance(child, str) and not _is_reference(child):
            reference = f"{name}-{key.replace('_', '-')}"
            draft.note(f"the file holds no secrets: secret:{reference} replaces the value of {key}")
            made[key] = f"secret:{reference}"
        else:
            made[key] = _as_references(draft, child, f"{name}-{key.replace('_', '-')}")
    return made


def _is_reference(text: str) -> bool:
    try:
        return secret_reference(text) == text
    except ValueError:
        return False


@dataclass(frozen=True)
class Files:
    """A reconstructed fabric file (``document``) with its lock, and notes on facts that the file cannot express.

    ``lengths`` holds unusual cable lengths in meters, by (switch, port).
    """

    document: dict[str, Any]
    lock: dict[str, dict[str, int]]
    lengths: dict[tuple[str, str], int]
    notes: list[Note]
    configs: Mapping[str, DeviceConfig]
    """The saved configurations by switch, with their ports renamed as in the design."""
    ports: Mapping[str, Mapping[str, str]]
    """The port name in the design, by switch and by port name in the saved configuration. Ports with equal names are left out."""


def files(name: str, configs: Mapping[str, DeviceConfig], lldp: Lldp, given: Mapping[str, str] | None = None) -> Files:
    """Return the fabric file and lock of a network. ``given`` maps a role to its switch model, if the operator states the model.

    ``lldp`` holds the LLDP neighbors. Raises ``InputError`` if there is no switch, or if no model of the catalog has a switch's ports.
    """
    every = configs
    configs, apart_from = routed(configs)
    network_wiring = wiring(configs, lldp)
    near = neighbors(configs, network_wiring)
    role = roles(configs, network_wiring, near)
    network_wiring, within = between_tiers(network_wiring, role)
    near = neighbors(configs, network_wiring)
    there, alone = joined(near)
    configs = {name: configs[name] for name in there}
    sets = fabrics({name: near[name] for name in there})
    equipped = hardware(configs, network_wiring, role, sets, given or {})
    configs, network_wiring = equipped.configs, equipped.wiring
    notes = [Note(text) for text in (*apart_from, *within, *alone, *network_wiring.notes, *equipped.notes)]
    whole: dict[str, Any] = {"name": name, "fabrics": {}}
    lock: dict[str, dict[str, int]] = {}
    lengths: dict[tuple[str, str], int] = {}
    servers: list[FabricServers] = []
    drafts = [Draft(fabric, whole, lock, names, notes) for fabric, names in zip(_fabric_names(sets), sets, strict=True)]
    local = {draft.name: routing.local_prefixes(draft, configs) for draft in drafts}
    evpn = [draft for draft in drafts if any(configs[name].overlay for name in draft.switches)]
    router_ids(drafts, configs, [pool for draft in evpn for pool in local[draft.name] if ":" not in pool])
    for draft in drafts:
        tiers = by_role(draft.switches, role)
        servers.append(_fabric(draft, network_wiring, tiers, configs, equipped.models, lengths, local[draft.name]))
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
    """Give a name to each secret in ``part`` whose value the saved configuration hides.

    ``part`` is a section of the fabric file, and ``at`` its key path. The name is the secret's path in the file. The operator
    supplies the value under this name with ``build --secrets``.
    """
    for key, value in part.items():
        if isinstance(value, dict):
            _name_secrets(cast("dict[str, Any]", value), (*at, key))
        elif value == "secret:?":
            part[key] = f"secret:{re.sub(r'[^A-Za-z0-9_.-]+', '-', '/'.join((*at, key))).removeprefix('fabrics-')}"


def _fabric_names(sets: Sequence[Sequence[str]]) -> list[str]:
    """Return a name for each fabric. ``sets`` holds the switch names of each fabric.

    A single fabric is named ``backend``. Each of several fabrics is named after the common start of its switch names. If two fabrics
    have the same start, or a start is not a valid name, all fabrics get numbered names.
    """
    if len(sets) == 1:
        return ["backend"]
    heads = [re.sub(r"[^A-Za-z0-9]+[^-_.]*$", "", common_start(names)) for names in sets]
    good = len({head.casefold() for head in heads}) == len(heads) and all(re.fullmatch(NAME, head) for head in heads)
    return heads if good else [f"fabric{at}" for at in range(1, len(sets) + 1)]


def _fabric(
    draft: Draft,
    network_wiring: Wiring,
    tiers: dict[RoleName, list[str]],
    configs: Mapping[str, DeviceConfig],
    model: Mapping[str, str],
    lengths: dict[tuple[str, str], int],
    local: list[str],
) -> FabricServers:
    """Write the section of one fabric into the draft (the reconstructed fabric file), and return the fabric's servers.

    ``network_wiring`` has the links of all fabrics. ``tiers`` holds the switches of this fabric by role, and ``model`` each switch's
    model. Cable lengths are added to ``lengths``. ``local`` holds the prefixes that most of the fabric's switches accept.
    """
    _equipment(draft, tiers, configs, model)
    own_wiring = with_servers(draft.name, network_wiring, configs, tiers.get("leaf", []))
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
            message = f"{len(there.super_spines)} super-spines join {len(there.spines)} spines: in a design, each super-spine connects only spines of one number (a plane)"
            raise InputError([Problem(NetworkPart(there.super_spines[0]), message, "import each pod separately")])
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
    routing.underlay(draft, configs)
    leaf_colors = routing.path_colors(draft, there, configs, keys)
    order = routing.color_order(leaf_colors)
    slaac = routing.advertisements(draft, configs)
    alone = addressing(draft, there, configs, leaf_colors, order, local, slots if evpn else {}, slaac=slaac)
    rails = rails_by_vlan(there, configs)
    stripe_of = {leaf: stripe.name for stripe in there.stripes for leaf in stripe.leaves}
    named = {
        (leaf, gateway.vlan): (stripe_of[leaf], rails.get((leaf, gateway.vlan_name or gateway.name), 0))
        for leaf in there.leaves
        for gateway in configs[leaf].gateways
        if gateway.vlan is not None
    }
    name_vlans(draft, configs, named)
    routing.group_names(draft, leaf_colors, configs, tiers)
    load_balancing(draft, configs, there.leaves, colored=bool(leaf_colors))
    qos(draft, tiers, configs, model, own_wiring)
    mtus(draft, configs, there)
    tenants(draft, there, configs, slots)
    for name, pools in alone.items():
        draft.at("tenants", name)["server_pools"] = pools
    homes = {server: stripe.name for stripe in there.stripes for server in stripe.servers}
    return FabricServers(draft, nics_of(draft, there), homes, there.per_stripe, _up(there))


def _equipment(
    draft: Draft, tiers: Mapping[RoleName, Sequence[str]], configs: Mapping[str, DeviceConfig], model: Mapping[str, str]
) -> None:
    """Write the model, operating system and release of each role, and overrides for the switches that differ from their role.

    ``tiers`` holds the switches by role, and ``model`` each switch's model.
    """
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


def _up(fabric_shape: Shape) -> dict[str, int]:
    """Return the uplink capacity of each stripe (group of leaves that share servers) in Gb/s, by stripe name.

    The value is the capacity of the stripe's leaf with the least capacity.
    """
    carried: Counter[str] = Counter()
    for end, _ in fabric_shape.wiring.between(fabric_shape.leaves, fabric_shape.spines):
        place = fabric_shape.places.get((end.device, end.port))
        if place:
            carried[end.device] += place.speed_gbps
    return {stripe.name: min(carried[leaf] for leaf in stripe.leaves) for stripe in fabric_shape.stripes}
