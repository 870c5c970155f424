"""Traffic of others: endless queue pairs between chosen NICs, each kept to its share of the line."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import WRITE
from railweave.errors import InputError, Option, Problem
from railweave.simulation.engines.traffic import Traffic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.intent.scenario import Background
    from railweave.simulation.model.fabric import PacketFabric

ENDLESS_BYTES = 10**12
"""20 s of a 400G link, and no more than an engine takes of one message."""

NOTE = (
    "background: every port sends to one on its rail half way round the servers, at a steady rate, from the beginning on; "
    "its queue pairs react to marks as NCCL's do, and do not take the time of NCCL's proxy"
)


def with_background(fabric: PacketFabric, traffic: Traffic, wanted: Background) -> Traffic:
    """Traffic with that of others behind it. Raises ``InputError`` where ports are not there, or have no other to send to."""
    ends = _ends(fabric.wiring.nics, wanted)
    sources = np.repeat(np.array([src for src, _ in ends], np.uint32), wanted.qps)
    targets = np.repeat(np.array([dst for _, dst in ends], np.uint32), wanted.qps)
    turn: NDArray[np.uint32] = np.tile(np.arange(wanted.qps, dtype=np.uint32), len(ends))
    pairs = fabric.addresses.pairs(sources, targets, turn)
    wiring = fabric.wiring
    line = wiring.cables[wiring.port_cable[wiring.first_port[sources.astype(np.int64)]], 2].astype(np.float64)
    limits = np.zeros((len(traffic.pairs) + len(pairs), 2), np.uint32)
    limits[len(traffic.pairs) :, 0] = wanted.packet
    limits[len(traffic.pairs) :, 1] = np.ceil(line * wanted.share / wanted.qps)
    messages = np.zeros((len(pairs), 4), np.uint64)
    messages[:, 0] = len(traffic.pairs) + np.arange(len(pairs))
    messages[:, 1] = ENDLESS_BYTES
    messages[:, 3] = WRITE
    lists = len(traffic.after_start) - 1
    own = np.arange(lists, dtype=np.uint32) if traffic.after_of is None else traffic.after_of
    nothing = np.full(len(pairs), lists, np.uint32)  # a list of its own, and nothing in it
    return Traffic(
        np.concatenate([traffic.pairs, pairs]),
        np.concatenate([traffic.messages, messages]),
        np.append(traffic.after_start, traffic.after_start[-1]),
        traffic.after,
        traffic.after_delay_ps,
        np.concatenate([traffic.data, np.ones(len(pairs), np.bool_)]),
        np.concatenate([own, nothing]),
        limits,
    )


def _ends(nics: tuple[str, ...], wanted: Background) -> list[tuple[int, int]]:
    """Who sends to whom, by place among the NICs: half way round those of the same name, or round what is left over."""
    chosen: dict[int, None] = {}
    for number, pattern in enumerate(wanted.ports or ("*",)):
        shape = re.compile(".*".join(map(re.escape, pattern.split("*"))))
        matching = [place for place, name in enumerate(nics) if shape.fullmatch(name)]
        if not matching:
            near = difflib.get_close_matches(pattern, nics, 1)
            fix = f"did you mean {near[0]}?" if near else f"NICs are {', '.join(nics[:4])}, …"
            raise InputError(
                [
                    Problem(
                        Option("--background", part=("ports", number)), f"there is no NIC {pattern!r} to send by", fix
                    )
                ]
            )
        chosen |= dict.fromkeys(matching)
    rails: dict[str, list[int]] = {}
    for place in sorted(chosen):
        rails.setdefault(nics[place].partition(":")[2], []).append(place)
    groups = [group for group in rails.values() if len(group) > 1]
    alone = [group[0] for group in rails.values() if len(group) == 1]
    if len(alone) == 1 and groups:
        groups[0].append(alone[0])
    elif alone:
        groups.append(alone)
    if groups == [alone] and len(alone) == 1:
        fix = "name the ports of two servers at least"
        raise InputError(
            [Problem(Option("--background", part=("ports",)), f"{nics[alone[0]]} has no other port to send to", fix)]
        )
    return [(src, group[(place + len(group) // 2) % len(group)]) for group in groups for place, src in enumerate(group)]
