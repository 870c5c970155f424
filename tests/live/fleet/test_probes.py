"""The plan of ``fleet mesh``: few probes that cross everything, and what failed ones are said to share."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave import api
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.live.fleet.meshed import common, meshed, parts
from railweave.live.fleet.page import page
from railweave.live.fleet.probes import MOST, Probe, plan, probe_file
from railweave.live.fleet.running import Reply
from railweave.model.network.devices import InactivePart
from railweave.model.network.model import Network
from railweave.model.network.status import present
from tests.conftest import SMALL, example
from tests.design.test_tiers import PLANES, PODS
from tests.design.test_tiers import network as tiers


def _covered(network: Network, probes: list[Probe]) -> None:
    """Every NIC sends and is sent to, at most 16 times, and all that may carry them is crossed."""
    there = present(network)
    nics = {(server.name, nic.netdev): nic for server in there.servers for nic in server.nics if nic.addresses}
    sent, got = (
        Counter((one.server, one.nic) for one in probes),
        Counter((one.peer, one.peer_nic) for one in probes),
    )
    assert max(sent.values()) <= MOST
    assert max(got.values()) <= 2 * MOST
    alone = {
        (server, name)
        for (server, name), nic in nics.items()
        if not any(
            other != server and (far.fabric, far.tenant, far.network) == (nic.fabric, nic.tenant, nic.network)
            for (other, _), far in nics.items()
        )
    }
    assert sent.keys() == got.keys() == nics.keys() - alone
    assert len(set(probes)) == len(probes)
    for one in probes:
        nic, far = nics[one.server, one.nic], nics[one.peer, one.peer_nic]
        assert one.server != one.peer
        assert (nic.fabric, nic.tenant) == (far.fabric, far.tenant)
        source, target = (
            next(each for each in end.addresses if each.address == address)
            for end, address in ((nic, one.source), (far, one.target))
        )
        assert source.color == target.color
        assert (one.leaf, one.peer_leaf) == (nic.leaf, far.leaf)
    crossed = {name for one in probes for name in (one.leaf, one.peer_leaf, *one.spines)}
    used = {nics[key].leaf for key in sent}
    above = {one.name for one in there.switches if one.role == "spine" and _carries(there, one.name, used)}
    assert crossed >= used | above
    assert {(one.server, one.nic, one.color) for one in probes} >= _colored(network, nics, probes)


def _carries(network: Network, switch: str, leaves: set[str]) -> bool:
    """Whether a switch joins two leaves with servers."""
    return len({cable.a.device for cable in network.cables_of(switch)} & leaves) > 1


def _colored(network: Network, nics: dict[tuple[str, str], object], probes: list[Probe]) -> set[tuple[str, str, str]]:
    """Every color of a NIC, where it has no more than it may send probes."""
    names = {server.name: server for server in network.servers}
    found: set[tuple[str, str, str]] = set()
    for server, netdev in {(one.server, one.nic) for one in probes}:
        nic = names[server].nic(netdev)
        assert nic is not None
        if len(nic.addresses) <= MOST:
            fabric = network.fabric(nic.fabric)
            found |= {
                (server, netdev, "" if each.color is None else fabric.color_name(each.color)) for each in nic.addresses
            }
    return found


@pytest.mark.parametrize("name", SMALL)
def test_few_probes_cross_everything(name: str) -> None:
    network = example(name)
    _covered(network, plan(network))


@pytest.mark.parametrize("topology", [PODS, PLANES])
def test_pods_and_planes_are_crossed_too(topology: str, tmp_path: Path) -> None:
    network = tiers(tmp_path, topology)
    probes = plan(network)
    _covered(network, probes)
    assert {one.name for one in network.switches} == {
        name for one in probes for name in (one.leaf, one.peer_leaf, *one.spines)
    }


def test_each_link_between_leaf_and_spine_is_crossed_by_its_color() -> None:
    probes = plan(example("h100-rlb"))
    crossed = {(leaf, one.spines) for one in probes for leaf in (one.leaf, one.peer_leaf) if one.spines}
    assert len(crossed) == 16 * 4
    assert all(one.pinned for one in probes)


def test_the_design_forwards_a_probe_over_the_switches_it_names() -> None:
    network = example("h100-rlb")
    routes = api.routes(network)
    names = {
        (server.name, nic.netdev): f"{server.name}:{nic.name}" for server in network.servers for nic in server.nics
    }
    for one in plan(network)[::5]:
        ends = names[one.server, one.nic], names[one.peer, one.peer_nic]
        path = next(each for each in queue_pair_paths(network, routes, *ends, 8) if each.src_gid == one.source)
        assert path.dst_gid == one.target
        devices = {end.partition(":")[0] for hop in path.hops for each in hop for end in each.link.split("--")}
        assert devices == {one.server, one.peer, one.leaf, one.peer_leaf, *one.spines}


@pytest.mark.slow
def test_a_network_of_8192_nics_takes_seconds() -> None:
    network = example("scale-8k")
    begun = time.process_time()
    probes = plan(network)
    assert time.process_time() - begun < 60  # 3 s where nothing else runs
    assert len(probes) == 8192 * MOST
    assert len({name for one in probes for name in one.spines}) == 64
    assert set(Counter((one.peer, one.peer_nic) for one in probes).values()) == {MOST}


@settings(max_examples=25)
@given(st.data())
def test_what_is_absent_neither_sends_nor_answers(data: st.DataObject) -> None:
    whole = example("h100-rlb")
    devices = [one.name for one in (*whole.servers, *whole.switches)]
    gone = data.draw(st.sets(st.sampled_from(devices), max_size=6))
    network = replace(whole, not_active=tuple(InactivePart(one, "drained") for one in gone))
    probes = plan(network)
    assert not gone & {name for one in probes for name in (one.server, one.peer, one.leaf, one.peer_leaf, *one.spines)}
    if len({server.name for server in present(network).servers}) > 1 and probes:
        assert max(Counter((one.server, one.nic) for one in probes).values()) <= MOST


def test_only_servers_that_are_asked_for_send() -> None:
    probes = plan(example("h100-rlb"), ["H100-02"])
    assert {one.server for one in probes} == {"H100-02"}
    assert {one.peer for one in probes} == {"H100-01", "H100-03", "H100-04"}


def _replies(probes: list[Probe], outcomes: dict[Probe, str]) -> tuple[dict[str, list[Probe]], list[Reply]]:
    by_server: dict[str, list[Probe]] = {}
    for one in probes:
        by_server.setdefault(one.server, []).append(one)
    replies = [
        Reply(
            server,
            server,
            json.dumps(
                {"probes": [{"outcome": outcomes.get(one, "ok"), "said": "", "by": "", "ms": None} for one in given]}
            ),
        )
        for server, given in by_server.items()
    ]
    return by_server, replies


@settings(max_examples=25)
@given(st.data())
def test_the_one_part_that_broke_is_named(data: st.DataObject) -> None:
    probes = plan(example("h100-rlb"))
    every = Counter(part for one in probes for part in parts(one))
    broken = data.draw(st.sampled_from(sorted(part for part, count in every.items() if count > 1)))
    failed = [one for one in probes if broken in parts(one)]
    (found,) = common([(one, "lost") for one in failed], [one for one in probes if broken not in parts(one)])
    assert broken in found.what
    assert set(found.probes) == set(failed)


def test_two_parts_that_broke_are_both_named_and_what_is_left_is_said_to_have_none() -> None:
    probes = plan(example("h100-rlb"))
    outcomes = {one: "lost" for one in probes if "spine2" in one.spines}
    outcomes |= {one: "size" for one in probes if "stripe1-leaf3" in {one.leaf, one.peer_leaf}}
    outcomes[next(one for one in probes if one not in outcomes)] = "lost"
    found = meshed("net", *_replies(probes, outcomes))
    text = found.to_text()
    assert [(one.outcome, one.what[:1]) for one in found.common] == [
        ("lost", ("spine2",)),
        ("lost", ()),
        ("size", ("stripe1-leaf3",)),
    ]
    assert "failures cross spine2" in text
    assert "1 failure without a part that fails wholly" in text
    assert not found.good
    assert found.to_junit().count("<failure") == len(found.failed) == len(outcomes)
    document = found.to_json()
    assert document["counts"] == {
        "probes": 256, "ok": 256 - len(outcomes), "failed": len(outcomes), "not_tried": 0
    }  # fmt: skip
    shown = page(found)
    assert "failures cross spine2" in shown
    assert "http" not in shown.replace("http-equiv", "")


def test_servers_that_print_something_else_are_rows() -> None:
    by_server, replies = _replies(plan(example("h100-rlb")), {})
    replies[0].text = "hello"
    replies[1].text = '{"probes": []}'
    replies[2].error = "no answer within 70 s"
    found = meshed("net", by_server, replies)
    assert [one.error for one in found.silent] == [
        "it did not print what came of its probes", "it did not print what came of its probes", "no answer within 70 s"
    ]  # fmt: skip
    assert "no answer: H100-03: no answer within 70 s" in found.to_text()
    assert found.to_junit().count("<error") == 3
    assert meshed("net", *_replies(plan(example("h100-rlb")), {})).good


def test_the_file_of_probes_has_their_addresses_and_sizes() -> None:
    probes = plan(example("mi300x-leaf-31"))
    assert json.loads(probe_file(probes))[0] == {
        "source": probes[0].source, "target": probes[0].target, "bytes": 9000
    }  # fmt: skip
