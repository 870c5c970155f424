"""All that must hold on one switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.analysis.expect.ports import ports, queues
from railweave.analysis.expect.prefixes import every_route, example_routes, gateways, tenants
from railweave.analysis.expect.sessions import adjacencies, overlay_sessions, sessions
from railweave.model.device.expected import Clock, Identity

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.model.device.expected import (
        Adjacency,
        Gateway,
        OverlaySession,
        Port,
        Queues,
        Route,
        Session,
        Tenant,
    )
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


@dataclass(frozen=True, slots=True)
class Expected:
    """What must hold on one switch, by subject, in the order in which one helps to understand the next."""

    device: str
    identity: Identity
    clock: Clock | None
    ports: list[Port]
    sessions: list[Session]
    overlay_sessions: list[OverlaySession]
    adjacencies: list[Adjacency]
    routes: list[Route]
    gateways: list[Gateway]
    tenants: list[Tenant]
    queues: list[Queues]

    @property
    def cabled(self) -> list[Port]:
        """The ports whose cable is in the design, so that LLDP must show who is at its other end."""
        return [one for one in self.ports if one.kind != "external"]


def expected(network: Network, config: DeviceConfig, routes: Routes, *, all_routes: bool = False) -> Expected:
    """What must hold on a switch where everything that is not in ``routes.down`` runs.

    ``all_routes``: every prefix of other leaves rather than those of one leaf. Raises ``KeyError`` for a switch that is not
    in the network.
    """
    switch = network.switch(config.name)
    servers = config.management.ntp
    return Expected(
        config.name,
        Identity(
            device=config.name,
            because=("fabrics", switch.fabric, switch.role.replace("-", "_")),
            model=switch.model,
            nos=switch.nos,
            release=switch.release,
            serial=switch.serial,
        ),
        Clock(device=config.name, because=("management", "ntp"), servers=tuple(servers)) if servers else None,
        ports(network, config, routes.down),
        sessions(network, config, routes),
        overlay_sessions(network, config, routes),
        adjacencies(network, config, routes),
        (every_route if all_routes else example_routes)(network, config, routes),
        gateways(network, config),
        tenants(network, config, routes),
        queues(network, config, routes.down),
    )
