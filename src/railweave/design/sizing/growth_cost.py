"""What growing a sized fabric costs (``design/sizing/shapes.py`` counts the fabric itself)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.design.sizing.shapes import size
from railweave.design.sizing.size import SHAPES, Refused, Size

if TYPE_CHECKING:
    from railweave.design.sizing.size import Shape
    from railweave.model.catalog.models import Catalog


@dataclass(frozen=True, slots=True)
class Laid:
    """Cables in place that growing lays anew: ``elsewhere`` to another switch, ``ports`` to another port of the same."""

    elsewhere: int = 0
    ports: int = 0

    def __add__(self, other: Laid) -> Laid:
        return Laid(self.elsewhere + other.elsewhere, self.ports + other.ports)


@dataclass(frozen=True, slots=True)
class Step:
    """What growing costs: switches, cables and optics to add, those of the new servers among them; cables laid anew."""

    before: Size
    gpus: int
    size: Size | Refused
    switches: int = 0
    server_cables: int = 0
    cables: int = 0
    modules: int = 0
    laid: Laid = Laid()
    servers_laid: int = 0

    @property
    def moved(self) -> int:
        """Cables in place that do not stay as they are."""
        return self.laid.elsewhere + self.laid.ports + self.servers_laid


def grow(catalog: Catalog, found: Size, factor: float, shape: Shape | None = None) -> Step:
    """What it costs to take a fabric to ``factor`` times its servers, in the same shape or in another."""
    servers = replace(found.wanted, growth=factor).grown(found.servers)
    gpus = servers * found.ports.gpus_per_server
    room = max(1.0, found.wanted.growth / factor)
    after = size(catalog, replace(found.wanted, gpus=gpus, growth=room, stripes=0), shape or found.shape, found)
    if isinstance(after, Refused):
        return Step(found, gpus, after)
    return Step(
        found,
        gpus,
        after,
        after.switches - found.switches,
        after.server_cables - found.server_cables,
        after.fabric_cables - found.fabric_cables,
        after.modules - found.modules,
        _laid(found, after),
        # servers stay where they are, unless uplinks take their ports, or other leaves their place
        found.server_cables if not found.spines and (after.spines or after.shape != found.shape) else 0,
    )


def growth_steps(catalog: Catalog, found: Size, factor: float, *, every: bool = False) -> list[Step]:
    """Growth in the shape there is; where that does not take it, or for ``every`` way, by changing to others that do."""
    first = grow(catalog, found, factor)
    if isinstance(first.size, Size) and not every:
        return [first]
    steps = [grow(catalog, found, factor, shape) for shape in SHAPES[SHAPES.index(found.shape) + 1 :]]
    return [first, *(step for step in steps if isinstance(step.size, Size))]


def default_growth(found: Size) -> float:
    """The growth that is counted: the one asked for, else to twice the servers."""
    return found.wanted.growth if found.wanted.growth > 1 else 2.0


def _laid(found: Size, after: Size) -> Laid:
    """The cables between switches that are laid anew.

    A switch's ports follow from its own number, its neighbor's and the links to each: other links, other ports.
    """
    if {"rail-planes", "port-planes"} & {found.shape, after.shape} and found.shape != after.shape:
        return Laid(found.fabric_cables)  # other spines for every leaf of a plane
    links = found.links_per_spine, after.links_per_spine
    laid = Laid()
    for stripe in range(found.stripes):
        pod, slot = _place(found, stripe)
        stays = pod == _place(after, stripe)[0]
        for rail in range(found.leaves_per_stripe):
            place = slot * found.leaves_of_block + rail % found.leaves_of_block
            same = slot == _place(after, stripe)[1]
            laid += _of_one(place, links, (found.spines, after.spines if stays else 0), same=same)
    up = found.links_per_super_spine, after.links_per_super_spine
    for pod in range(found.pods if found.super_spines else 0):
        one = _of_one(pod, up, (found.super_spines, after.super_spines), same=True)
        kept, gone = min(found.spines, after.spines), max(0, found.spines - after.spines)
        laid += Laid(kept * one.elsewhere + gone * found.spine_uplinks, kept * one.ports)
    return laid


def _place(size: Size, stripe: int) -> tuple[int, int]:
    """The pod of a stripe and its place there, both from 0."""
    return divmod(stripe, size.stripes_per_pod) if size.stripes_per_pod else (0, stripe)


def _of_one(place: int, links: tuple[int, int], uppers: tuple[int, int], *, same: bool) -> Laid:
    """What is laid anew of the links of one switch, in ``place`` below its upper switches (from 0), now and then.

    ``same``: it keeps its place. Link n to upper switch u has port u x links + n here and place x links + n there.
    """
    total, both = links[0] * uppers[0], min(uppers)
    between = both * min(links)
    if not same:
        unmoved = 0
    elif links[0] == links[1]:
        unmoved = between
    else:  # both ports are the same only where u = place
        unmoved = max(0, min(links) - place * abs(links[0] - links[1])) if place < both else 0
    return Laid(total - between, between - unmoved)
