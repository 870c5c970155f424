"""A sized fabric as a fabric file, with the PFC thresholds and headroom that it needs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.design.sizing.words import TITLES, switches
from railweave.model.catalog.headroom import port_headroom
from railweave.model.catalog.shares import MOST_THRESHOLD, held_share
from railweave.model.intent.addresses import Pools
from railweave.model.intent.buffers import Buffers
from railweave.model.intent.inventory import template
from railweave.model.intent.qos import RDMA, Qos
from railweave.model.intent.topology import DEFAULT_SYSTEM, Cabling, Mtu

if TYPE_CHECKING:
    from railweave.design.sizing.size import Size
    from railweave.model.catalog.models import Catalog


LEAST_SHARED = 0.5
"""Share of a packet buffer that its partitions are parts of, if no source gives what a model dedicates to its ports.

Of the models with public figures a QFX5240 shares least: 86 of 165 MB (``dedicated`` in the catalog).
"""


def shared_bytes(catalog: Catalog, found: Size) -> float:
    """Return the bytes of a switch's packet buffer that its partitions are parts of."""
    model = catalog.switches[found.wanted.switch]
    if model.dedicated is not None:
        return model.dedicated.shared_bytes(None, None)
    return LEAST_SHARED * model.buffer.shared_mb * 1e6


def headroom_need(catalog: Catalog, found: Size) -> int:
    """Headroom of the switch that needs most, bytes."""
    lengths, mtu, speed = Cabling(), Mtu(), found.ports.speed_gbps
    lossless = sum(one.lossless for one in Qos().classes.values())
    model = catalog.switches[found.wanted.switch]
    to_server = port_headroom(catalog, model, lengths.server.length, speed, mtu.server_port).need_bytes
    between = port_headroom(catalog, model, lengths.fabric.length, speed, mtu.fabric).need_bytes
    leaf = (found.leaf_used - found.uplinks) * to_server + found.uplinks * between
    return lossless * max(leaf, between * max(found.spine_used, found.top_used))


def headroom_percent(catalog: Catalog, found: Size) -> int:
    """The headroom partition that holds it, percent; the default where that does."""
    need = headroom_need(catalog, found)
    return max(Qos().buffers.headroom, math.ceil(100 * need / shared_bytes(catalog, found)))


LOWEST = 1
"""The lowest threshold that every chip has, as an index: alpha 1/64 (lint ``eos-threshold``)."""


def pausing_threshold(ports: int, lossless: int, egress_lossless: int) -> int:
    """Return the highest ingress threshold with which all other ports pause before a queue with the ``MOST_THRESHOLD`` is full.

    ``ports`` is how many links a switch can have, so that the value holds when all are in use. The shares of lossless classes are percent
    of the packet buffer. The check ``lossless-queue-full`` compares the same two amounts.
    """
    queue = egress_lossless * held_share(MOST_THRESHOLD)
    fits = (index for index in range(MOST_THRESHOLD, LOWEST, -1) if lossless * held_share(index, ports - 1) <= queue)
    return next(fits, LOWEST)


def system_of(catalog: Catalog, switch: str) -> str:
    """The operating system that a sized file has a switch model run: that of a file which says nothing, else the first it is known to run."""
    systems = catalog.switches[switch].systems
    return DEFAULT_SYSTEM if DEFAULT_SYSTEM in systems else systems[0]


def server_names(found: Size, first: int = 1, last: int = 0) -> str:
    """The names of servers ``first`` to ``last`` (0: the last) of a size, as a host list.

    Numbers have as many digits as they need once grown: names stay as they are when servers are added.
    """
    last = last or found.servers
    digits = len(str(found.wanted.grown(found.servers)))
    return f"gpu-[{first:0{digits}d}-{last:0{digits}d}]" if last > first else f"gpu-{first:0{digits}d}"


