"""Background traffic: endless queue pairs between chosen NICs, each limited to a share of the line rate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import WRITE
from railweave.errors import InputError, Option, Problem
from railweave.nearest import nearest
from railweave.prediction.simulation.engines.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from railweave.model.intent.scenario import Background
    from railweave.prediction.simulation.model.fabric import PacketFabric
    from railweave.prediction.simulation.model.wiring import Wiring

ENDLESS_BYTES = 10**12
"""The number of bytes of an endless message: the bytes that a 400G link sends in 20 s. The engines accept this number."""

NOTE = (
    "background: every port sends at a steady rate from the beginning, to the port on its rail half way round the servers or as `to` states; "
    "its queue pairs react to ECN marks like NCCL's, and use no time of NCCL's proxy"
)


def with_background(fabric: PacketFabric, traffic: Traffic, wanted: Background) -> Traffic:
    """Return the traffic of a job with background traffic appended. ``wanted`` describes the background traffic.

    Raises ``InputError`` if a pattern in ``wanted`` matches no NIC, or if there is no other NIC to send to.
    """
    both = ends(fabric.wiring, wanted)
    sources = np.repeat(np.array([src for src, _ in both], np.uint32), wanted.qps)
    targets = np.repeat(np.array([dst for _, dst in both], np.uint32), wanted.qps)
    turn: NDArray[np.uint32] = np.tile(np.arange(wanted.qps, dtype=np.uint32), len(both))
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
    after_of = np.arange(lists, dtype=np.uint32) if traffic.after_of is None else traffic.after_of
    nothing = np.full(len(pairs), lists, np.uint32)  # a list of its own, and nothing in it
    return Traffic(
        np.concatenate([traffic.pairs, pairs]),
        np.concatenate([traffic.messages, messages]),
        np.append(traffic.after_start, traffic.after_start[-1]),
        traffic.after,
        traffic.after_delay_ps,
        np.concatenate([traffic.data, np.ones(len(pairs), np.bool_)]),
        np.concatenate([after_of, nothing]),
        limits,
    )


def ends(wiring: Wiring, wanted: Background) -> list[tuple[int, int]]:
    """Return the pairs of background traffic, as (index of the sending NIC, index of the receiving NIC).

    By default, the NICs with the same name in all servers form a ring, and each sends to the NIC half way around the ring. NICs whose name
    occurs only once form one more ring together. ``wanted`` can limit the senders and name the receivers. ``wiring`` has the numbered
    nodes, ports and cables. Raises ``InputError`` if a pattern in ``wanted`` matches no NIC, or if there is no other NIC to send to.
    """
    chosen = _matching(wiring.nics, wanted.ports or ("*",), "ports")
    if isinstance(wanted.to, tuple):
        return _given(wiring.nics, chosen, _matching(wiring.nics, wanted.to, "to"))
    rails: dict[str, list[int]] = {}
    for place in chosen:
        rails.setdefault(wiring.nics[place].partition(":")[2], []).append(place)
    if wanted.to != "half-way":
        return _by_stripe(wiring, rails, within=wanted.to == "intra-stripe")
    groups = [group for group in rails.values() if len(group) > 1]
    alone = [group[0] for group in rails.values() if len(group) == 1]
    if len(alone) == 1 and groups:
        groups[0].append(alone[0])
    elif alone:
        groups.append(alone)
    if groups == [alone] and len(alone) == 1:
        raise _no_other(wiring.nics[alone[0]])
    return [(src, group[(place + len(group) // 2) % len(group)]) for group in groups for place, src in enumerate(group)]


def _matching(nics: tuple[str, ...], patterns: tuple[str, ...], part: str) -> list[int]:
    """Return the indexes of the NICs whose names match one of the patterns (``*`` for any text), in order.

    ``part`` is the part of ``--background`` with the patterns, for errors. Raises ``InputError`` if a pattern matches no NIC.
    """
    chosen: dict[int, None] = {}
    for number, pattern in enumerate(patterns):
        shape = re.compile(".*".join(map(re.escape, pattern.split("*"))))
        matching = [place for place, name in enumerate(nics) if shape.fullmatch(name)]
        if not matching:
            near = nearest(pattern, nics)
            fix = f"did you mean {near}?" if near else f"NICs are {', '.join(nics[:4])}, …"
            description = f"there is no NIC {pattern!r} to send {'by' if part == 'ports' else 'to'}"
            raise InputError([Problem(Option("--background", part=(part, number)), description, fix)])
        chosen |= dict.fromkeys(matching)
    return sorted(chosen)


def _given(nics: tuple[str, ...], sources: list[int], targets: list[int]) -> list[tuple[int, int]]:
    """Return (sender, receiver) of background traffic if the user names the receivers. Senders use the receivers in rotation.

    ``sources`` are the senders, ``targets`` the receivers; all are indexes of NICs. No NIC sends to itself: a sender that is also the only
    receiver does not send. Raises ``InputError`` if no NIC sends.
    """
    pairs: list[tuple[int, int]] = []
    for place, src in enumerate(sources):
        other = next((target for target in (*targets[place % len(targets) :], *targets) if target != src), None)
        if other is not None:
            pairs.append((src, other))
    if not pairs:
        raise _no_other(nics[sources[0]])
    return pairs


def _by_stripe(wiring: Wiring, rails: Mapping[str, list[int]], *, within: bool) -> list[tuple[int, int]]:
    """Return (sender, receiver) of background traffic on the same rail, as indexes of NICs. ``rails`` has the NICs of each rail.

    With ``within``, a NIC sends to another NIC on its leaf, so traffic stays on this leaf. Otherwise it sends to the NIC in the same
    position on the next leaf. ``wiring`` has the numbered nodes, ports and cables. Raises ``InputError`` if a NIC has no other NIC to send
    to.
    """
    leaf_of = {int(a): int(b) for a, b in wiring.cables[:, :2].tolist() if a < len(wiring.nics)}
    pairs: list[tuple[int, int]] = []
    for rail in rails.values():
        leaves: dict[int, list[int]] = {}
        for place in rail:
            leaves.setdefault(leaf_of[place], []).append(place)
        order = list(leaves.values())
        for number, leaf_nics in enumerate(order):
            there = leaf_nics if within else order[(number + 1) % len(order)]
            if (there is leaf_nics and len(leaf_nics) == 1) or (not within and len(order) == 1):
                raise _no_other(wiring.nics[leaf_nics[0]], "in its stripe" if within else "in another stripe")
            pairs += [(src, there[(place + within) % len(there)]) for place, src in enumerate(leaf_nics)]
    return pairs


def _no_other(name: str, where: str = "") -> InputError:
    description = f"{name} has no other port {where + ' ' if where else ''}to send to"
    return InputError(
        [Problem(Option("--background", part=("ports",)), description, "name the ports of at least two servers")]
    )
