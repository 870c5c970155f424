"""Both ends of a link take optics of one kind, and so do all links that share a module.

Each end has chosen for itself (``optics.choose``). Where two do not understand each other, as multimode and single mode do not,
all modules that are joined by links or share them are given optics of one kind: that with the shortest reach in sum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog.optics import joins, of_one_kind
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.design.context import Context
    from railweave.model.catalog.models import Catalog
    from railweave.model.catalog.optics import Module, Need
    from railweave.model.network.devices import Cable, End

OPTIC_MISMATCH = Rule(
    id="optic-mismatch",
    severity="error",
    sometimes="warning",
    applies="design",
    says="the ends of a link have optics that do not understand each other (multimode and single mode): as the file names them, or because the catalog has no others (a warning)",
    why="they do not understand each other, and no kind of optic in the catalog fits all modules that these links join",
    fix="name others with `optic` and `far_optic`, or use ports that share no module",
)


def settled(context: Context, fabric: str, cables: list[Cable], needs: Mapping[tuple[str, str], Need]) -> list[Cable]:
    """The cables with optics that understand each other; a finding where the catalog has none. ``needs``: by device and port."""
    known = context.catalog.optics

    def apart(cable: Cable) -> bool:
        return not joins(known.get(cable.a.optic), known.get(cable.b.optic))

    cables = _refitted(cables, _one_a_module(context.catalog, cables))
    wrong = [cable for cable in cables if apart(cable)]
    if not wrong:
        return cables
    groups = _groups(cables)
    members: dict[int, list[Cable]] = {id(groups[one.a.module]): [] for one in wrong}
    for cable in cables:
        own = members.get(id(groups[cable.a.module]))
        if own is not None:
            own.append(cable)
    chosen: dict[Module, str] = {}
    unresolved: list[Cable] = []
    for own in members.values():
        ends = [end for one in own for end in (one.a, one.b)]
        found = of_one_kind(context.catalog, [(end.module, needs[end.device, end.port]) for end in ends])
        chosen |= found
        unresolved += [] if found else [one for one in own if apart(one)]
    for kind in ("server", "fabric"):
        of_kind = [one for one in unresolved if one.kind == kind]
        if of_kind:
            _note(context, fabric, of_kind, needs)
    return _refitted(cables, chosen)


def _one_a_module(catalog: Catalog, cables: Sequence[Cable]) -> dict[Module, str]:
    """The optics of modules whose channels chose different ones: the longest reach that any of them needs."""
    known = catalog.optics
    best: dict[Module, str] = {}
    differ: set[Module] = set()
    for end in (end for cable in cables for end in (cable.a, cable.b)):
        if end.physical is None:
            continue
        module = end.module
        if end.optic not in known:
            differ.add(module)
        elif (before := best.setdefault(module, end.optic)) != end.optic:
            differ.add(module)
            if known[end.optic].reach_m > known[before].reach_m:
                best[module] = end.optic
    return {module: best[module] for module in differ if module in best}


def _refitted(cables: list[Cable], chosen: Mapping[Module, str]) -> list[Cable]:
    """The cables with the optics chosen for their modules."""
    if not chosen:
        return cables

    def fitted(end: End) -> End:
        optic = chosen.get(end.module, end.optic)
        return end if optic == end.optic else replace(end, optic=optic)

    found: list[Cable] = []
    for cable in cables:
        a, b = fitted(cable.a), fitted(cable.b)
        found.append(cable if a is cable.a and b is cable.b else replace(cable, a=a, b=b))
    return found


def _groups(cables: Sequence[Cable]) -> dict[Module, set[Module]]:
    """By module all that must be of its kind: the larger of two sets takes the other in."""
    found: dict[Module, set[Module]] = {}
    for cable in cables:
        one, other = (found.setdefault(place, {place}) for place in (cable.a.module, cable.b.module))
        if one is other:
            continue
        more, less = (one, other) if len(one) >= len(other) else (other, one)
        more |= less
        for place in less:
            found[place] = more
    return found


def _note(context: Context, fabric: str, wrong: Sequence[Cable], needs: Mapping[tuple[str, str], Need]) -> None:
    cable, known = wrong[0], context.catalog.optics
    asked = any(needs[end.device, end.port].asked for end in (cable.a, cable.b))
    words = " and ".join(f"{one.optic} ({known[one.optic].media}) at {one.device}" for one in (cable.a, cable.b))
    more = f", and {len(wrong) - 1} links more" if len(wrong) > 1 else ""
    context.finding(
        OPTIC_MISMATCH,
        cable.name,
        ("fabrics", fabric, "cabling", cable.kind),
        f"{words} are the ends of one link{more}",
        severity="error" if asked else "warning",
    )
