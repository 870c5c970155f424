"""The example on routing daemons: up, proved, broken and gone. Root only; the longest tests there are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.analysis.routing.fib_file import read_fibs, write_fibs
from railweave.cli.app import app
from railweave.errors import LabError
from railweave.live.lab import assertions, fib, lldp, names, state
from railweave.live.lab.faults import sweep as matrix
from railweave.live.lab.faults.scenario import play
from railweave.live.lab.faults.sweep import sweep
from railweave.live.lab.kernel import processes
from railweave.live.lab.kernel.namespace import existing
from railweave.live.lab.kernel.neighbors import ROOM
from railweave.live.lab.running import Running
from railweave.model.network.devices import InactivePart
from tests.conftest import example
from tests.drawn import some
from tests.live.lab.machine import bring_up, lab, needs_lab

pytestmark = needs_lab


def test_h100_rlb_behaves_as_designed_and_goes_without_a_trace(tmp_path: Path) -> None:
    fabric = tmp_path / "h100-rlb.yaml"
    with lab(fabric, example("h100-rlb")) as (made, running):
        assert (made.routers, made.servers, made.links) == (20, 4, 96)
        assert made.unsettled == ()
        room = Path("/proc/sys/net/ipv6/neigh/default/gc_thresh3")  # of the machine: no namespace has its own
        assert not room.exists() or int(room.read_text(encoding="ascii")) >= ROOM
        outcomes = assertions.run(running)
        assert [one.id for one in outcomes if not one.passed] == [], [one.failures for one in outcomes]
        checked = {one.id: one.checked for one in outcomes}
        assert checked == {
            "bgp-sessions": 128,
            "isis-adjacencies": 0,
            "bfd-sessions": 128,
            "slaac-addresses": 128,
            "host-tables": 384,
            "fib-equals-routes": 20 * 64,
            "path-colors": 16 * 60 + 4 * 16,
            "no-leaf-transit": 64,
            "tenants-connected": 0,
            "tenants-isolated": 0,
            "planes-apart": 0,
            "reachability": 32 * 24 * 4,
            "queue-pair-links": 32 * 24 * 4,
            "mtu": 32 * 24 * 4,
        }
        _tables_are_what_the_simulator_takes(running, tmp_path / "fib.json")
        [there] = state.labs(fabric)
        neighbors = 0 if lldp.missing(running.frr, "") else 24 * 2  # each lldpd has a child
        assert (there.stage, there.namespaces, there.processes, there.missing) == ("up", 24, 80 + neighbors, ())
        assert there.memory_mb < 20 * 40
    assert existing(made.record.lab) == []
    assert processes.of_lab(made.record.lab) == []
    assert list(names.FOLDER.glob(f"{made.record.lab}*")) == []
    assert state.labs(fabric) == []


def test_a_dead_plane_takes_nothing_from_the_other(tmp_path: Path) -> None:
    with lab(tmp_path / "planes.yaml", example("two-planes"), "rails=8-9,spines=2") as (made, running):
        assert (made.routers, made.servers) == (8, 4)  # rail 8 is the last of one plane, rail 9 the first of the other
        [fault] = [one for one in matrix.every_single(running) if one.get("plane") == "backend/plane2"]
        [measured] = play(running, matrix.targets(running, [fault]), lambda _: None)
        assert measured.passed, measured
        # Half of the ports have a path, as their plane lives, and lose nothing; the others have none.
        assert 0 < measured.kept == measured.should_keep == measured.asked // 2
        assert 0 < measured.lost <= measured.sent


def test_every_single_fault_of_a_slice_goes_as_designed(tmp_path: Path) -> None:
    with lab(tmp_path / "slice.yaml", example("h100-rlb"), "rails=1,spines=2") as (made, running):
        assert (made.routers, made.servers, made.links) == (4, 4, 8)
        every = matrix.every_single(running)
        assert len(every) == 4 + 4 + 4 + 2 * 7 + 4 + 1
        # One takes a minute, the other breaks nothing.
        faults = [one for one in every if one["kind"] != "ra-stopped" and one.get("daemon") != "mgmtd"]
        assert len(faults) == len(every) - 3
        first = {one["kind"]: one for one in reversed(faults)}.values()  # a day plays one of each kind and some more
        spine = {"at": "0s", "kind": "device-down", "device": "spine1"}
        faults = [one for one in faults if one in [*first, spine, *some(faults, 5, "faults of a slice")]]
        measured = play(running, matrix.targets(running, faults), lambda _: None)
        assert len(measured) == len(faults)
        assert [(one.kind, one.target, one.unexpected) for one in measured if not one.passed] == []
        kept = {(one.kind, one.target): (one.kept, one.asked) for one in measured}
        assert kept["device-down", "spine1"] == (48, 48)  # every queue pair found another way
        assert kept["nic-down", "H100-01:gpu0_eth"] == (24, 48)  # a NIC has one link
        lost = {(one.kind, one.target): one.lost for one in measured}
        assert lost["nic-down", "H100-01:gpu0_eth"] > 0  # where routes move at once, a probe may miss the moment
        assert lost["link-slow", f"{measured[0].target} at 100M"] == 0
        _a_scenario_happens_at_its_times(tmp_path)
        swept = sweep(running, links=[running.plan.wires[place].link for place in (0, -1)])
        assert [one.failures for one in swept if not one.passed] == []
        assert [one.id for one in assertions.run(running) if not one.passed] == []


SCENARIO = """
traffic:
- {collective: all-reduce, size: 8M, qps: 4}
faults:
- {at: 500ms, for: 3s, kind: link-down, link: stripe1-leaf1--spine1}
- {at: 1s, for: 1s, kind: bgp-down, device: stripe2-leaf1}
- {at: 15s, for: 100ms, kind: nic-down, nic: "H100-01:gpu0_eth"}
"""


def _a_scenario_happens_at_its_times(folder: Path) -> None:
    """As a user has it: the lab of this path is up; faults that overlap are one."""
    file = folder / "scenario.yaml"
    file.write_text(SCENARIO)
    done = CliRunner().invoke(app, ["lab", "fault", str(folder / "slice.yaml"), "--scenario", str(file), "--json"])
    assert done.exit_code == 0, done.output
    several, nic = json.loads(done.stdout)["faults"]
    assert several["kind"] == "link-down + bgp-down"
    assert several["kept"] < several["asked"]  # a leaf without sessions is cut off
    assert (nic["kind"], nic["passed"]) == ("nic-down", True)


def test_routed_links_with_static_addresses_behave_as_designed(tmp_path: Path) -> None:
    with lab(tmp_path / "leaf.yaml", example("mi300x-leaf-31")) as (made, running):
        assert (made.routers, made.servers) == (1, 2)
        outcomes = {one.id: one for one in assertions.run(running)}
        assert [name for name, one in outcomes.items() if not one.passed] == []
        assert not outcomes["bgp-sessions"].applies
        assert outcomes["slaac-addresses"].checked == 16
        assert outcomes["reachability"].checked == 2 * 8 * 8
        assert json.loads(json.dumps(outcomes["mtu"].to_json()))["evidence"].startswith("9000 bytes")


def test_a_second_lab_stands_beside_the_first_and_a_second_of_the_same_file_does_not(tmp_path: Path) -> None:
    part = "rails=1,spines=1"
    with lab(tmp_path / "one.yaml", example("h100-rlb"), part) as (made, running):
        with pytest.raises(LabError, match="is there already"):
            bring_up(tmp_path / "one.yaml", example("h100-rlb"), part)
        # Another file with the same network, and so the same names of devices and interfaces.
        with lab(tmp_path / "two.yaml", example("h100-rlb"), part) as (other, beside):
            assert other.record.lab != made.record.lab
            for one in (running, beside):
                assert [outcome.id for outcome in assertions.run(one) if not outcome.passed] == []
        assert [outcome.id for outcome in assertions.run(running) if not outcome.passed] == []


def _tables_are_what_the_simulator_takes(running: Running, file: Path) -> None:
    """The kernels' tables, written and read again, are those of `routes`."""
    expected = running.control_plane.routes()
    write_fibs(fib.read(running, expected).routes, file)
    again = read_fibs(file, running.plan.network, expected.prefixes)
    for device in expected.fibs:
        for prefix in expected.prefixes:
            assert again.next_hops(device, prefix) == expected.next_hops(device, prefix)
            assert again.is_local(device, prefix) == expected.is_local(device, prefix)


