"""Rail planes and super-spines: who is joined to whom, and where a queue pair may go."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import InputError, SpecError
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from tests.conftest import designed

FABRIC = """
name: tiers
fabrics:
  backend:
    topology: {{{topology}}}
    leaf: {{device: qfx5240-64od{release}}}
    {more}
servers: [{{names: "gpu-[1-4]", model: {server}}}]
management: {{root_password: secret:root, users: {{ops: {{password: secret:ops}}}}}}
"""
PODS = "stripes: 4, servers_per_stripe: 1, stripes_per_pod: 2, spines: 2, super_spines: 2, links_per_super_spine: 8"
PLANES = "stripes: 4, servers_per_stripe: 1, planes: rail, spines: 2"


def network(
    folder: Path, topology: str, *, more: str = "", release: str = "", server: str = "h100-8gpu-cx7"
) -> Network:
    return designed(folder, FABRIC.format(topology=topology, more=more, release=release, server=server))[0]


@pytest.mark.slow
@pytest.mark.parametrize("topology", [PODS, PLANES])
@pytest.mark.parametrize(
    ("more", "release"),
    [
        ("", ""),
        ("underlay: {peering: numbered}", ""),
        ("", ", release: 23.4R2"),
        ("emulation: {path_color: aigp}", ""),
        ("load_balancing: {mode: ecmp}", ""),
    ],
)
@pytest.mark.parametrize("nos", [None, "frr"])
def test_every_check_passes(topology: str, more: str, release: str, nos: str | None, tmp_path: Path) -> None:
    # Of two rails, for the checks try every single fault: eight take ten times as long and have no other kinds of it.
    found = network(tmp_path, topology, more=more, release=release, server="dgx-h100-2gpu")
    configs = {switch.name: device_config(found, switch.name, nos) for switch in found.switches}
    assert [one for one in run_checks(Subject(found, configs)) if one.severity != "info"] == []


def test_a_super_spine_joins_the_spines_of_one_number(tmp_path: Path) -> None:
    found = network(tmp_path, PODS)
    above = [cable for cable in found.cables if found.switch(cable.b.device).role == "super-spine"]
    assert len(above) == 2 * 2 * 2 * 8  # pods x spines x super-spines x links
    assert all(found.switch(cable.a.device).plane == found.switch(cable.b.device).plane for cable in above)
    assert {cable.a.device for cable in above if cable.b.device == "plane2-super1"} == {"pod1-spine2", "pod2-spine2"}


def test_between_pods_a_queue_pair_is_pinned_up_to_the_spine(tmp_path: Path) -> None:
    found = network(tmp_path, PODS)
    routes = ControlPlane(device_config(found, switch.name) for switch in found.switches).routes()
    inside = queue_pair_paths(found, routes, "gpu-1:gpu0_eth", "gpu-2:gpu0_eth", 2)
    between = queue_pair_paths(found, routes, "gpu-1:gpu0_eth", "gpu-3:gpu0_eth", 2)
    assert [one.pinned for one in inside] == [True, True]
    assert [[len(hop) for hop in one.hops] for one in between] == [[1, 1, 16, 16, 1, 1]] * 2
    assert {one.id for one in found.findings} >= {"pinned-to-the-spine"}


def test_what_came_down_does_not_go_up_again(tmp_path: Path) -> None:
    """With every way from one super-spine to pod 1 gone it has no route there: pod 2 is no transit."""
    found = network(tmp_path, PODS)
    plane = ControlPlane(device_config(found, switch.name) for switch in found.switches)
    down = [
        cable.name for cable in found.cables if (cable.a.device, cable.b.device) == ("pod1-spine1", "plane1-super1")
    ]
    prefix = found.segments_of("stripe1-leaf1")[0].subnets[0].prefix
    assert plane.routes().next_hops("plane1-super1", prefix) == tuple(down)
    assert plane.routes(down).next_hops("plane1-super1", prefix) == ()
    assert {
        link.partition("--")[2].partition(":")[0] for link in plane.routes(down).next_hops("pod2-spine1", prefix)
    } == {"plane1-super2"}


def test_no_path_between_rail_planes(tmp_path: Path) -> None:
    found = network(tmp_path, PLANES)
    routes = ControlPlane(device_config(found, switch.name) for switch in found.switches).routes()
    same = queue_pair_paths(found, routes, "gpu-1:gpu0_eth", "gpu-3:gpu0_eth", 1)
    other = queue_pair_paths(found, routes, "gpu-1:gpu0_eth", "gpu-3:gpu1_eth", 1)
    assert same[0].pinned
    assert other[0].hops == ()
    assert {one.id for one in found.findings} >= {"rail-planes"}


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        (
            "stripes: 2, spines: 2, planes: rail, super_spines: 1, stripes_per_pod: 1",
            "planes: rail and super_spines cannot be combined",
        ),
        ("stripes: 2, spines: 2, super_spines: 1", "super_spines without stripes_per_pod"),
        ("stripes: 2, spines: 2, stripes_per_pod: 1", "stripes_per_pod without super_spines"),
        ("stripes: 2, super_spines: 1, stripes_per_pod: 1", "super_spines without spines"),
    ],
)
def test_tiers_that_contradict_each_other_are_refused(topology: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=re.escape(said)):
        network(tmp_path, topology)


@pytest.mark.parametrize(("leaves", "advice"), [("102-200", "move it"), ("110-200", "widen it")])
def test_the_pool_of_as_numbers_that_an_error_names_is_one_that_fits(tmp_path: Path, leaves: str, advice: str) -> None:
    """A pool that was widened into that of another role would be the next error."""
    text = """\
name: many-spines
fabrics:
  backend:
    topology: {{stripes: 1, spines: 4}}
    leaf: {{device: qfx5240-64od}}
    pools: {{spine_asn: {spines}, leaf_asn: {leaves}}}
servers:
  - {{names: "gpu-[1-2]", model: h100-8gpu-cx7}}
"""
    with pytest.raises(InputError, match="have no number for spine number 4") as error:
        designed(tmp_path, text.format(spines="100-101", leaves=leaves))
    fix = error.value.problems[0].fix
    found = re.search(r"\d+-\d+", fix)
    assert found
    assert fix.startswith(advice)
    mended, _ = designed(tmp_path, text.format(spines=found[0], leaves=leaves))
    assert len({one.asn for one in mended.switches if one.role == "spine"}) == 4
