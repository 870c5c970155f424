"""The kernels' forwarding tables, read into the same arrays as computed ``routes``, and their differences from these routes."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.analysis.routing.fib_file import write_fibs
from railweave.analysis.routing.overlay import placed
from railweave.analysis.routing.table import LOCAL, UNREACHABLE, Fib, ReceivedPrefixes, Routes, SharedPrefixes
from railweave.counting import counted
from railweave.live.lab.kernel import tunnels
from railweave.live.lab.kernel.namespace import vrf_space
from railweave.live.lab.kernel.netlink import BGP, ISIS, KERNEL, KernelRoute
from railweave.model.config.addresses import Address, Family

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from railweave.live.lab.running import Running
    from railweave.model.device.model import DeviceConfig, Vrf


_NUMBERS: dict[Family, int] = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}


def add_tenants(lab: Running, routes: Routes, known: SharedPrefixes) -> list[tuple[str, str]]:
    """Add the tenants' prefixes to the kernel tables ``routes``: next hops, the routes of each VRF, and leaves of shared prefixes.

    Return (device with its VRF, prefix) for each BGP route to a prefix that no leaf has. ``known`` are the designed
    prefixes that several leaves share.
    """
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


def _of_vrf(
    lab: Running, routes: Routes, config: DeviceConfig, vrf: Vrf, known: SharedPrefixes
) -> list[tuple[str, str]]:
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
                ends = dict.fromkeys(Address(gateway) for gateway in route.gateways)
                several[route.prefix] = (config.name,) if connected else tuple(leaves.get(end, end) for end in ends)
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
    """Return True if a route leads to a host on a layer-2 network of the tenant, through the host's leaf.

    Such routes are allowed, but not required.
    """
    nic = lab.plan.bridged_hosts.get(route.prefix)
    if nic is None or nic.tenant != vrf.name:
        return False
    end = tunnels.endpoint(lab.plan.configs[nic.leaf])
    return {Address(gateway) for gateway in route.gateways} == {end}


def own_loopbacks(lab: Running, device: str, vrf: Vrf) -> list[str]:
    """Return the addresses of loopbacks in a VRF, as prefixes. IPv4 addresses of loopbacks are only in the kernel's local table."""
    if not vrf.loopbacks:
        return []
    there = {address.address for address in lab.kernel(vrf_space(device, vrf.name)).addresses()}
    return [loopback for loopback in vrf.loopbacks if loopback.partition("/")[0] in there]


def vrf_routes(lab: Running, device: str, vrf: Vrf) -> list[KernelRoute]:
    """Return the kernel's routes of a VRF, in the address families of its prefixes."""
    kernel = lab.kernel(vrf_space(device, vrf.name))
    return [route for family in vrf.families() for route in kernel.routes(_NUMBERS[family])]


def _towards(routes: Routes, device: str, end: Address | None) -> int:
    """Return the index of the next-hop group to which a device sends packets for the tunnel endpoint ``end``."""
    place = routes.index.get(end.prefix) if end else None
    return UNREACHABLE if place is None else int(routes.fibs[device].group[place])


POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Difference:
    """A prefix whose forwarding in a device's kernel differs from ``routes``.

    ``expected`` and ``actual`` name the links or leaves to which the device sends the prefix, or are a phrase such as ``nothing``.
    """

    device: str
    prefix: str
    expected: tuple[str, ...]
    actual: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.device} sends {self.prefix} to {_links(self.actual)}, and should to {_links(self.expected)}"


def _links(links: tuple[str, ...]) -> str:
    return " + ".join(links)


@dataclass(frozen=True)
class KernelTables:
    """The forwarding tables of kernels. ``strange`` has (device, prefix) for each BGP route to a prefix that no leaf has."""

    routes: Routes
    strange: tuple[tuple[str, str], ...]


def read(lab: Running, expected: Routes) -> KernelTables:
    """Return the kernel tables of all routers in ``expected``.

    Prefixes, and the links in next-hop groups, have the same order as in ``expected``. Groups contain only links that the
    kernel uses now; links that are down are left out. A kernel has neither backup paths nor the reasons why a path was chosen,
    so both are copied from ``expected``.
    """
    groups: list[tuple[str, ...]] = []
    ids: dict[tuple[str, ...], int] = {}
    fibs: dict[str, Fib] = {}
    strange: list[tuple[str, str]] = []
    for device, fib in expected.fibs.items():
        table = np.full(len(expected.prefixes), UNREACHABLE, np.int32)
        order = {name: place for place, name in enumerate(_fabric_links(lab, device))}
        table[[expected.index[loopback] for loopback in _loopbacks(lab, device) if loopback in expected.index]] = LOCAL
        for route in _routes(lab, device):
            place = expected.index.get(route.prefix)
            if place is None:
                if route.protocol == BGP:
                    strange.append((device, route.prefix))
                continue
            if route.protocol == KERNEL and route.interfaces:
                table[place] = LOCAL
            elif route.protocol in {BGP, ISIS} and table[place] != LOCAL:
                links = _on(lab, device, route.interfaces)
                members = tuple(sorted(links, key=lambda link: order.get(link, len(order))))
                if members:
                    table[place] = ids.setdefault(members, len(ids))
                    if len(ids) > len(groups):
                        groups.append(members)
        fibs[device] = replace(fib, group=table)
    nothing = ReceivedPrefixes({}, tuple, lambda _: None)
    routes = Routes(expected.prefixes, expected.index, fibs, groups, expected.down, nothing)
    if lab.plan.tenant_prefixes:
        strange += add_tenants(lab, routes, expected.shared)
    return KernelTables(routes, tuple(strange))


