"""Names for servers and NICs that texts name in part or not at all, and a server where they show none."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from railweave.adopt.order import natural
from railweave.adopt.server_models import MOST_NICS, known_nics
from railweave.adopt.wiring import End, Wiring
from railweave.counting import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.device.model import DeviceConfig


def with_servers(draft_name: str, wiring: Wiring, configs: Mapping[str, DeviceConfig], leaves: Sequence[str]) -> Wiring:
    """The wiring of one fabric with a server and a NIC at each server port: as gateways and ports show, else by numbers.

    A fabric of which no text shows a server gets one, for a design without servers is none.
    """
    found = Wiring(
        wiring.links, {end: nic for end, nic in wiring.servers.items() if end.device in leaves}, wiring.notes
    )
    found = _behind_gateways(found, configs, leaves)
    found = _with_names(draft_name, found, configs, leaves)
    found = _with_nics(found)
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
    """Ports of servers that nobody names, as NICs of servers of our own: one on each leaf, or each with eight on a single leaf."""
    nameless = [end for end, nic in wiring.servers.items() if not nic.device]
    if not nameless:
        return wiring
    alone = len(leaves) == 1
    made = dict(wiring.servers)
    by_leaf: dict[str, list[End]] = defaultdict(list)
    for end in nameless:
        by_leaf[end.device].append(end)
    for at, (leaf, ends) in enumerate(by_leaf.items()):
        order = {one.name: place for place, one in enumerate(configs[leaf].interfaces)}
        for place, end in enumerate(sorted(ends, key=lambda one: order.get(one.port, len(order)))):
            server, rail = (place // MOST_NICS, place % MOST_NICS) if alone else (place, at % MOST_NICS)
            group = f"{at // MOST_NICS + 1}-" if at >= MOST_NICS and not alone else ""
            made[end] = End(f"{draft_name}-server{group}{server + 1}", f"gpu{rail}_eth")
    note = f"{counted(len(nameless), 'server port has', 'server ports have')} no description: their servers got names"
    return Wiring(wiring.links, made, (*wiring.notes, note))


def _with_nics(wiring: Wiring) -> Wiring:
    """Names of the catalog for the NICs of servers that have none, or others, in the order of leaves and ports.

    What is joined with leaves that share no other server (a tester, a router) is as many servers as there are such sets of leaves.
    """
    by_server: dict[str, list[tuple[End, End]]] = defaultdict(list)
    for end, nic in wiring.servers.items():
        by_server[nic.device].append((end, nic))
    made = dict(wiring.servers)
    renamed: list[str] = []
    sets = _stripes([frozenset(end.device for end, _ in own) for own in by_server.values()])
    for server, own in by_server.items():
        names = [nic.port for _, nic in own]
        if len(set(names)) == len(names) and known_nics(names):
            continue
        renamed.append(server)
        counts: Counter[int] = Counter()
        several = len(own) > MOST_NICS or len({sets[end.device] for end, _ in own}) > 1
        for end, _ in sorted(own, key=lambda pair: (natural(pair[0].device), natural(pair[0].port))):
            part, nic = divmod(counts[sets[end.device]], MOST_NICS)
            counts[sets[end.device]] += 1
            name = f"{server}-{sets[end.device] + 1}{f'-{part + 1}' if part else ''}" if several else server
            made[end] = End(name, f"gpu{nic}_eth")
    note = f"NICs of {counted(len(renamed), 'server')} ({', '.join(renamed[:3])}{', …' if len(renamed) > 3 else ''}) have no names that a model has: they are numbered"
    return Wiring(wiring.links, made, (*wiring.notes, note) if renamed else wiring.notes)


def _stripes(sets: Sequence[frozenset[str]]) -> dict[str, int]:
    """The number of the set of leaves that each leaf is in: the sets that most servers are on, those of fewer leaves first."""
    found: dict[str, int] = {}
    counts = Counter(sets)
    for one in sorted(counts, key=lambda each: (-counts[each], len(each), sorted(each))):
        left = [leaf for leaf in sorted(one) if leaf not in found]
        number = max(found.values(), default=-1) + 1
        if len(left) == len(one):
            found |= dict.fromkeys(left, number)
        else:
            found |= {leaf: number + at for at, leaf in enumerate(left)}
    return found
