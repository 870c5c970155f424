"""The state of routing that one switch must show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.expect.prefixes import bridged, example_routes, shared_prefixes, tenants, underlay_examples
from railweave.analysis.expect.sessions import sessions
from railweave.model.device.expected import ExpectedRouting

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


def expected_routing(network: Network, config: DeviceConfig, routes: Routes) -> ExpectedRouting:
    """Return the sessions, routes and tenants of a switch if everything that is not in ``routes.down`` runs."""
    examples = example_routes(network, config, routes)
    return ExpectedRouting(
        tuple(sessions(network, config, routes)),
        tuple(examples),
        tuple(underlay_examples(network, config, routes, examples)),
        tuple(tenants(network, config, routes)),
        tuple(shared_prefixes(network, config, routes)),
        bridged(config, routes),
    )
