"""``status:`` of the fabric file: what is not active is designed and rendered, and absent for everything that follows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.analysis.checks.consistency import session_down
from railweave.analysis.checks.routing import ONE_MORE_FAULT, path_color, single_fault, unreachable
from railweave.analysis.checks.subject import Subject
from railweave.api import paths, routes
from railweave.cli.app import app
from railweave.errors import InputError
from railweave.live.lab.overlay import Overlay
from railweave.live.lab.plan import make_plan
from railweave.model.network.model import Network
from railweave.model.network.status import present
from railweave.outputs.folder.designing import design_file
from railweave.outputs.rendering.network import render_hosts, render_network
from railweave.prediction.simulation.conditions import bed_of
from tests.conftest import designed

BASE = """
name: t
fabrics:
  f:
    topology: {stripes: 2, leaves_per_stripe: 2, spines: 4, link_speed: 400G, oversubscription: 8}
    leaf: {device: qfx5240-64od}
servers:
  - {names: "a[1-4]", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "b[1-4]", model: h100-8gpu-cx7, stripe: stripe2}
"""
STATUS = """
status:
  "b[3-4]": planned
  spine4: drained
  "stripe1-leaf1--spine2": failed
"""
DOWN = ["spine4", "stripe1-leaf1--spine2", "b3", "b4"]


def _network(folder: Path, text: str) -> Network:
    return designed(folder, text)[0]


def _files(network: Network) -> dict[str, str]:
    return render_network(network, Subject.of(network).configs)[0] | render_hosts(network)


def _without(network: Network) -> Network:
    """The same with everything active."""
    findings = tuple(one for one in network.findings if one.id != "treated-as-absent")
    return replace(network, not_active=(), findings=findings)


def _link(network: Network, one: str, other: str) -> str:
    return next(cable.name for cable in network.cables if {cable.a.device, cable.b.device} == {one, other})


def test_a_status_changes_neither_the_design_nor_the_lock_and_a_rendered_file_of_what_is_drained_alone(
    tmp_path: Path,
) -> None:
    whole, parted = tmp_path / "t.yaml", tmp_path / "parted" / "t.yaml"
    parted.parent.mkdir()
    whole.write_text(BASE)
    parted.write_text(BASE + STATUS)
    (network, lock), (partly, same) = design_file(whole), design_file(parted)
    assert lock.to_text() == same.to_text()
    assert _without(partly) == network
    mine, theirs = _files(partly), _files(network)
    changed = {name.split("/")[1] for name, text in mine.items() if text != theirs[name]}
    leaves = {one.name for one in network.switches if one.role == "leaf"}
    assert changed == {"spine4", *leaves}  # by deterministic path forwarding its neighbors take its routes last
    whole.write_text(BASE + STATUS.replace("drained", "failed"))
    assert _files(design_file(whole)[0]) == theirs
    assert mine.keys() == theirs.keys()
    assert Network.from_json(partly.to_json()) == partly


def test_a_design_of_what_is_all_active_says_nothing_of_status(tmp_path: Path) -> None:
    assert b"not_active" not in _network(tmp_path, BASE).to_json()
    assert _network(tmp_path, BASE + "status: {spine1: active}\n").absent == frozenset()


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ("spine4: failed", {"spine4"}),
        ('"spine[3-4]": failed', {"spine3", "spine4"}),
        ('"stripe2-*": planned', {"stripe2-leaf1", "stripe2-leaf2"}),
        ('"stripe2-*": planned\n  stripe2-leaf1: active', {"stripe2-leaf2"}),
        ('stripe2-leaf1: active\n  "stripe2-*": planned', {"stripe2-leaf1", "stripe2-leaf2"}),
        ('"*": planned\n  "stripe*": active\n  "spine*": active\n  "a*": active', {"b1", "b2", "b3", "b4"}),
    ],
)
def test_devices_are_named_by_name_host_list_or_star_and_a_later_line_holds(
    tmp_path: Path, lines: str, names: set[str]
) -> None:
    network = _network(tmp_path, f"{BASE}status:\n  {lines}\n")
    assert {one.name for one in network.not_active} == names


def test_links_are_named_by_their_ends_in_either_order_and_by_the_nic(tmp_path: Path) -> None:
    whole = _network(tmp_path, BASE)
    link = _link(whole, "stripe1-leaf1", "spine2")
    turned = "--".join(reversed(link.split("--")))
    nic = next(cable.name for cable in whole.cables if (cable.a.device, cable.a.port) == ("a1", "gpu3_eth"))
    for text, names in (
        ("stripe1-leaf1--spine2", {link}),
        ("spine2--stripe1-leaf1", {link}),
        (link, {link}),
        (turned, {link}),
        ("a1:gpu3_eth", {nic}),
        ("stripe1-leaf[1-2]--spine*", {c.name for c in whole.cables if c.kind == "fabric" and "stripe1-" in c.name}),
    ):
        network = _network(tmp_path, f'{BASE}status:\n  "{text}": failed\n')
        assert {one.name for one in network.not_active} == names, text


def test_routes_are_those_with_the_same_down(tmp_path: Path) -> None:
    partly = _network(tmp_path, BASE + STATUS)
    whole = _without(partly)
    down = [_link(whole, *one.split("--")) if "--" in one else one for one in DOWN]
    found, wanted = routes(partly), routes(whole, down)
    assert found.down >= set(down)
    for device in wanted.fibs:
        for prefix in wanted.prefixes:
            assert found.next_hops(device, prefix) == wanted.next_hops(device, prefix)
            assert found.backup(device, prefix) == wanted.backup(device, prefix)
    assert not any(found.next_hops("spine4", prefix) for prefix in found.prefixes)
    further = _link(whole, "stripe1-leaf2", "spine1")
    more, same = routes(partly, [further]), routes(whole, [*down, further])
    assert all(more.next_hops(d, p) == same.next_hops(d, p) for d in same.fibs for p in same.prefixes)


def test_a_leaf_whose_servers_are_all_planned_advertises_none_of_their_prefixes(tmp_path: Path) -> None:
    network = _network(tmp_path, BASE + 'status: {"b*": planned}\n')
    found = routes(network)
    own = [net.prefix for one in network.segments if one.stripe == "stripe2" for net in one.subnets]
    assert own
    assert not any(found.next_hops("stripe1-leaf1", prefix) for prefix in own)
    assert list(unreachable.run(Subject.of(network))) == []


def test_queue_pairs_take_no_link_that_is_absent_and_reach_no_server_that_is(tmp_path: Path) -> None:
    network = _network(tmp_path, BASE + STATUS)
    taken = {one.link for path in paths(network, "a1:gpu0_eth", "b1:gpu0_eth", 8) for hop in path.hops for one in hop}
    assert taken
    assert not taken & network.absent
    assert all(not path.hops for path in paths(network, "a1:gpu0_eth", "b3:gpu0_eth", 8))


def test_checks_take_what_is_absent_for_neither_a_dead_session_nor_a_lost_color(tmp_path: Path) -> None:
    subject = Subject.of(_network(tmp_path, BASE + STATUS))
    assert [list(rule.run(subject)) for rule in (session_down, unreachable, path_color)] == [[], [], []]
    link = next(cable.name for cable in subject.network.cables if cable.kind == "fabric")
    assert link not in {one.where for one in single_fault.run(subject)}


PODS = """
name: t
fabrics:
  f:
    topology: {stripes: 4, spines: 2, stripes_per_pod: 2, super_spines: 2, links_per_super_spine: 2, link_speed: 400G}
    leaf: {device: qfx5240-64od}
