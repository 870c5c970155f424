"""Tenants' prefixes in the kernels' tables: what each VRF holds, and where the tunnel that it sends them by goes.

A VRF's route names the far tunnel endpoint; the switch's own table says by which links packets to that leave.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import numpy as np

from railweave.analysis.routing.overlay import placed
from railweave.analysis.routing.table import LOCAL, UNREACHABLE
from railweave.live.lab.kernel import tunnels
from railweave.live.lab.kernel.netlink import BGP, KERNEL
from railweave.live.lab.kernel.spaces import vrf_space
from railweave.model.config.addresses import Address

if TYPE_CHECKING:
    from railweave.analysis.routing.shared import Shared
    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.kernel.netlink import KernelRoute
    from railweave.live.lab.running import Running
    from railweave.model.config.addresses import Family
    from railweave.model.device.model import DeviceConfig, Vrf


_NUMBERS: dict[Family, int] = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}


def add_tenants(lab: Running, routes: Routes, known: Shared) -> list[tuple[str, str]]:
    """Fill in tenants' prefixes, what VRFs hold and what leaves share; returns routes of BGP that no leaf has, as device and prefix."""
    strange: list[tuple[str, str]] = []
    ends = {
        prefix: tunnels.endpoint(config)
        for config in lab.plan.configs.values()
        for vrf in config.vrfs
        for prefix in placed(config, vrf)
    }
    for device, fib in routes.fibs.items():
        config = lab.plan.configs[device]
        if config.overlay is not None and not config.overlay.endpoints:  # a spine forwards by the outer address
            for prefix, end in ends.items():
                fib.group[routes.index[prefix]] = _towards(routes, device, end)
        for vrf in config.vrfs:
            strange += _of_vrf(lab, routes, config, vrf, known)
    return strange


def _of_vrf(lab: Running, routes: Routes, config: DeviceConfig, vrf: Vrf, known: Shared) -> list[tuple[str, str]]:
    strange: list[tuple[str, str]] = []
    held = np.zeros(len(routes.prefixes), dtype=np.bool_)
    table = routes.fibs[config.name].group
    several: dict[str, tuple[str, ...]] = {}
    leaves = {Address(prefix.partition("/")[0]): leaf for leaf, prefix in known.endpoints.items()}
    for prefix in own_loopbacks(lab, config.name, vrf):
        held[routes.index[prefix]] = True
        table[routes.index[prefix]] = LOCAL
    for route in vrf_routes(lab, config.name, vrf):
        place = routes.index.get(route.prefix)
        connected = route.protocol == KERNEL and bool(route.interfaces)
        if place is None:
            if route.prefix in known.exits.get((config.name, vrf.name), {}) and (connected or route.protocol == BGP):
                ends = dict.fromkeys(Address(one) for one in route.gateways)
                several[route.prefix] = (config.name,) if connected else tuple(leaves.get(one, one) for one in ends)
            elif route.protocol == BGP and not _to_host(lab, vrf, route):
                strange.append((f"{config.name} in {vrf.name}", route.prefix))
        elif connected:
            held[place] = True
            table[place] = LOCAL
        elif route.protocol == BGP and table[place] != LOCAL:
            by = {_towards(routes, config.name, Address(end)) for end in set(route.gateways)}
            held[place] = bool(by)
            table[place] = by.pop() if len(by) == 1 else UNREACHABLE
    routes.holds[config.name, vrf.name] = held
    routes.shared.exits[config.name, vrf.name] = several
    return strange


def _to_host(lab: Running, vrf: Vrf, route: KernelRoute) -> bool:
    """Return whether a route leads to an address on a layer-2 network of the tenant, by the leaf that it is on: no other has to be there."""
    nic = lab.plan.bridged_hosts.get(route.prefix)
    if nic is None or nic.tenant != vrf.name:
        return False
    end = tunnels.endpoint(lab.plan.configs[nic.leaf])
    return {Address(one) for one in route.gateways} == {end}


def own_loopbacks(lab: Running, device: str, vrf: Vrf) -> list[str]:
    """The loopbacks that a VRF has: those of IPv4 are in no table but the kernel's own."""
    if not vrf.loopbacks:
        return []
    there = {one.address for one in lab.kernel(vrf_space(device, vrf.name)).addresses()}
    return [one for one in vrf.loopbacks if one.partition("/")[0] in there]


def vrf_routes(lab: Running, device: str, vrf: Vrf) -> list[KernelRoute]:
    """The kernel's routes of a VRF, in the families of its prefixes."""
    kernel = lab.kernel(vrf_space(device, vrf.name))
    return [route for family in vrf.families() for route in kernel.routes(_NUMBERS[family])]


def _towards(routes: Routes, device: str, end: Address | None) -> int:
    """The next-hop group of packets to a tunnel endpoint."""
    place = routes.index.get(end.prefix) if end else None
    return UNREACHABLE if place is None else int(routes.fibs[device].group[place])
