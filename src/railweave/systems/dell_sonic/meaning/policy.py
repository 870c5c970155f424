"""Routing policy of Enterprise SONiC (``statements.policy``): that of FRR, and how traffic of the fabric's routes is shared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.systems.frr.meaning.policy import external_policies, fabric_policies, overlay_policies
from railweave.systems.sonic.names import vrf_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig
    from railweave.systems.frr.statements.policy import Policies


def policies_of(config: DeviceConfig, shared_by: str | None) -> Iterator[Policies]:
    """Yield the policies of a device: the fabric's, the overlay's, and one for each direction of a tenant's external routers.

    ``shared_by`` is the ARS object for routes of the fabric. If None, traffic is shared by the hash.
    """
    if config.bgp is None:
        return
    fabric, imports = fabric_policies(config, config.bgp), {group.import_policy for group in config.bgp.groups}
    maps = (
        replace(entry, shared_by=shared_by) if entry.permits and entry.name in imports else entry
        for entry in fabric.maps
    )
    yield replace(fabric, maps=tuple(maps))
    if config.overlay is not None:
        yield overlay_policies(config.overlay)
    names = vrf_names(config)
    for vrf in config.vrfs:
        yield from external_policies(replace(vrf, name=names[vrf.name]))
