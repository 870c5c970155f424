"""Which runs prove a network, and which of them go at once: properties of the plans of examples."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import railweave
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.analysis.routing.table import Routes
from railweave.api import bench_plan
from railweave.errors import InputError
from railweave.model.network.devices import InactivePart, Nic
from railweave.model.network.model import Network
from railweave.operations.bench.plan import NcclTests, Perftest, Plan, PlannedRun, read_plan
from railweave.operations.bench.planning.making import printed_size, sizes_of
from railweave.operations.bench.planning.pairs import Rounds, in_turns, rounds
from railweave.operations.bench.planning.suites import SUITES
from railweave.prediction.simulation.job import ordered
from tests.conftest import EXAMPLES, designed, example

SMALL = ("h100-rlb", "mi300x-leaf-24", "mi300x-leaf-31", "evpn-functional", "dci-50km")


@cache
def planned(name: str, suite: str = "acceptance") -> Plan:
    return bench_plan(example(name), suite, predict=False)


@cache
def routes(name: str) -> Routes:
    return railweave.routes(example(name))


def perftests(plan: Plan, part: str) -> list[tuple[PlannedRun, Perftest]]:
    return [(one, one.test) for one in plan.runs if isinstance(one.test, Perftest) and one.part == part]


def nccl_tests(plan: Plan, *parts: str) -> list[tuple[PlannedRun, NcclTests]]:
    return [
        (one, one.test) for one in plan.runs if isinstance(one.test, NcclTests) and (one.part in parts or not parts)
    ]


def nics(network: Network, test: Perftest) -> list[Nic]:
    found = [network.server(end.host).nic(end.nic) for end in (test.client, test.server)]
    return [one for one in found if one is not None]


def leaf_pairs(network: Network) -> dict[frozenset[str], set[int | None]]:
    """Pairs of leaves that NICs of one rail and tenant are on, with the path colors that both have."""
    found: dict[frozenset[str], set[int | None]] = defaultdict(set)
    alike: dict[tuple[str, str, str, int], list[Nic]] = defaultdict(list)
    for server in network.servers:
        for nic in server.nics:
            alike[nic.fabric, nic.tenant, nic.network, nic.rail].append(nic)
    for group in alike.values():
        by_leaf = {nic.leaf: nic for nic in group}
        for one, other in combinations(by_leaf.values(), 2):
            colors = {address.color for address in one.addresses} & {address.color for address in other.addresses}
            found[frozenset({one.leaf, other.leaf})] |= colors
    return found


def crossed(network: Network, test: Perftest) -> set[str]:
    """Every link that packets between the two addresses may take, as ``railweave paths`` has it."""
    found: set[str] = set()
    for one, other in ((test.client, test.server), (test.server, test.client)):
        ways = queue_pair_paths(network, routes(network.name), f"{one.host}:{one.nic}", f"{other.host}:{other.nic}", 8)
        own = next(way for way in ways if (way.src_gid, way.dst_gid) == (one.address, other.address))
        assert own.hops
        found |= {share.link for hop in own.hops for share in hop}
    return found


@pytest.mark.parametrize("name", SMALL)
def test_the_mesh_has_every_pair_of_leaves_by_every_color(name: str) -> None:
    network = example(name)
    found: dict[frozenset[str], set[int | None]] = defaultdict(set)
    for _, test in perftests(planned(name), "mesh"):
        here, there = nics(network, test)
        colors = [
            next(a.color for a in nic.addresses if a.address == end.address)
            for nic, end in ((here, test.client), (there, test.server))
        ]
        assert colors[0] == colors[1]
        found[frozenset({here.leaf, there.leaf})].add(colors[0])
    assert found == leaf_pairs(network)


@pytest.mark.parametrize("name", ["h100-rlb", "evpn-functional"])
def test_the_quick_mesh_has_every_pair_of_leaves_and_every_color(name: str) -> None:
    network = example(name)
    runs = perftests(planned(name, "quick"), "mesh")
    pairs = {frozenset(nic.leaf for nic in nics(network, test)) for _, test in runs}
    assert pairs == leaf_pairs(network).keys()
    assert {test.color for _, test in runs} >= {color.name for fabric in network.fabrics for color in fabric.colors}


def test_leaves_of_all_rails_meet_where_each_rail_has_one() -> None:
    """Two servers of one stripe: eight leaves, one a rail, which only paths between rails join."""
    network = example("h100-rlb")
    plan = bench_plan(network, "acceptance", hosts="2", predict=False)
    found = {(frozenset(nic.leaf for nic in nics(network, test)), test.color) for _, test in perftests(plan, "mesh")}
    leaves = [f"stripe1-leaf{number}" for number in range(1, 9)]
    colors = [color.name for color in network.fabrics[0].colors]
    assert found == {(frozenset(pair), color) for pair in combinations(leaves, 2) for color in colors}


@pytest.mark.parametrize("name", SMALL)
def test_runs_of_a_round_share_no_nic_and_no_link(name: str) -> None:
    network, plan = example(name), planned(name)
    for part in ("loops", "pairs", "mesh"):
        taken: dict[int, list[str]] = defaultdict(list)
        for run, test in perftests(plan, part):
            ends = {f"{end.host}:{end.nic}" for end in (test.client, test.server)}
            links = crossed(network, test) if len(ends) > 1 else set[str]()
            assert set(run.links) in (links, set())
            taken[run.round] += [*ends, *links]
        assert sorted(taken) == list(range(1, len(taken) + 1))
        for own in taken.values():
            assert len(own) == len(set(own))


@pytest.mark.parametrize("name", SMALL)
def test_every_nic_is_measured(name: str) -> None:
    plan = planned(name)
    every = {f"{server.name}:{nic.name}" for server in example(name).servers for nic in server.nics}
    loops = [f"{test.client.host}:{test.client.nic}" for _, test in perftests(plan, "loops")]
    assert sorted(loops) == sorted(every)
    found = {
        f"{end.host}:{end.nic}"
        for part in ("pairs", "mesh")
        for _, test in perftests(plan, part)
        for end in (test.client, test.server)
    }
    assert found == every


@pytest.mark.parametrize("name", SMALL)
def test_ends_reach_each_other_by_the_addresses_that_they_have(name: str) -> None:
    network = example(name)
    for part in ("pairs", "mesh"):
        for _, test in perftests(planned(name), part):
            here, there = nics(network, test)
            assert test.client.host != test.server.host
            assert (here.tenant, here.network, here.fabric) == (there.tenant, there.network, there.fabric)
            assert test.client.address in {one.address for one in here.addresses}
            assert test.server.address in {one.address for one in there.addresses}


def test_a_pinned_path_names_its_links() -> None:
    """H100 with RDMA load balancing: a color is a cable up and a cable down."""
    for run, test in perftests(planned("h100-rlb"), "mesh"):
        assert len(run.links) == 4
        assert test.color
        assert test.color in run.name
    assert not any(run.links for run, _ in perftests(planned("dci-50km"), "mesh")), "four links between the sites"


def test_buffers_lie_in_the_gpus_beside_the_nics() -> None:
    """The Thor 2 guide: `ib_write_bw … --use_rocm=0 -a -F -x 3 -q 4 --report_gbits -b`, GPU 0 for NIC 0."""
    runs = perftests(planned("mi300x-leaf-31"), "pairs")
    assert len(runs) == 8
    for number, (_, test) in enumerate(runs):
        assert (test.program, test.memory, test.qps, test.both_ways, test.size_bytes) == (
            "ib_write_bw",
            "rocm",
            4,
            True,
            None,
        )
        assert (test.client.gpu, test.server.gpu) == (number, number)
        assert test.client.device == "", "found by the address"
    assert {test.memory for _, test in perftests(planned("h100-rlb"), "mesh")} == {"cuda"}
    plan = bench_plan(example("h100-rlb"), memory="host", parts=["pairs"], predict=False)
    assert {(test.memory, test.client.gpu) for _, test in perftests(plan, "pairs")} == {("host", None)}
    with pytest.raises(InputError, match="GPUs of AMD"):
        bench_plan(example("mi300x-leaf-31"), memory="cuda", predict=False)


def test_collectives_from_one_server_to_all() -> None:
    plan = planned("h100-rlb")
    hosts = [server.name for server in example("h100-rlb").servers]
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    kinds: dict[str, set[str]] = defaultdict(set)
    for run, test in nccl_tests(plan):
        found[run.part].add(test.hosts)
        kinds[run.part].add(test.collective)
        assert (test.per_host, test.gpus) == (8, 1)
    assert found["servers"] == {(host,) for host in hosts}
    assert found["stripes"] == {tuple(hosts[:2]), tuple(hosts[2:])}
    assert found["across"] == {(hosts[0], hosts[2])}
    assert found["cluster"] == {tuple(hosts)}
    for part in ("servers", "stripes", "across", "cluster"):
        assert kinds[part] == {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv"}
    many = {dict(test.variables)["NCCL_IB_QPS_PER_CONNECTION"] for _, test in nccl_tests(plan, "queue-pairs")}
    assert many == {"1", "2", "4", "8"}


def test_jobs_share_neither_servers_nor_the_network() -> None:
    for name in ("h100-rlb", "evpn-functional"):
        for part in {run.part for run, _ in nccl_tests(planned(name))}:
            by_round: dict[int, list[NcclTests]] = defaultdict(list)
            for run, test in nccl_tests(planned(name), part):
                by_round[run.round].append(test)
            for tests in by_round.values():
                hosts = [host for test in tests for host in test.hosts]
                assert len(hosts) == len(set(hosts))
                assert sum(len(test.hosts) > 1 for test in tests) <= 1


def test_jobs_are_of_one_tenant() -> None:
    """Tenants 2 and 3 of the EVPN bed have four NICs of each MI300X server, and with them four of its GPUs."""
    runs = nccl_tests(planned("evpn-functional"), "cluster")
    found = {(test.tenant, test.per_host, len(test.hosts), test.hosts[0]) for _, test in runs}
    assert found == {
        ("tenant-1", 8, 4, "H100-01"),
        ("tenant-2", 4, 4, "MI300-01"),
        ("tenant-3", 4, 4, "MI300-01"),
    }


def test_servers_are_chosen_and_ordered() -> None:
    plan = bench_plan(example("h100-rlb"), hosts="H100-03,H100-01", predict=False)
    assert {test.hosts for _, test in nccl_tests(plan, "cluster")} == {("H100-03", "H100-01")}
    assert {end.host for _, test in perftests(plan, "mesh") for end in (test.client, test.server)} == {
        "H100-01",
        "H100-03",
    }
    with pytest.raises(InputError, match="no server 'H100-09'"):
        bench_plan(example("h100-rlb"), hosts="H100-09", predict=False)


def test_what_is_absent_takes_no_part() -> None:
    network = replace(example("h100-rlb"), not_active=(InactivePart("H100-04", "planned"),))
    plan = bench_plan(network, predict=False)
    assert "H100-04" not in plan.to_json().decode().replace(plan.notes[0], "")
    assert "H100-04" in plan.notes[0]


def test_addresses_that_wait_for_the_inventory_are_said(tmp_path: Path) -> None:
    text = (EXAMPLES / "h100-rlb.yaml").read_text()
    waiting = bench_plan(designed(tmp_path, text)[0], predict=False)
    assert any(note.startswith("addresses of 32 NICs follow from placeholders") for note in waiting.notes)
    assert not any("placeholders" in note for note in planned("mi300x-leaf-31").notes), "addresses are static"
    known = sum(not nic.mac_is_placeholder for server in example("h100-rlb").servers for nic in server.nics)
    assert (known == 32) != any("placeholders" in note for note in planned("h100-rlb").notes)


def test_table_12_is_a_suite() -> None:
    """Four servers, all-reduce and all-to-all, 1 to 32 queue pairs, data on all of them; rings cross the spines at every hop."""
    network, runs = example("h100-rlb"), nccl_tests(planned("h100-rlb", "table12"))
    stripes = {server.name: server.nics[0].stripe for server in network.servers}
    assert {test.hosts for _, test in runs} == {tuple(ordered(stripes, "stripes-alternate"))}
    grid = {(test.collective, dict(test.variables)["NCCL_IB_QPS_PER_CONNECTION"]) for _, test in runs}
    assert grid == {(kind, str(1 << power)) for kind in ("all-reduce", "all-to-all") for power in range(6)}
    assert {dict(test.variables)["NCCL_IB_SPLIT_DATA_ON_QPS"] for _, test in runs} == {"1"}


def test_what_a_run_cannot_set_is_said() -> None:
    needs = {run.needs for run, _ in nccl_tests(planned("h100-rlb", "table1.3"))}
    assert "`load_balancing: {profile: evpn-flowlet-128us}` on the switches" in needs
    assert not any(run.needs for run in planned("h100-rlb").runs)


@pytest.mark.parametrize("name", [name for name in SUITES if name != "fifty-km"])
def test_names_are_their_own_and_files_come_back(name: str, tmp_path: Path) -> None:
    plan = planned("h100-rlb", name)
    names = [one.name for one in plan.runs]
    assert len(names) == len(set(names))
    assert not any(set(one) & set(" :\\*?") for one in names)
    (tmp_path / "plan.json").write_bytes(plan.to_json())
    assert read_plan(tmp_path / "plan.json") == plan
    assert all(0 < one.estimate_s < one.timeout_s for one in plan.runs)


def test_what_cannot_be_planned() -> None:
    network = example("h100-rlb")
    with pytest.raises(InputError, match="no suite 'slow'"):
        bench_plan(network, "slow")
    with pytest.raises(InputError, match="no part 'spines'"):
        bench_plan(network, parts=["spines"])
    with pytest.raises(InputError, match="no links between sites"):
        bench_plan(network, "fifty-km")
    with pytest.raises(InputError, match="nothing to run"):
        bench_plan(network, "table12", hosts="1")


@pytest.mark.slow
def test_rounds_of_a_thousand_servers() -> None:
    """128 leaves, eight colors of eight uplinks each: all pairs of a rail take as many rounds as the rail has leaves, less one."""
    network = railweave.load(EXAMPLES / "scale-8k.yaml")
    plan = bench_plan(network, "acceptance", parts=["pairs", "mesh"], predict=False)
    expected = leaf_pairs(network)
    found: dict[frozenset[str], set[str]] = defaultdict(set)
    per_round: dict[int, list[str]] = defaultdict(list)
    colored: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for run, test in perftests(plan, "mesh"):
        here, there = nics(network, test)
        found[frozenset({here.leaf, there.leaf})].add(test.color)
        per_round[run.round] += [f"{end.host}:{end.nic}" for end in (test.client, test.server)]
        # Links of a leaf belong to one color, so runs of a round with other leaves or other colors share none.
        colored[run.round] += [(here.leaf, test.color), (there.leaf, test.color)]
    assert found.keys() == expected.keys()
    assert {len(colors) for colors in found.values()} == {8}
    for taken in (*per_round.values(), *colored.values()):
        assert len(taken) == len(set(taken))
    assert len(per_round) <= len(network.servers)
    assert len(per_round) == 15


@pytest.mark.parametrize("count", range(2, 12))
def test_everyone_meets_everyone_once(count: int) -> None:
    turns = list(in_turns(count))
    assert len(turns) == count - 1 + count % 2
    for turn in turns:
        players = [one for pair in turn for one in pair]
        assert len(players) == len(set(players))
    assert sorted(pair for turn in turns for pair in turn) == list(combinations(range(count), 2))


@given(st.lists(st.frozensets(st.integers(0, 12), min_size=1, max_size=4), max_size=40))
def test_rounds_share_nothing_and_are_no_more_than_needed(runs: list[frozenset[int]]) -> None:
    numbers = rounds(runs)
    for number in set(numbers):
        taken = [what for own, at in zip(runs, numbers, strict=True) if at == number for what in own]
        assert len(taken) == len(set(taken))
    for own, number in zip(runs, numbers, strict=True):  # each earlier round has something of it
        for earlier in range(1, number):
            assert any(own & other for other, at in zip(runs, numbers, strict=True) if at == earlier)
    assert Rounds().first({"alone"}) == 1


def test_sizes_are_those_that_nccl_tests_prints() -> None:
    """Ranks that have parts of the data each have as many whole 16 bytes; a row of size 0 is left out."""
    assert printed_size("all-reduce", 1 << 20, 24) == 1 << 20
    assert printed_size("all-gather", 1 << 20, 24) == (1 << 20) // 24 // 16 * 16 * 24 == 1_048_320
    assert printed_size("all-to-all", 256, 32) == 0
    test = NcclTests("all-to-all", ("A", "B"), 8, 1, 64, 1024)
    assert list(sizes_of(test)) == [256, 512, 1024]
    assert list(sizes_of(replace(test, collective="all-reduce", factor=4))) == [64, 256, 1024]