def _routes(lab: Running, device: str) -> list[KernelRoute]:
    families = lab.plan.configs[device].balancing.ether_types
    numbers = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
    return [route for family in families for route in lab.kernel(device).routes(numbers[family])]


def _loopbacks(lab: Running, device: str) -> list[str]:
    """Return the addresses of a router's loopback as prefixes. IPv4 addresses of loopbacks are only in the kernel's local table."""
    names = lab.interfaces(device)
    return [
        f"{address.address}/{address.prefix_length}"
        for address in lab.kernel(device).addresses()
        if names[address.interface] == "lo"
    ]


def _fabric_links(lab: Running, device: str) -> list[str]:
    """Return a device's links in the order of its sessions. Next-hop groups in ``routes`` have the same order."""
    config = lab.plan.configs[device]
    if config.isis is not None:
        return [port.link for port in config.isis.ports]
    bgp = config.bgp
    return [session.link for group in bgp.groups for session in group.sessions] if bgp else []


def _on(lab: Running, device: str, interfaces: tuple[int, ...]) -> list[str]:
    names = lab.interfaces(device)
    return [lab.plan.link(device, names[interface]) or names[interface] for interface in interfaces]


def differences(expected: Routes, kernel_tables: KernelTables) -> list[Difference]:
    """Return every prefix of every router that ``kernel_tables`` forwards differently than ``expected``."""
    result = [Difference(device, prefix, ("nothing",), ("a route of BGP",)) for device, prefix in kernel_tables.strange]
    for (device, vrf), mask in expected.holds.items():
        have = kernel_tables.routes.holds[device, vrf]
        for prefix, should_hold, other in zip(expected.prefixes, mask.tolist(), have.tolist(), strict=True):
            if should_hold != other:
                words = (("a route",), ("nothing",)) if should_hold else (("nothing",), ("a route",))
                result.append(Difference(f"{device} in {vrf}", prefix, *words))
    for (device, vrf), prefixes in expected.shared.exits.items():
        for prefix in prefixes:
            want, have = (routes.shared.leaves(device, vrf, prefix) for routes in (expected, kernel_tables.routes))
            if set(want) != set(have):
                result.append(Difference(f"{device} in {vrf}", prefix, want or ("nowhere",), have or ("nowhere",)))
    for device, fib in expected.fibs.items():
        want, have = _named(expected, fib.group), _named(kernel_tables.routes, kernel_tables.routes.fibs[device].group)
        result += [
            Difference(device, prefix, wanted, other)
            for prefix, wanted, other in zip(expected.prefixes, want, have, strict=True)
            if wanted != other and set(wanted) != set(other)
        ]
    return result


def _named(routes: Routes, groups: NDArray[np.int32]) -> list[tuple[str, ...]]:
    words = {UNREACHABLE: ("nowhere",), LOCAL: ("its own port",)}
    return [words.get(group) or routes.groups[group] for group in groups.tolist()]


@dataclass(frozen=True)
class WrittenTables:
    """The kernels' tables that were written to a file, and their differences from the computed tables."""

    file: Path
    routes: Routes
    differences: list[Difference]

    @property
    def entries(self) -> int:
        """The number of table entries that were written: routers times prefixes."""
        return len(self.routes.fibs) * len(self.routes.prefixes)

    def to_text(self) -> str:
        """Return the number of table entries, then the first ten entries that differ from the computed tables, one per line."""
        devices = counted(len(self.routes.fibs), "router")
        title = f"{counted(self.entries, 'entry', 'entries')} of {devices} in {self.file}, {len(self.differences):,} unlike `routes`"
        return "\n".join([title, *(f"    {difference}" for difference in self.differences[:10])])

    def to_json(self) -> dict[str, Any]:
        """Return the result as the JSON object that `railweave lab fib --json` prints."""
        return {
            "file": str(self.file),
            "entries": self.entries,
            "differences": [str(each) for each in self.differences],
        }


def write(lab: Running, file: Path) -> WrittenTables:
    """Write the tables of the kernels into a file. Return the tables, and their differences from the computed tables."""
    expected = lab.control_plane.routes()
    actual = read(lab, expected)
    write_fibs(actual.routes, file)
    return WrittenTables(file, actual.routes, differences(expected, actual))


def wait(
    lab: Running, expected: Routes, limit_s: float, poll_s: float = POLL_S
) -> tuple[float | None, list[Difference]]:
    """Wait until the kernels forward as expected. Return (seconds that it took, remaining differences).

    The seconds are None if differences remain after ``limit_s`` seconds. The kernels are read every ``poll_s`` seconds.
    """
    start = time.monotonic()
    while True:
        began = time.monotonic()
        left = differences(expected, read(lab, expected))
        if not left:
            return began - start, []
        if began - start > limit_s:
            return None, left
        time.sleep(poll_s)
