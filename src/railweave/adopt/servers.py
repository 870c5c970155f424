"""Groups of servers, each with its model and stripe."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from railweave.adopt.server_models import model_of
from railweave.adopt.wiring import End, Wiring

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.adopt.draft import Draft
    from railweave.adopt.shape import Shape
    from railweave.device.model import DeviceConfig

_ENDS_IN_NUMBER = re.compile(r"(.*?)(\d+)")


def with_names(draft_name: str, wiring: Wiring, configs: Mapping[str, DeviceConfig], leaves: Sequence[str]) -> Wiring:
    """Ports of servers that nobody names, as NICs of servers of our own: one on each leaf, or each with eight on a single leaf."""
    nameless = [end for end, nic in wiring.servers.items() if not nic.device and end.device in leaves]
    if not nameless:
        return wiring
    alone = len(leaves) == 1
    made = dict(wiring.servers)
    by_leaf: dict[str, list[End]] = defaultdict(list)
    for end in nameless:
        by_leaf[end.device].append(end)
    for at, (leaf, ends) in enumerate(by_leaf.items()):
        order = {one.name: place for place, one in enumerate(configs[leaf].interfaces)}
        for place, end in enumerate(sorted(ends, key=lambda one: order[one.port])):
            server, rail = (place // 8, place % 8) if alone else (place, at)
            made[end] = End(f"{draft_name}-server{server + 1}", f"gpu{rail}_eth")
    return Wiring(wiring.links, made, (*wiring.notes, f"{len(nameless)} server ports have no description: their servers got names"))


def groups(draft: Draft, found: Shape, configs: Mapping[str, DeviceConfig]) -> list[tuple[str, str, str, str]]:
    """Every server of the fabric as (name, model, NIC group, stripe), in the order of stripes and slots."""
    nics: dict[str, dict[str, int]] = defaultdict(dict)
    for end, nic in found.wiring.servers.items():
        if nic.device and end.device in draft.leaf_numbers:
            place = found.places.get((end.device, end.port))
            nics[nic.device][nic.port] = place.speed_gbps if place else 0
    made: list[tuple[str, str, str, str]] = []
    for stripe in found.stripes:
        for server in stripe.servers:
            own = nics[server]
            speed = Counter(own.values()).most_common(1)[0][0]
            known = model_of(frozenset(own), speed)
            if known is None:
                draft.note(f"{server}: no server model of the catalog has {len(own)} NICs of {speed}G; it is left out")
                continue
            made.append((server, *known, stripe.name))
        draft.slots(f"servers/{stripe.name}", own=True).update(stripe.servers)
    return made


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


def server_groups(made: Mapping[str, Sequence[tuple[str, str, str, str]]]) -> list[dict[str, Any]]:
    """``servers`` of the file, from the servers of each fabric."""
    several = len(made) > 1
    homes: dict[str, dict[str, str]] = defaultdict(dict)
    models: dict[str, str] = {}
    for fabric, servers in made.items():
        for name, model, _, stripe in servers:
            homes[name][fabric] = stripe
            models.setdefault(name, model)
    found: list[tuple[str, dict[str, str], list[str]]] = []
    for name, home in homes.items():
        if found and found[-1][0] == models[name] and found[-1][1] == home:
            found[-1][2].append(name)
        else:
            found.append((models[name], home, [name]))
    result: list[dict[str, Any]] = []
    for model, home, names in found:
        group: dict[str, Any] = {"names": host_lists(names), "model": model}
        group |= {"stripe": home, "fabrics": list(home)} if several else {"stripe": next(iter(home.values()))}
        result.append(group)
    return result
