"""The ``servers`` section of an imported fabric file: groups of servers, each with its model and stripe."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.analysis.adopt.equipment import USUAL_GBPS
from railweave.model.catalog import catalog
from railweave.model.config.number_ranges import natural
from railweave.model.intent.base import host_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.shape import Shape
    from railweave.analysis.adopt.wiring import End


def rails_of(nics: Iterable[End]) -> dict[End, int]:
    """Return the rail of each NIC, from 1.

    The rail is the NIC's position in a server model with these NIC names, or else among the server's sorted NIC names.
    """
    by_server: dict[str, list[End]] = defaultdict(list)
    for nic in nics:
        if nic.device:
            by_server[nic.device].append(nic)
    rail_of: dict[End, int] = {}
    for server_nics in by_server.values():
        names = {server_nic.port for server_nic in server_nics}
        listed = next((names_of for names_of in _lists() if names <= set(names_of)), None)
        order = list(listed) if listed else sorted(names, key=natural)
        rail_of |= {server_nic: order.index(server_nic.port) + 1 for server_nic in server_nics}
    return rail_of


MOST_NICS = 8
"""The maximum number of NICs that an inferred server has on one fabric."""

FEW_NICS = 2
"""The number of NICs per fabric of a small inferred server. All other inferred servers have ``MOST_NICS`` NICs."""


def known_nics(names: Iterable[str]) -> bool:
    """Return True if a server model of the catalog has NICs with all these names."""
    return any(set(names) <= set(listed) for listed in _lists())


def rails(names: Iterable[str]) -> int:
    """Return the number of rails of a server with these NIC names.

    It is the number of NICs of the smallest server model that has these names, or else the number of names.
    """
    wanted = set(names)
    return min((len(listed) for listed in _lists() if wanted <= set(listed)), default=len(wanted))


def _lists() -> list[tuple[str, ...]]:
    return [group.names for model in catalog().servers.values() for group in model.nics.values()]


def model_of(sets: Sequence[tuple[frozenset[str], int]]) -> tuple[str, list[str]] | None:
    """Return (best matching server model, a NIC group of the model for each set), or None if no model fits.

    Each set is (NIC names, speed in Gb/s) of a server on one fabric. A model fits if it has a NIC group with the speed and
    either the names or the number of NICs of each set.
    """
    best: tuple[tuple[int, int, int], str, list[str]] | None = None
    for model, known in catalog().servers.items():
        groups: list[str] = []
        unlike = other = 0
        for names, speed in sets:
            ranked = sorted(
                (
                    (
                        catalog().nics[nic_group.nic].speed_gbps != speed,
                        not names <= set(nic_group.names),
                        abs(len(nic_group.names) - len(names)),
                        group,
                    )
                    for group, nic_group in known.nics.items()
                    if group not in groups
                ),
            )
            if not ranked or ranked[0][0] or (ranked[0][1] and ranked[0][2]):
                break
            unlike += ranked[0][1]
            other += ranked[0][2]
            groups.append(ranked[0][3])
        else:
            rank = (unlike, other, len(known.nics) - len(groups))
            if best is None or rank < best[0]:
                best = (rank, model, groups)
    return (best[1], best[2]) if best else None


def nics_of(draft: Draft, shape: Shape) -> dict[str, tuple[frozenset[str], int]]:
    """Return (NIC names, most common NIC speed in Gb/s) by server, in the order of stripes and of server numbers.

    Also write the server numbers into the lock of ``draft``.
    """
    names: dict[str, set[str]] = defaultdict(set)
    speeds: dict[str, Counter[int]] = defaultdict(Counter)
    for end, nic in shape.wiring.servers.items():
        place = shape.places.get((end.device, end.port))
        if nic.device and end.device in draft.leaf_numbers:
            names[nic.device].add(nic.port)
            speeds[nic.device][place.speed_gbps if place else USUAL_GBPS] += 1
    for stripe in shape.stripes:
        draft.slots(f"servers/{stripe.name}", per_fabric=True).update(stripe.servers)
    order = [name for stripe in shape.stripes for name in stripe.servers]
    return {name: (frozenset(names[name]), speeds[name].most_common(1)[0][0]) for name in order if name in names}


@dataclass(frozen=True, slots=True)
class FabricServers:
    """The servers of a fabric.

    - ``draft``: the fabric's part of the reconstructed fabric file.
    - ``nics``: (NIC names on this fabric, NIC speed in Gb/s), by server.
    - ``stripes``: the stripe of each server.
    - ``leaves_per_stripe``: the number of leaves of the largest stripe.
    """

    draft: Draft
    nics: dict[str, tuple[frozenset[str], int]]
    stripes: dict[str, str]
    leaves_per_stripe: int
    up_gbps: dict[str, int]
    """The uplink capacity of each stripe in Gb/s: the capacity of the stripe's leaf with the lowest capacity."""


