"""Text of the fabric file for a sized fabric, including the PFC thresholds and the headroom that the fabric needs."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.design.sizing.address_rules import flow
from railweave.design.sizing.words import TITLES, switches
from railweave.model.catalog.headroom import port_headroom
from railweave.model.catalog.shares import MOST_THRESHOLD, held_share
from railweave.model.intent.addresses import Pools
from railweave.model.intent.base import expand
from railweave.model.intent.buffers import Buffers
from railweave.model.intent.inventory import template
from railweave.model.intent.qos import RDMA, Qos
from railweave.model.intent.topology import DEFAULT_SYSTEM, Cabling, Mtu

if TYPE_CHECKING:
    from railweave.design.sizing.address_rules import AddressRules
    from railweave.design.sizing.size import Size
    from railweave.model.catalog.models import Catalog


LEAST_SHARED = 0.5
"""The assumed shared part of the packet buffer, as a fraction.

It is used if no source documents the part that a switch model dedicates to its ports. Of the models with public figures,
the QFX5240 has the smallest shared part: 86 of 165 MB (``dedicated`` in the catalog).
"""


def shared_bytes(catalog: Catalog, size: Size) -> float:
    """Return the size in bytes of the shared part of a switch's packet buffer, which is divided into partitions."""
    model = catalog.switches[size.wanted.switch]
    if model.dedicated is not None:
        return model.dedicated.shared_bytes(None, None)
    return LEAST_SHARED * model.buffer.shared_mb * 1e6


def headroom_need(catalog: Catalog, size: Size) -> int:
    """Return the PFC headroom, in bytes, that a switch of a sized fabric needs. Of all tiers, the tier with the greatest need counts."""
    lengths, mtu, speed = Cabling(), Mtu(), size.ports.speed_gbps
    lossless = sum(traffic_class.lossless for traffic_class in Qos().classes.values())
    model = catalog.switches[size.wanted.switch]
    to_server = port_headroom(catalog, model, lengths.server.length, speed, mtu.server_port).need_bytes
    between = port_headroom(catalog, model, lengths.fabric.length, speed, mtu.fabric).need_bytes
    leaf = (size.leaf_used - size.uplinks) * to_server + size.uplinks * between
    return lossless * max(leaf, between * max(size.spine_used, size.top_used))


def headroom_percent(catalog: Catalog, size: Size) -> int:
    """Return the headroom partition in percent of the buffer: the default, or more if the needed headroom requires it."""
    need = headroom_need(catalog, size)
    return max(Qos().buffers.headroom, math.ceil(100 * need / shared_bytes(catalog, size)))


LOWEST = 1
"""The lowest threshold index that every chip supports: alpha 1/64 (lint ``eos-threshold``)."""


def pausing_threshold(ports: int, lossless: int, egress_lossless: int) -> int:
    """Return the highest ingress threshold at which ports that send to one queue pause their senders before this queue is full.

    All ports but one send to the queue, whose threshold is ``MOST_THRESHOLD``. ``ports`` is the number of links that a switch can
    have; the threshold is valid even if all links are in use. The shares of lossless classes (``lossless`` at ingress,
    ``egress_lossless``) are percentages of the packet buffer. The check ``lossless-queue-full`` makes the same comparison.
    """
    queue = egress_lossless * held_share(MOST_THRESHOLD)
    fits = (index for index in range(MOST_THRESHOLD, LOWEST, -1) if lossless * held_share(index, ports - 1) <= queue)
    return next(fits, LOWEST)


def system_of(catalog: Catalog, switch: str, nos: str = "") -> str:
    """Return the operating system for a switch model in a sized file: ``nos`` if it is given.

    Otherwise this is railweave's default system if the model runs it, or else the model's first system.
    """
    if nos:
        return nos
    systems = catalog.switches[switch].systems
    return DEFAULT_SYSTEM if DEFAULT_SYSTEM in systems else systems[0]


def server_names(size: Size, first: int = 1, last: int = 0, rules: AddressRules | None = None) -> str:
    """Return the names of servers ``first`` to ``last`` as a host list; 0 for ``last`` means the last server of the fabric.

    Numbers have as many digits as the grown network needs, so names do not change when servers are added.
    """
    last = last or size.servers
    if rules is not None and rules.servers:
        return rules.names(first, last)
    digits = len(str(size.wanted.grown(size.servers)))
    return f"gpu-[{first:0{digits}d}-{last:0{digits}d}]" if last > first else f"gpu-{first:0{digits}d}"


