"""Assertions that tenants are connected by type-5 routes over VXLAN, and isolated. They use only the design, not the configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from railweave.counting import counted
from railweave.live.lab.assertions import Observation
from railweave.live.lab.faults.traffic import QueuePair, Traffic, forbidden_pairs, queue_pairs, reached
from railweave.live.lab.fib import vrf_routes
from railweave.live.lab.kernel import tunnels
from railweave.live.lab.kernel.namespace import vrf_space
from railweave.live.lab.kernel.netlink import BGP
from railweave.model.config.addresses import Address
from railweave.model.config.naming import target_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.running import Running
    from railweave.model.device.model import DeviceConfig, Vrf

_TYPE_5 = "show bgp l2vpn evpn route type prefix"


class _Owner(NamedTuple):
    """The designed owner of a prefix: its tenant, and the leaves that have it.

    The subnet of a layer-2 network is on every leaf to which a member of the network is connected.
    """

    tenant: str
    leaves: tuple[str, ...]


def connected(lab: Running, routes: Routes) -> Observation:
    """Check that each leaf reaches its tenants' prefixes on other leaves through tunnels, both by its tables and by test packets."""
    owners = _owners(lab)
    if not owners:
        return Observation(0, "no tenants")
    checked, failures = 0, _wrong_targets(lab, owners)
    for config, vrf in _vrfs(lab):
        have = {route.prefix: route for route in vrf_routes(lab, config.name, vrf) if route.protocol == BGP}
        for prefix, owner in owners.items():
            leaves = [leaf for leaf in owner.leaves if leaf not in routes.down]
            if owner.tenant != vrf.name or config.name in owner.leaves or not leaves:
                continue
            checked += 1
            ends = sorted(lab.plan.network.switch(leaf).endpoints[0].address for leaf in leaves)
            by = sorted(set(have[prefix].gateways)) if prefix in have else []
            where = " and ".join(leaves)
            if not by:
                failures.append(f"{config.name}: {vrf.name} lacks {prefix} of {where}")
            elif by != ends:
                failures.append(
                    f"{config.name}: {vrf.name} reaches {prefix} of {where} by {' + '.join(by)}, not {' + '.join(ends)}"
                )
    pairs = [pair for pair in queue_pairs(lab, routes)[0] if pair.tunnel_bytes and len(pair.hops) > 2]
    failures += _through_tunnels(lab, pairs)
    return Observation(
        checked + len(pairs),
        f"{counted(checked, 'type-5 route')} in {counted(sum(1 for _ in _vrfs(lab)), 'VRF')}, "
        f"{counted(len(pairs), 'queue pair')} through tunnels",
        failures,
    )


def isolated(lab: Running, routes: Routes) -> Observation:  # noqa: ARG001 - as every assertion
    """Check that tenants are isolated as designed: a tenant's VRF has no prefix of an isolated tenant, and no packet arrives between the two.

    FRR accepts routes with a different VNI into a VRF, but keeps them out of the kernel as "inactive". So the assertion checks both BGP and
    the kernel.
    """
    owners = _owners(lab)
    if not owners:
        return Observation(0, "no tenants")
    owners |= {prefix: _Owner(nic.tenant, (nic.leaf,)) for prefix, nic in lab.plan.bridged_hosts.items()}
    checked, failures = 0, list[str]()
    for config, vrf in _vrfs(lab):
        have = {route.prefix for route in vrf_routes(lab, config.name, vrf)} | _in_bgp(lab, config, vrf)
        checked += len(have)
        for prefix in sorted(have & owners.keys()):
            owner = owners[prefix]
            if lab.plan.network.fabric(lab.plan.network.switch(config.name).fabric).apart(vrf.name, owner.tenant):
                failures.append(
                    f"{config.name}: {vrf.name} has {prefix}, which is {owner.tenant}'s on {' and '.join(owner.leaves)}"
                )
    pairs = forbidden_pairs(lab)
    tenants = {f"{server.name}:{nic.name}": nic.tenant for server in lab.plan.network.servers for nic in server.nics}
    with Traffic(lab) as traffic:
        silent = set(reached(traffic, pairs, tries=2))
    failures += [
        f"a packet of {tenants[pair.src]} arrives in {tenants[pair.dst]}: {pair}"
        for pair in pairs
        if pair not in silent
    ]
    words = f"{len(silent):,} of {len(pairs):,} forbidden pairs silent, {counted(checked, 'route')} in VRFs"
    return Observation(checked + len(pairs), words, failures)


def _in_bgp(lab: Running, config: DeviceConfig, vrf: Vrf) -> set[str]:
    """Return the prefixes that BGP holds in a VRF."""
    with lab.vty(config.name, "bgpd") as vty:
        tables = [vty.json(f"show bgp vrf {vrf.name} {family} unicast") for family in vrf.families()]
    return {prefix for table in tables for prefix in table.get("routes", {})}