servers:
  - {names: "a[1-4]", model: dgx-h100-2gpu}
"""


@pytest.mark.parametrize("absent", ["pod1-spine2: failed", "pod1-spine2: drained", '"plane2-super[1-2]": planned'])
def test_a_color_that_another_pod_has_lost_is_no_wrong_color(tmp_path: Path, absent: str) -> None:
    assert list(path_color.run(Subject.of(_network(tmp_path, PODS + f"status: {{{absent}}}\n")))) == []


def test_one_fault_more_that_cuts_servers_off_is_a_warning_until_all_is_active(tmp_path: Path) -> None:
    network = _network(tmp_path, BASE + 'status: {"spine[2-4]": planned, "stripe*-leaf2": active}\n')
    found = list(single_fault.run(Subject.of(network)))
    assert {one.severity for one in found} <= {"warning"}
    two = _network(tmp_path, BASE + 'status: {"spine[3-4]": planned, "stripe1-leaf1--spine1": failed}\n')
    found = list(single_fault.run(Subject.of(two)))
    assert {one.id for one in found} == {ONE_MORE_FAULT.id}
    assert {one.severity for one in found} == {"warning"}


def test_a_prediction_is_for_the_servers_that_are_there_and_says_so(tmp_path: Path) -> None:
    network = _network(tmp_path, BASE + STATUS)
    bed = bed_of(network)
    assert [one.name for one in bed.job.servers] == ["a1", "a2", "a3", "a4", "b1", "b2"]
    assert f"treated as absent because of `status:` in the fabric file: {network.absent_words()}" in bed.fabric.notes
    assert not set(bed.fabric.wiring.cable) & network.absent


def test_a_job_of_servers_that_lack_a_nic_by_their_status_names_it(tmp_path: Path) -> None:
    network = _network(tmp_path, BASE + "status: {'a2:gpu3_eth': failed, b1: planned}\n")
    with pytest.raises(
        InputError,
        match=r"--hosts: these NICs are absent by `status:` in the fabric file.*: a2:gpu3_eth\n.*without a2,",
    ):
        bed_of(network)
    assert len(bed_of(network, order="a1,a3,b2").job.servers) == 3


def test_the_lab_makes_nothing_that_is_absent(tmp_path: Path) -> None:
    network = _network(tmp_path, BASE + STATUS)
    plan = make_plan(network, Overlay())
    assert not set(plan.devices()) & network.absent
    assert not {wire.link for wire in plan.wires} & network.absent
    given = make_plan(network, Overlay(), make_plan(_without(network), None).configs)  # as running configurations are
    cables = {wire.link for wire in given.wires}
    for config in given.configs.values():
        assert {one.link for one in config.interfaces} <= cables
        assert {s.link for group in (config.bgp.groups if config.bgp else ()) for s in group.sessions} <= cables


def test_what_is_there_is_a_network_by_itself(tmp_path: Path) -> None:
    network = _network(tmp_path, BASE + 'status: {stripe2-leaf1: failed, "b*:gpu7_eth": failed}\n')
    there = present(network)
    assert there.dangling() == ""
    assert there.absent == frozenset()
    assert [len(server.nics) for server in there.servers] == [8] * 4 + [3] * 4
    assert present(there) is there


def test_verbs_say_what_they_treat_as_absent(tmp_path: Path) -> None:
    fabric, out = tmp_path / "t.yaml", tmp_path / "out"
    fabric.write_text(BASE + STATUS)
    words = "2 servers planned (b3, b4)"
    run = CliRunner().invoke
    found = run(app, ["paths", str(fabric), "--src", "a1:gpu0_eth", "--dst", "b1:gpu0_eth"])
    assert (found.exit_code, words in found.output) == (0, True)
    assert run(app, ["build", str(fabric), "-o", str(out), "--quiet"]).exit_code == 0
    runbook = (out / "runbook/spine4.md").read_text()
    assert "**This switch is drained**" in runbook
    assert words in runbook
    assert words in (out / "report.html").read_text()
    assert "treated-as-absent" in (out / "findings.json").read_text()


def test_a_plane_that_two_fabrics_have_is_asked_of_which(tmp_path: Path) -> None:
    text = """
        name: t
        fabrics:
          f: {nics: gpu, topology: {stripes: 1, planes: rail, spines: 2}, leaf: {device: qfx5240-64od}}
          g: {nics: gpu, topology: {stripes: 1, planes: rail, spines: 2}, leaf: {device: qfx5240-64od}, addressing: {server_pool: "fd02::/16"}, pools: {router_id: 10.253.0.0/16}, naming: {leaf: "g-{stripe}-{leaf}", spine: "g-{spine}"}}
        servers:
          - {names: "a[1-2]", model: h100-8gpu-cx7, fabrics: [f]}
          - {names: "b[1-2]", model: h100-8gpu-cx7, fabrics: [g]}
        status: {STATUS: failed}
    """
    with pytest.raises(InputError, match=r"several fabrics have a plane 'rail2'\n +write f/rail2 or g/rail2"):
        designed(tmp_path, text.replace("STATUS", "rail2"))
    network, _ = designed(tmp_path, text.replace("STATUS", "g/rail2"))
    assert {one.name for one in network.not_active} == {
        one.name for one in network.switches if (one.fabric, one.plane) == ("g", "rail2")
    }
