"""Forwarding by address: queue pairs between the same two hosts take the paths that their addresses have."""

from __future__ import annotations

import numpy as np
import pytest

from railweave import _sim
from railweave._sim import ONE_PORT, PacketEngine
from tests.leaf_spine import HOSTS, LEAVES, SPINES, network, traffic

SRC, DST = 1, 6
LEAF, SPINE = LEAVES * HOSTS, LEAVES * HOSTS + LEAVES
PACKETS = (40, 9)
"""What the queue pair of each spine sends."""


def by_address() -> tuple[np.ndarray, np.ndarray]:
    """A table in which the hosts have an address per spine, and the queue pairs of the spines."""
    table = np.full((LEAVES + SPINES, 2 * SPINES), _sim.NO_GROUP, np.uint32)
    pairs = []
    for spine in range(SPINES):
        to, back = 2 * spine, 2 * spine + 1
        for address, host in ((to, DST), (back, SRC)):
            table[:LEAVES, address] = ONE_PORT | (HOSTS + spine)
            table[host // HOSTS, address] = ONE_PORT | host % HOSTS
            table[LEAVES + spine, address] = ONE_PORT | host // HOSTS
        pairs.append((SRC, DST, to, back))
    return table, np.array(pairs, np.uint32)


def port(node: int, number: int) -> int:
    """A port, counted over all nodes: a host has one, a leaf those of hosts and spines, a spine those of leaves."""
    if node < SPINE:
        return min(node, LEAF) + max(node - LEAF, 0) * (HOSTS + SPINES) + number
    return LEAF + LEAVES * (HOSTS + SPINES) + (node - SPINE) * LEAVES + number


def test_two_disjoint_paths() -> None:
    table, pairs = by_address()
    messages = np.array([(qp, 4096 * count, 0, _sim.SEND) for qp, count in enumerate(PACKETS)], np.uint64)
    engine = PacketEngine(**{**network(), "group": table}, queue_pairs=pairs, messages=messages)
    engine.run(10**10)
    assert (engine.arrivals() < 2**64 - 1).all()
    sent = engine.port_counters()["tx_bytes"]
    for spine, packets in enumerate(PACKETS):
        data = [port(LEAF, HOSTS + spine), port(SPINE + spine, 1)]
        answers = [port(LEAF + 1, HOSTS + spine), port(SPINE + spine, 0)]
        assert sent[data].tolist() == [packets * (4096 + 62)] * 2, "data, from leaf to spine to leaf"
        assert sent[answers].tolist() == [packets * 66] * 2, "acknowledgements the same way back"
    assert sent.sum() == 4 * sum(PACKETS) * (4096 + 62 + 66), "and nothing else anywhere"


def test_a_path_that_ends_stops_its_queue_pair_only() -> None:
    table, pairs = by_address()
    table[LEAVES + 1, pairs[1, 2]] = _sim.NO_GROUP
    messages = np.array([(qp, 4096 * count, 0, _sim.SEND) for qp, count in enumerate(PACKETS)], np.uint64)
    engine = PacketEngine(**{**network(), "group": table}, queue_pairs=pairs, messages=messages)
    engine.run(10**9)
    assert (engine.arrivals() < 2**64 - 1).tolist() == [True, False]
    assert engine.counters()["dropped_no_route"] == PACKETS[1]


def test_an_address_that_leads_to_another_host() -> None:
    table, pairs = by_address()
    table[1, pairs[0, 2]] = ONE_PORT | 3
    messages = np.zeros((0, 4), np.uint64)
    with pytest.raises(ValueError, match=r"^group: row 1: node 9: address 0: it leads to node 7, and queue pairs have the"):
        PacketEngine(**{**network(), "group": table}, queue_pairs=pairs, messages=messages)
    table[1, pairs[0, 2]] = ONE_PORT | DST % HOSTS
    unused = np.full((len(table), 1), ONE_PORT, np.uint32)
    table = np.hstack([table, unused])
    PacketEngine(**{**network(), "group": table}, queue_pairs=pairs, messages=messages)


def test_every_table_that_leads_astray_is_refused_and_no_other() -> None:
    """Tables with a few random entries, against the same question asked port by port."""
    random = np.random.default_rng(1)
    groups = [(0,), (1,), (0, 1), (2, 2), (HOSTS, HOSTS + 1), (3, HOSTS)]
    members = [member for group in groups for member in group]
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    given = {
        **network(),
        **traffic(),
        "groups": np.array([(start, len(group), 0) for start, group in zip(starts, groups, strict=True)], np.uint32),
        "members": np.array(members, np.uint16),
    }
    plain = given["group"]
    plain[plain == 0] = groups.index((HOSTS, HOSTS + 1))
    used = set(given["queue_pairs"][:, 2:].ravel().tolist())
    seen = [0, 0]
    for _ in range(400):
        table = plain.copy()
        for _ in range(3):
            leaf, address = int(random.integers(LEAVES)), int(random.integers(LEAVES * HOSTS))
            near = address // HOSTS == leaf and random.random() < 0.7
            port = address % HOSTS if near else int(random.integers(HOSTS + SPINES))
            fitting = [number for number, group in enumerate(groups) if port in group]
            table[leaf, address] = random.choice([*fitting, ONE_PORT | port])
        wrong = False
        for leaf in range(LEAVES):
            for address in used:
                entry = int(table[leaf, address])
                ports = (entry - ONE_PORT,) if entry >= ONE_PORT else groups[entry]
                wrong |= any(leaf * HOSTS + port != address for port in ports if port < HOSTS)
        seen[wrong] += 1
        if wrong:
            with pytest.raises(ValueError, match=r"^group: row \d+: node \d+: address \d+: it leads to node "):
                PacketEngine(**{**given, "group": table})
        else:
            PacketEngine(**{**given, "group": table})
    assert min(seen) > 40
