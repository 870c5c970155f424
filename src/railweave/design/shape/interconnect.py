"""The switches that connect sites, and the links between them.

At every site, these switches are either dedicated routers above the site's spines, or the site's only leaf. Each of
them has parallel links to all such switches at the other sites.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.design.shape.tiers import Leaf, switch_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.model.intent.fabric import Fabric


@dataclass(frozen=True, slots=True)
class Border:
    """A switch that connects its site to the other sites, before addresses are allocated.

    - ``site_slot``: the number of the site.
    - ``position``: the number of the switch among the connecting switches of its site.
    - ``number``: the number of the switch among the connecting switches of all sites. It stays the same when switches are added.
    """

    name: str
    site: str
    site_slot: int
    position: int
    number: int


def borders_of(context: Context, name: str, fabric: Fabric, leaves: Sequence[Leaf]) -> tuple[Border, ...]:
    """Return the routers of the interconnect, or the leaves if the interconnect has no dedicated routers.

    The result is empty without an interconnect. Records a problem if a site without routers has several leaves.
    """
    wanted = fabric.topology.interconnect
    if wanted is None:
        return ()
    slots = context.lock.allot(f"{name}/sites", wanted.sites)
    if wanted.routers:
        keys = {f"{site}#{n}": (site, n) for site in wanted.sites for n in range(1, wanted.routers + 1)}
        numbers = context.lock.allot(f"{name}/dci", keys)
        made = [
            Border(
                switch_name(context, fabric.naming, name, "dci", site=site, dci=n), site, slots[site], n, numbers[key]
            )
            for key, (site, n) in keys.items()
        ]
        return tuple(sorted(made, key=lambda border: border.number))
    borders: list[Border] = []
    for leaf in leaves:
        site = wanted.site_of(leaf.stripe)
        if any(other.site == site for other in borders):
            context.problem(
                ("fabrics", name, "topology", "interconnect", "sites", site),
                f"site {site!r} has several leaves but no spines, so the leaves could not reach each other",
                "add `spines:` and `routers:`, or keep one stripe of `leaves_per_stripe: 1` at a site",
            )
            break
        borders.append(Border(leaf.name, site, slots[site], 1, leaf.number))
    return tuple(borders)


def peers(borders: Sequence[Border], router: Border) -> list[tuple[Border, int]]:
    """Return the neighbors of a router at other sites, each with its number among the router's neighbors (from 1).

    ``borders`` are the routers of all sites. A neighbor's number determines the port on the router.
    """
    each = max(border.position for border in borders)
    return [
        (other, (other.site_slot - 1 - (other.site_slot > router.site_slot)) * each + other.position)
        for other in borders
        if other.site != router.site
    ]


def check_sites(context: Context, name: str, fabric: Fabric) -> None:
    """Record a problem for stripes without a site, for unknown stripes, and for sites that are not defined.

    Then raise ``DesignError`` if there is any problem.
    """
    wanted = fabric.topology.interconnect
    if wanted is None:
        return
    at = ("fabrics", name, "topology", "interconnect", "sites")
    stripes = fabric.topology.stripe_names()
    for site, here in wanted.sites.items():
        if site not in context.source.spec.sites:
            known = ", ".join(context.source.spec.sites)
            context.problem((*at, site), f"site {site!r} is not defined", f"sites are {known}")
        for stripe in here:
            if stripe not in stripes:
                context.problem((*at, site), f"there is no stripe {stripe!r}", f"stripes are {', '.join(stripes)}")
    for stripe in stripes:
        if not wanted.site_of(stripe):
            context.problem(at, f"stripe {stripe!r} is at no site", "list it under one site")
    if fabric.site is not None:
        context.problem(
            ("fabrics", name, "site"),
            "the fabric has `site:`, but it spans several sites",
            "remove `site:`: the stripes already have sites",
        )
    context.check()
