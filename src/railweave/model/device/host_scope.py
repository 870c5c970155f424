"""The inputs for the configuration of one server, and the settings that long links require of a job.

``host_config`` uses only a ``HostScope``. So the server's configuration stays the same unless this object changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.model.catalog import catalog
from railweave.model.catalog.rdma import ADAPTIVE_WINDOW, QUEUE_PAIRS, SPLIT
from railweave.model.device.port_model import switch_port_names

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import ServerModel
    from railweave.model.config.addresses import Family
    from railweave.model.network.devices import Fabric, Nic, Segment, Server
    from railweave.model.network.model import Hosts, Network


PAYLOAD = 4096
"""Payload bytes of a full RDMA packet (long-haul article: "4096 worth of data")."""

BESIDE_THE_WAY = 0.03
"""The largest delay that routers and NICs add to a long link, as a fraction of the propagation delay (long-haul article, Delay Impact)."""

CHANNELS_PER_NIC = 2
"""The smallest number of channels that NCCL gives a NIC between sites: with eight NICs per server.

With fewer NICs and GPUs from Hopper on, NCCL takes four (long-haul article: "4 for sending"; NCCL ``graph/connect.cc``). Each then needs
less.
"""

BUFFER_FACTOR = 8
"""The configured NCCL buffer, as a multiple of the buffer that the bandwidth-delay product requires.

The value is fitted: the long-haul article found near-maximum throughput with 128 MB, although the calculation gives 12.6 MB per
channel, and 32 MB suffice in the simulator (docs/validation.md, "Why rows are missed").
"""


@dataclass(frozen=True, slots=True)
class LongHaul:
    """The settings that a fabric's longest link requires of a job, with the intermediate results.

    - ``queue_pair_gbps``: the highest rate of one queue pair.
    - ``queue_pairs``: the number of queue pairs with which a NIC sends at its full rate.
    - ``per_connection``: the number of queue pairs that each connection gets.
    - ``buffer_floor_bytes``: the buffer that a channel needs according to the bandwidth-delay product.

    Without adaptive routing, a queue pair has no limit on outstanding packets, and the three fields about queue pairs are None.
    """

    one_way_us: float
    round_trip_us: float
    nic_gbps: int
    queue_pair_gbps: float | None
    queue_pairs: int | None
    per_connection: int | None
    channels: int
    buffer_floor_bytes: int
    buffer_bytes: int


def one_way_us(length_m: float, delay_us: int | None) -> float:
    """Return the one-way delay of a cable in microseconds: ``delay_us`` if it is known, else calculated from the length."""
    physics = catalog().physics
    return delay_us if delay_us is not None else length_m / (physics.velocity_factor * physics.light_m_per_s) * 1e6


def long_haul(network: Network, fabric: Fabric) -> LongHaul | None:
    """Return the job settings that the longest link of a fabric between sites requires. Return None for a fabric in one site or without NICs."""
    far = [one_way_us(long_link.length_m, long_link.delay_us) for long_link in network.long_links(fabric.name)]
    if fabric.interconnect is None or not far or fabric.name not in network.most_nics:
        return None
    nics, nic_gbps = network.most_nics[fabric.name]
    adaptive = fabric.load_balancing.group_mode() in {"dlb-per-packet", "spray"}
    round_trip = 2 * max(far) * (1 + BESIDE_THE_WAY)
    each = ADAPTIVE_WINDOW * PAYLOAD * 8 / round_trip / 1e3
    needed = math.ceil(nic_gbps / each)
    floor = math.ceil(nic_gbps / CHANNELS_PER_NIC * round_trip / 8 * 1e3)
    return LongHaul(
        one_way_us=max(far),
        round_trip_us=round_trip,
        nic_gbps=nic_gbps,
        queue_pair_gbps=each if adaptive else None,
        queue_pairs=needed if adaptive else None,
        per_connection=_power_of_two(math.ceil(needed / CHANNELS_PER_NIC)) if adaptive else None,
        channels=CHANNELS_PER_NIC * nics,
        buffer_floor_bytes=floor,
        buffer_bytes=_power_of_two(floor * BUFFER_FACTOR),
    )


def environment(haul: LongHaul) -> dict[str, tuple[str, str]]:
    """Return (value, reason) of each job variable for long links, by variable name. The values follow from the numbers in ``haul``."""
    variables = {
        "NCCL_MIN_CTAS": (
            str(haul.channels),
            f"{CHANNELS_PER_NIC} channels by each NIC, for which queue pairs and buffers are counted",
        ),
        "NCCL_BUFFSIZE": (
            str(haul.buffer_bytes),
            (
                f"a channel's buffer: {haul.nic_gbps / CHANNELS_PER_NIC:g} Gb/s x {haul.round_trip_us:.0f} us are "
                f"{haul.buffer_floor_bytes / 1e6:.1f} MB, times {BUFFER_FACTOR} as measured over 50 km, to a power of two"
            ),
        ),
    }
    if haul.per_connection is not None and haul.queue_pair_gbps is not None:
        why = (
            f"{haul.queue_pairs} queue pairs of {haul.queue_pair_gbps:.1f} Gb/s fill a NIC ({ADAPTIVE_WINDOW} packets "
            f"of {PAYLOAD} B in {haul.round_trip_us:.0f} us), over {CHANNELS_PER_NIC} channels, to a power of two"
        )
        variables[QUEUE_PAIRS] = (str(haul.per_connection), why)
        variables[SPLIT] = ("1", "every message is split over all queue pairs")
    return variables


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()


@dataclass(frozen=True, slots=True)
class HostScope:
    """A server, its model, and the parts of the network that affect the server's configuration.

    - ``fabrics``: its fabrics, by name.
    - ``segments``: the segment (subnets and VLAN) of each NIC, by NIC name.
    - ``sharing``: the number of NICs that share a NIC's subnets, by NIC name.
    - ``families``: the address family that jobs use, by (fabric, tenant) of the NICs. None means that each NIC uses the
      family of its first address.
    - ``long_haul``: the job settings that long links require, by fabric, for fabrics that have such links.
    - ``spines``: the spines of each path color of a NIC's leaf, by NIC and ``Color.index``.
    - ``port_names``: further names of the leaf port, by NIC.
    - ``cable_m``: the cable length in metres, by NIC.
    - ``optics``: (name, shortest and longest wavelength in nm or None) of the optic, by NIC.
    """

    network: str
    hosts: Hosts
    server: Server
    model: ServerModel
    fabrics: dict[str, Fabric]
    segments: dict[str, Segment]
    sharing: dict[str, int]
    long_haul: dict[str, LongHaul]
    families: dict[tuple[str, str], Family | None]
    spines: dict[tuple[str, int], tuple[str, ...]]
    port_names: dict[str, tuple[str, ...]]
    cable_m: dict[str, int]
    optics: dict[str, tuple[str, tuple[float, float] | None]]

    @property
    def name(self) -> str:
        """The server's name."""
        return self.server.name

    @property
    def gpus(self) -> int:
        """The number of GPUs of the server."""
        return self.model.gpus

    @property
    def gpu_vendor(self) -> str:
        """NVIDIA or AMD; empty if the server has no GPUs."""
        return self.model.gpu_vendor

    @property
    def library(self) -> Literal["NCCL", "RCCL"]:
        """The collective library of the server, which depends on the GPU vendor."""
        return "RCCL" if self.model.gpu_vendor == "AMD" else "NCCL"

    @property
    def job_fabric(self) -> str:
        """The name of the fabric to which the server's GPU NICs connect and over which its jobs reach other servers. Empty if there is none."""
        groups = self.model.nics
        return next((name for name, fabric in self.fabrics.items() if groups[fabric.nics].per_gpu), "")


