"""Name patterns of stripes, spines and VLANs for the fabric file, and generated names for servers and NICs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import count
from typing import TYPE_CHECKING

from railweave.analysis.adopt.draft import Draft, common_start
from railweave.analysis.adopt.servers import FEW_NICS, MOST_NICS, known_nics
from railweave.analysis.adopt.sites import site_names
from railweave.analysis.adopt.wiring import End, Wiring
from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.config.number_ranges import natural
from railweave.model.intent.topology import Naming

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.analysis.adopt.shape import Shape, Stripe
    from railweave.model.device.model import DeviceConfig


USUAL = Naming()
_NUMBER = re.compile(r"\d+")


def as_name(text: str) -> str:
    """Return a text as a valid name for the fabric file: at most 63 characters, with dashes for invalid characters."""
    made = re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:63]
    return re.sub(r"^[^A-Za-z0-9]+", "", made) or "unnamed"


def name_leaves(draft: Draft, shape: Shape) -> None:
    """Name the stripes (groups of leaves that share servers), and write the name pattern of leaves into the reconstructed fabric file.

    A leaf whose name the pattern does not give is listed under ``naming``, ``switches``.
    """
    best: tuple[int, str, list[str]] | None = None
    for pattern, stripes in _leaf_patterns(shape):
        wrong = sum(
            _filled(pattern, draft.name, name, at) != leaf
            for name, stripe in zip(stripes, shape.stripes, strict=True)
            for at, leaf in enumerate(stripe.leaves, 1)
        )
        if len(set(stripes)) == len(stripes) and (best is None or wrong < best[0]):
            best = (wrong, pattern, stripes)
        if best and not best[0]:
            break
    _, pattern, stripes = best or (0, USUAL.leaf, [f"stripe{stripe.slot}" for stripe in shape.stripes])
    if pattern != USUAL.leaf:
        draft.at("naming")["leaf"] = pattern
    for name, stripe in zip(stripes, shape.stripes, strict=True):
        stripe.name = name
        for at, leaf in enumerate(stripe.leaves, 1):
            _rename(draft, _filled(pattern, draft.name, name, at), leaf)
    slots = {stripe.name: stripe.slot for stripe in shape.stripes}
    counted = [f"stripe{n}" for n in range(1, len(stripes) + 1)]
    draft.at("topology")["stripes"] = len(stripes) if stripes == counted else stripes
    draft.slots("stripes", per_fabric=True).update(slots)


def _leaf_patterns(shape: Shape) -> Iterator[tuple[str, list[str]]]:
    """Yield possible name patterns of leaves, the likeliest first, as (pattern, a name for each stripe).

    A pattern is a text such as ``{stripe}-leaf{rail}``.
    """
    stripes = shape.stripes
    for names in ([stripe.described for stripe in stripes], [f"stripe{stripe.slot}" for stripe in stripes]):
        if all(names):
            yield USUAL.leaf, names
            first = stripes[0].leaves[0]
            if names[0] in first or len(stripes) == 1:
                whole = first.replace(names[0], "{stripe}")
                for match in _NUMBER.finditer(whole):
                    if int(match[0]) == 1:
                        yield f"{whole[: match.start()]}{_width(match[0])}{whole[match.end() :]}", names
                yield whole, names
    if all(len(stripe.leaves) == 1 for stripe in stripes):
        yield "{stripe}", [stripe.leaves[0] for stripe in stripes]
    yield from _by_common_parts(stripes)


def _width(number: str) -> str:
    return "{leaf}" if len(number) == 1 else f"{{leaf:0{len(number)}d}}"


def _by_common_parts(stripes: Sequence[Stripe]) -> Iterator[tuple[str, list[str]]]:
    """Yield a name pattern of leaves, as (pattern, a name for each stripe), if all leaf names have the same ending.

    Each stripe is named after the common start of its leaf names. An ending that all these starts share is removed.
    """
    heads: list[str] = []
    digits = 1
    for stripe in stripes:
        head = (
            common_start(stripe.leaves).rstrip("0123456789")
            if len(stripe.leaves) > 1
            else stripe.leaves[0].rstrip("0123456789")
        )
        heads.append(head)
        number = _NUMBER.match(stripe.leaves[0], len(head))
        digits = max(digits, len(number[0]) if number else 1)
    if not all(heads):
        return
    middle = common_start([head[::-1] for head in heads])[::-1] if len(heads) > 1 else ""
    at = next((place for place, letter in enumerate(middle) if letter in "-_."), None)
    middle = "" if at is None else middle[at:]
    names = [head.removesuffix(middle).rstrip("-_.") for head in heads]
    tails = {
        leaf[len(head) :].lstrip("0123456789")
        for head, named_stripe in zip(heads, stripes, strict=True)
        for leaf in named_stripe.leaves
    }
    if len(tails) == 1 and all(names):
        between = heads[0][len(names[0]) :]
        yield f"{{stripe}}{between}{_width('1' * digits)}{tails.pop()}", names


def _filled(pattern: str, fabric: str, stripe: str, leaf: int) -> str:
    try:
        return pattern.format(fabric=fabric, stripe=stripe, leaf=leaf)
    except (ValueError, KeyError, IndexError):
        return ""


def _rename(draft: Draft, patterned: str, name: str) -> None:
    if patterned != name:
        draft.at("naming").setdefault("switches", {})[patterned] = name


def name_spines(draft: Draft, shape: Shape) -> dict[str, str]:
    """Write the spine names into the draft (the reconstructed fabric file), and return each spine's name in the ``spines`` list.

    In this list, spines with the same number in different pods have the same name.
    """
    if not shape.spines:
        return {}
    each = len(shape.spines) // shape.pods
    sites = site_names(shape)
    if not shape.super_spines and not shape.routers:
        names = shape.spines
        counted = [f"spine{n}" for n in range(1, len(names) + 1)]
        draft.at("topology")["spines"] = len(names) if names == counted else names
        keys = {name: name for name in names}
    else:
        counted = [f"spine{n}" for n in range(1, each + 1)]
        draft.at("topology")["spines"] = each
        keys = {name: counted[at % each] for at, name in enumerate(shape.spines)}
        for at, name in enumerate(shape.spines):
            pod = sites[at // each] if sites else f"pod{at // each + 1}"
            _rename(draft, f"{pod}-{counted[at % each]}", name)
    draft.slots("spines", per_fabric=True).update({key: at for at, key in enumerate(dict.fromkeys(keys.values()), 1)})
    for at, name in enumerate(shape.super_spines):
        per_plane = max(1, len(shape.super_spines) // each)
        _rename(draft, f"plane{at // per_plane + 1}-super{at % per_plane + 1}", name)
    for name in shape.routers:
        at, number = shape.across.borders[name] if shape.across else (0, 0)
        _rename(draft, USUAL.dci.format(fabric=draft.name, site=sites[at], dci=number), name)
    return keys


def name_vlans(
    draft: Draft, configs: Mapping[str, DeviceConfig], rails: Mapping[tuple[str, int], tuple[str, int]]
) -> None:
    """Write ``naming.vlan``, the pattern that gives the most VLAN names, into the reconstructed fabric file.

    Nothing is written if this is the default pattern, or the only pattern that the switches' systems allow. ``rails`` maps (leaf,
    VLAN) to (stripe, rail).
    """
    seen = [
        (gateway.vlan_name, gateway.vlan, *rails.get((name, gateway.vlan), ("", 0)))
        for name in draft.switches
        for gateway in configs[name].gateways
        if gateway.vlan is not None and gateway.vlan_name
    ]
    if not seen:
        return
    patterns = dict.fromkeys(
        [USUAL.vlan, *(pattern for seen_vlan in seen[:4] for pattern in _vlan_patterns(*seen_vlan))]
    )

    def right(pattern: str) -> int:
        return sum(pattern.format(fabric=draft.name, stripe=s, rail=r, vlan=v) == name for name, v, s, r in seen)

    best = max(patterns, key=right)
    systems = (catalog().systems[configs[name].nos] for name in draft.switches)
    if best != USUAL.vlan and not all(system.vlan_name == best for system in systems):
        draft.at("naming")["vlan"] = best
    if right(best) < len(seen):
        draft.note(
            f"{len(seen) - right(best)} of {len(seen)} VLANs have names that no pattern produces; they get different names"
        )


def _vlan_patterns(name: str, vlan: int, stripe: str, rail: int) -> Iterator[str]:
    yield name.replace(str(vlan), "{vlan}")
    if stripe and stripe in name:
        yield name.replace(stripe, "{stripe}").replace(str(rail), "{rail}")
    if rail:
        yield name.replace(str(rail), "{rail}")


MOST_LETTERS = 63
"""The maximum length of a server name, in characters."""


def with_servers(draft_name: str, wiring: Wiring, configs: Mapping[str, DeviceConfig], leaves: Sequence[str]) -> Wiring:
    """Return the wiring of a fabric, completed so that every server port has a server and a NIC.

    Names are taken from gateway and port descriptions. Other servers and NICs get numbered names. A fabric without any known server
    gets one server, because a design needs servers. ``draft_name`` is the name of the fabric, and ``leaves`` are its leaves.
    """
    fabric_wiring = Wiring(
        wiring.links, {end: nic for end, nic in wiring.servers.items() if end.device in leaves}, wiring.notes
    )
    fabric_wiring = _behind_gateways(fabric_wiring, configs, leaves)
    fabric_wiring = _with_names(draft_name, fabric_wiring, configs, leaves)
    fabric_wiring = _with_nics(fabric_wiring, leaves)
    if fabric_wiring.servers or not leaves:
        return fabric_wiring
    made = {End(leaves[0], ""): End(f"{draft_name}-server1", "gpu0_eth")}
    return Wiring(
        fabric_wiring.links,
        made,
        (*fabric_wiring.notes, f"no configuration shows a server; one server is added on {leaves[0]}"),
    )


def _behind_gateways(wiring: Wiring, configs: Mapping[str, DeviceConfig], leaves: Sequence[str]) -> Wiring:
    """Return the wiring with one added server per stripe, behind the VLAN gateways of leaves that have no known server port."""
    made = dict(wiring.servers)
    there = {end.device for end in wiring.servers}
    for leaf in leaves:
        gateways = [gateway for gateway in configs[leaf].gateways if gateway.vlan is not None]
        for at, gateway in enumerate(gateways if leaf not in there else ()):
            stripe, _, rail = gateway.description.partition(" rail ")
            number = int(rail) if rail.isdecimal() else at + 1
            made[End(leaf, gateway.name)] = End(f"{stripe if rail else leaf}-server1", f"gpu{number - 1}_eth")
    added = len(made) - len(wiring.servers)
    notes = (
        (f"no configuration names a server port; one server per stripe is assumed behind the {added} VLAN gateways",)
        if added
        else ()
    )
    return Wiring(wiring.links, made, (*wiring.notes, *notes))


def _with_names(draft_name: str, wiring: Wiring, configs: Mapping[str, DeviceConfig], leaves: Sequence[str]) -> Wiring:
    """Return the wiring with generated server and NIC names for server ports without a description.

    A server with a generated name has one NIC on each leaf if the number of leaves divides eight or is a multiple of eight. Otherwise
    all its NICs are on one leaf. ``draft_name`` is the name of the fabric.
    """
    nameless = [end for end, nic in wiring.servers.items() if not nic.device]
    if not nameless:
        return wiring
    alone = len(leaves) == 1 or bool(MOST_NICS % len(leaves) and len(leaves) % MOST_NICS)
    made = dict(wiring.servers)
    by_leaf: dict[str, list[End]] = defaultdict(list)
    for end in nameless:
        by_leaf[end.device].append(end)
    for at, (leaf, ends) in enumerate(by_leaf.items()):
        order = {interface.name: place for place, interface in enumerate(configs[leaf].interfaces)}
        for place, end in enumerate(sorted(ends, key=lambda port_end: order.get(port_end.port, len(order)))):
            server, rail = (place // MOST_NICS, place % MOST_NICS) if alone else (place, at % MOST_NICS)
            group = f"{at // MOST_NICS + 1}-" if at >= MOST_NICS and not alone else ""
            home = leaf if alone and len(leaves) > 1 else draft_name
            made[end] = End(f"{home}-server{group}{server + 1}", f"gpu{rail}_eth")
    note = f"{counted(len(nameless), 'server port has', 'server ports have')} no description; their servers get generated names"
    return Wiring(wiring.links, made, (*wiring.notes, note))


def _with_nics(wiring: Wiring, leaves: Sequence[str]) -> Wiring:
    """Return the wiring with servers and NICs renamed as in a rail-optimized design, if their NIC names match no server model.

    Leaves that share servers form a stripe if all stripes then have the same number of leaves. Otherwise each leaf is a stripe. The
    ports of a server on a stripe become the NICs of one server, or of several servers if there are more ports than a server has NICs.
    """
    by_server: dict[str, list[tuple[End, End]]] = defaultdict(list)
    for end, nic in wiring.servers.items():
        by_server[nic.device].append((end, nic))
    names = {server: [nic.port for _, nic in attachments] for server, attachments in by_server.items()}
    odd = [odd_server for odd_server, ports in names.items() if len(set(ports)) < len(ports) or not known_nics(ports)]
    if not odd:
        return wiring
    stripes = _stripes([frozenset(end.device for end, _ in attachments) for attachments in by_server.values()], leaves)
    around = len(stripes[0])
    width = MOST_NICS if around > FEW_NICS or _mostly_many(by_server, stripes) else FEW_NICS
    each = width // around
    made: dict[End, End] = {}
    named: dict[tuple[str, int, int], str] = {}
    for server, attachments in by_server.items():
        parts = [(leaves_of, [end for end, _ in attachments if end.device in leaves_of]) for leaves_of in stripes]
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
    note = f"the NICs of {counted(len(odd), 'server')} ({shown}) match no server model; they are renumbered, {width} per server"
    return Wiring(wiring.links, made, (*wiring.notes, note))


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not in ``taken``: ``name`` itself, or ``name`` with a number added."""
    made = name[:MOST_LETTERS].rstrip("-_.")
    return next(
        candidate
        for at in count(1)
        if (candidate := made if at == 1 else f"{made[: MOST_LETTERS - 4]}-{at}") not in taken
    )


