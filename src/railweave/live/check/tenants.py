"""Checks of tenants: their VRFs on each leaf, their prefixes in the overlay's and the VRF's tables, and the tunnels to these prefixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.live.check.living import OF_TENANT, Deviation, NetworkStates, Part, has_table, some
from railweave.live.check.ports import without_unit
from railweave.live.check.sessions import carried
from railweave.model.config.addresses import Address
from railweave.model.config.naming import target_value
from railweave.model.findings.registry import Rule
from railweave.model.state.ports import NO_MAC
from railweave.model.state.question import DEFAULT_VRF

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Prefix
    from railweave.model.device.expected import Tenant
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.protocols import Route

LOST = Rule(
    "tenant-prefix-missing",
    "error",
    "living",
    "A leaf gets no route to a prefix of its tenant through the overlay.",
    why="the tenant's servers at this leaf cannot reach the servers at the other leaf",
    fix="check the EVPN sessions of both leaves, then the route targets of both VRFs: `railweave drift`",
    asked=OF_TENANT,
)
NOT_IN_VRF = Rule(
    "tenant-prefix-not-in-vrf",
    "error",
    "living",
    "The routing table of a tenant's VRF has no route to a prefix of the tenant.",
    why="the tenant's servers at this leaf cannot reach the servers at the other leaf",
    fix=(
        "compare the VRF's VNI and route targets with the design, then look for a filter on routes into the VRF: "
        "`railweave drift`"
    ),
    asked=OF_TENANT,
)
TUNNEL = Rule(
    "tenant-tunnel-differs",
    "error",
    "living",
    "A route of a tenant leads to the tunnel endpoint of the wrong leaf.",
    why="packets of the tenant arrive at a leaf that does not have the destination servers",
    fix="find the leaf that advertises the prefix: run `railweave drift` there",
    asked=(".overlay.color_endpoints", ".overlay.vtep"),
)
PATH = Rule(
    "tenant-path-broken",
    "error",
    "living",
    "Packets of a tenant from one leaf to another do not arrive.",
    why="the tenant's servers at the two leaves cannot reach each other",
    fix="at the device where the packets stop, check the route to the tunnel endpoint",
    asked=OF_TENANT,
)
VRF_MISSING = Rule(
    "vrf-missing",
    "error",
    "living",
    "A leaf lacks the VRF of a tenant.",
    why="the tenant's servers at this leaf cannot reach other servers",
    fix="restore the designed configuration",
    asked=OF_TENANT,
)
VRF_DIFFERS = Rule(
    "vrf-differs",
    "error",
    "living",
    "The VRF of a tenant is down, or its VNI, route distinguisher or route target differs from the design.",
    why="the VRF's routes do not reach other leaves, or leak to a different tenant",
    fix="restore the designed configuration",
    asked=(".tenants.{tenant}.{field}", ".overlay.{field}"),
)
TENANT_MAC = Rule(
    "tenant-mac-differs",
    "error",
    "living",
    "The bridge of a tenant's VNI has no MAC address, or EVPN announces a different one.",
    why="packets of the tenant from other leaves are dropped on this leaf, although all sessions are up",
    fix="give the bridge the announced MAC address (on Linux, `ip link set dev BRIDGE address MAC`)",
    asked=OF_TENANT,
)
FOREIGN = Rule(
    "foreign-prefix",
    "error",
    "living",
    "The VRF of a tenant contains a prefix of a different tenant.",
    why="the two tenants can reach each other: isolation is broken",
    fix="compare the route targets of both VRFs with the design, and look for static routes: `railweave drift`",
    asked=(".tenants.{tenant}.leaks",),
)


def vrfs(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about tenants' VRFs on leaves: wrong VNIs, route targets or MAC addresses, and prefixes of other tenants.

    ``living`` has the expected and the reported states.
    """
    owners = {
        str(prefix): tenant.vrf
        for expected in living.expected.values()
        for tenant in expected.tenants
        for prefix in tenant.own_prefixes
    }
    for expected, state in living.pairs():
        for tenant in expected.tenants:
            yield from _tenant(tenant, state)
            yield from _router_mac(tenant, state)
            yield from _foreign(tenant, state, owners)


