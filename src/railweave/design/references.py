"""What the fabric file says of its own parts: sites, stripes by fabric, servers and NIC groups that must be there once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.spec.document import Location


def check_references(context: Context) -> None:
    """Note every part that is named and not there, or there twice. Stops where there is one."""
    _check_sites(context)
    _check_servers(context)
    _check_nic_groups(context)
    context.check()


def _check_sites(context: Context) -> None:
    """Everything stands in one site, and says which where there are several."""
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
                f"{label} has no site, and there are {len(spec.sites)}",
                f"add `site:`, one of {', '.join(spec.sites)}",
            )
        if site is not None and site not in spec.sites:
            context.problem((*location, "site"), f"site {site!r} is not defined", f"sites are {', '.join(spec.sites)}")


def _check_servers(context: Context) -> None:
    """A server is given once, and its stripes are of fabrics that there are."""
    spec = context.source.spec
    seen: dict[str, int] = {}
    for index, group in enumerate(spec.servers):
        for name in group.names:
            if name in seen:
                first = context.source.document.line(("servers", seen[name]))
                context.problem(
                    ("servers", index, "names"), f"duplicate server {name!r}", f"it is first given on line {first}"
                )
            seen.setdefault(name, index)
        for fabric in group.stripe if isinstance(group.stripe, dict) else ():
            if fabric not in spec.fabrics:
                context.problem(
                    ("servers", index, "stripe", fabric),
                    f"there is no fabric {fabric!r}",
                    f"fabrics are {', '.join(spec.fabrics)}",
                )


def _check_nic_groups(context: Context) -> None:
    """A NIC is on one fabric."""
    served: dict[tuple[str | None, str], str] = {}
    for name, fabric in context.source.spec.fabrics.items():
        other = served.setdefault((fabric.site, fabric.nics), name)
        if other != name:
            context.problem(
                ("fabrics", name, "nics"),
                f"duplicate: fabrics {other!r} and {name!r} both connect the {fabric.nics!r} NICs of the same servers",
                "choose another NIC group with `nics:`, or put them on different sites",
            )
