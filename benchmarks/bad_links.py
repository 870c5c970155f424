"""How often a planted fault is named first: ``.venv/bin/python -m benchmarks.bad_links``.

A cluster of 128 servers with 8 GPUs, sized by ``railweave init --gpus 1024 --stripes 16 --lb rlb``, and the same in planes of rails. A mesh of
pairs (docs/bench.md) runs over it in the packet engine, a round after another, with one thing wrong; each result is then off by chance,
and ``bench report``'s estimate is asked what is to blame. Nothing of the fault is told to it: it knows the pairs, their links and their rates.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.sim import machine

import railweave
from railweave._sim import RATE, RECEIVE, WRITE, PacketEngine
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.model.device.build import device_config
from railweave.operations.bench.comparing.estimate import Estimate, estimate
from railweave.operations.bench.comparing.rows import Pair, compared
from railweave.prediction.simulation.model.fabric import PacketFabric, packet_fabric
from railweave.prediction.simulation.model.outages import Timeline

if TYPE_CHECKING:
    from railweave.model.network.model import Network

BYTES = 2 << 20
MESSAGES = 8
"""A pair writes so many messages, together of so many bytes."""
NOISE = 0.05
X8_MBPS = 230_000
"""What PCIe 5.0 carries over 8 lanes, 10^6 bit/s: 32 GT/s a lane, 128 of 130 bits, 256 of 280 bytes of a packet."""
NOTHING = "nothing"
CABLE, NIC, SPINE = "half rate on a leaf-spine cable", "a NIC at PCIe x8", "one rail's spine gone"
KINDS = {CABLE: "two-tier", NIC: "two-tier", SPINE: "planes"}
"""Faults, and the network that each is planted in."""
SHAPES = {
    "two-tier": "stripes: {stripes}, servers_per_stripe: {servers}, spines: {colors}",
    "planes": "stripes: {stripes}, planes: rail, servers_per_stripe: {servers}, spines: {spines}, links_per_spine: {links}",
}
FILE = """name: mesh
fabrics:
  backend:
    topology: {{{topology}}}
    leaf: {{device: qfx5240-64od}}
    underlay: {{graceful_restart: true}}
servers:
  - {{names: "gpu-[001-{all:03}]", model: h100-8gpu-cx7}}