def _tenant(wanted: Tenant, state: DeviceState) -> Iterator[Deviation]:
    broken: frozenset[Part] = frozenset([("vrf", f"{wanted.device} {wanted.vrf}")])
    if state.vrfs is not None:
        vrf = state.vrfs.get(wanted.vrf)
        if vrf is None:
            yield Deviation(VRF_MISSING, wanted.device, f"there is no VRF {wanted.vrf}", wanted.because, breaks=broken)
            return
        wrong = [
            (field, f"{name} {has}, the design has {should}")
            for field, name, has, should in (
                ("vni", "VNI", vrf.vni, wanted.vni),
                (
                    "route_distinguisher",
                    "route distinguisher",
                    vrf.route_distinguisher,
                    wanted.route_distinguisher,
                ),
            )
            if has is not None and has != should
        ]
        targets = _targets("imports", vrf.import_targets, wanted.import_targets)
        targets += _targets("exports", vrf.export_targets, wanted.export_targets)
        wrong += [("route_target", text) for text in targets]
        wrong += [("vni", "it is down")] if vrf.up is False else []
        if wrong:
            description = f"VRF {wanted.vrf}: {'; '.join(text for _, text in wrong)}"
            yield Deviation(VRF_DIFFERS, wanted.device, description, wanted.because, breaks=broken, field=wrong[0][0])
    if state.vnis is not None and wanted.vni not in state.vnis:
        description = f"VRF {wanted.vrf}: VNI {wanted.vni} is not among the device's"
        yield Deviation(VRF_DIFFERS, wanted.device, description, wanted.because, breaks=broken, field="vni")
    elif state.vnis is not None and state.vnis[wanted.vni].up is False:
        description = f"VRF {wanted.vrf}: VNI {wanted.vni} is down"
        yield Deviation(VRF_DIFFERS, wanted.device, description, wanted.because, breaks=broken, field="vni")


def _router_mac(wanted: Tenant, state: DeviceState) -> Iterator[Deviation]:
    """Yield a finding if the bridge of a tenant's VNI does not have the router MAC address that EVPN announces.

    ``wanted`` is the tenant as designed on this leaf. Other leaves send the tenant's packets to the announced address (RFC 9135, section
    8.1).
    """
    vni = (state.vnis or {}).get(wanted.vni)
    if vni is None or vni.up is False:  # a VNI that is down is a finding of its own
        return
    bridge = (state.interfaces or {}).get(vni.bridge or "")
    mac, announced = bridge.mac if bridge else None, vni.router_mac
    if NO_MAC in {mac, announced} or (mac and announced and mac != announced):
        has = "no MAC address" if mac == NO_MAC else f"MAC address {mac}" if mac else "an unknown MAC address"
        description = (
            f"VRF {wanted.vrf}: {vni.bridge or 'the bridge'} of VNI {wanted.vni} has {has}, "
            f"EVPN announces {'none' if announced in {None, NO_MAC} else announced}"
        )
        broken: frozenset[Part] = frozenset([("vrf", f"{wanted.device} {wanted.vrf}")])
        yield Deviation(TENANT_MAC, wanted.device, description, wanted.because, breaks=broken)


def _targets(verb: str, has: Sequence[str] | None, should: Sequence[str]) -> list[str]:
    """Return a sentence if the route targets ``has`` differ from the designed targets ``should``; else an empty list.

    - ``verb``: the verb of the sentence, ``imports`` or ``exports``.
    - ``has``: the reported route targets; None if the device does not report them.
    - ``should``: the designed route targets, with or without ``target:`` in front.
    """
    names = sorted(set(map(target_value, should)))
    if has is None or sorted(set(has)) == names:
        return []
    return [f"it {verb} route target {', '.join(sorted(set(has))) or 'none'}, the design has {', '.join(names)}"]


