"""Tenant prefixes over the underlay: the effects of EVPN type-5 routes, and the resulting forwarding tables.

A leaf advertises the prefixes of a VRF with its route targets. The next hop is the tunnel endpoint of the prefix's path
color. Spines advertise the route further with an unchanged next hop (RFC 9136, section 4.4.1; RFC 7432, section 7). A
leaf imports the route into every VRF that imports one of the targets. Fabric switches forward a packet by its outer
address, so packets for a tenant's prefix take the next hops of the tunnel endpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.analysis.routing.table import LOCAL, UNREACHABLE, Fib, SharedPrefixes, shared
from railweave.model.device.overlay import forwards_leaks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from numpy.typing import NDArray

    from railweave.analysis.routing.attributes import Mask
    from railweave.model.config.addresses import Address
    from railweave.model.device.model import DeviceConfig, Vrf

    Holds = dict[tuple[str, str], Mask]
    """A mask of the prefixes that each VRF holds, by (device, VRF)."""

_NO_ENDPOINT = -1


@dataclass(frozen=True, slots=True)
class _Origin:
    """A VRF of a leaf, with the indexes (in ``Routes.prefixes``) of the prefixes that the leaf advertises from this VRF."""

    leaf: str
    vrf: Vrf
    places: NDArray[np.int64]


def _sessions(
    configs: Mapping[str, DeviceConfig], pairs: Collection[tuple[str, str]]
) -> dict[str, set[tuple[str, str]]]:
    """Return the overlay sessions that both ends configure, by device, as (neighbor, cable). Loopback sessions have the cable "".

    A neighbor is identified by its address, because its description can be any text. ``pairs`` are the underlay
    sessions that come up, as (device, cable). They also carry EVPN routes if both ends are configured to do so
    (``OverlayConfig.links``).
    """
    owners: dict[Address, list[tuple[str, str]]] = {}
    on_cable: dict[str, list[str]] = {}
    for name, config in configs.items():
        underlay = {session.link for group in (config.bgp.groups if config.bgp else ()) for session in group.sessions}
        links = config.overlay.links if config.overlay else ()
        if config.overlay:
            owners.setdefault(config.overlay.loopback, []).append((name, ""))
        for port in config.interfaces:
            for address in port.addresses if port.link else ():
                owners.setdefault(address.address, []).append((name, port.link))
            if port.link and port.name in links and ((name, port.link) in pairs or port.link not in underlay):
                on_cable.setdefault(port.link, []).append(name)
    neighbors = {name: config.overlay.neighbors if config.overlay else () for name, config in configs.items()}
    back = {name: {session.peer_address for session in sessions} for name, sessions in neighbors.items()}
    asns = {name: config.bgp.asn if config.bgp else 0 for name, config in configs.items()}
    near: dict[str, set[tuple[str, str]]] = {name: set() for name in configs}
    for name, sessions in neighbors.items():
        for session in sessions:
            for far, cable in owners.get(session.peer_address, ()):
                accepts = session.peer_as == asns[far] or 0 in {session.peer_as, asns[far]}
                if far != name and session.local_address in back[far] and accepts:
                    near[name].add((far, cable))
    for cable, ends in on_cable.items():
        if len(ends) == 2:
            near[ends[0]].add((ends[1], cable))
            near[ends[1]].add((ends[0], cable))
    return near


class OverlayPlane:
    """The overlay of a network: the leaves that originate tenant prefixes, with their tunnel endpoints."""

    def __init__(
        self, configs: Mapping[str, DeviceConfig], prefixes: list[str], pairs: Collection[tuple[str, str]] = ()
    ) -> None:
        """Create the overlay from the configurations of all switches. ``prefixes`` are the prefixes of all forwarding tables.

        ``pairs`` are the underlay sessions that come up, as (device, cable).
        """
        place = {prefix: number for number, prefix in enumerate(prefixes)}
        self._configs = {name: config for name, config in configs.items() if config.overlay is not None}
        self._size = len(prefixes)
        self._sessions = _sessions(self._configs, pairs)
        self._leaks = {name: forwards_leaks(leaf_config) for name, leaf_config in self._configs.items()}
        self._loopback = {
            name: place[config.overlay.loopback.prefix] for name, config in self._configs.items() if config.overlay
        }
        self._endpoint = np.full(self._size, _NO_ENDPOINT, dtype=np.int64)
        self._origins: list[_Origin] = []
        for name, config in self._configs.items():
            endpoints = (
                [place[endpoint.address.prefix] for endpoint in config.overlay.endpoints] if config.overlay else []
            )
            for gateway in config.gateways if endpoints else ():
                if gateway.vrf and not gateway.mac:
                    for number, prefix in enumerate(gateway.prefixes):
                        self._endpoint[place[prefix]] = endpoints[number % len(endpoints)]
            for vrf in config.vrfs:
                for prefix in vrf.loopbacks if endpoints else ():
                    self._endpoint[place[prefix]] = endpoints[0]
                places = np.array([place[prefix] for prefix in placed(config, vrf)], dtype=np.int64)
                self._origins.append(_Origin(name, vrf, places))
        self._tenant = np.flatnonzero(self._endpoint != _NO_ENDPOINT)
        self._advertised = self._endpoint == _NO_ENDPOINT
        for origin in self._origins:
            self._advertised[origin.places] = True

    def compose(
        self, fibs: Mapping[str, Fib], local: Callable[[str], Mask], down: frozenset[str]
    ) -> tuple[dict[str, Fib], Holds, SharedPrefixes]:
        """Return (forwarding tables with tenant prefixes, the prefixes that each VRF holds, the prefixes that several leaves share).

        - ``fibs``: the forwarding tables of the underlay, by device.
        - ``local``: a function that takes the name of a device and returns a mask over all prefixes. It is True for
          prefixes that have a gateway on the device with at least one port that is up.
        - ``down``: the names of links that are down.
        """
        if not self._origins:
            return dict(fibs), {}, SharedPrefixes()
        live = {name: local(name) for name in self._configs if name in fibs}
        reflectors = self._joined({name: self._reflecting(name, fibs, down) for name in live})
        holds: Holds = {}
        result: dict[str, Fib] = {}
        received_from: dict[str, set[str]] = {}
        for name, fib in fibs.items():
            config = self._configs.get(name)
            if config is None or config.overlay is None:
                result[name] = fib
                continue
            known = self._advertised.copy()
            if config.overlay.endpoints:
                known[self._tenant] = False
                senders = {leaf for leaf in live if leaf != name and not reflectors[leaf].isdisjoint(reflectors[name])}
                received_from[name] = senders
                for vrf in config.vrfs:
                    held = self._held(name, vrf, live, senders)
                    holds[name, vrf.name] = held
                    known |= held
            result[name] = self._with_tenants(fib, known, live[name])
        return result, holds, shared(self._configs, received_from, down)

    def _reflecting(self, name: str, fibs: Mapping[str, Fib], down: frozenset[str]) -> set[str]:
        near = {far for far, link in self._sessions[name] if self._is_up(name, far, link, fibs, down)}
        return {neighbor for neighbor in near if self._reflects(neighbor)}

    def _joined(self, reflecting: Mapping[str, set[str]]) -> dict[str, set[str]]:
        """Return, by device, the groups of route reflectors that receive the device's routes. A group is named after one of its members.

        The reflectors of a group are connected, over all tiers, and advertise routes to each other. ``reflecting`` holds the neighbors
        of each device.
        """
        first: dict[str, str] = {}
        for name in reflecting:
            if self._reflects(name) and name not in first:
                todo = [name]
                while todo:
                    device = todo.pop()
                    if first.setdefault(device, name) == name:
                        todo += [far for far in reflecting.get(device, ()) if far not in first]
        return {name: {first[neighbor] for neighbor in near if neighbor in first} for name, near in reflecting.items()}

    def _is_up(self, name: str, far: str, link: str, fibs: Mapping[str, Fib], down: frozenset[str]) -> bool:
        """Return True if the overlay session between ``name`` and ``far`` is up.

        A session on a link needs the link to be up (not in ``down``). A session between loopbacks (``link`` is "") needs a route at each
        end to the other end. ``fibs`` holds the forwarding table of each device.
        """
        if far not in fibs:
            return False
        if link:
            return link not in down
        ways = (fibs[name].group[self._loopback[far]], fibs[far].group[self._loopback[name]])
        return all(int(way) != UNREACHABLE for way in ways)

    def _held(self, name: str, vrf: Vrf, live: Mapping[str, Mask], senders: set[str]) -> Mask:
        """Return a mask of the prefixes that a VRF holds: its own live prefixes, and imported prefixes.

        A prefix is imported if its route has an import target of the VRF and comes from a leaf in ``senders``, the leaves whose
        routes the device receives. ``live`` holds, for each device, a mask of its own prefixes that are up.
        """
        held = np.zeros(self._size, dtype=np.bool_)
        for origin in self._origins:
            mine = origin.leaf == name and origin.vrf.name == vrf.name
            here = origin.leaf == name and self._leaks[name]
            wanted = not set(origin.vrf.export_targets).isdisjoint(vrf.import_targets)
            if mine or (wanted and (here or (origin.leaf in senders and self._takes(name, vrf, origin.vrf)))):
                held[origin.places] |= live[origin.leaf][origin.places]
        return held

    def _takes(self, name: str, vrf: Vrf, other: Vrf) -> bool:
        """Return True if a device can forward along routes that the VRF ``vrf`` imports from the VRF ``other``.

        Some systems can do so only if the two VRFs have the same VNI.
        """
        return self._leaks[name] or vrf.vni == other.vni

    def _reflects(self, name: str) -> bool:
        overlay = self._configs[name].overlay
        return overlay is not None and overlay.reflects

    def _with_tenants(self, fib: Fib, known: Mask, live: Mask) -> Fib:
        """Return a device's forwarding table (``fib``) in which tenant prefixes have the next hops of their tunnel endpoints.

        ``known`` is a mask of the prefixes that the device's VRFs hold. ``live`` is a mask of the device's own prefixes that are
        up.
        """
        places, by = self._tenant, self._endpoint[self._tenant]
        group, backup, reason = fib.group.copy(), fib.backup.copy(), fib.reason.copy()
        local = group[by] == LOCAL
        there = known[places] & ~local | (local & live[places])
        group[places] = np.where(there, np.where(local, LOCAL, group[by]), UNREACHABLE)
        backup[places] = np.where(there & ~local, backup[by], UNREACHABLE)
        reason[places] = reason[by]
        return replace(fib, group=group, backup=backup, reason=reason)


def overlay_loopbacks(config: DeviceConfig) -> list[str]:
    """Return the loopback prefixes that a device needs for its overlay sessions and its tunnels."""
    if config.overlay is None:
        return []
    return list(config.overlay.prefixes())


def placed(config: DeviceConfig, vrf: Vrf) -> list[str]:
    """Return the prefixes of a VRF that exist on only one leaf.

    Prefixes of layer-2 networks, which several leaves share, are left out (see ``table.shared``).
    """
    anycast = {prefix for gateway in config.gateways if gateway.mac for prefix in gateway.prefixes}
    return [prefix for prefix in vrf.own_prefixes() if prefix not in anycast]


def in_vrfs(config: DeviceConfig) -> list[str]:
    """Return the VRF prefixes that exist only on this device, including connected prefixes that it does not advertise."""
    advertised = [prefix for vrf in config.vrfs for prefix in placed(config, vrf)]
    known = set(advertised)
    return advertised + [prefix for prefix in _connected(config) if prefix not in known]


def tenant_prefixes(configs: Iterable[DeviceConfig]) -> list[str]:
    """Return the prefixes in the VRFs of all devices, except prefixes that exist on several leaves."""
    return [prefix for config in configs for prefix in in_vrfs(config)]


def _connected(config: DeviceConfig) -> list[str]:
    """Return the prefixes of gateways in VRFs, including those that BGP does not advertise.

    Gateways of layer-2 networks are left out.
    """
    return [p for gateway in config.gateways if gateway.vrf and not gateway.mac for p in gateway.prefixes]
