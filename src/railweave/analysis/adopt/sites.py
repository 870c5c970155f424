"""Import of a fabric that spans sites: the routers, or single leaves, with links to other sites."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from railweave.analysis.adopt.draft import Draft, common, common_start, plain
from railweave.model.intent.base import NAME
from railweave.model.intent.topology import Interconnect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.analysis.adopt.equipment import Place
    from railweave.analysis.adopt.shape import Shape, Stripe
    from railweave.analysis.adopt.wiring import End, Wiring
    from railweave.model.device.model import DeviceConfig, Interface

USUAL = Interconnect(sites={"a": ("a",), "b": ("b",)})


@dataclass(frozen=True, slots=True)
class Interconnection:
    """The switches and links that connect sites.

    ``borders`` maps each switch with links to other sites to (site number from 0, number of the switch in its site from 1).
    ``links`` is the number of parallel links between two of these switches at different sites.
    """

    borders: dict[str, tuple[int, int]]
    links: int
    speed_gbps: int

    def place(self, near: str, far: str) -> int:
        """Return the position of the switch ``far`` among the neighbors of ``near`` at other sites, from 1.

        The position determines the port on ``near``.
        """
        each = max(number for _, number in self.borders.values())
        (here, _), (there, number) = self.borders[near], self.borders[far]
        return (there - (there > here)) * each + number

    def ends(self, wiring: Wiring) -> list[tuple[End, End]]:
        """Return the links between sites as pairs of ends. The first end is at the site with the lower number."""
        site = {name: at for name, (at, _) in self.borders.items()}
        return [(end, other) for end, other in wiring.between(site, site) if site[end.device] < site[other.device]]


def across_sites(
    stripes: Sequence[Stripe],
    pods: Sequence[Sequence[str]],
    routers: Sequence[str],
    wiring: Wiring,
    places: Mapping[tuple[str, str], Place],
) -> Interconnection | None:
    """Return the switches and links that connect the sites of a fabric. Return None unless every site is connected to every other site.

    Sites are connected by ``routers`` above the spines of each pod, or by the leaves of ``stripes`` if there are no spines. ``pods`` holds
    the spines of each pod. ``places`` holds the position of each port on its switch, by (switch, port).
    """
    sites: list[list[str]]
    if routers:
        above = [{near.device for near, _ in wiring.between(routers, pod)} for pod in pods]
        sites = [[router for router in routers if router in here] for here in above]
    else:
        sites = [stripe.leaves for stripe in stripes]
        if pods or any(len(here) > 1 for here in sites):
            return None
    borders = {name: (at, number) for at, here in enumerate(sites) for number, name in enumerate(here, 1)}
    made = Interconnection(borders, 1, 0)
    ends = made.ends(wiring)
    joined = Counter((end.device, other.device) for end, other in ends)
    if len(sites) < 2 or any(
        (switch, other) not in joined for a, b in combinations(sites, 2) for switch in a for other in b
    ):
        return None
    speeds = Counter(place.speed_gbps for end, _ in ends if (place := places.get((end.device, end.port))) is not None)
    return Interconnection(
        borders, joined.most_common(1)[0][1], speeds.most_common(1)[0][0] if speeds else USUAL.link_speed
    )


def site_names(shape: Shape) -> list[str]:
    """Return a name for each site: the common start of the names of its switches.

    If two sites would get the same name, or a name would not be valid, all sites get numbered names.
    """
    if shape.across is None:
        return []
    whole: list[list[str]] = [[] for _ in range(len({at for at, _ in shape.across.borders.values()}))]
    for name, (at, _) in shape.across.borders.items():
        whole[at].append(name)
    if shape.spines:
        for at, name in enumerate(shape.spines):
            whole[at * len(whole) // len(shape.spines)].append(name)
    heads = [names[0] if len(names) == 1 else common_start(names).rstrip("-_.") for names in whole]
    good = len({head.casefold() for head in heads}) == len(heads) and all(re.fullmatch(NAME, head) for head in heads)
    return heads if good else [f"site{at}" for at in range(1, len(heads) + 1)]


def interconnect(draft: Draft, shape: Shape, configs: Mapping[str, DeviceConfig]) -> None:
    """Write the sites of a fabric and the links between them into the draft (the reconstructed fabric file)."""
    across = shape.across
    if across is None:
        return
    names = site_names(shape)
    ports = {(name, interface.name): interface for name in across.borders for interface in configs[name].interfaces}
    long = [ports[end.device, end.port] for pair in across.ends(shape.wiring) for end in pair]
    part: dict[str, Any] = {
        "sites": {
            site: [stripe.name for stripe in shape.stripes if (stripe.pod if shape.spines else stripe.slot - 1) == at]
            for at, site in enumerate(names)
        }
    }
    if shape.spines:
        part["routers"] = max(number for _, number in across.borders.values())
        if shape.super_links != USUAL.links_per_router:
            part["links_per_router"] = shape.super_links
    if across.links != USUAL.links:
        part["links"] = across.links
    if across.speed_gbps != USUAL.link_speed:
        part["link_speed"] = f"{across.speed_gbps}G"
    part |= _as_ports_have_it(draft, long)
    draft.at("topology")["interconnect"] = part
    draft.whole.setdefault("sites", {}).update({site: {} for site in names})
    draft.slots("sites", per_fabric=True).update({site: at for at, site in enumerate(names, 1)})


def _as_ports_have_it(draft: Draft, ports: Iterable[Interface]) -> dict[str, Any]:
    """Return the MACsec key and the PFC setting that most ports between sites have, with the keys of the fabric file.

    Add a note if ports differ.
    """
    key, others = common([plain(port.macsec) if port.macsec else None for port in ports])
    pauses, unlike = common([port.pauses for port in ports])
    if others + unlike:
        draft.note("links between sites differ in MACsec or PFC; all get the most common settings", "interfaces")
    return ({"macsec": key} if key else {}) | ({"pfc": True} if pauses else {})
