"""The registry of checks, and what a check looks at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from railweave.device.build import device_config
from railweave.routes.control_plane import ControlPlane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.design.network import Network
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding
    from railweave.routes.table import Routes


@dataclass
class Subject:
    """A network with everything derived from it, each worked out once when a check asks for it.

    ``configs`` may be given in place of those that follow from the network: a running configuration, or a changed one.
    """

    network: Network
    configs: dict[str, DeviceConfig]

    @staticmethod
    def of(network: Network) -> Subject:
        """The subject whose configurations are the designed ones."""
        return Subject(network, {switch.name: device_config(network, switch.name) for switch in network.switches})

    @cached_property
    def control_plane(self) -> ControlPlane:
        """The control plane of the configurations."""
        return ControlPlane(self.configs.values())

    @cached_property
    def routes(self) -> Routes:
        """The forwarding tables with nothing down."""
        return self.control_plane.routes()

    @cached_property
    def remote(self) -> list[tuple[str, str, int | None]]:
        """Every (leaf, live prefix of another leaf of its fabric, color index of that prefix)."""
        network = self.network
        live = {(nic.leaf, nic.vlan) for server in network.servers for nic in server.nics}
        leaves = [switch for switch in network.switches if switch.role == "leaf"]
        return [
            (leaf.name, subnet.prefix, subnet.color)
            for leaf in leaves
            for other in leaves
            if other is not leaf and other.fabric == leaf.fabric
            for segment in network.segments_of(other.name)
            if (other.name, segment.vlan) in live
            for subnet in segment.subnets
        ]


CHECKS: dict[str, Callable[[Subject], Iterator[Finding]]] = {}
"""Every check by its id, in the order they run."""


def check(id_: str) -> Callable[[Callable[[Subject], Iterator[Finding]]], Callable[[Subject], Iterator[Finding]]]:
    """Register a check under the id its findings carry."""

    def register(function: Callable[[Subject], Iterator[Finding]]) -> Callable[[Subject], Iterator[Finding]]:
        if id_ in CHECKS:
            raise ValueError(f"two checks are called {id_}")
        CHECKS[id_] = function
        return function

    return register
