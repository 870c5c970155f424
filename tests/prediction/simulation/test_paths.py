"""The engine's queue pairs cross what ``railweave paths`` says they cross, and nothing else."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave._sim import ECMP, ONE_PORT
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.model.network.model import Network
from railweave.prediction.simulation.model.fabric import PacketFabric, packet_fabric
from tests.analysis.routing.fabrics import fabrics
from tests.conftest import EXAMPLES, designed
from tests.drawn import examples
from tests.prediction.simulation.beds import bed, crossed, engine, plane_of, run_one, travelled

CONNECTIONS = [
    ("H100-01:gpu0_eth", "H100-03:gpu0_eth"),
    ("H100-01:gpu0_eth", "H100-02:gpu0_eth"),
    ("H100-02:gpu1_eth", "H100-01:gpu6_eth"),
    ("H100-04:gpu7_eth", "H100-01:gpu2_eth"),
]


@pytest.mark.parametrize(("src", "dst"), CONNECTIONS)
def test_each_queue_pair_crosses_exactly_the_links_of_its_path(src: str, dst: str) -> None:
    network, plane, fabric = bed("h100-rlb")
    paths = queue_pair_paths(network, plane.routes(), src, dst, 4)
    assert all(path.pinned for path in paths)
    for path in paths:
        hops = tuple(hop[0].link for hop in path.hops)
        assert run_one(fabric, src, dst, path.qp, 1_000_000) == travelled(network, hops, src)


def test_answers_go_back_by_the_same_color() -> None:
    network, _, fabric = bed("h100-rlb")
    src, dst = CONNECTIONS[0]
    one = engine(fabric, fabric.queue_pairs([(src, dst, 1)]), [(0, 1_000_000, 0)])
    one.run(10**10)
    used = crossed(fabric, one.port_counters()["tx_bytes"])
    links = {link for link, _ in used}
    assert len(links) == 4, "no link but those of the data"
    assert len(used) == 8, "each in both directions"
    colors = {network.cable(link).color for link in links} - {None}
    assert len(colors) == 1


@pytest.mark.slow
@settings(max_examples=examples(40, 15))
@given(fabrics(), st.data())
def test_any_fabric(network: Network, data: st.DataObject) -> None:
    """Where a path is pinned, its links; else one link of each hop, and every packet by some."""
    plane = plane_of(network)
    fabric = packet_fabric(network, plane.configs, plane.routes())
    src, dst = data.draw(st.permutations(fabric.wiring.nics))[:2]
    for path in queue_pair_paths(network, plane.routes(), src, dst, data.draw(st.integers(1, 5))):
        links = {link for link, _ in run_one(fabric, src, dst, path.qp, 10_000)}
        assert len(links) == len(path.hops), "10 kB at once are one flowlet: they stay together"
        for hop in path.hops:
            assert len(links & {one.link for one in hop}) == 1


def leaves_choose(fabric: PacketFabric) -> dict[tuple[str, str], frozenset[str]]:
    """By leaf and destination NIC: the links that packets to its first address are shared over."""
    names = fabric.wiring.nics
    pairs = np.array(
        [(0, i, fabric.addresses.places[i, 0], fabric.addresses.places[0, 0]) for i in range(1, len(names))]
    )
    arguments = fabric.arguments(pairs.astype(np.uint32))
    found: dict[tuple[str, str], frozenset[str]] = {}
    for switch, (_, dst, to, _) in itertools.product(fabric.wiring.switches, arguments["queue_pairs"].tolist()):
        node = fabric.wiring.node[switch]
        entry = int(arguments["group"][node - len(names), to])
        if entry >= ONE_PORT:
            ports = [entry - ONE_PORT]
        else:
            start, length, _ = arguments["groups"][entry].tolist()
            ports = arguments["members"][start : start + length].tolist()
        first = int(fabric.wiring.first_port[node])
        found[switch, names[dst]] = frozenset(fabric.wiring.port_link(first + port) for port in ports)
    return found


def test_an_override_shares_as_a_fabric_designed_so(tmp_path: Path) -> None:
    """``--lb ecmp`` on path colors gives the next hops of the same file with ``mode: ecmp``."""
    _, _, overridden = bed("h100-rlb", "ecmp")
    text = (EXAMPLES / "h100-rlb.yaml").read_text()
    text = text.replace("{mode: rlb, within_color: dlb-flowlet}", "{mode: ecmp}")
    text = text.replace("    colors: [{name: green}, {name: blue}, {name: red}, {name: orange}]\n", "")
    network, _ = designed(tmp_path, text)
    assert not network.fabrics[0].colors
    plane = plane_of(network)
    plain = packet_fabric(network, plane.configs, plane.routes())
    assert leaves_choose(overridden) == leaves_choose(plain)
    assert set(overridden.balance) == set(plain.balance) == {ECMP}
    far = leaves_choose(plain)["stripe1-leaf1", "H100-03:gpu0_eth"]
    assert len(far) == 4, "all uplinks"


def test_queue_pairs_spread_over_the_uplinks_under_ecmp() -> None:
    _, _, fabric = bed("h100-rlb", "ecmp")
    src, dst = CONNECTIONS[0]
    pairs = fabric.queue_pairs([(src, dst, qp) for qp in range(64)])
    one = engine(fabric, pairs, [(qp, 10_000, 0) for qp in range(64)])
    one.run(10**10)
    sent = crossed(fabric, one.port_counters()["tx_bytes"])
    assert len({link for link, sender in sent if sender == "stripe1-leaf1"} - {None}) == 5, "4 uplinks, and the NIC's"


def test_a_queue_pair_takes_one_of_the_links_of_its_color(tmp_path: Path) -> None:
    """Eight uplinks and four colors: two links a color. A hash chooses one at each end of the spine, by seed and switch."""
    text = (EXAMPLES / "h100-rlb-8up.yaml").read_text().replace("within_color: dlb-flowlet", "within_color: ecmp")
    text = re.sub(r"colors: .*", "paths_per_nic: 4", text)
    network, _ = designed(tmp_path, text)
    plane = plane_of(network)
    fabric = packet_fabric(network, plane.configs, plane.routes())
    src, dst = CONNECTIONS[0]
    paths = queue_pair_paths(network, plane.routes(), src, dst, 4)
    members = [[{link.link for link in hop} for hop in path.hops] for path in paths]
    assert [[len(hop) for hop in path] for path in members] == [[1, 2, 2, 1]] * 4

    def taken(qps: list[int], seed: int) -> frozenset[str]:
        seeded = replace(fabric, parameters=fabric.parameters | {"seed": str(seed)})
        pairs = seeded.queue_pairs([(src, dst, qp) for qp in qps])
        one = engine(seeded, pairs, [(place, 1_000_000, 0) for place in range(len(qps))])
        one.run(10**10)
        sent = crossed(seeded, one.port_counters()["tx_bytes"], 1_000_000)
        return frozenset(link for link, _ in sent if link)

    alone = {seed: taken([0], seed) for seed in range(1, 9)}
    for links in alone.values():
        assert [len(hop & links) for hop in members[0]] == [1] * 4
    ways = {tuple(tuple(hop & links) for hop in members[0][1:3]) for links in alone.values()}
    assert len({up for up, _ in ways}) == len({down for _, down in ways}) == 2, "seeds change both ends"
    assert len(ways) > 2, "leaf and spine choose apart"
    assert len({len(members[0][1] & taken([0, 4], seed)) for seed in range(1, 9)}) == 2, "two of a color may meet"
    assert members[0][1] <= taken(list(range(0, 64, 4)), 1), "16 queue pairs of a color take both"
    assert not members[1][1] & taken(list(range(0, 64, 4)), 1), "and no link of another color"


def test_many_pairs_at_once_are_those_of_single_questions() -> None:
    _, _, fabric = bed("h100-rlb-8up")
    names = fabric.wiring.nics
    src, dst, qp = np.array([0, 17, 8]), np.array([9, 2, 20]), np.array([3, 31, 129])
    wanted = [(names[a], names[b], c) for a, b, c in zip(src, dst, qp, strict=True)]
    assert (fabric.addresses.pairs(src, dst, qp) == fabric.queue_pairs(wanted)).all()