def _mostly_many(by_server: Mapping[str, Sequence[tuple[End, End]]], stripes: Sequence[Sequence[str]]) -> bool:
    """Return True if most servers have more than ``FEW_NICS`` NICs on a stripe. ``stripes`` holds the leaves of each stripe.

    ``by_server`` holds (switch port, NIC) of each server's cables.
    """
    counts = [
        many
        for attachments in by_server.values()
        for stripe in stripes
        if (many := sum(end.device in stripe for end, _ in attachments))
    ]
    return 2 * sum(many > FEW_NICS for many in counts) > len(counts)


def _stripes(sets: Sequence[frozenset[str]], leaves: Sequence[str]) -> list[list[str]]:
    """Return groups of leaves that share servers, the most common groups first. If groups differ in size, each leaf is its own group.

    ``sets`` holds, for each server, the leaves to which it connects.
    """
    left = dict.fromkeys(sorted(leaves, key=natural))
    shared: list[list[str]] = []
    counts = Counter(sets)
    for leaf_set in sorted(counts, key=lambda each: (-counts[each], len(each), sorted(each))):
        if leaf_set <= left.keys():
            shared.append([leaf for leaf in left if leaf in leaf_set])
            left = {leaf: None for leaf in left if leaf not in leaf_set}
    shared += [[leaf] for leaf in left]
    alike = len({len(leaf_group) for leaf_group in shared}) == 1 and MOST_NICS % len(shared[0]) == 0
    return shared if alike else [[leaf] for leaf in sorted(leaves, key=natural)]
