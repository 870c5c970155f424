"""Networks with other uplinks or other leaves, as changes of their fabric file: what ``--compare oversubscription=…`` and ``rails=…`` design anew."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem
from railweave.model.config.quantities import RATIO_FIX, ratio

if TYPE_CHECKING:
    from railweave.model.network.model import Network


def oversubscribed(network: Network, text: str) -> dict[str, str]:
    """The changes that give leaves so much server bandwidth for their uplinks, ``2:1``: fewer links to each spine, or fewer spines.

    Server bandwidth is that of the leaf with the most. Raises ``InputError`` where whole links cannot give the ratio, or there are no spines.
    """
    try:
        wanted = ratio(text)
    except ValueError as error:
        raise _refused(f"oversubscription={text}: {error}", RATIO_FIX) from None
    servers, uplinks, spines, speed = _leaf(network)
    if not uplinks:
        raise _refused("oversubscription: the fabric has no spines", "compare something else")
    count = servers / (wanted * speed)
    if abs(count - round(count)) > 1e-6 or count < 1:
        can = [f"{servers / speed / one:g}:1" for one in range(1, 2 * uplinks + 1)]
        what = f"oversubscription={text}: {servers} Gb/s of servers on a leaf over {wanted:g} are {count:g} uplinks of {speed}G"
        raise _refused(what, f"whole uplinks give {', '.join(can)}")
    links = round(count)
    kept = max(one for one in range(1, spines + 1) if not links % one)
    topology = f"fabrics.{network.fabrics[0].name}.topology"
    changes = {f"{topology}.links_per_spine": str(links // kept), f"{topology}.oversubscription": repr(wanted)}
    changes |= _colors(network, links)
    return changes if kept == spines else {f"{topology}.spines": str(kept), **changes}


def on_leaves(network: Network, text: str) -> dict[str, str]:
    """The changes that spread the NICs of each server over so many leaves of its stripe, with as many uplinks of the stripe in all.

    As many leaves as rails are a rail-optimised fabric, 1 is a leaf that has everything of its servers. Raises ``InputError``.
    """
    leaves = Counter(one.stripe for one in network.switches if one.role == "leaf")
    now = max(leaves.values(), default=0)
    rails = max((len(one.nics) for one in network.servers), default=0)
    wanted = int(text) if text.isdecimal() else 0
    if not now or not wanted or rails % wanted:
        can = [str(one) for one in range(rails, 0, -1) if not rails % one]
        raise _refused(
            f"rails={text} is no number of leaves that {rails} NICs of a server divide over", f"give {', '.join(can)}"
        )
    topology = f"fabrics.{network.fabrics[0].name}.topology"
    _, uplinks, spines, _ = _leaf(network)
    changes = {f"{topology}.leaves_per_stripe": str(wanted)}
    if not spines:
        return changes
    links, rest = divmod(uplinks // spines * now, wanted)
    if rest or not links:
        raise _refused(
            f"rails={text}: {uplinks * now} uplinks of a stripe do not divide over {wanted} leaves and {spines} spines",
            "",
        )
    return {**changes, f"{topology}.links_per_spine": str(links), **_colors(network, links * spines)}


def _colors(network: Network, uplinks: int) -> dict[str, str]:
    """Fewer path colors, where those there are do not divide the uplinks of a leaf."""
    fabric = network.fabrics[0]
    now = len(fabric.colors)
    if not now or not uplinks % now:
        return {}
    return {f"fabrics.{fabric.name}.paths_per_nic": str(max(one for one in range(1, now + 1) if not uplinks % one))}


def _leaf(network: Network) -> tuple[int, int, int, int]:
    """Of the leaf with the most servers: Gb/s of servers, uplinks, spines that they lead to, Gb/s of an uplink."""
    servers: Counter[str] = Counter()
    uplinks: dict[str, list[tuple[str, int]]] = {}
    leaves = {one.name for one in network.switches if one.role == "leaf"}
    for cable in network.cables:
        if cable.kind == "server":
            servers[cable.b.device] += cable.speed_gbps
        elif cable.a.device in leaves:
            uplinks.setdefault(cable.a.device, []).append((cable.b.device, cable.speed_gbps))
    name = max(servers, key=lambda one: servers[one], default="")
    own = uplinks.get(name, [])
    return servers[name], len(own), len({spine for spine, _ in own}), own[0][1] if own else 0


def _refused(what: str, fix: str) -> InputError:
    return InputError([Problem(Option("--compare"), what, fix)])
