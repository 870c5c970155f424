"""Checks of references in the fabric file. Every site, stripe, server and NIC group must exist exactly once."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.design.context import Context
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.devices import Fabric


def check_references(context: Context) -> None:
    """Raise ``DesignError`` if the file refers to something that does not exist or defines something twice. The error lists all cases."""
    _check_sites(context)
    _check_servers(context)
    _check_nic_groups(context)
    _check_versions(context)
    context.check()


def _check_sites(context: Context) -> None:
    """Record a problem if there are several sites and a fabric or server group does not name its site."""
    spec = context.source.spec
    items: list[tuple[Location, str, str | None]] = [
        (("fabrics", name), f"fabric {name!r}", fabric.site)
        for name, fabric in spec.fabrics.items()
        if fabric.topology.interconnect is None
    ]
    if all(fabric.topology.interconnect is None for fabric in spec.fabrics.values()):  # else by the stripe
        items += [(("servers", index), "this group of servers", group.site) for index, group in enumerate(spec.servers)]
    for location, label, site in items:
        if site is None and len(spec.sites) > 1:
            context.problem(
                location,
                f"{label} has no site, but the file has {len(spec.sites)} sites",
                f"add `site:`, one of {', '.join(spec.sites)}",
            )
        if site is not None and site not in spec.sites:
            context.problem((*location, "site"), f"site {site!r} is not defined", f"sites are {', '.join(spec.sites)}")


def _check_servers(context: Context) -> None:
    """Record a problem for each server that is defined twice, and for each server group that refers to a missing fabric."""
    spec = context.source.spec
    seen: dict[str, int] = {}
    for index, group in enumerate(spec.servers):
        for name in group.names:
            folded = name.casefold()  # as names of hosts, and of folders where file systems do not tell capitals apart
            if folded in seen:
                first = context.source.document.line(("servers", seen[folded]))
                context.problem(
                    ("servers", index, "names"), f"duplicate server {name!r}", f"it is first given on line {first}"
                )
            seen.setdefault(folded, index)
        named = [("stripe", fabric) for fabric in (group.stripe if isinstance(group.stripe, dict) else ())]
        named += [("fabrics", fabric) for fabric in group.fabrics or ()]
        for key, fabric in named:
            if fabric not in spec.fabrics:
                context.problem(
                    ("servers", index, key, fabric) if key == "stripe" else ("servers", index, key),
                    f"there is no fabric {fabric!r}",
                    f"fabrics are {', '.join(spec.fabrics)}",
                )


def check_color_names(context: Context, fabrics: Iterable[Fabric]) -> None:
    """Record a problem for each name under ``color_dscp`` that is not a path color."""
    known = sorted({color.name for fabric in fabrics for color in fabric.colors})
    for name in context.source.spec.hosts.job.color_dscp:
        if name not in known:
            fix = f"colors are {', '.join(known)}" if known else "remove it: no fabric has path colors"
            context.problem(("hosts", "job", "color_dscp", name), f"there is no path color {name!r}", fix)


def _check_versions(context: Context) -> None:
    """Record a problem for each required firmware or driver version whose NIC model or driver is not in the catalog."""
    versions, nics = context.source.spec.hosts.versions, context.catalog.nics
    drivers = {nic.driver for nic in nics.values()}
    for key, asked, known in (
        ("nic_firmware", versions.nic_firmware, nics.keys()),
        ("nic_driver", versions.nic_driver, drivers),
    ):
        for name in asked.keys() - known:
            kind = "NIC model" if key == "nic_firmware" else "NIC driver"
            where = ("hosts", "versions", key, name)
            context.problem(where, f"there is no {kind} {name!r}", f"there are {', '.join(sorted(known))}")


def _check_nic_groups(context: Context) -> None:
    """Record a problem if a NIC would be on two fabrics.

    Fabrics that connect the same NIC group must have different servers.
    """
    spec = context.source.spec
    for (name, first), (other, second) in combinations(spec.fabrics.items(), 2):
        if first.nics != second.nics or first.site != second.site:
            continue
        models = context.catalog.servers
        both = [
            group
            for group in spec.servers
            if (group.fabrics is None or {name, other} <= set(group.fabrics))
            and (group.model not in models or first.nics in models[group.model].nics)
        ]
        if both or not spec.servers:
            context.problem(
                ("fabrics", other, "nics"),
                f"duplicate: fabrics {name!r} and {other!r} both connect the {second.nics!r} NICs of the same servers",
                "choose another NIC group with `nics:`, put the fabrics on different sites, or write "
                "`fabrics:` in each group of servers",
            )
