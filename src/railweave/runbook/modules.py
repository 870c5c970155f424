"""Modules and their light: what every port must show before anything above it is looked at."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.catalog import catalog
from railweave.counting import counted
from railweave.expect.ports import PAM4_GBPS
from railweave.runbook.check import Check

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig
    from railweave.network.model import Network


def modules_check(network: Network, config: DeviceConfig, title: str, commands: tuple[str, ...], fec: str) -> Check:
    """A check of all modules and of error correction; ``fec`` is how the system names RS(544,514)."""
    ports = [one for one in config.interfaces if not one.outside]
    places: dict[str, set[tuple[str, int | str]]] = {}
    links: Counter[str] = Counter()
    for port in ports:
        cable = network.cable(port.link)
        here = cable.a if cable.a.device == config.name else cable.b
        places.setdefault(here.optic, set()).add(here.module)
        links[here.optic] += 1
    rows = tuple(
        (
            name,
            len(found),
            links[name],
            one.description if (one := catalog().optics.get(name)) else "not in the catalog",
        )
        for name, found in places.items()
    )
    points = ["the modules and cable assemblies below, as many as below"]
    optical = sum(count for name, count in links.items() if (one := catalog().optics.get(name)) and one.kind == "optic")
    if optical:
        points.append(
            f"light on {counted(optical, 'optical link')}: no alarm and no warning, high or low, sent or received"
        )
    if any(port.speed_gbps in PAM4_GBPS for port in ports):
        points.append(
            f"error correction is RS(544,514) of IEEE 802.3 clause 119 on ports of 200G and more{fec}, the same at both ends"
        )
        points.append(
            "where the bit error rate before correction is shown: below 2.4e-4, the most that the code corrects"
        )
    points.append(
        "uncorrected errors and CRC errors 0 on every port, and still 0 an hour later; corrected ones are normal"
    )
    return Check(title, commands, tuple(points), ("Module", "Modules", "Links", "What it is"), rows)
