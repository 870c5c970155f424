"""Which part explains slow pairs: named first where one is slow, and none where all are well."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest
from benchmarks.bad_links import KINDS, SPINE, measured, mesh, named_first, planted, undisturbed

from railweave.operations.bench.comparing.estimate import crossings, estimate, slowest
from railweave.operations.bench.comparing.rows import FEWEST, Pair, compared, pairs_of
from railweave.operations.store.records import Sample
from tests.operations.bench import made

CABLE = "leaf1:u1--spine1:leaf1"


@pytest.mark.parametrize(
    ("bad", "kind"),
    [(CABLE, "link"), ("h03:gpu0_eth", "NIC"), ("spine1", "switch"), ("leaf1", "leaf"), ("color1", "color")],
)
def test_the_bad_part_is_named_first(bad: str, kind: str) -> None:
    found = estimate(pairs_of(made.mesh([bad], servers=16, colors=4, noise=0.05)))
    first, second = found.suspects[0], found.runners_up[0]
    assert (first.part.kind, first.part.name) == (kind, bad)
    assert first.level == pytest.approx(0.5, rel=0.1)
    assert first.share > 0.95
    assert second is None or second.score < first.score
    assert len(found.suspects) == 1


def test_two_bad_parts_are_named_one_after_the_other() -> None:
    found = estimate(pairs_of(made.mesh([CABLE, "h09:gpu0_eth"], servers=16, colors=4, noise=0.05)))
    assert {one.part.name for one in found.suspects} == {CABLE, "h09:gpu0_eth"}


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.05, 0.2])
def test_nothing_is_named_where_nothing_is_wrong(noise: float) -> None:
    found = estimate(pairs_of(made.mesh(servers=16, colors=4, noise=noise)))
    assert found.suspects == ()
    assert found.noise == pytest.approx(max(noise, 0.01), rel=0.3)


def test_a_slight_fault_that_no_pair_shows_alone() -> None:
    """A tenth slower, with a scatter of 5 %: many pairs together say it."""
    found = estimate(pairs_of(made.mesh(["h03:gpu0_eth"], servers=16, colors=4, noise=0.05, level=0.88)))
    assert found.suspects[0].part.name == "h03:gpu0_eth"
    assert found.suspects[0].level == pytest.approx(0.88, abs=0.03)


def test_all_slow_alike_is_no_part_s_fault_but_is_said() -> None:
    found = estimate(pairs_of(made.mesh(servers=8, expected=770.0)))
    assert found.suspects == ()
    assert found.usual == pytest.approx(0.5, abs=0.01)


def test_a_hash_takes_a_pair_over_one_of_parallel_cables() -> None:
    """A quarter of the pairs between two switches are slow: which cable is not known, but which two switches."""
    pairs: list[Pair] = []
    for one in pairs_of(made.mesh(servers=16, colors=4)):
        links = tuple(
            "--".join(end.partition(":")[0] for end in link.split("--")) if "spine" in link else link
            for link in one.links
        )
        slow = "leaf1--spine1" in links and len(pairs) % 3 == 0
        pairs.append(replace(one, links=links, gbps=one.gbps * (0.5 if slow else 1)))
    found = estimate(compared(pairs))
    assert (found.suspects[0].part.kind, found.suspects[0].part.name) == ("cables", "leaf1--spine1")
    assert found.suspects[0].share < 0.5


def test_without_links_the_group_is_named() -> None:
    """Where paths are not pinned nothing is known of links; leaves and colors may be."""
    pairs = [replace(one, links=(), leaves=()) for one in pairs_of(made.mesh(["color1"], servers=16, colors=4))]
    assert estimate(pairs).suspects[0].part.name == "color1"
    assert {one.kind for one in slowest(pairs)} == {"NIC", "server", "color"}


def test_what_the_same_pairs_cross_cannot_be_told_apart() -> None:
    found = crossings(pairs_of(made.mesh()))
    nic = next(one for one in found.parts if one.name == "h03:gpu0_eth")
    assert nic.also == ("link h03:gpu0_eth--leaf0:p03", "server h03")


def test_pairs_that_met_slow_ones_speak_for_what_slowed_these() -> None:
    """A spine of one rail is gone: its two colors go by the other's links, and slow half of the pairs there. Neither that nor the rail is to blame."""
    pairs: list[Pair] = []
    for one in pairs_of(made.mesh(servers=16, colors=4)):
        for rail in range(4):
            ends = [end.replace("gpu0", f"gpu{rail}") for end in (one.src, one.dst)]
            color = int(one.color[-1])
            links = [link.replace("gpu0", f"gpu{rail}").replace("leaf", f"r{rail}leaf") for link in one.links]
            links = [link.replace(f"spine{color}", f"r{rail}spine{color % 2}") for link in links]
            level = 1.0
            if rail == 0 and any("spine" in link for link in links):
                level = 0.3 if color % 2 == 0 else 0.4 if int(one.src[1:3]) % 2 else 1.0
            rate = one.gbps * level
            pairs.append(Pair(ends[0], ends[1], "write", rate, one.color, tuple(links), round=f"{one.src} {one.dst}"))
    found = estimate(compared(pairs))
    first, second = found.suspects[0], found.runners_up[0]
    assert (first.part.kind, first.part.name) == ("switch", "r0spine0")
    assert second is not None, found
    assert first.score > second.score + 300


def test_odd_pairs() -> None:
    assert estimate([]).suspects == ()
    assert pairs_of([made.run("perftest", "no ends"), made.pair(1, "a:x", "a:x", 3.0)]) == []
    failed = [made.pair(number, f"h{number}:x", f"h{number + 1}:x", None, expected=0) for number in range(FEWEST + 2)]
    assert estimate(pairs_of(failed)).suspects == ()
    for value in (nan, -1.0, float("inf"), 0.0, 1e300):
        odd = replace(failed[0], samples=(Sample("write bandwidth", None, "", "bandwidth_gbps", value),))
        found = estimate(pairs_of([*made.mesh(), odd]))
        assert [one.part.name for one in found.suspects] == []
    alone = pairs_of([made.pair(1, "a:x", "b:x", 390.0)])
    assert alone[0].relative == 1.0
    assert estimate(alone).suspects == ()


def test_a_pair_of_which_nothing_was_predicted_is_laid_beside_those_alike() -> None:
    runs = made.mesh(["h03:gpu0_eth"], servers=16, colors=4, expected=0)
    assert estimate(pairs_of(runs)).suspects[0].part.name == "h03:gpu0_eth"
    assert pairs_of(runs[: FEWEST - 1])[0].relative is None


@pytest.mark.slow
@pytest.mark.parametrize("what", KINDS)
def test_a_fault_planted_in_a_simulated_network(what: str) -> None:
    """As ``python -m benchmarks.bad_links`` does with 128 servers (docs/bench.md), on fewer, with 5 % of noise.

    The spine has one beside it in its rail, which takes its traffic, and must not explain the slow pairs as well.
    """
    here = mesh(KINDS[what], stripes=6, servers=8 if what == SPINE else 4)
    well = undisturbed(here)
    for seed in range(2):
        fault = planted(here, what, seed)
        found = estimate(measured(here, well, fault, seed))
        assert named_first(found, fault)
        second = found.runners_up[0]
        assert second is None or found.suspects[0].score > second.score + 5
    healthy = [Pair(one.src, one.dst, "write", gbps, "", one.links) for one, gbps in well.items()]
    assert estimate(compared(healthy)).suspects == ()
    assert all(320 < one.gbps < 400 for one in healthy)
