"""Destinations that several leaves share: layer-2 networks, and prefixes that external routers announce.

A leaf advertises the MAC addresses on its ports of a VLAN with the VLAN's route target (type 2), so another leaf with that
VLAN sends each frame to the leaf that has the address. The subnet of the VLAN, and what an external router announced, are
in type-5 routes of every leaf that has them, so a VRF sends such packets to any of those leaves (RFC 7432, RFC 9136).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set

    from railweave.model.device.model import DeviceConfig, Vrf


@dataclass(frozen=True)
class Shared:
    """What leaves share, as each of them knows it.

    ``exits`` has the leaves that lead to a prefix, by device and VRF; ``bridged`` those whose MAC addresses of a VNI a
    device knows, by device and VNI. A device is among them where it has the prefix or the VLAN itself. ``endpoints`` is
    the prefix of each leaf's tunnel endpoint.
    """

    exits: dict[tuple[str, str], dict[str, tuple[str, ...]]] = field(
        default_factory=dict[tuple[str, str], "dict[str, tuple[str, ...]]"]
    )
    bridged: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict[tuple[str, int], "tuple[str, ...]"])
    endpoints: dict[str, str] = field(default_factory=dict[str, str])

    def leaves(self, device: str, vrf: str, prefix: str) -> tuple[str, ...]:
        """The leaves by which a VRF of a device reaches a prefix; the device alone where it has it."""
        found = self.exits.get((device, vrf), {}).get(prefix, ())
        return (device,) if device in found else found


def shared(configs: Mapping[str, DeviceConfig], received_from: Mapping[str, Set[str]], down: frozenset[str]) -> Shared:
    """What each leaf knows, with ``down`` links and devices gone; ``received_from`` gives whose EVPN routes it has."""
    leaves = [config for name, config in configs.items() if name in received_from]
    found = Shared()
    own: dict[tuple[str, str], tuple[str, ...]] = {
        (config.name, vrf.name): tuple(_own(config, vrf, down)) for config in leaves for vrf in config.vrfs
    }
    for config in leaves:
        assert config.overlay is not None  # noqa: S101 - leaves with tunnel endpoints have one
        found.endpoints[config.name] = config.overlay.endpoints[0].address.prefix
        origins = [one for one in leaves if one is config or one.name in received_from[config.name]]
        for vrf in config.vrfs:
            table: dict[str, list[str]] = {}
            for origin in origins:
                for other in origin.vrfs:
                    mine = origin is config and other is vrf
                    if mine or not set(other.export_targets).isdisjoint(vrf.import_targets):
                        for prefix in own[origin.name, other.name]:
                            table.setdefault(prefix, []).append(origin.name)
            if table:
                found.exits[config.name, vrf.name] = {
                    prefix: tuple(dict.fromkeys(names)) for prefix, names in table.items()
                }
        for one in config.mac_vrf.vlans if config.mac_vrf else ():
            found.bridged[config.name, one.vni] = tuple(
                origin.name
                for origin in origins
                if any(
                    other.vni == one.vni and other.route_target == one.route_target
                    for other in (origin.mac_vrf.vlans if origin.mac_vrf else ())
                )
            )
    return found


def _own(config: DeviceConfig, vrf: Vrf, down: frozenset[str]) -> Iterable[str]:
    """What a leaf shares with others and has itself: subnets with a port up, and what its live external sessions bring."""
    running = [one for one in config.interfaces if one.link not in down and one.peer not in down]
    up = {one.vlan for one in running}
    tagged = {vlan for one in running for vlan in one.tagged}
    for gateway in config.gateways:
        carried = gateway.vlan_name in up or gateway.vlan in tagged
        if gateway.mac and gateway.vrf == vrf.name and carried:
            yield from gateway.prefixes
    for peer in vrf.external:
        if peer.session.link not in down and peer.router not in down:
            yield from peer.accept