management: {{security: {{}}}}
"""


@dataclass(frozen=True)
class Planned:
    """A pair of the mesh: its round, its NICs, its path color by number, and the links that it takes while nothing is wrong."""

    round: int
    src: str
    dst: str
    color: int
    links: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Mesh:
    """A network with its mesh of pairs."""

    network: Network
    plane: ControlPlane
    fabric: PacketFabric
    pairs: tuple[Planned, ...]


@dataclass(frozen=True)
class Fault:
    """What is wrong: a link, a NIC or a switch by its name, as the estimate should name it."""

    what: str
    name: str


def mesh(shape: str, stripes: int = 16, servers: int = 8, seed: int = 0) -> Mesh:
    """A network of so many stripes, each of so many servers and path colors, and its mesh.

    In each round stripes go in pairs (each meets each other once in ``stripes`` - 1 rounds), and each server of one with a server of
    the other, rail by rail, each pair of a color of its own: so no two pairs of a round share a link.
    """
    words = SHAPES[shape].format(
        stripes=stripes, servers=servers, colors=servers, spines=max(servers // 4, 1), links=min(servers, 4)
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mesh.yaml"
        path.write_text(FILE.format(topology=words, all=stripes * servers))
        network = railweave.load(path)
    plane = ControlPlane(device_config(network, switch.name) for switch in network.switches)
    routes = plane.routes()
    chance = random.Random(seed)  # noqa: S311 -- a place, no secret
    by_stripe = [network.servers[place : place + servers] for place in range(0, stripes * servers, servers)]
    found: list[Planned] = []
    for number in range(stripes - 1):
        circle = [0, *((place + number) % (stripes - 1) + 1 for place in range(stripes - 1))]
        for one, other in zip(circle[: stripes // 2], reversed(circle[stripes // 2 :]), strict=True):
            for rail in range(len(network.servers[0].nics)):
                there = chance.sample(by_stripe[other], servers)
                colors = chance.sample(range(servers), servers)
                for server, peer, color in zip(by_stripe[one], there, colors, strict=True):
                    ends = [f"{host.name}:{host.nics[rail].name}" for host in (server, peer)]
                    chance.shuffle(ends)
                    hops = queue_pair_paths(network, routes, ends[0], ends[1], color + 1)[color].hops
                    links = tuple(link.link for hop in hops for link in hop)
                    found.append(Planned(number, ends[0], ends[1], color, links))
    return Mesh(network, plane, packet_fabric(network, plane.configs, routes), tuple(found))


def rates(here: Mesh, fault: Fault | None, pairs: list[Planned]) -> list[float]:
    """What the pairs of one round get, Gb/s; 0 where nothing arrives."""
    fabric, wiring = here.fabric, here.fabric.wiring
    changes: list[tuple[int, int, int, int, int]] = []
    limits: dict[str, int] = {}
    if fault is not None and fault.what == CABLE:
        row = wiring.cable[fault.name]
        changes = [(0, RATE, int(wiring.end_ports[row][0]), int(wiring.cables[row, 2]) // 2, 0)]
    elif fault is not None and fault.what == NIC:
        changes = [(0, RECEIVE, int(wiring.first_port[wiring.node[fault.name]]), X8_MBPS, 0)]
        limits[fault.name] = X8_MBPS
    elif fault is not None:
        fabric = replace(fabric, routes=here.plane.routes([fault.name]))
    ends = fabric.queue_pairs([(one.src, one.dst, one.color) for one in pairs])
    messages = np.zeros((len(pairs) * MESSAGES, 4), np.uint64)
    messages[:, 0] = np.tile(np.arange(len(pairs)), MESSAGES)
    messages[:, 1], messages[:, 3] = BYTES // MESSAGES, WRITE
    limit = np.array([(0, limits.get(one.src, 0)) for one in pairs], np.uint32)
    engine = PacketEngine(**fabric.arguments(ends, Timeline(tuple(changes))), messages=messages, limits=limit)
    engine.run(10**12)
    arrived = engine.arrivals().reshape(MESSAGES, len(pairs))
    lost = arrived == np.iinfo(arrived.dtype).max
    return [0.0 if gone else BYTES * 8e3 / int(last) for gone, last in zip(lost.any(0), arrived.max(0), strict=True)]


def touched(here: Mesh, fault: Fault) -> dict[int, list[Planned]]:
    """By round, the pairs whose rate the fault can change: pairs of a round share no link, so that those which cross it are all.

    Where a switch is gone, traffic goes other ways, and meets others of its rail.
    """
    crossing = [one for one in here.pairs if crosses(one, fault)]
    rounds = {one.round for one in crossing}
    rail = {one.src.partition(":")[2] for one in crossing}
    taken = crossing
    if fault.what == SPINE:
        taken = [one for one in here.pairs if one.round in rounds and one.src.partition(":")[2] in rail]
    return {number: [one for one in taken if one.round == number] for number in sorted(rounds)}


def crosses(pair: Planned, fault: Fault) -> bool:
    """Whether a pair's packets cross what is wrong."""
    if fault.what == SPINE:
        return any(end.partition(":")[0] == fault.name for link in pair.links for end in link.split("--"))
    return fault.name in (pair.links if fault.what == CABLE else (pair.src, pair.dst))


