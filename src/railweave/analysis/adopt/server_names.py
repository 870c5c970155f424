"""Names for servers and NICs that texts name in part or not at all, and a server where they show none."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import count
from typing import TYPE_CHECKING

from railweave.analysis.adopt.names import as_name
from railweave.analysis.adopt.order import natural
from railweave.analysis.adopt.server_models import FEW_NICS, MOST_NICS, known_nics
from railweave.analysis.adopt.wiring import End, Wiring
from railweave.counting import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.device.model import DeviceConfig


MOST_LETTERS = 63
"""Letters of a server's name."""


def with_servers(draft_name: str, wiring: Wiring, configs: Mapping[str, DeviceConfig], leaves: Sequence[str]) -> Wiring:
    """The wiring of one fabric with a server and a NIC at each server port: as gateways and ports show, else by numbers.

    A fabric of which no text shows a server gets one, for a design without servers is none.
    """
    found = Wiring(
        wiring.links, {end: nic for end, nic in wiring.servers.items() if end.device in leaves}, wiring.notes
    )
    found = _behind_gateways(found, configs, leaves)
    found = _with_names(draft_name, found, configs, leaves)
    found = _with_nics(found, leaves)
    if found.servers or not leaves:
        return found
    made = {End(leaves[0], ""): End(f"{draft_name}-server1", "gpu0_eth")}
    return Wiring(found.links, made, (*found.notes, f"no text shows a server: one is made, on {leaves[0]}"))


def _behind_gateways(wiring: Wiring, configs: Mapping[str, DeviceConfig], leaves: Sequence[str]) -> Wiring:
    """The same with one server behind the gateways of each stripe, where leaves say gateways of VLANs and no port of a server."""
    made = dict(wiring.servers)
    there = {end.device for end in wiring.servers}
    for leaf in leaves:
        own = [one for one in configs[leaf].gateways if one.vlan is not None]
        for at, one in enumerate(own if leaf not in there else ()):
            stripe, _, rail = one.description.partition(" rail ")
            number = int(rail) if rail.isdecimal() else at + 1
            made[End(leaf, one.name)] = End(f"{stripe if rail else leaf}-server1", f"gpu{number - 1}_eth")
    added = len(made) - len(wiring.servers)
    notes = (f"no port of a server is said: one server stands behind the {added} gateways of VLANs",) if added else ()
    return Wiring(wiring.links, made, (*wiring.notes, *notes))


def _with_names(draft_name: str, wiring: Wiring, configs: Mapping[str, DeviceConfig], leaves: Sequence[str]) -> Wiring:
    """Ports of servers that nobody names, as NICs of servers of our own: one on each leaf, where leaves can share eight NICs, else all on one."""
    nameless = [end for end, nic in wiring.servers.items() if not nic.device]
    if not nameless:
        return wiring
    alone = len(leaves) == 1 or bool(MOST_NICS % len(leaves) and len(leaves) % MOST_NICS)
    made = dict(wiring.servers)
    by_leaf: dict[str, list[End]] = defaultdict(list)
    for end in nameless:
        by_leaf[end.device].append(end)
    for at, (leaf, ends) in enumerate(by_leaf.items()):
        order = {one.name: place for place, one in enumerate(configs[leaf].interfaces)}
        for place, end in enumerate(sorted(ends, key=lambda one: order.get(one.port, len(order)))):
            server, rail = (place // MOST_NICS, place % MOST_NICS) if alone else (place, at % MOST_NICS)
            group = f"{at // MOST_NICS + 1}-" if at >= MOST_NICS and not alone else ""
            home = leaf if alone and len(leaves) > 1 else draft_name
            made[end] = End(f"{home}-server{group}{server + 1}", f"gpu{rail}_eth")
    note = f"{counted(len(nameless), 'server port has', 'server ports have')} no description: their servers got names"
    return Wiring(wiring.links, made, (*wiring.notes, note))


def _with_nics(wiring: Wiring, leaves: Sequence[str]) -> Wiring:
    """Where NICs have no names that a server model has: servers and NICs by number, as a rail-optimised design would join them.

    Leaves that share servers are a stripe, where all stripes then have as many leaves; else each leaf is one. The ports of a server
    on a stripe become NICs of one server, or of several where a model has fewer.
    """
    by_server: dict[str, list[tuple[End, End]]] = defaultdict(list)
    for end, nic in wiring.servers.items():
        by_server[nic.device].append((end, nic))
    names = {server: [nic.port for _, nic in own] for server, own in by_server.items()}
    odd = [one for one, ports in names.items() if len(set(ports)) < len(ports) or not known_nics(ports)]
    if not odd:
        return wiring
    stripes = _stripes([frozenset(end.device for end, _ in own) for own in by_server.values()], leaves)
    around = len(stripes[0])
    width = MOST_NICS if around > FEW_NICS or _mostly_many(by_server, stripes) else FEW_NICS
    each = width // around
    made: dict[End, End] = {}
    named: dict[tuple[str, int, int], str] = {}
    for server, own in by_server.items():
        parts = [(leaves_of, [end for end, _ in own if end.device in leaves_of]) for leaves_of in stripes]
        parts = [(leaves_of, ends) for leaves_of, ends in parts if ends]
        for number, (leaves_of, ends) in enumerate(parts, 1):
            for at, leaf in enumerate(leaves_of):
                mine = sorted((end for end in ends if end.device == leaf), key=lambda end: natural(end.port))
                for place, end in enumerate(mine):
                    more, nic = divmod(place, each)
                    key = (server, number, more)
                    tail = [str(number)] * (len(parts) > 1) + [str(more + 1)] * (more > 0)
                    name = named.get(key) or _free("-".join([as_name(server), *tail]), set(named.values()))
                    named[key] = name
                    made[end] = End(name, f"gpu{at * each + nic}_eth")
    shown = f"{', '.join(odd[:3])}{', …' if len(odd) > 3 else ''}"
    note = f"the NICs of {counted(len(odd), 'server')} ({shown}) have no names that a server model has: NICs are numbered, {width} of each server"
    return Wiring(wiring.links, made, (*wiring.notes, note))


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number where another server has it already."""
    made = name[:MOST_LETTERS].rstrip("-_.")
    return next(one for at in count(1) if (one := made if at == 1 else f"{made[: MOST_LETTERS - 4]}-{at}") not in taken)


def _mostly_many(by_server: Mapping[str, Sequence[tuple[End, End]]], stripes: Sequence[Sequence[str]]) -> bool:
    """Whether most servers have more NICs on a stripe than the smaller server models."""
    counts = [
        many for own in by_server.values() for one in stripes if (many := sum(end.device in one for end, _ in own))
    ]
    return 2 * sum(many > FEW_NICS for many in counts) > len(counts)


def _stripes(sets: Sequence[frozenset[str]], leaves: Sequence[str]) -> list[list[str]]:
    """Sets of leaves that servers share, those of most servers first; every leaf alone where the sets are not of one size."""
    left = dict.fromkeys(sorted(leaves, key=natural))
    found: list[list[str]] = []
    counts = Counter(sets)
    for one in sorted(counts, key=lambda each: (-counts[each], len(each), sorted(each))):
        if one <= left.keys():
            found.append([leaf for leaf in left if leaf in one])
            left = {leaf: None for leaf in left if leaf not in one}
    found += [[leaf] for leaf in left]
    alike = len({len(one) for one in found}) == 1 and MOST_NICS % len(found[0]) == 0
    return found if alike else [[leaf] for leaf in sorted(leaves, key=natural)]
