"""Which checks have anything to look at in a network: naming the others would say more than was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.network.model import Network


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
}
"""What a network needs for a check to say anything; a check that is not here looks at every network."""


def applies(check: str, network: Network) -> bool:
    """Whether a check has anything to look at; a lint has where its system runs."""
    lints = {one.lint.id: nos for nos, one in catalog().systems.items() if one.lint is not None}
    if check in lints:
        return any(one.nos == lints[check] for one in network.switches)
    return check not in ABOUT or ABOUT[check](network)