def _foreign(wanted: Tenant, state: DeviceState, owners: Mapping[str, str]) -> Iterator[Deviation]:
    """Yield a finding for prefixes of other tenants in the VRF of the tenant ``wanted``. ``owners`` has the VRF of each tenant prefix.

    The prefixes of the VRF's collected routes are checked. EVPN type 5 routes are added if the device lists them by VRF.
    """
    overlay = (state.evpn.type5_prefixes if state.evpn else None) or {}
    held = [route.prefix for route in state.routes or () if route.vrf == wanted.vrf and route.next_hops]
    allowed = {str(tenant_prefix) for tenant_prefix in (*wanted.own_prefixes, *wanted.learned)}
    for prefix in dict.fromkeys((*held, *overlay.get(wanted.vrf, ()))):
        if prefix in owners and prefix not in allowed:
            description = f"VRF {wanted.vrf} holds {prefix} of VRF {owners[prefix]}"
            yield Deviation(FOREIGN, wanted.device, description, wanted.because)


def overlay_prefixes(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings for prefixes of a leaf that other leaves of the same tenant lack.

    If all other leaves lack the prefixes, the finding is at the leaf that should announce them, otherwise at each leaf that lacks them.
    ``living`` has the expected and the reported states.
    """
    owners = living.vrf_owners
    vrfs = {
        tenant.route_distinguisher: tenant.vrf
        for expected in living.expected.values()
        for tenant in expected.tenants
        if tenant.route_distinguisher
    }
    missing: dict[tuple[str, str], dict[str, list[Prefix]]] = {}
    not_imported: dict[tuple[str, str, str], list[Prefix]] = {}
    receivers: dict[tuple[str, str], set[str]] = {}
    for expected, state in living.pairs():
        for tenant in expected.tenants:
            held, table = _held(tenant, state, vrfs), vrf_routes(tenant, state)
            for prefix in tenant.learned:
                owner = owners.get((tenant.vrf, prefix), "")
                key = tenant.vrf, owner
                receivers.setdefault(key, set()).add(expected.device)
                if held is not None and str(prefix) not in held:
                    missing.setdefault(key, {}).setdefault(expected.device, []).append(prefix)
                elif prefix in table and table[prefix] is None:
                    not_imported.setdefault((expected.device, *key), []).append(prefix)
    for (vrf, owner), lacking in missing.items():
        because = _because(living, next(iter(lacking)), vrf)
        needs = _carry(living, vrf, owner)
        prefixes = list(dict.fromkeys(prefix for each in lacking.values() for prefix in each))
        everywhere = lacking.keys() == receivers[vrf, owner] and owner in living.expected
        if everywhere and (len(lacking) > 1 or _withheld(living, vrf, owner, prefixes, vrfs)):
            description = (
                f"VRF {vrf}: no other leaf holds {some(prefixes)}; servers behind {owner} are cut off from "
                f"those behind {some(lacking)}"
            )
            yield Deviation(LOST, owner, description, because, needs=needs, objects=len(prefixes))
            continue
        for device, here in lacking.items():
            prefixes = here
            of = f" of {owner}" if owner else ""
            description = f"VRF {vrf} does not hold {some(prefixes)}{of}; servers behind {device} do not reach those"
            yield Deviation(
                LOST, device, description, because, needs=needs | _carry(living, vrf, device), objects=len(prefixes)
            )
    for (device, vrf, owner), prefixes in not_imported.items():
        of = f" of {owner}" if owner else ""
        description = (
            f"the table of VRF {vrf} has no route to {some(prefixes)}{of}; servers behind {device} do not reach those"
        )
        needs = _carry(living, vrf, owner) | _carry(living, vrf, device)
        yield Deviation(
            NOT_IN_VRF, device, description, _because(living, device, vrf), needs=needs, objects=len(prefixes)
        )


def _withheld(
    living: NetworkStates, vrf: str, owner: str, prefixes: Collection[Prefix], vrfs: Mapping[str, str]
) -> bool:
    """Return True if the leaf ``owner`` does not announce ``prefixes`` of a VRF, although it announces other prefixes of this VRF.

    The leaf's own overlay table shows this. ``vrfs`` has the VRF of each route distinguisher. ``living`` has the expected and the reported
    states.
    """
    state = living.states.get(owner)
    tenant = next((each for each in living.expected[owner].tenants if each.vrf == vrf), None)
    announced = _held(tenant, state, vrfs) if state is not None and tenant is not None else None
    if tenant is None or not announced:
        return False
    return any(str(each) in announced for each in tenant.own_prefixes) and announced.isdisjoint(map(str, prefixes))


def vrf_routes(tenant: Tenant, state: DeviceState) -> dict[Prefix, Route | None]:
    """Return, by prefix of a tenant, the route in the tenant's VRF that a device shows; None if the device has no route to the prefix.

    A prefix is left out if the device was queried neither for the VRF's table nor for the prefix.
    """
    reported = {route.prefix: route for route in state.routes or () if route.vrf == tenant.vrf}
    routes: dict[Prefix, Route | None] = {}
    for prefix in (*tenant.own_prefixes, *tenant.learned):
        route = reported.get(str(prefix))
        if route is not None and (route.next_hops or route.drops):
            routes[prefix] = route
        elif route is not None or has_table(state, tenant.vrf, prefix):
            routes[prefix] = None
    return routes


def tunnels(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for each tenant route that leads to a wrong leaf, and for each pair of leaves without a working path.

    For each tenant and leaf, the path to one prefix of another leaf is followed in three steps: from the VRF to the tunnel endpoint, from
    switch to switch to the far leaf, and into the VRF there. ``living`` has the expected and the reported states.
    """
    owners: dict[tuple[str, Prefix], set[str]] = {}
    for expected in living.expected.values():
        for tenant in expected.tenants:
            for prefix in tenant.own_prefixes:
                owners.setdefault((tenant.vrf, prefix), set()).add(expected.device)
    leaves = {_plain(end.address): switch.name for switch in living.network.switches for end in switch.endpoints}
    stops: dict[tuple[str, str], list[tuple[str, str, Prefix]]] = {}
    for expected, state in living.pairs():
        for tenant in expected.tenants:
            wrong: dict[tuple[str, str], list[Prefix]] = {}
            for prefix, route in vrf_routes(tenant, state).items():
                right = owners.get((tenant.vrf, prefix), set())
                ends = [leaves[end] for end in _ends(route) if end in leaves] if route is not None else []
                if right and expected.device not in right and ends and not right.intersection(ends):
                    wrong.setdefault((ends[0], min(right)), []).append(prefix)
            for (end, owner), prefixes in wrong.items():
                description = f"VRF {tenant.vrf}: {some(prefixes)} leads to {end}, the design has {owner}"
                yield Deviation(TUNNEL, expected.device, description, tenant.because, objects=len(prefixes))
            example = traced(living, tenant)
            if example is not None and example[2]:
                prefix, stop, why, _ = example
                stops.setdefault((stop, why), []).append((expected.device, tenant.vrf, prefix))
    for (stop, why), paths in stops.items():
        device, vrf, prefix = paths[0]
        more = f" (and {len(paths) - 1} more paths)" if len(paths) > 1 else ""
        description = f"packets of VRF {vrf} from {device} to {prefix}{more} stop here: {why}"
        needs: set[Part] = {("device", stop)}
        needs.update(part for leaf, name, _ in paths for part in _carry(living, name, leaf))
        yield Deviation(PATH, stop, description, _because(living, device, vrf), needs=frozenset(needs))


def traced(living: NetworkStates, tenant: Tenant) -> tuple[Prefix, str, str, bool] | None:
    """Follow packets of a tenant from its leaf to one prefix of another leaf, and return where they end.

    Return None if no other leaf has a prefix of the tenant. Otherwise return (prefix, device, reason, True if the outcome is known):

    - If the packets stop, ``device`` is the device where they stop, and the reason is not empty.
    - If the packets arrive, the device and the reason are empty.
    - If the outcome is unknown, ``device`` is the device whose next step is unknown, and the reason is empty.

    ``living`` has the expected and the reported states.
    """
    owners = ((prefix, living.vrf_owners.get((tenant.vrf, prefix), "")) for prefix in tenant.learned)
    example = next(((prefix, owner) for prefix, owner in owners if owner in living.expected), None)
    if example is None:
        return None
    prefix, owner = example
    state = living.states.get(tenant.device)
    table = vrf_routes(tenant, state) if state is not None else {}
    route = table.get(prefix)
    if route is None:
        return (
            prefix,
            tenant.device,
            "",
            False,
        )  # not asked about, or the route is missing, which is a finding of its own
    endpoints = [_plain(end.address) for end in living.network.switch(owner).endpoints]
    unknown = ""
    for end in [end for end in _ends(route) if end in endpoints] or endpoints[:1]:
        stop, why = _followed(living, Address(end).prefix, tenant.device, owner)
        if why:
            return prefix, stop, why, True
        unknown = unknown or stop
    far = next((each for each in living.expected[owner].tenants if each.vrf == tenant.vrf), None)
    beyond = living.states.get(owner)
    if far is None or beyond is None:
        return prefix, owner, "", False
    if prefix in (there := vrf_routes(far, beyond)) and there[prefix] is None:
        return prefix, owner, f"its VRF {tenant.vrf} has no route to its own {prefix}", True
    return prefix, unknown, "", not unknown


def _followed(living: NetworkStates, endpoint: Prefix, device: str, owner: str) -> tuple[str, str]:
    """Follow the routes to a tunnel endpoint from a device on, and return (device, reason).

    - If a route ends early, return the device where the route ends, and the reason.
    - If the next step of a device is unknown, return this device and an empty reason.
    - If all routes lead to the endpoint's owner, both texts are empty.

    Every next hop of every device is followed once. ``living`` has the expected and the reported states.
    """
    seen, ahead, unknown = set[str](), [device], ""
    while ahead:
        here = ahead.pop()
        if here == owner or here in seen:
            continue
        seen.add(here)
        state = living.states.get(here)
        if state is None or here not in living.expected:
            unknown = here
            continue
        reported = living.default_routes(here).get(str(endpoint))
        if reported is None and not has_table(state, DEFAULT_VRF, endpoint):
            unknown = here
            continue
        if reported is not None and reported.drops:
            return here, f"its route to the tunnel endpoint {endpoint} of {owner} drops them ({reported.drops})"
        if reported is None or not reported.next_hops:
            return here, f"it has no route to the tunnel endpoint {endpoint} of {owner}"
        peers = {port.name: port.peer for port in living.expected[here].ports}
        names = [without_unit(hop.interface) for hop in reported.next_hops if hop.interface and hop.active is not False]
        ahead += [peers[name] for name in names if name in peers]
        unknown = unknown if any(name in peers for name in names) else here
    return unknown, ""


def _ends(route: Route) -> list[str]:
    """Return the addresses of the tunnel endpoints to which a route of a VRF leads. IPv4 addresses mapped into IPv6 become IPv4."""
    return [_plain(end) for hop in route.next_hops if (end := hop.vtep or hop.address)]


def _plain(address: str) -> str:
    return address.removeprefix("::ffff:") if "." in address else address


def _because(living: NetworkStates, device: str, vrf: str) -> tuple[str, ...]:
    return next(each.because for each in living.expected[device].tenants if each.vrf == vrf)


def _carry(living: NetworkStates, vrf: str, device: str) -> frozenset[Part]:
    """Return the parts of the network that carry a VRF's prefixes to or from a leaf.

    ``living`` has the expected and the reported states.
    """
    expected = living.expected.get(device)
    sessions = [carried(each.session) for each in expected.overlay_sessions] if expected else []
    return frozenset([("device", device), ("gateways", device), ("vrf", f"{device} {vrf}"), *sessions])


def _held(tenant: Tenant, state: DeviceState, vrfs: Mapping[str, str]) -> set[str] | None:
    """Return the prefixes that a device's overlay table holds for a tenant, or None if the table was not read.

    The table is sorted by VRF or by route distinguisher. ``vrfs`` has the VRF of each route distinguisher. A prefix with an unknown route
    distinguisher counts, because it may belong to any VRF.
    """
    tables: Mapping[str, Sequence[str]] | None = state.evpn.type5_prefixes if state.evpn is not None else None
    if tables is None:
        return None
    return {
        prefix
        for key, prefixes in tables.items()
        if key == tenant.vrf or vrfs.get(key, tenant.vrf if ":" in key else "") == tenant.vrf
        for prefix in prefixes
    }
