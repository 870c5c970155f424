"""What failed probes have in common: the smallest part of the network that all of them cross, and no probe that came back does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.fleet.probes import Probe


@dataclass(frozen=True, slots=True)
class Common:
    """Failed probes with a part that all of them cross. ``what``: the part, and others that fit as well.

    Where none fits, ``what`` is empty, and ``most`` is the part of which the largest share of probes failed: so many of so many.
    """

    outcome: str
    what: tuple[str, ...]
    probes: tuple[Probe, ...]
    most: tuple[str, int, int] = ("", 0, 0)


def parts(probe: Probe) -> list[str]:
    """What a probe crosses, as it is named to people; larger things first."""
    color = probe.color and f"color {probe.color}"
    ends = ((probe.server, probe.nic, probe.leaf), (probe.peer, probe.peer_nic, probe.peer_leaf))
    spine = probe.spines[0] if probe.pinned and probe.spines else ""
    found = [spine, *(leaf for *_, leaf in ends), color and f"{color} of {probe.fabric}"]
    found += [spine and f"the link {leaf}--{spine}" for *_, leaf in ends]
    if not spine and probe.leaf != probe.peer_leaf:
        found += [f"the links from {leaf} upwards" for *_, leaf in ends]
        found += [color and f"the links from {leaf} upwards of {color}" for *_, leaf in ends]
    found += [color and f"{color} on {leaf}" for *_, leaf in ends]
    found += [f"server {server}" for server, *_ in ends]
    found += [f"NIC {server}:{nic}" for server, nic, _ in ends]
    found += [color and f"{color} of NIC {server}:{nic}" for server, nic, _ in ends]
    return list(dict.fromkeys(one for one in found if one))


def common(failed: Sequence[tuple[Probe, str]], good: Sequence[Probe]) -> list[Common]:
    """Failed probes with what came of them, by the parts that explain most of them; those that came back acquit theirs."""
    acquitted = Counter(part for one in good for part in parts(one))
    found: list[Common] = []
    for outcome in dict.fromkeys(each for _, each in failed):
        left = [one for one, each in failed if each == outcome]
        everywhere: dict[str, int] = {}
        for one in left:
            for part in parts(one):
                everywhere[part] = everywhere.get(part, 0) + 1
        while left:
            crossing: dict[str, list[Probe]] = {}
            for one in left:
                for part in parts(one):
                    if part not in acquitted:
                        crossing.setdefault(part, []).append(one)
            most = max(map(len, crossing.values()), default=0)
            if most < 2:
                found.append(Common(outcome, (), tuple(left), _most(left, acquitted)))
                break
            # Of parts that explain as many, those that fail nowhere else: they are the smaller ones.
            fitting = [part for part, probes in crossing.items() if len(probes) == most]
            least = min(everywhere[part] for part in fitting)
            fitting = [part for part in fitting if everywhere[part] == least]
            explained = crossing[fitting[0]]
            same = tuple(part for part in fitting if crossing[part] == explained)
            found.append(Common(outcome, same, tuple(explained)))
            done = set(map(id, explained))
            left = [one for one in left if id(one) not in done]
    return found


def _most(left: Sequence[Probe], acquitted: Counter[str]) -> tuple[str, int, int]:
    bad = Counter(part for one in left for part in parts(one))
    part = max(bad, key=lambda one: (bad[one] * bad[one] / (bad[one] + acquitted[one]), bad[one]))
    return part, bad[part], bad[part] + acquitted[part]