def server_groups(fabrics: Sequence[FabricServers]) -> list[dict[str, Any]]:
    """Return the ``servers`` section of the reconstructed fabric file.

    Also write the NIC group, the leaves per stripe and the oversubscription into each fabric's section.
    """
    homes: dict[str, dict[str, str]] = defaultdict(dict)
    sets: dict[str, list[tuple[str, tuple[frozenset[str], int]]]] = defaultdict(list)
    for on_fabric in fabrics:
        for name, nics in on_fabric.nics.items():
            homes[name][on_fabric.draft.name] = on_fabric.stripes[name]
            sets[name].append((on_fabric.draft.name, nics))
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    host_groups: list[tuple[str, dict[str, str], list[str]]] = []
    known: dict[tuple[tuple[frozenset[str], int], ...], tuple[str, list[str]] | None] = {}
    for nic_sets in sets.values():
        key = tuple(nics for _, nics in nic_sets)
        if key not in known:
            known[key] = model_of(key)
    _alike(known, fabrics)
    for name, nic_sets in sets.items():
        key = tuple(nics for _, nics in nic_sets)
        model = known[key]
        if model is None:
            shown = ", ".join(f"{len(nics)} of {speed}G" for nics, speed in key)
            fabrics[0].draft.note(
                f"{name}: no server model of the catalog has these NICs ({shown}); the server is left out"
            )
            continue
        for (fabric, _), group in zip(nic_sets, model[1], strict=True):
            groups[fabric][group] += 1
        if host_groups and host_groups[-1][0] == model[0] and host_groups[-1][1] == homes[name]:
            host_groups[-1][2].append(name)
        else:
            host_groups.append((model[0], homes[name], [name]))
    for on_fabric in fabrics:
        kinds = groups[on_fabric.draft.name].most_common(1)
        if not kinds:
            continue
        group_name = kinds[0][0]
        if group_name != "gpu":
            on_fabric.draft.fabric["nics"] = group_name
        rails = {
            len(nic_group.names)
            for model in known.values()
            if model is not None and (nic_group := catalog().servers[model[0]].nics.get(group_name))
        }
        if rails != {on_fabric.leaves_per_stripe}:
            on_fabric.draft.at("topology")["leaves_per_stripe"] = on_fabric.leaves_per_stripe
        _oversubscription(on_fabric, max(rails, default=1))
    several = len(fabrics) > 1
    result: list[dict[str, Any]] = []
    for model_name, home, names in host_groups:
        where = {"stripe": home, "fabrics": list(home)} if several else {"stripe": next(iter(home.values()))}
        result.append({"names": host_lists(names), "model": model_name, **where})
    return result


def _alike(
    known: dict[tuple[tuple[frozenset[str], int], ...], tuple[str, list[str]] | None], fabrics: Sequence[FabricServers]
) -> None:
    """Replace all models in ``known`` by one model if servers differ in their number of NICs. Networks of several fabrics stay unchanged.

    In a design, all servers of a fabric have the same number of NICs. So the new model has the NICs of every server. ``known``
    maps the NIC sets of a server to (model, NIC groups), as in ``model_of``.
    """
    many = {
        len(nic.names)
        for known_model in known.values()
        if known_model
        for nic in catalog().servers[known_model[0]].nics.values()
    }
    if len(fabrics) > 1 or len(many) < 2:
        return
    names = frozenset[str]().union(*(nic_names for key in known for nic_names, _ in key))
    speeds = Counter(speed for key in known for _, speed in key)
    model = model_of([(names, speeds.most_common(1)[0][0])])
    if model is not None:
        fabrics[0].draft.note(f"servers have {' and '.join(map(str, sorted(many)))} NICs; all get the model {model[0]}")
        known.update(dict.fromkeys(known, model))


def _oversubscription(on_fabric: FabricServers, rails: int) -> None:
    """Write ``oversubscription`` (server bandwidth divided by uplink bandwidth) of the worst stripe, if it is more than 1.

    ``on_fabric`` holds the fabric's servers and its section of the file. ``rails`` is the number of NICs per server.
    """
    down: Counter[str] = Counter()
    for name, (_, speed) in on_fabric.nics.items():
        down[on_fabric.stripes[name]] += speed * max(1, rails // on_fabric.leaves_per_stripe)
    worst = max(
        (load / on_fabric.up_gbps[stripe] for stripe, load in down.items() if on_fabric.up_gbps.get(stripe)), default=1
    )
    if worst > 1:
        on_fabric.draft.at("topology")["oversubscription"] = (
            int(worst) if worst == int(worst) else round(worst + 0.005, 2)
        )
