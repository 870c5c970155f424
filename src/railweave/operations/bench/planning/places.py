"""The NICs of a network as ends of perftest runs: permitted partners, adjacent GPUs, and the links between a pair."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import path_hops
from railweave.errors import InputError, Option, Problem
from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.operations.bench.plan import End, Memory
from railweave.prediction.simulation.model.wiring import delay_ps

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from railweave.analysis.routing.table import Routes
    from railweave.model.catalog.hardware import ServerModel
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import Nic, Server
    from railweave.model.network.model import Network


MEMORY: dict[str, Memory] = {"NVIDIA": "cuda", "AMD": "rocm"}
"""The location of perftest's buffers (``Memory``), by the vendor of a server's GPUs."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A NIC, with its server and its GPU.

    - ``gpu``: the index of the GPU next to the NIC; None if the NIC serves no GPU. ``vendor``: the vendor of the GPU,
      or empty.
    - ``model``: the model of the NIC. ``messages_per_us``: messages per microsecond in each direction; None if
      unknown.
    - ``plane``: the plane of the NIC's leaf; empty if there are no planes.
    """

    server: Server
    nic: Nic
    gpu: int | None
    vendor: str
    model: str
    messages_per_us: float | None
    plane: str = ""

    @property
    def name(self) -> str:
        """The name of the NIC as ``SERVER:NIC``."""
        return f"{self.server.name}:{self.nic.name}"

    def end(self, address: int, memory: Memory) -> End:
        """Return the NIC as an end of a perftest run with buffers in ``memory``. ``address`` is the index of the NIC's address to use."""
        gpu = self.gpu if memory != "host" else None
        return End(self.server.name, self.nic.name, self.nic.addresses[address].address, gpu=gpu)

    def place_of(self, color: int | None) -> int | None:
        """Return the index of the NIC's address with a path color, or None if no address has the color."""
        return next((place for place, address in enumerate(self.nic.addresses) if address.color == color), None)


def memory_of(place: Place, other: Place, asked: Memory | None) -> Memory:
    """Return the location of buffers for a run between the NICs ``place`` and ``other``: ``asked``, if given.

    The default is GPU memory if both NICs have GPUs of the same vendor, otherwise host memory.
    """
    if asked is not None:
        return asked
    return MEMORY.get(place.vendor, "host") if place.vendor == other.vendor else "host"


def places(network: Network, hosts: Sequence[str]) -> list[Place]:
    """Return the NICs of these servers that have an address, in the order of the network."""
    wanted = set(hosts)
    return [
        _place(network, server, nic, catalog().servers.get(server.model))
        for server in network.servers
        if server.name in wanted
        for nic in server.nics
        if nic.addresses
    ]


def check_memory(asked: Memory | None, nic_places: Sequence[Place]) -> None:
    """Raise ``InputError`` if the requested location ``asked`` of buffers is unknown or cannot be used by all NICs of ``nic_places``.

    GPU memory can be used by a NIC that has a GPU of the right vendor next to it.
    """
    if asked is not None and asked not in get_args(Memory):
        fix = f"give {', '.join(get_args(Memory))}"
        raise InputError([Problem(Option("--memory"), f"{asked!r} is no memory", fix)])
    for place in nic_places if asked not in {None, "host"} else ():
        if MEMORY.get(place.vendor) != asked:
            has = f"GPUs of {place.vendor}" if place.vendor else "no GPU of its own"
            description = f"{asked}: {place.name} has {has}"
            raise InputError([Problem(Option("--memory"), description, "leave --memory out, or give host")])


def parts(nic_places: Sequence[Place]) -> list[list[list[Place]]]:
    """Return groups of those NICs of ``nic_places`` that can test each other's paths.

    A group is a list of leaves, and each leaf is a list of NICs.
    The NICs of a group have the same fabric, plane, tenant and layer-2 network. They also have the same rail, except
    in two cases in which all rails form one group:

    - Each rail has only one leaf. With a group per rail, no run would cross the spines.
    - All rails use the same leaves.
    """
    whole: dict[tuple[str, str, str, str], dict[int, dict[str, list[Place]]]] = {}
    for place in nic_places:
        rails = whole.setdefault((place.nic.fabric, place.plane, place.nic.tenant, place.nic.network), {})
        rails.setdefault(place.nic.rail, {}).setdefault(place.nic.leaf, []).append(place)
    result: list[list[list[Place]]] = []
    for rails in whole.values():
        by_leaf: dict[str, list[Place]] = {}
        for leaves in rails.values():
            for leaf, there in leaves.items():
                by_leaf.setdefault(leaf, []).extend(there)
        leaves_of_rails = {tuple(leaves) for leaves in rails.values()}
        if all(len(leaves) == 1 for leaves in leaves_of_rails) or len(leaves_of_rails) == 1:
            result.append(list(by_leaf.values()))
        else:
            result += [list(leaves.values()) for leaves in rails.values()]
    return result