def planted(here: Mesh, what: str, seed: int) -> Fault:
    """A fault of a kind at a random place of the mesh."""
    chance = random.Random(seed)  # noqa: S311 -- a place, no secret
    pair = chance.choice(here.pairs)
    if what == NIC:
        return Fault(what, chance.choice((pair.src, pair.dst)))
    cable = chance.choice(pair.links[1:-1])
    return Fault(what, cable if what == CABLE else cable.split("--")[1].partition(":")[0])


def measured(
    here: Mesh, well: dict[Planned, float], fault: Fault | None, seed: int, noise: float = NOISE
) -> list[Pair]:
    """What the mesh gives with a fault, each number off by chance; ``well`` is what it gives without."""
    got = dict(well)
    for pairs in touched(here, fault).values() if fault is not None else ():
        got |= zip(pairs, rates(here, fault, pairs), strict=True)
    chance = np.random.default_rng(seed)
    return compared(
        [
            Pair(
                one.src,
                one.dst,
                "write",
                max(gbps * (1 + noise * chance.standard_normal()), 0.0),
                f"color{one.color + 1}",
                one.links,
                round=str(one.round),
            )
            for one, gbps in got.items()
        ]
    )


def undisturbed(here: Mesh) -> dict[Planned, float]:
    """What every pair gets where nothing is wrong, in the order of the mesh."""
    rounds: dict[int, list[Planned]] = {}
    for one in here.pairs:
        rounds.setdefault(one.round, []).append(one)
    return {one: gbps for pairs in rounds.values() for one, gbps in zip(pairs, rates(here, None, pairs), strict=True)}


def named_first(found: Estimate, fault: Fault) -> bool:
    """Whether the estimate's first is what is wrong, and nothing else with it but the cable of a NIC."""
    return bool(found.suspects) and found.suspects[0].part.name == fault.name


def main(words: list[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="How often a planted fault is named first.")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--stripes", type=int, default=16)
    parser.add_argument("--servers", type=int, default=8, help="of a stripe, and path colors")
    given = parser.parse_args(words)
    print(f"machine: {machine()}")
    meshes: dict[str, tuple[Mesh, dict[Planned, float]]] = {}
    print("| fault | named first | level found | score, runner-up | time of an estimate |")
    print("|---|---|---|---|---|")
    for what, shape in (*KINDS.items(), *((NOTHING, shape) for shape in dict.fromkeys(KINDS.values()))):
        if shape not in meshes:
            here = mesh(shape, given.stripes, given.servers)
            meshes[shape] = here, undisturbed(here)
        here, well = meshes[shape]
        print(
            row(what, here, well, given.cases) if what != NOTHING else idle(shape, here, well, given.cases), flush=True
        )


def row(what: str, here: Mesh, well: dict[Planned, float], cases: int) -> str:
    """The line of a fault, over so many random cases."""
    right, took = 0, 0.0
    firsts: list[Any] = []
    for seed in range(cases):
        fault = planted(here, what, seed)
        pairs = measured(here, well, fault, seed)
        began = time.process_time()
        found = estimate(pairs)
        took += time.process_time() - began
        good = named_first(found, fault)
        right += good
        if found.suspects:
            second = found.runners_up[0]
            firsts.append((found.suspects[0].level, found.suspects[0].score, second.score if second else 0.0))
        if not good:
            said = ", ".join(one.part.to_text() for one in found.suspects[:2]) or "nothing"
            print(f"  {what}: {fault.name} planted, named: {said}")
    level, score, second = np.median(np.array(firsts or [(0, 0, 0)]), axis=0)
    return f"| {what} | {right} of {cases} | {level:.2f} | {score:.0f}, {second:.0f} | {took / cases:.2f} s |"


def idle(shape: str, here: Mesh, well: dict[Planned, float], cases: int) -> str:
    """The line of meshes in which nothing is wrong: nothing should be named."""
    right = sum(not estimate(measured(here, well, None, seed)).suspects for seed in range(cases))
    return f"| nothing ({shape}) | nothing named in {right} of {cases} | – | – | – |"


if __name__ == "__main__":
    main()
