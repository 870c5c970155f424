"""The NICs of a network as ends of perftest: who may talk to whom, the GPU beside each, and what a pair's packets cross."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import ways
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
"""Where buffers lie, by the maker of a server's GPUs."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A NIC, with its server and its GPU.

    - ``gpu``: the GPU next to the NIC; None if the NIC serves no GPU. ``vendor``: the vendor of the GPU, or empty.
    - ``model``: the model of the NIC. ``messages_per_us``: messages per microsecond in each direction; None if unknown.
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
        """``SERVER:NIC``."""
        return f"{self.server.name}:{self.nic.name}"

    def end(self, address: int, memory: Memory) -> End:
        """The NIC as an end, by the place of one of its addresses."""
        gpu = self.gpu if memory != "host" else None
        return End(self.server.name, self.nic.name, self.nic.addresses[address].address, gpu=gpu)

    def place_of(self, color: int | None) -> int | None:
        """The place of its address of a path color; None where it has none."""
        return next((place for place, address in enumerate(self.nic.addresses) if address.color == color), None)


def memory_of(place: Place, other: Place, asked: Memory | None) -> Memory:
    """Where the buffers of a pair lie: in GPUs where both NICs have one of the same maker, unless something else is asked for."""
    if asked is not None:
        return asked
    return MEMORY.get(place.vendor, "host") if place.vendor == other.vendor else "host"


def places(network: Network, hosts: Sequence[str]) -> list[Place]:
    """The NICs with an address of these servers, in the order of the network."""
    wanted = set(hosts)
    return [
        _place(network, server, nic, catalog().servers.get(server.model))
        for server in network.servers
        if server.name in wanted
        for nic in server.nics
        if nic.addresses
    ]


def check_memory(asked: Memory | None, nic_places: Sequence[Place]) -> None:
    """Raise ``InputError`` where buffers are asked for in GPUs that some server does not have."""
    for place in nic_places if asked not in {None, "host"} else ():
        if MEMORY.get(place.vendor) != asked:
            has = f"GPUs of {place.vendor}" if place.vendor else "no GPU of its own"
            description = f"{asked}: {place.name} has {has}"
            raise InputError([Problem(Option("--memory"), description, "leave --memory out, or give host")])


def parts(nic_places: Sequence[Place]) -> list[list[list[Place]]]:
    """NICs that prove each other's paths, by leaf: those of one fabric, plane, tenant, layer-2 network and rail.

    Where each rail of a tenant has a leaf to itself, all rails are one: else nothing would cross the spines.
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
"""Cables whose delays differ by less are alike: inside a building no cable makes a pair faster or slower."""


@dataclass(frozen=True)
class Routed:
    """A network with what its control plane settles on."""

    network: Network
    plane: ControlPlane
    routes: Routes
    kinds: dict[str, tuple[int, int, bool]] = field(default_factory=dict[str, tuple[int, int, bool]])
    """Of each link that was asked about: speed, delay in units of ``ALIKE_PS``, and whether it is between sites."""

    @classmethod
    def of(cls, network: Network) -> Routed:
        """Work it out."""
        configs: Mapping[str, DeviceConfig] = {
            switch.name: device_config(network, switch.name) for switch in network.switches
        }
        plane = ControlPlane(configs.values(), network.absent)
        return cls(network, plane, plane.routes())

    def kind(self, link: str) -> tuple[int, int, bool]:
        """Return the properties that make a link faster or slower than another: speed, delay, and whether it is between sites."""
        properties = self.kinds.get(link)
        if properties is None:
            cable = self.network.cable(link)
            properties = cable.speed_gbps, delay_ps(cable) // ALIKE_PS, self.network.between_sites(cable)
            self.kinds[link] = properties
        return properties


@dataclass(frozen=True, slots=True)
class PairPath:
    """The way of a pair of NICs, both directions together.

    - ``links``: what its packets cross, in order; empty where a hash or a load decides on any of it.
    - ``possible``: every link that they may cross.
    - ``widest``: between how many links the widest choice is.
    - ``alike``: equal where nothing makes one pair faster than another: speeds, long cables and choices of every hop.
    - ``far``: whether it leads from a site to another.
    """

    links: tuple[str, ...]
    possible: frozenset[str]
    widest: int
    alike: Hashable
    far: bool


def way(routed: Routed, place: Place, other: Place, places: tuple[int, int]) -> PairPath | None:
    """The way between the addresses in these places of two NICs; None where packets do not arrive, there or back."""
    network, routes = routed.network, routed.routes
    here, there = (place.server.name, place.nic), (other.server.name, other.nic)
    to, back = other.nic.addresses[places[1]].address, place.nic.addresses[places[0]].address
    both = ways(network, routes, here, there, to), ways(network, routes, there, here, back)
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
