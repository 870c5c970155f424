"""What devices originate: the prefixes of gateways that have a port up, and loopbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.analysis.routing.overlay import in_vrfs, overlay_loopbacks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.analysis.routing.attributes import Mask
    from railweave.model.device.model import DeviceConfig


def originated(config: DeviceConfig) -> list[str]:
    """The prefixes that a device may originate in the underlay."""
    own = [prefix for gateway in config.gateways if not gateway.vrf for prefix in gateway.prefixes]
    return own + overlay_loopbacks(config)


class Origins:
    """Which prefixes, by their place among all ``count``, each device originates with a set of links and devices down.

    Prefixes that leaves of a layer-2 network share are none of them: see ``railweave.analysis.routing.table``.

    Two devices may hold the same prefix: there are then more prefixes than names in ``place``.
    """

    def __init__(self, configs: Mapping[str, DeviceConfig], place: Mapping[str, int], count: int) -> None:
        self._place, self._count = place, count
        self.server_ports = {
            name: {end for one in config.interfaces if one.kind == "server" for end in (one.link, one.peer)}
            for name, config in configs.items()
        }
        self._lives: dict[str, Mask] = {}
        self._in_vrfs = {name: [place[prefix] for prefix in in_vrfs(config)] for name, config in configs.items()}

    def local(self, config: DeviceConfig, down: frozenset[str]) -> Mask:
        """The prefixes that a device originates in the underlay: of gateways that have a port up, and its loopbacks."""
        live, tenants = self.live(config, down), self._in_vrfs[config.name]
        if not tenants:
            return live
        mask = live.copy()
        mask[tenants] = False
        return mask

    def live(self, config: DeviceConfig, down: frozenset[str]) -> Mask:
        """The same with the prefixes of VRFs."""
        if not down or down.isdisjoint(self.server_ports[config.name]):
            known = self._lives.get(config.name)
            if known is None:
                known = self._lives[config.name] = self._find_live(config, frozenset())
            return known
        return self._find_live(config, down)

    def _find_live(self, config: DeviceConfig, down: frozenset[str]) -> Mask:
        mask = np.zeros(self._count, dtype=np.bool_)
        if config.gateways:
            servers = [one for one in config.interfaces if one.kind == "server"]
            running = [one for one in servers if one.link not in down and one.peer not in down]
            up = {one.vlan or one.name for one in running}
            tagged = {vlan for one in running for vlan in one.tagged}
            places = [
                self._place[p]
                for gateway in config.gateways
                if ((gateway.vlan_name or gateway.port) in up or gateway.vlan in tagged) and not gateway.mac
                for p in gateway.prefixes
            ]
            mask[places] = True
        if config.overlay is not None:
            mask[[self._place[prefix] for prefix in overlay_loopbacks(config)]] = True
            mask[[self._place[prefix] for vrf in config.vrfs for prefix in vrf.loopbacks]] = True
        return mask