def _place(network: Network, server: Server, nic: Nic, model: ServerModel | None) -> Place:
    group = model.nics.get(network.fabric(nic.fabric).nics) if model is not None else None
    if model is None or group is None:
        return Place(server, nic, None, "", "", None, network.plane_of(nic))
    per_gpu = group.per_gpu and model.gpus > 0
    gpu = group.gpu_of(nic.rail, model.gpus) if per_gpu else None
    known = catalog().nics[group.nic]
    return Place(
        server,
        nic,
        gpu,
        (model.gpu_vendor or "") if per_gpu else "",
        group.nic,
        known.messages_per_us,
        network.plane_of(nic),
    )


ALIKE_PS = 10_000_000
"""The difference in delay, in picoseconds, below which cables count as equal.

Cable lengths inside a building do not affect the results.
"""


@dataclass(frozen=True)
class Routed:
    """A network with its control plane (the model of its routing protocols) and the resulting routes."""

    network: Network
    plane: ControlPlane
    routes: Routes
    kinds: dict[str, tuple[int, int, bool]] = field(default_factory=dict[str, tuple[int, int, bool]])
    """A cache of link properties, by link: (speed, delay in units of ``ALIKE_PS``, True if the link is between sites)."""

    @classmethod
    def of(cls, network: Network) -> Routed:
        """Compute the control plane and the routes of a network."""
        configs: Mapping[str, DeviceConfig] = {
            switch.name: device_config(network, switch.name) for switch in network.switches
        }
        plane = ControlPlane(configs.values(), network.absent)
        return cls(network, plane, plane.routes())

    def kind(self, link: str) -> tuple[int, int, bool]:
        """Return (speed, delay in units of ``ALIKE_PS``, True if the link is between sites) of a link. These affect performance."""
        properties = self.kinds.get(link)
        if properties is None:
            cable = self.network.cable(link)
            properties = cable.speed_gbps, delay_ps(cable) // ALIKE_PS, self.network.between_sites(cable)
            self.kinds[link] = properties
        return properties


@dataclass(frozen=True, slots=True)
class PairPath:
    """The path of a pair of NICs, in both directions.

    - ``links``: the links that packets cross, in order; empty if a hash or the load selects the link at any hop.
    - ``possible``: all links that packets may cross.
    - ``widest``: the largest number of links to choose from at a hop.
    - ``alike``: a value that is equal for pairs with the same expected performance. It includes the speeds, long cables
      and numbers of possible links of every hop.
    - ``far``: True if the path crosses between sites.
    """

    links: tuple[str, ...]
    possible: frozenset[str]
    widest: int
    alike: Hashable
    far: bool


def pair_path(routed: Routed, place: Place, other: Place, places: tuple[int, int]) -> PairPath | None:
    """Return the path between the NICs ``place`` and ``other``, or None if packets are lost in either direction.

    ``routed`` is the network with its routes. ``places`` has two indexes: of the address to use on ``place``, and of the address
    to use on ``other``.
    """
    network, routes = routed.network, routed.routes
    here, there = (place.server.name, place.nic), (other.server.name, other.nic)
    to, back = other.nic.addresses[places[1]].address, place.nic.addresses[places[0]].address
    both = path_hops(network, routes, here, there, to), path_hops(network, routes, there, here, back)
    if not all(both):
        return None
    hops = [hop for hops in both for hop in hops]
    kinds = [tuple((len(hop), frozenset(routed.kind(share.link) for share in hop)) for hop in hops) for hops in both]
    pinned = all(len(hop) == 1 for hop in hops)
    return PairPath(
        tuple(dict.fromkeys(hop[0].link for hop in hops)) if pinned else (),
        frozenset(share.link for hop in hops for share in hop),
        max(map(len, hops)),
        (place.model, other.model, *kinds),
        any(far for hops in kinds for _, link_kinds in hops for _, _, far in link_kinds),
    )
