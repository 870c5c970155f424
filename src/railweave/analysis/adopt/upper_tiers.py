"""Spines and what stands above them, each in the order that its numbers follow from, and the pods that they make."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.analysis.adopt.order import natural, numbering

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.analysis.adopt.equipment import Place
    from railweave.analysis.adopt.stripes import Stripe
    from railweave.analysis.adopt.wiring import Wiring
    from railweave.model.device.model import DeviceConfig


def upper_order(
    lower: Sequence[str],
    upper: Sequence[str],
    wiring: Wiring,
    places: Mapping[tuple[str, str], Place],
    configs: Mapping[str, DeviceConfig],
) -> list[str]:
    """Switches of a tier in the order of the ports of those below them, then of their AS numbers."""
    first: dict[str, tuple[int, int]] = {}
    for end, there in wiring.between(lower, upper):
        place = places.get((end.device, end.port))
        if place:
            first[there.device] = min(first.get(there.device, place.key), place.key)
    return sorted(upper, key=lambda name: (first.get(name, (0, 0)), numbering(configs[name]), natural(name)))


def pods_of(
    stripes: Sequence[Stripe], spines: Sequence[str], wiring: Wiring, configs: Mapping[str, DeviceConfig]
) -> list[list[str]]:
    """The spines of each pod, which are those that a stripe's leaves have links to, in the order of the leaves' AS numbers.

    Each stripe gets the number of its pod, from 0.
    """
    found: list[list[str]] = []
    for stripe in sorted(
        stripes, key=lambda one: (min(numbering(configs[leaf]) for leaf in one.leaves), natural(one.leaves[0]))
    ):
        above = sorted({there.device for _, there in wiring.between(stripe.leaves, spines)})
        if above not in found:
            found.append(above)
        stripe.pod = found.index(above)
    return found


def by_plane(supers: Sequence[str], wiring: Wiring, spines: Sequence[str], pods: int) -> list[str]:
    """Super-spines by plane: that of the spines that each joins, which have one number in all pods."""
    each = max(1, len(spines) // pods)
    number = {name: at % each for at, name in enumerate(spines)}
    plane = {end.device: number[there.device] for end, there in wiring.between(supers, spines)}
    return sorted(supers, key=lambda name: plane.get(name, 0))


def unlike_pods(stripes: Sequence[Stripe], pods: Sequence[Sequence[str]]) -> Iterator[str]:
    """What pods have that a design lacks: pods are alike, and their stripes stand together, for their numbers follow from those of stripes."""
    if len(pods) < 2:
        return
    sizes = {sum(one.pod == at for one in stripes) for at in range(len(pods))}
    if len({len(one) for one in pods}) > 1 or len(sizes) > 1:
        yield "pods have different numbers of stripes or spines: the file has them alike"
    each = max(sizes)
    if [one.pod for one in stripes] != [at // each for at in range(len(stripes))]:
        yield "stripes of a pod do not stand together in the order of their numbers: pods are not as they were"


def parallel(wiring: Wiring, lower: Iterable[str], upper: Iterable[str]) -> int:
    """The links that most pairs of two tiers have."""
    pairs = Counter((end.device, there.device) for end, there in wiring.between(lower, upper))
    common = Counter(pairs.values()).most_common(1)
    return common[0][0] if common else 1
