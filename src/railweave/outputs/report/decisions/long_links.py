"""Links between sites: what their delay asks of buffers, queue pairs and NCCL, with the arithmetic laid open."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.catalog.rdma import ADAPTIVE_WINDOW
from railweave.model.device.long_haul import BESIDE_THE_WAY, BUFFER_FACTOR, CHANNELS_PER_NIC, PAYLOAD, long_haul
from railweave.outputs.report.decisions.statement import Decision, Grid

if TYPE_CHECKING:
    from railweave.model.device.long_haul import LongHaul
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network

SHOWN = (1, 2, 4, 8, 16)
"""Numbers of queue pairs that the table has besides those that fill a NIC."""


def long_links_decisions(network: Network, fabric: Fabric) -> list[Decision]:
    """One decision where a fabric spans sites; none else."""
    found, cables = long_haul(network, fabric), network.long_links(fabric.name)
    across = fabric.interconnect
    if found is None or across is None or not cables:
        return []
    cable = max(cables, key=lambda one: one.length_m)
    routers = Counter(end.device for one in cables for end in (one.a, one.b))
    fullest, ports = max(routers.items(), key=lambda item: item[1])
    model = catalog().switches[network.switch(fullest).model]
    each = port_headroom(catalog(), model, cable.length_m, cable.speed_gbps, fabric.mtu.fabric).need_bytes
    facts = [
        ("Links", f"{len(cables)} x {cable.speed_gbps}G, {cable.length_m / 1000:g} km, {ports} on the fullest router"),
        (
            "Delay",
            (
                f"{found.one_way_us:.1f} us one way ({'measured' if cable.delay_us else 'by length'}); {found.round_trip_us:.1f} us "
                f"there and back with {BESIDE_THE_WAY:.0%} for routers and NICs"
            ),
        ),
        ("Encryption", f"MACsec, {across.macsec.cipher_suite}" if across.macsec else "none"),
        (
            "On the way",
            (
                f"{cable.speed_gbps / 8 * found.round_trip_us / 1e3:.1f} MB fill one link for a round trip "
                f"({cable.speed_gbps} Gb/s x {found.round_trip_us:.1f} us)"
            ),
        ),
        (
            "Headroom for pauses",
            (
                f"{each / 1e6:.1f} MB a port and lossless class, {ports * each / 1e6:.1f} MB on the fullest router, as every port "
                "must hold what arrives within twice the delay"
            ),
        ),
        (
            "A channel's buffer",
            (
                f"{found.nic_gbps} Gb/s / {CHANNELS_PER_NIC} channels x {found.round_trip_us:.1f} us = "
                f"{found.buffer_floor_bytes / 1e6:.1f} MB at least; {BUFFER_FACTOR} times that, to a power of two, is "
                f"NCCL_BUFFSIZE {found.buffer_bytes >> 20} MiB"
            ),
        ),
    ]
    chosen = "paused like any other" if across.pfc else "not paused: packets may be lost there"
    return [
        Decision(
            "Links between sites",
            f"{counted(len(cables), 'link')}, {chosen}",
            "Light takes longer than a buffer can wait. A pause would stop a sender only after a round trip's worth of bytes; so "
            "queues are marked early, windows of queue pairs bound what is under way, and jobs get as many queue pairs and as "
            "large buffers as fill the delay.",
            tuple(facts),
            _queue_pairs(found),
        )
    ]


def _queue_pairs(found: LongHaul) -> tuple[Grid, ...]:
    """Rates by number of queue pairs, where a window bounds each."""
    if found.queue_pair_gbps is None or found.queue_pairs is None:
        return ()
    counts = sorted({*SHOWN, found.queue_pairs - 1, found.queue_pairs})
    rows = tuple(
        (
            str(count),
            f"{min(count * found.queue_pair_gbps, found.nic_gbps):.0f} Gb/s",
            f"{count * ADAPTIVE_WINDOW * PAYLOAD / 1e6:.1f} MB",
        )
        for count in counts
        if count
    )
    return (
        Grid(
            (f"Queue pairs of a {found.nic_gbps}G NIC", "At most", "Under way"),
            rows,
            (counts.index(found.queue_pairs),),
        ),
    )
