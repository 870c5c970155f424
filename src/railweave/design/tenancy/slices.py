"""Tenants by slices of servers: each has the NICs of so many GPUs of every server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.naming import named
from railweave.model.intent.names import check_name
from railweave.model.intent.tenants import Tenant

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.model.intent.fabric import Fabric, FabricFile, ServerGroup
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.tenants import TenantSlices


def with_slices(context: Context, spec: FabricFile) -> FabricFile:
    """The file with a tenant for every slice that ``tenant_slices`` asks for, after those of ``tenants``. Notes problems."""
    fabrics = {
        name: fabric.model_copy(update={"tenants": {**fabric.tenants, **_made(context, spec, name, fabric)}})
        if fabric.tenant_slices
        else fabric
        for name, fabric in spec.fabrics.items()
    }
    context.check()
    return spec if fabrics == spec.fabrics else spec.model_copy(update={"fabrics": fabrics})


def _made(context: Context, spec: FabricFile, fabric_name: str, fabric: Fabric) -> dict[str, Tenant]:
    wanted, at = fabric.tenant_slices, ("fabrics", fabric_name, "tenant_slices")
    if wanted is None:
        return {}
    members: dict[int, list[str]] = {}
    groups = {name: group for group in spec.servers for name in group.names}
    for server in wanted.servers:
        group = groups.get(server)
        if group is None:
            context.problem((*at, "servers"), f"there is no server {server!r}", "name servers of the file")
            continue
        for place, nics in enumerate(_nics(context, at, wanted, group, server, fabric.nics), 1):
            members.setdefault(place, []).extend(f"{server}:{nic}" for nic in nics)
    found: dict[str, Tenant] = {}
    for place, own in members.items():
        name = check_name(named(wanted.name, slice=place))
        if name in fabric.tenants or name in found:
            context.problem(
                (*at, "name"), f"two tenants would be called {name!r}", "use {slice}, and a name of its own"
            )
        found[name] = Tenant(members=tuple(own))
    return found


def _nics(
    context: Context, at: Location, wanted: TenantSlices, group: ServerGroup, server: str, kind: str
) -> list[tuple[str, ...]]:
    """The NICs of each slice of a server, every one with all of its ports."""
    model = context.catalog.servers.get(group.model)
    if model is None or kind not in model.nics:
        return []  # said where servers are placed
    nics = model.nics[kind]
    slices = model.gpus // wanted.gpus if model.gpus else 0
    if not slices or model.gpus % wanted.gpus or nics.adapters % slices:
        what = f"{server} has {model.gpus} GPUs and {nics.adapters} NICs, which do not divide into slices of {wanted.gpus} GPUs"
        context.problem((*at, "gpus"), what, "use a number that divides both")
        return []
    each = nics.adapters // slices
    return [
        tuple(name for place, name in enumerate(nics.names) if place % nics.adapters // each == number)
        for number in range(slices)
    ]