def fabric_text(
    catalog: Catalog,
    size: Size,
    qps: int = 0,
    tenants: int = 0,
    server: str = "",
    name: str = "",
    rules: AddressRules | None = None,
) -> str:
    """Return the text of the fabric file for a sized fabric.

    The text has at most 19 lines, and one more line for each tenant and for each rack that is an NVLink domain.

    - ``qps``: queue pairs per connection; 0 means one per path color.
    - ``tenants``: the number of tenants that share the servers equally.
    - ``server``: the description of a server in the file if the model's name is not enough.
    - ``name``: the network's name; if empty, the name is rail-GPUS, such as rail-1024.
    - ``rules``: address ranges and names that replace the defaults; None if there are none.
    """
    wanted, ports = size.wanted, size.ports
    topology: dict[str, object] = {"stripes": size.stripes}
    if size.shape == "one-leaf":
        topology["leaves_per_stripe"] = 1
    if size.shape == "rail-planes":
        topology["planes"] = "rail"
    if size.shape == "port-planes":
        topology["planes"] = ports.nic_ports
        if not size.spines:
            topology["leaves_per_stripe"] = 1
    spread = -(-size.servers // size.stripes)  # what the design puts into each stripe by itself
    if size.stripes > 1 and not size.servers_per_stripe == ports.down_built == spread:
        topology["servers_per_stripe"] = size.servers_per_stripe
    if size.spines:
        topology["spines"] = size.spines
    if size.links_per_spine > 1:
        topology["links_per_spine"] = size.links_per_spine
    if size.super_spines:
        topology["stripes_per_pod"] = size.stripes_per_pod
        topology["super_spines"] = size.super_spines
        topology["links_per_super_spine"] = size.links_per_super_spine
    if wanted.oversubscription != 1:
        topology["oversubscription"] = f"{wanted.oversubscription:g}"
    if ports.speed_gbps != 400:  # what links have where a file does not say
        topology["link_speed"] = f"{ports.speed_gbps}G"
    shown = ", ".join(f"{key}: {value}" for key, value in topology.items())
    system = system_of(catalog, wanted.switch, wanted.nos)
    nos = "" if system == DEFAULT_SYSTEM else f", nos: {system}"  # what switches run where a file does not say
    there = switches(size.leaf_switches, size.spine_switches, size.super_spine_switches)
    lines = [
        f"# {size.gpus:,} GPUs: {TITLES[size.shape]}{'' if size.shape == 'one-leaf' else f', {there}'}.",
        f"name: {flow(name or f'rail-{wanted.gpus}')}",
        "fabrics:",
        "  backend:",
        f"    topology: {{{shown}}}",
        f"    leaf: {{device: {wanted.switch}{nos}}}",
        *(["    underlay: {graceful_restart: true}"] if size.spines else []),
        *(
            [f"    paths_per_nic: {size.colors}"]
            if size.spines and wanted.balancing == "rlb" and size.colors != size.uplinks
            else []
        ),
        *_load_balancing(catalog, size, system),
        *_pools(size, rules),
        *_sections(rules),
        *_qos(catalog, size, system),
        *_tenants(size, tenants, rules),
        "servers:",
        f'  - {{names: "{server_names(size, rules=rules)}", {server or f"model: {wanted.server}"}}}',
        *_racks(catalog, size, rules),
        *([f"hosts: {{job: {{qps_per_connection: {qps}}}}}"] if qps else []),
        f"management: {flow({'security': {}, **(rules.management if rules else {})})}",
    ]
    return "\n".join(lines) + "\n"


def _racks(catalog: Catalog, size: Size, rules: AddressRules | None) -> list[str]:
    """Return the lines of the fabric file that place the servers of each NVLink domain in a rack. Empty if NVLink ends at the server.

    The lowest servers are assumed to be in the lowest rack units; the racks of a stripe are filled one after another.
    """
    model = catalog.servers[size.wanted.server]
    each, height = model.domain_servers, model.rack_units or 1
    if each == 1:
        return []
    stripe, racks = size.servers_per_stripe, list[tuple[int, int]]()
    for first in range(1, size.servers + 1, stripe):
        end = min(first + stripe - 1, size.servers)
        racks += [(rack, min(rack + each - 1, end)) for rack in range(first, end + 1, each)]
    digits, lines = len(str(len(racks))), ["racks:", "  racks:"]
    for number, (first, last) in enumerate(racks, 1):
        unit, devices = 1, list[str]()
        for part in re.split(r",(?![^\[]*\])", server_names(size, first, last, rules)):
            devices.append(f'"{part}": {unit}')
            unit += len(expand(part)) * height
        lines.append(f"    rack{number:0{digits}d}: {{devices: {{{', '.join(devices)}}}}}")
    return lines


def _tenants(size: Size, tenants: int, rules: AddressRules | None) -> list[str]:
    """Return the lines of the fabric file that divide the servers among tenants. If servers remain, the first tenants get one more each."""
    if not tenants:
        return []
    each, more = divmod(size.servers, tenants)
    lines, first = ["    tenants:"], 1
    for number in range(1, tenants + 1):
        last = first + each - (number > more)
        lines.append(f"      tenant-{number}: {{members: {_members(size, first, last, rules)}}}")
        first = last + 1
    return lines


def _members(size: Size, first: int, last: int, rules: AddressRules | None) -> str:
    names = server_names(size, first, last, rules)
    return flow(names.split(",")) if rules is not None and rules.servers and "[" not in names else f'"{names}"'


def _expanded(names: str) -> list[str]:
    """Return the single names in a host list, or in several host lists separated by commas."""
    return [name for part in re.split(r",(?![^\[]*\])", names) for name in expand(part)]


def _sections(rules: AddressRules | None) -> list[str]:
    """Return the lines of the fabric file for server prefixes and switch names, if ``rules`` has them."""
    sections = {} if rules is None else {"addressing": rules.addressing, "naming": rules.naming}
    return [f"    {key}: {flow(dict(value))}" for key, value in sections.items() if value]


def inventory_text(catalog: Catalog, size: Size, rules: AddressRules | None = None) -> str:
    """Return an inventory template with a row for each NIC of every server, for the MAC addresses."""
    names = catalog.servers[size.wanted.server].nics["gpu"].names
    return template((server, nic) for server in _expanded(server_names(size, rules=rules)) for nic in names)


def _load_balancing(catalog: Catalog, size: Size, system: str) -> list[str]:
    """Return the ``load_balancing`` line of the fabric file, or an empty list if the default fits.

    The line is needed for a mode other than RDMA-aware load balancing, for a fabric without spines, and for a system
    without flowlet balancing.
    """
    if not size.spines:
        return ["    load_balancing: {mode: ecmp}"]
    if size.wanted.balancing != "rlb":
        return [f"    load_balancing: {{mode: {size.wanted.balancing}}}"]
    if not catalog.systems[system].has("dlb-flowlet"):
        return ["    load_balancing: {within_color: ecmp}"]
    return []


FIRST_ASN = 4200300001
"""The first AS number for roles whose default pool is too small. The number is higher than all default pools."""


def _pools(size: Size, rules: AddressRules | None) -> list[str]:
    """Return the line of the fabric file with the pools, if rules or larger AS number pools are needed; otherwise an empty list.

    A role that outgrows its default AS number pool gets a pool for at least ten times as many switches, because pools may be
    widened later but not moved.
    """
    grown = replace(size, stripes=max(size.stripes, -(-size.wanted.grown(size.servers) // size.servers_per_stripe)))
    counts = {
        "leaf_asn": grown.leaf_switches,
        "spine_asn": grown.spine_switches,
        "super_spine_asn": grown.super_spine_switches,
    }
    usual, first, pools = Pools(), FIRST_ASN, dict[str, object]()
    for key, count in counts.items():
        low, high = getattr(usual, key)
        if count > high - low + 1:
            last = first + 10 ** (len(str(count)) + 1) - 2
            pools[key] = f"{first}-{last}"
            first = last + 2
    pools.update(rules.pools if rules else {})
    return [f"    pools: {flow(pools)}"] if pools else []


def _qos(catalog: Catalog, size: Size, system: str) -> list[str]:
    """Return the line of QoS settings that differ from the defaults.

    The line can contain:

    - a larger headroom partition, at the expense of lossless traffic;
    - the same share at egress, on models that require equal shares;
    - thresholds at which ports pause before a lossless queue is full, on systems that give these queues a threshold.
    """
    usual, headroom = Buffers(), headroom_percent(catalog, size)
    lossless = 100 - usual.lossy - headroom
    buffers: dict[str, int] = {}
    if lossless != usual.lossless:
        buffers = {"lossless": lossless, "headroom": headroom}
        if "equal-lossless-shares" in catalog.switches[size.wanted.switch].needs:
            buffers["egress_lossless"] = lossless
    parts: list[str] = []
    if catalog.systems[system].lossless_queue_threshold is not None:
        buffers["ingress_dynamic_threshold"] = pausing_threshold(size.ports.total, lossless, usual.egress_lossless)
        parts.append(f"classes: {{{RDMA}: {{dynamic_threshold: {MOST_THRESHOLD}}}}}")
    if buffers:
        parts.append(f"buffers: {{{', '.join(f'{key}: {value}' for key, value in buffers.items())}}}")
    return [f"    qos: {{{', '.join(parts)}}}"] if parts else []
