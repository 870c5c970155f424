"""The subject of a check: the network that is checked, with its configurations and its routes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.errors import UnsettledError
from railweave.model.device.build import device_config
from railweave.model.network.status import present

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Remote:
    """The prefixes of other leaves that a leaf must reach.

    ``places`` holds their indexes in ``Routes.prefixes``, and ``colors`` the path color of each prefix (0: none).
    """

    places: NDArray[np.int64]
    colors: NDArray[np.int64]


@dataclass
class Subject:
    """The network that is checked, with everything derived from it. Each derived value is computed when a check first needs it.

    ``configs`` may differ from the designed configurations, for example in a check of a running network.
    """

    network: Network
    configs: dict[str, DeviceConfig]

    @staticmethod
    def of(network: Network) -> Subject:
        """Return the subject (the network to check, with its configurations) for a check of a network's own design."""
        return Subject(network, {switch.name: device_config(network, switch.name) for switch in network.switches})

    @cached_property
    def control_plane(self) -> ControlPlane:
        """The control plane that results from ``configs``. It computes the routes for any set of failed links and devices."""
        return ControlPlane(self.configs.values(), self.network.absent)

    @property
    def routes(self) -> Routes:
        """The forwarding tables without faults: only the devices and links that ``status:`` marks as absent are down.

        Raises ``UnsettledError`` if routes do not converge.
        """
        if isinstance(self._settled, UnsettledError):
            raise self._settled
        return self._settled

    @cached_property
    def _settled(self) -> Routes | UnsettledError:
        """The forwarding tables without faults, or the error that says why routes do not converge.

        The value is cached, because its computation takes long.
        """
        try:
            return self.control_plane.routes()
        except UnsettledError as error:
            return error

    def share_routes(self, other: Subject) -> None:
        """Use the forwarding tables of ``other``. The configurations of the two may differ only in fields that routing does not read."""
        self.__dict__["_settled"] = other._settled

    @cached_property
    def present(self) -> Network:
        """The network without the devices and links that ``status:`` marks as absent."""
        return present(self.network)

    @cached_property
    def remote(self) -> dict[str, Remote]:
        """The prefixes that each leaf must reach, by leaf: server prefixes on other leaves of the same fabric, plane and tenant."""
        network, index = self.present, self.routes.index
        live = {network.segment_of(server.name, nic).key for server in network.servers for nic in server.nics}
        rows: dict[tuple[str, str, str], list[tuple[int, int, str]]] = {}
        for segment in network.segments:
            if segment.key in live or segment.edge:
                plane = network.switch(segment.leaf).plane
                rows.setdefault((segment.fabric, plane, segment.tenant), []).extend(
                    (index[subnet.routed_by], subnet.color or 0, segment.leaf)
                    for subnet in segment.subnets
                    if subnet.routed_by in index
                )
        result: dict[str, Remote] = {}
        for leaf in network.switches:
            if leaf.role == "leaf":
                groups = dict.fromkeys(
                    segment.tenant for segment in network.segments_of(leaf.name) if segment.subnets
                ) or {"": None}
                there = [row for tenant in groups for row in rows.get((leaf.fabric, leaf.plane, tenant), [])]
                others = [(place, color) for place, color, owner in there if owner != leaf.name]
                table = np.array(others, dtype=np.int64).reshape(-1, 2)
                result[leaf.name] = Remote(table[:, 0], table[:, 1])
        return result
