"""Forwarding tables as flat arrays, and the prefixes that several leaves share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from railweave.analysis.routing.attributes import REASONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.analysis.routing.attributes import Attributes
    from railweave.analysis.routing.candidates import AdvertisedByGroup
    from railweave.model.device.model import DeviceConfig, Vrf


@dataclass(frozen=True)
class SharedPrefixes:
    """The prefixes and MAC addresses that several leaves share, as each device knows them.

    - ``exits``: by (device, VRF) and prefix, the leaves through which the device reaches the prefix.
    - ``bridged``: by (device, VNI), the leaves whose MAC addresses the device knows.
    - ``endpoints``: by leaf, the prefix of its tunnel endpoint.

    The leaves in ``exits`` and ``bridged`` include the device itself if it has the prefix or the VLAN.
    """

    exits: dict[tuple[str, str], dict[str, tuple[str, ...]]] = field(
        default_factory=dict[tuple[str, str], "dict[str, tuple[str, ...]]"]
    )
    bridged: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict[tuple[str, int], "tuple[str, ...]"])
    endpoints: dict[str, str] = field(default_factory=dict[str, str])

    def leaves(self, device: str, vrf: str, prefix: str) -> tuple[str, ...]:
        """Return the leaves through which a VRF of a device reaches a prefix.

        If the device has the prefix itself, return only the device.
        """
        leaves = self.exits.get((device, vrf), {}).get(prefix, ())
        return (device,) if device in leaves else leaves


def shared(
    configs: Mapping[str, DeviceConfig], received_from: Mapping[str, Set[str]], down: frozenset[str]
) -> SharedPrefixes:
    """Return the shared prefixes that each leaf knows while ``down`` links and devices are down.

    ``received_from`` holds, for each leaf, the leaves whose EVPN routes it receives.
    """
    leaves = [config for name, config in configs.items() if name in received_from]
    knowledge = SharedPrefixes()
    own_prefixes: dict[tuple[str, str], tuple[str, ...]] = {
        (config.name, vrf.name): tuple(_own(config, vrf, down)) for config in leaves for vrf in config.vrfs
    }
    for config in leaves:
        assert config.overlay is not None  # noqa: S101 - leaves with tunnel endpoints have one
        knowledge.endpoints[config.name] = config.overlay.endpoints[0].address.prefix
        origins = [leaf for leaf in leaves if leaf is config or leaf.name in received_from[config.name]]
        for vrf in config.vrfs:
            table: dict[str, list[str]] = {}
            for origin in origins:
                for other in origin.vrfs:
                    mine = origin is config and other is vrf
                    if mine or not set(other.export_targets).isdisjoint(vrf.import_targets):
                        for prefix in own_prefixes[origin.name, other.name]:
                            table.setdefault(prefix, []).append(origin.name)
            if table:
                knowledge.exits[config.name, vrf.name] = {
                    prefix: tuple(dict.fromkeys(names)) for prefix, names in table.items()
                }
        for vlan in config.mac_vrf.vlans if config.mac_vrf else ():
            knowledge.bridged[config.name, vlan.vni] = tuple(
                origin.name
                for origin in origins
                if any(
                    other.vni == vlan.vni and other.route_target == vlan.route_target
                    for other in (origin.mac_vrf.vlans if origin.mac_vrf else ())
                )
            )
    return knowledge


def _own(config: DeviceConfig, vrf: Vrf, down: frozenset[str]) -> Iterable[str]:
    """Return the prefixes that a leaf currently has in a VRF and that other leaves can have too.

    They are the subnets of layer-2 networks with a port that is up, and the prefixes of external sessions that are up. ``down`` holds
    the links and devices that are down.
    """
    running = [
        interface for interface in config.interfaces if interface.link not in down and interface.peer not in down
    ]
    up = {interface.vlan for interface in running}
    tagged = {vlan for interface in running for vlan in interface.tagged}
    for gateway in config.gateways:
        carried = gateway.vlan_name in up or gateway.vlan in tagged
        if gateway.mac and gateway.vrf == vrf.name and carried:
            yield from gateway.prefixes
    for peer in vrf.external:
        if peer.session.link not in down and peer.router not in down:
            yield from peer.accept


UNREACHABLE, LOCAL = -1, -2
"""Special values in place of a next-hop group ID: there is no route, or the prefix is on the device itself."""


@dataclass(frozen=True)
class Fib:
    """The forwarding table of one device. All arrays have one element per prefix of ``Routes.prefixes``.

    ``group`` and ``backup`` are IDs of next-hop groups (``Routes.groups``), or ``UNREACHABLE`` or ``LOCAL``. ``backup``
    is the group that takes over if every link of ``group`` fails, according to the present routes. ``reason`` is a code
    of ``railweave.analysis.routing.attributes.REASONS``.
    """

    device: str
    group: NDArray[np.int32]
    backup: NDArray[np.int32]
    reason: NDArray[np.uint8]


def empty_fib(device: str, prefixes: int) -> Fib:
    """Return the forwarding table of an absent device, in which every prefix is unreachable. ``prefixes`` is the number of prefixes."""
    nowhere = np.full(prefixes, UNREACHABLE, np.int32)
    return Fib(device, nowhere, nowhere, np.full(prefixes, REASONS.index("none"), np.uint8))


class ReceivedPrefixes(Mapping[tuple[str, str], "NDArray[np.bool_]"]):
    """The prefixes that each live session received, before import policy: a map from (device, link) to a mask over the prefixes.

    - ``advertised``: the routes that each group of each device sends.
    - ``sessions``: a function that returns all sessions. It is called only when a caller lists all sessions.
    - ``sender``: a function that returns the group at the far end of a session, or None if the session is down.
    - ``let_in``: a function that returns a mask of the received prefixes that the receiver's policy accepts.
    - ``attributes``: a function that returns the attributes with which the receiver accepts a prefix, given by its
      index.
    """

    def __init__(
        self,
        advertised: AdvertisedByGroup,
        sessions: Callable[[], Collection[tuple[str, str]]],
        sender: Callable[[tuple[str, str]], tuple[str, int] | None],
        let_in: Callable[[tuple[str, str]], NDArray[np.bool_]] | None = None,
        attributes: Callable[[tuple[str, str], int], Attributes | None] = lambda _, __: None,
    ) -> None:
        self._advertised, self._sessions, self._sender, self._let_in = advertised, sessions, sender, let_in
        self._attributes = attributes

    def __getitem__(self, key: tuple[str, str]) -> NDArray[np.bool_]:
        sender = self._sender(key)
        if sender is None:
            raise KeyError(key)
        return self._advertised[sender].routes.present

    def accepted(self, key: tuple[str, str]) -> NDArray[np.bool_]:
        """Return a mask of the received prefixes that the receiver's policy accepts. Raises ``KeyError`` for an unknown session."""
        received = self[key]
        return received if self._let_in is None else self._let_in(key)

    def attributes(self, key: tuple[str, str], place: int) -> Attributes | None:
        """Return the attributes with which the receiver of a session accepts a prefix. ``place`` is the index of the prefix.

        Return None if the receiver does not accept the prefix.
        """
        try:
            return None if self._sender(key) is None else self._attributes(key, place)
        except KeyError:  # a session that does not come up
            return None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return (key for key in self._sessions() if self._sender(key) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass
class Routes:
    """The forwarding tables of all devices for one set of failures.

    - ``groups``: the links of each next-hop group, all of equal weight. Tables from one ``ControlPlane`` have equal IDs for
      equal groups.
    - ``index``: the index of each prefix in ``prefixes``.
    - ``down``: all links and devices that are down.
    - ``fibs``: the table of each device. Devices that the fabric file marks as absent have empty tables; other devices
      that are down have no table.
    - ``received``: the prefixes that each session received, before import policy.
    - ``holds``: masks of the prefixes in each VRF, by (device, VRF).
    - ``shared``: the prefixes that several leaves have, such as the subnets of layer-2 networks.
    """

    prefixes: list[str]
    index: dict[str, int] = field(repr=False)
    fibs: dict[str, Fib] = field(repr=False)
    groups: list[tuple[str, ...]] = field(repr=False)
    down: frozenset[str]
    received: ReceivedPrefixes = field(repr=False)
    holds: dict[tuple[str, str], NDArray[np.bool_]] = field(default_factory=dict[tuple[str, str], "NDArray[np.bool_]"])
    shared: SharedPrefixes = field(default_factory=SharedPrefixes)
    _locals: dict[str, NDArray[np.intp]] = field(
        default_factory=dict[str, "NDArray[np.intp]"], repr=False, compare=False, init=False
    )
    _sums: dict[int, tuple[NDArray[np.bool_], int]] = field(
        default_factory=dict[int, "tuple[NDArray[np.bool_], int]"], repr=False, compare=False, init=False
    )

    @cached_property
    def outside_vrfs(self) -> NDArray[np.bool_]:
        """A mask of the prefixes that no VRF holds."""
        inside = np.zeros(len(self.prefixes), np.bool_)
        for mask in self.holds.values():
            inside |= mask
        return ~inside

    def counted(self, device: str, mask: NDArray[np.bool_]) -> tuple[int, int]:
        """Return (number of a mask's prefixes on other devices, number of its prefixes on the device itself).

        Many sessions have the same mask, so the prefixes of each mask are counted only once. The few prefixes of the
        device are then looked up separately.
        """
        if device not in self._locals:
            self._locals[device] = np.flatnonzero(self.fibs[device].group == LOCAL)
        if id(mask) not in self._sums:
            self._sums[id(mask)] = mask, int(np.count_nonzero(mask))  # the mask is kept, so that its id stays its own
        mine = int(np.count_nonzero(mask[self._locals[device]]))
        return self._sums[id(mask)][1] - mine, mine

    def held(self, device: str, vrf: str, prefix: str) -> bool:
        """Return True if a VRF of a device holds a prefix. The VRF name "" means the table outside all VRFs."""
        mask = self.holds.get((device, vrf))
        if mask is None:
            return not vrf
        place = self.index.get(prefix)
        return bool(self.shared.leaves(device, vrf, prefix)) if place is None else bool(mask[place])

    def of_vrf(self, device: str, vrf: str) -> tuple[str, ...]:
        """Return all prefixes that a VRF of a device holds: first prefixes of single leaves, then prefixes that several leaves share."""
        mask = self.holds.get((device, vrf))
        places = () if mask is None else np.flatnonzero(mask).tolist()
        several = [prefix for prefix in self.shared.exits.get((device, vrf), {}) if prefix not in self.index]
        return (*(self.prefixes[place] for place in places), *several)

    def next_hops(self, device: str, prefix: str) -> tuple[str, ...]:
        """Return the links over which a device forwards packets to a prefix. The result is empty if the prefix is local, unreachable or unknown."""
        group = int(self.fibs[device].group[self.index[prefix]]) if prefix in self.index else UNREACHABLE
        return self.groups[group] if group >= 0 else ()

    def backup(self, device: str, prefix: str) -> tuple[str, ...]:
        """Return the links that take over if all next hops fail. Return () if there are none."""
        group = int(self.fibs[device].backup[self.index[prefix]]) if prefix in self.index else UNREACHABLE
        return self.groups[group] if group >= 0 else ()

    def reason(self, device: str, prefix: str) -> str:
        """Return the reason why a device's route to a prefix is the best: one of ``REASONS``, for example ``as-path``."""
        return REASONS[int(self.fibs[device].reason[self.index[prefix]])]

    def is_local(self, device: str, prefix: str) -> bool:
        """Return True if the prefix is on the device itself."""
        return prefix in self.index and int(self.fibs[device].group[self.index[prefix]]) == LOCAL

    def equal(self, other: Routes) -> bool:
        """Return True if ``other`` has the same next hops, backups and reasons for every prefix on every device."""
        return (
            self.prefixes == other.prefixes
            and self.fibs.keys() == other.fibs.keys()
            and all(self._same(other, device, prefix) for device in self.fibs for prefix in self.prefixes)
        )

    def _same(self, other: Routes, device: str, prefix: str) -> bool:
        return (
            self.next_hops(device, prefix) == other.next_hops(device, prefix)
            and self.backup(device, prefix) == other.backup(device, prefix)
            and self.reason(device, prefix) == other.reason(device, prefix)
        )