def _owners(lab: Running) -> dict[str, _Owner]:
    owned = [
        (subnet.prefix, _Owner(segment.tenant, (segment.leaf,)))
        for segment in lab.plan.network.segments
        if segment.tenant
        for subnet in segment.subnets
    ]
    owned += [
        (Address(loopback).prefix, _Owner(tenant.name, (part.leaf,)))
        for fabric in lab.plan.network.fabrics
        for tenant in fabric.tenants
        for part in tenant.on_leaves
        for loopback in part.loopbacks
    ]
    owners: dict[str, _Owner] = {}
    for prefix, owner in owned:
        owners[prefix] = owner._replace(leaves=(*owners[prefix].leaves, *owner.leaves)) if prefix in owners else owner
    return owners


def _vrfs(lab: Running) -> Iterator[tuple[DeviceConfig, Vrf]]:
    for config in lab.plan.configs.values():
        for vrf in config.vrfs:
            yield config, vrf


def _wrong_targets(lab: Running, owners: dict[str, _Owner]) -> list[str]:
    """Return a sentence for each type-5 route that a leaf sends with route targets that differ from the design's.

    ``owners`` has the designed owner of each prefix.
    """
    targets = {
        tenant.name: target_value(tenant.route_target)
        for fabric in lab.plan.network.fabrics
        for tenant in fabric.tenants
    }
    failures: list[str] = []
    for config in lab.plan.configs.values():
        if not config.vrfs:
            continue
        with lab.vty(config.name, "bgpd") as vty:
            sent = dict(_own_targets(vty.json(_TYPE_5)))
        for prefix, owner in owners.items():
            want = {targets[owner.tenant]}
            if config.name in owner.leaves and prefix in sent and sent[prefix] != want:
                have = " + ".join(sorted(sent[prefix])) or "none"
                failures.append(
                    f"{config.name} sends {prefix} of {owner.tenant} with route target {have}, not {targets[owner.tenant]}"
                )
    return failures


def _own_targets(listed: dict[str, Any]) -> Iterator[tuple[str, set[str]]]:
    """Yield (prefix, route targets) for each type-5 route that a leaf originates (empty AS path).

    ``listed`` is the JSON that bgpd prints for type-5 routes.
    """
    by_router = [
        cast("dict[str, Any]", router_routes) for router_routes in listed.values() if isinstance(router_routes, dict)
    ]
    routes = [cast("dict[str, Any]", route) for each in by_router for route in each.values() if isinstance(route, dict)]
    for path in (path for route in routes for group in _lists(route["paths"]) for path in group):
        if not path.get("path"):
            words: list[str] = path.get("extendedCommunity", {}).get("string", "").split()
            yield f"{path['ip']}/{path['ipLen']}", {word[3:] for word in words if word.startswith("RT:")}


def _lists(value: object) -> list[list[dict[str, Any]]]:
    return cast("list[list[dict[str, Any]]]", value)


def _through_tunnels(lab: Running, pairs: Sequence[QueuePair]) -> list[str]:
    """Send one packet for each queue pair. Return a sentence for each VRF whose VXLAN devices did not send all its packets."""
    where = {
        f"{server.name}:{nic.name}": (nic.leaf, nic.tenant)
        for server in lab.plan.network.servers
        for nic in server.nics
    }
    expected: dict[tuple[str, str], int] = {}
    for pair in pairs:
        expected[where[pair.src]] = expected.get(where[pair.src], 0) + 1
    before = _tunneled(lab)
    with Traffic(lab) as traffic:
        traffic.flush()
        traffic.deliver([(pair, 1) for pair in pairs])
    after = _tunneled(lab)
    return [
        f"{leaf}: {after[leaf, vrf] - before[leaf, vrf]} of {count} packets of {vrf} left by its tunnel"
        for (leaf, vrf), count in expected.items()
        if (leaf, vrf) in after and after[leaf, vrf] - before[leaf, vrf] < count
    ]


def _tunneled(lab: Running) -> dict[tuple[str, str], int]:
    """Return, by (leaf, VRF), the number of packets that the VXLAN devices of the VRF and of the VRF's layer-2 networks have sent."""
    sent: dict[tuple[str, str], int] = {}
    for config in lab.plan.configs.values():
        names = {(tunnel.vrf, tunnel.device) for tunnel in tunnels.tunnels(config)}
        for vrf in config.vrfs:
            for name, counters in lab.kernel(vrf_space(config.name, vrf.name)).interfaces().values():
                if (vrf.name, name) in names:
                    key = config.name, vrf.name
                    sent[key] = sent.get(key, 0) + counters.tx_packets
    return sent