def fabric_text(catalog: Catalog, found: Size, qps: int = 0, tenants: int = 0, server: str = "") -> str:
    """The fabric file of a size; at most 17 lines, and one for each tenant.

    ``qps``: queue pairs per connection, 0 for one per path color; ``tenants``: how many tenants share the servers equally;
    ``server``: the words for a server, where its model alone is not enough.
    """
    wanted, ports = found.wanted, found.ports
    topology: dict[str, object] = {"stripes": found.stripes}
    if found.shape == "one-leaf":
        topology["leaves_per_stripe"] = 1
    if found.shape == "rail-planes":
        topology["planes"] = "rail"
    if found.shape == "port-planes":
        topology["planes"] = ports.nic_ports
        if not found.spines:
            topology["leaves_per_stripe"] = 1
    spread = -(-found.servers // found.stripes)  # what the design puts into each stripe by itself
    if found.stripes > 1 and not found.servers_per_stripe == ports.down_built == spread:
        topology["servers_per_stripe"] = found.servers_per_stripe
    if found.spines:
        topology["spines"] = found.spines
    if found.links_per_spine > 1:
        topology["links_per_spine"] = found.links_per_spine
    if found.super_spines:
        topology["stripes_per_pod"] = found.stripes_per_pod
        topology["super_spines"] = found.super_spines
        topology["links_per_super_spine"] = found.links_per_super_spine
    if wanted.oversubscription != 1:
        topology["oversubscription"] = f"{wanted.oversubscription:g}"
    if ports.speed_gbps != 400:  # what links have where a file does not say
        topology["link_speed"] = f"{ports.speed_gbps}G"
    shown = ", ".join(f"{key}: {value}" for key, value in topology.items())
    system = system_of(catalog, wanted.switch)
    nos = "" if system == DEFAULT_SYSTEM else f", nos: {system}"  # what switches run where a file does not say
    there = switches(found.leaf_switches, found.spine_switches, found.super_spine_switches)
    lines = [
        f"# {found.gpus:,} GPUs: {TITLES[found.shape]}{'' if found.shape == 'one-leaf' else f', {there}'}.",
        f"name: rail-{wanted.gpus}",
        "fabrics:",
        "  backend:",
        f"    topology: {{{shown}}}",
        f"    leaf: {{device: {wanted.switch}{nos}}}",
        *(["    underlay: {graceful_restart: true}"] if found.spines else []),
        *([f"    paths_per_nic: {found.colors}"] if found.spines and found.colors != found.uplinks else []),
        *_load_balancing(catalog, found, system),
        *_pools(found),
        *_qos(catalog, found, system),
        *_tenants(found, tenants),
        "servers:",
        f'  - {{names: "{server_names(found)}", {server or f"model: {wanted.server}"}}}',
        *([f"hosts: {{job: {{qps_per_connection: {qps}}}}}"] if qps else []),
        "management: {security: {}}",
    ]
    return "\n".join(lines) + "\n"


def _tenants(found: Size, tenants: int) -> list[str]:
    """Lines that share the servers among tenants, one after another; the first have one more where they do not divide."""
    if not tenants:
        return []
    each, more = divmod(found.servers, tenants)
    lines, first = ["    tenants:"], 1
    for number in range(1, tenants + 1):
        last = first + each - (number > more)
        lines.append(f'      tenant-{number}: {{members: "{server_names(found, first, last)}"}}')
        first = last + 1
    return lines


def inventory_text(catalog: Catalog, found: Size) -> str:
    """The inventory to fill in: a row for each MAC address, of every NIC of every server."""
    names = catalog.servers[found.wanted.server].nics["gpu"].names
    digits = len(str(found.wanted.grown(found.servers)))
    return template((f"gpu-{number:0{digits}d}", nic) for number in range(1, found.servers + 1) for nic in names)


def _load_balancing(catalog: Catalog, found: Size, system: str) -> list[str]:
    """The line for fabrics without spines, which have no paths to color, and for systems without dynamic load balancing."""
    if not found.spines:
        return ["    load_balancing: {mode: ecmp}"]
    if not catalog.systems[system].has("dlb-flowlet"):
        return ["    load_balancing: {within_color: ecmp}"]
    return []


FIRST_ASN = 4200300001
"""AS numbers of roles whose default pool is too small begin here, behind all default pools."""


def _pools(found: Size) -> list[str]:
    """The line for roles with more switches, once grown, than their default pool has AS numbers.

    A pool of its own has room for at least ten times as many: pools may be widened later, but not moved.
    """
    grown = replace(
        found, stripes=max(found.stripes, -(-found.wanted.grown(found.servers) // found.servers_per_stripe))
    )
    counts = {
        "leaf_asn": grown.leaf_switches,
        "spine_asn": grown.spine_switches,
        "super_spine_asn": grown.super_spine_switches,
    }
    usual, first, parts = Pools(), FIRST_ASN, list[str]()
    for key, count in counts.items():
        low, high = getattr(usual, key)
        if count > high - low + 1:
            last = first + 10 ** (len(str(count)) + 1) - 2
            parts.append(f"{key}: {first}-{last}")
            first = last + 2
    return [f"    pools: {{{', '.join(parts)}}}"] if parts else []


def _qos(catalog: Catalog, found: Size, system: str) -> list[str]:
    """The line for what default buffers do not give.

    - PFC headroom beyond its default share, at the expense of lossless traffic.
    - The same share at egress, on models that ask for it.
    - Thresholds at which ports pause before a lossless queue is full, on systems that give these queues a threshold.
    """
    usual, headroom = Buffers(), headroom_percent(catalog, found)
    lossless = 100 - usual.lossy - headroom
    buffers: dict[str, int] = {}
    if lossless != usual.lossless:
        buffers = {"lossless": lossless, "headroom": headroom}
        if "equal-lossless-shares" in catalog.switches[found.wanted.switch].needs:
            buffers["egress_lossless"] = lossless
    parts: list[str] = []
    if catalog.systems[system].lossless_queue_threshold is not None:
        buffers["ingress_dynamic_threshold"] = pausing_threshold(found.ports.total, lossless, usual.egress_lossless)
        parts.append(f"classes: {{{RDMA}: {{dynamic_threshold: {MOST_THRESHOLD}}}}}")
    if buffers:
        parts.append(f"buffers: {{{', '.join(f'{key}: {value}' for key, value in buffers.items())}}}")
    return [f"    qos: {{{', '.join(parts)}}}"] if parts else []