def host_scope(network: Network, name: str) -> HostScope:
    """Return the parts of the network that affect the configuration of one server. Raises ``KeyError`` if there is no such server."""
    server = network.server(name)
    fabrics = {
        fabric_name: network.fabric(fabric_name) for fabric_name in dict.fromkeys(nic.fabric for nic in server.nics)
    }
    far = {fabric_name: long_haul(network, fabric) for fabric_name, fabric in fabrics.items()}
    return HostScope(
        network=network.name,
        hosts=network.hosts,
        server=server,
        model=network.catalog.servers[server.model],
        fabrics=fabrics,
        segments={nic.name: network.segment_of(name, nic) for nic in server.nics},
        sharing={nic.name: _sharing(network, fabrics[nic.fabric], nic) for nic in server.nics},
        long_haul={fabric_name: haul for fabric_name, haul in far.items() if haul is not None},
        families={(nic.fabric, nic.tenant): network.job_family(nic.fabric, nic.tenant) for nic in server.nics},
        spines={
            (nic.name, address.color): network.spines_of_colors.get((nic.leaf, address.color), ())
            for nic in server.nics
            for address in nic.addresses
            if address.color is not None
        },
        port_names={
            cable.a.port: tuple(filter(None, switch_port_names(network, cable.b, cable.a)[1:]))
            for cable in network.cables_of(name)
        },
        cable_m={cable.a.port: math.ceil(cable.length_m) for cable in network.cables_of(name)},
        optics={cable.a.port: _optic(network, cable.a.optic) for cable in network.cables_of(name)},
    )


def _optic(network: Network, name: str) -> tuple[str, tuple[float, float] | None]:
    model = network.catalog.optics.get(name)
    return name, model.wavelength_nm if model else None


def _sharing(network: Network, fabric: Fabric, nic: Nic) -> int:
    """Return the number of NICs in a NIC's subnets, including the NIC. On a routed link, this is 1."""
    if fabric.server_link == "proxy-arp":  # every NIC of the fabric is in the subnet
        return sum(size for (fabric_name, _, _), size in network.rail_sizes.items() if fabric_name == nic.fabric)
    if nic.network:
        return network.network_sizes[nic.fabric, nic.network]
    return 1 if fabric.link_of(nic.vlan) == "routed" else network.rail_sizes[nic.fabric, nic.stripe, nic.rail]
