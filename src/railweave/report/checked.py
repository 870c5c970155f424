"""Which checks have anything to look at in a network: naming the others would say more than was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.design.network import Network


def _runs(network: Network, nos: str) -> bool:
    return any(one.nos == nos for one in network.switches)


def _tenants(network: Network) -> bool:
    return any(one.tenants for one in network.fabrics)


ABOUT: dict[str, Callable[[Network], bool]] = {
    "path-color": lambda network: any(one.colors for one in network.fabrics),
    "leaf-transit": lambda network: any(one.underlay.protocol == "bgp" for one in network.fabrics),
    "tenant-isolation": _tenants,
    "tenant-missing": _tenants,
    "network-reach": _tenants,
    "no-vtep": lambda network: any(one.overlay for one in network.fabrics),
    "no-login": lambda network: any(catalog().systems[one.nos].login for one in network.switches),
    "junos-lint": lambda network: _runs(network, "junos"),
    "eos-lint": lambda network: _runs(network, "eos"),
    "sonic-lint": lambda network: _runs(network, "sonic"),
    "dell-lint": lambda network: _runs(network, "dell_sonic"),
}
"""What a network needs for a check to say anything; a check that is not here looks at every network."""


def applies(check: str, network: Network) -> bool:
    """Whether a check has anything to look at."""
    return check not in ABOUT or ABOUT[check](network)
