"""Groups of servers, each with its model and stripe."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.analysis.adopt.equipment import USUAL_GBPS
from railweave.analysis.adopt.server_models import model_of
from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.shape import Shape

_ENDS_IN_NUMBER = re.compile(r"(.*?)(\d+)")


def nics_of(draft: Draft, found: Shape) -> dict[str, tuple[frozenset[str], int]]:
    """The NICs of each server of a fabric, and what they do, Gb/s, in the order of stripes and slots."""
    names: dict[str, set[str]] = defaultdict(set)
    speeds: dict[str, Counter[int]] = defaultdict(Counter)
    for end, nic in found.wiring.servers.items():
        place = found.places.get((end.device, end.port))
        if nic.device and end.device in draft.leaf_numbers:
            names[nic.device].add(nic.port)
            speeds[nic.device][place.speed_gbps if place else USUAL_GBPS] += 1
    for stripe in found.stripes:
        draft.slots(f"servers/{stripe.name}", own=True).update(stripe.servers)
    order = [name for stripe in found.stripes for name in stripe.servers]
    return {name: (frozenset(names[name]), speeds[name].most_common(1)[0][0]) for name in order if name in names}


@dataclass(frozen=True, slots=True)
class OnFabric:
    """The servers of a fabric: the NICs that each has on it, with their speed, and its stripe."""

    draft: Draft
    nics: dict[str, tuple[frozenset[str], int]]
    stripes: dict[str, str]
    leaves_per_stripe: int
    up_gbps: dict[str, int]
    """What the uplinks of a stripe's leaf with the fewest carry."""


def server_groups(fabrics: Sequence[OnFabric]) -> list[dict[str, Any]]:
    """``servers`` of the file, and ``nics`` of each fabric."""
    homes: dict[str, dict[str, str]] = defaultdict(dict)
    sets: dict[str, list[tuple[str, tuple[frozenset[str], int]]]] = defaultdict(list)
    for one in fabrics:
        for name, own in one.nics.items():
            homes[name][one.draft.name] = one.stripes[name]
            sets[name].append((one.draft.name, own))
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    found: list[tuple[str, dict[str, str], list[str]]] = []
    known: dict[tuple[tuple[frozenset[str], int], ...], tuple[str, list[str]] | None] = {}
    for own in sets.values():
        key = tuple(nics for _, nics in own)
        if key not in known:
            known[key] = model_of(key)
    _alike(known, fabrics)
    for name, own in sets.items():
        key = tuple(nics for _, nics in own)
        model = known[key]
        if model is None:
            shown = ", ".join(f"{len(nics)} of {speed}G" for nics, speed in key)
            fabrics[0].draft.note(f"{name}: no server model of the catalog has these NICs ({shown}): it is left out")
            continue
        for (fabric, _), group in zip(own, model[1], strict=True):
            groups[fabric][group] += 1
        if found and found[-1][0] == model[0] and found[-1][1] == homes[name]:
            found[-1][2].append(name)
        else:
            found.append((model[0], homes[name], [name]))
    for one in fabrics:
        kinds = groups[one.draft.name].most_common(1)
        if not kinds:
            continue
        group_name = kinds[0][0]
        if group_name != "gpu":
            one.draft.fabric["nics"] = group_name
        rails = {
            len(own.names)
            for model in known.values()
            if model is not None and (own := catalog().servers[model[0]].nics.get(group_name))
        }
        if rails != {one.leaves_per_stripe}:
            one.draft.at("topology")["leaves_per_stripe"] = one.leaves_per_stripe
        _oversubscription(one, max(rails, default=1))
    several = len(fabrics) > 1
    result: list[dict[str, Any]] = []
    for model_name, home, names in found:
        where = {"stripe": home, "fabrics": list(home)} if several else {"stripe": next(iter(home.values()))}
        result.append({"names": host_lists(names), "model": model_name, **where})
    return result


def _alike(
    known: dict[tuple[tuple[frozenset[str], int], ...], tuple[str, list[str]] | None], fabrics: Sequence[OnFabric]
) -> None:
    """Where servers of the one fabric have different numbers of NICs, give all the model that has those of each: a fabric's have as many."""
    many = {len(own.names) for one in known.values() if one for own in catalog().servers[one[0]].nics.values()}
    if len(fabrics) > 1 or len(many) < 2:
        return
    names = frozenset[str]().union(*(own for key in known for own, _ in key))
    speeds = Counter(speed for key in known for _, speed in key)
    model = model_of([(names, speeds.most_common(1)[0][0])])
    if model is not None:
        fabrics[0].draft.note(f"servers have {' and '.join(map(str, sorted(many)))} NICs: all get the model {model[0]}")
        known.update(dict.fromkeys(known, model))


def _oversubscription(one: OnFabric, rails: int) -> None:
    """Write server bandwidth over uplink bandwidth, of the stripe where that is most, where it is more than 1."""
    down: Counter[str] = Counter()
    for name, (_, speed) in one.nics.items():
        down[one.stripes[name]] += speed * max(1, rails // one.leaves_per_stripe)
    worst = max((load / one.up_gbps[stripe] for stripe, load in down.items() if one.up_gbps.get(stripe)), default=1)
    if worst > 1:
        one.draft.at("topology")["oversubscription"] = int(worst) if worst == int(worst) else round(worst + 0.005, 2)


def host_lists(names: Sequence[str]) -> list[str]:
    """Names in the notation of cluster schedulers: runs of numbers of one width as ``H100-[01-04]``, in the order given."""
    return [_one(*run) for run in _runs(names)]


def _runs(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Runs of names that count up: what stands before the number, the first and the last number."""
    run: tuple[str, str, str] | None = None
    for name in names:
        match = _ENDS_IN_NUMBER.fullmatch(name)
        if match is None:
            if run:
                yield run
            yield name, "", ""
            run = None
            continue
        head, number = match[1], match[2]
        if run and run[0] == head and int(number) == int(run[2]) + 1 and f"{int(number):0{len(run[1])}d}" == number:
            run = (head, run[1], number)
        else:
            if run:
                yield run
            run = (head, number, number)
    if run:
        yield run


def _one(head: str, first: str, last: str) -> str:
    return f"{head}{first}" if first == last else f"{head}[{first}-{last}]"