def test_two_sites_by_is_is_forward_as_computed_and_servers_meet_by_proxy_arp(tmp_path: Path) -> None:
    with lab(tmp_path / "dci-50km.yaml", example("dci-50km")) as (made, running):
        assert (made.routers, made.servers, made.links) == (2, 2, 8)
        assert made.unsettled == ()
        outcomes = {one.id: one for one in assertions.run(running)}
        assert [one.id for one in outcomes.values() if not one.passed] == [], [o.failures for o in outcomes.values()]
        checked = {name: one.checked for name, one in outcomes.items() if one.applies}
        assert checked == {
            "isis-adjacencies": 8,
            "slaac-addresses": 4,
            "host-tables": 12,
            "fib-equals-routes": 8,
            "reachability": 8,
            "queue-pair-links": 8,
            "mtu": 8,
        }


def test_a_part_that_is_there_settles_and_a_leaf_without_servers_too(tmp_path: Path) -> None:
    whole = example("h100-rlb")
    absent = ("spine4", "H100-03", "H100-04", "stripe1-leaf1:et-0/0/1:0--spine2:et-0/0/0:0")
    partly = replace(whole, not_active=tuple(InactivePart(name, "planned") for name in absent))
    assert set(absent) <= partly.absent
    with lab(tmp_path / "h100-rlb.yaml", partly, "rails=1") as (made, running):
        assert (made.routers, made.servers, made.links) == (5, 2, 7)
        assert (made.unsettled, made.addresses) == ((), True)
        outcomes = assertions.run(running)
        assert [one.id for one in outcomes if not one.passed] == [], [one.failures for one in outcomes]
