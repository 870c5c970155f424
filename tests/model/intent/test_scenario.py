"""The scenario file: its units, its faults, and errors that point at the line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.protocols import Validator

import railweave
from railweave.design.fault_targets import fault_targets
from railweave.errors import SpecError
from railweave.model.intent.reference import SCENARIO_HEAD, scenario_schema
from railweave.model.intent.scenario import KINDS, TARGETS, Fault, read_scenario
from tests.conftest import EXAMPLES

WHOLE = SCENARIO_HEAD.partition("```yaml\n")[2].partition("```")[0]
EXAMPLE: dict[str, Any] = {
    "link": "stripe1-leaf1--spine2",
    "plane": "plane2",
    "device": "spine1",
    "neighbor": "stripe1-leaf1",
    "daemon": "bgpd",
    "port": "et-0/0/0:0",
    "nic": "H100-01:gpu0_eth",
    "domain": "rack1",
    "rate": "100G",
    "loss": "0.1%",
    "period": "1ms",
    "count": 3,
}


def written(folder: Path, text: str) -> Path:
    path = folder / "case.yaml"
    path.write_text(text)
    return path


def test_the_documented_one_is_read_in_its_units(tmp_path: Path) -> None:
    found = read_scenario(written(tmp_path, WHOLE), "sim").scenario
    step = found.traffic[0]
    assert (step.size, step.compute, step.qps, step.repeat) == (64 << 20, 100_000_000, 4, 2)
    assert found.background is not None
    assert (found.background.share, found.background.ports, found.background.packet) == (0.1, ("*:gpu0_eth",), 9000)
    assert found.reroute == 500_000_000
    spine, lossy = found.faults
    assert (spine.at, spine.end_ps, spine.device) == (400_000_000, 2_400_000_000, "spine1")
    assert (lossy.loss, lossy.end_ps) == (0.001, None)


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    found = read_scenario(written(tmp_path, "name: nothing\n"), "sim").scenario
    assert (found.traffic, found.background, found.iterations, found.reroute) == ((), None, 1, None)


@pytest.fixture(scope="module")
def schema() -> Validator:
    return Draft202012Validator(scenario_schema())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_read_with_what_it_needs_and_refused_without(
    kind: str, tmp_path: Path, schema: Validator
) -> None:
    needs = KINDS[kind].needs
    given = {"at": "1ms", "kind": kind, **{name: EXAMPLE[name] for name in needs}}
    assert Fault.model_validate(given).kind == kind
    schema.validate({"faults": [given]})
    for name in needs:
        less = {key: value for key, value in given.items() if key != name}
        with pytest.raises(ValidationError):
            schema.validate({"faults": [less]})
        text = yaml.safe_dump({"faults": [less]})
        with pytest.raises(SpecError, match=f"{kind} needs '{name}'"):
            read_scenario(written(tmp_path, text), "sim")
    other = next(name for name in TARGETS if name not in needs)
    with pytest.raises(SpecError, match=f"{kind} has no '{other}'"):
        read_scenario(written(tmp_path, yaml.safe_dump({"faults": [{**given, other: EXAMPLE[other]}]})), "lab")


def test_every_kind_can_be_made_to_happen_by_one_of_the_two_at_least() -> None:
    assert all(not (kind.sim and kind.lab) for kind in KINDS.values())


WRONG = [
    ("faults:\n- at: 1ms\n  kind: daemon-kill\n  device: spine1\n  daemon: bgpd\n", 3, "sim cannot do daemon-kill"),
    ("traffic:\n- collective: all-reduce\n  size: 1X\n", 3, "'1X' is not a size"),
    ("traffic:\n- collective: allreduce\n  size: 1G\n", 2, "input should be 'all-reduce'"),
    ("name: x\nfaults:\n- at: 5\n  kind: nic-down\n  nic: a:b\n", 3, "5 is not a time"),
    ("faults:\n- at: 2ms\n  until: 1ms\n  kind: nic-down\n  nic: a:b\n", 3, "ends before it begins"),
    ("faults:\n- at: 2ms\n  until: 3ms\n  for: 1ms\n  kind: nic-down\n  nic: a:b\n", 4, "both `until` and `for`"),
    ("background:\n  share: a -- b\n", 2, "background.share: 'a -- b' is not a share"),
    ("background:\n  share: 1.5\n", 2, "the value must be at most 1"),
    ("background:\n  share: 0.5\n  packets: 9000\n", 3, "unknown key 'background.packets'"),
    ("overrides:\n  sets: {}\n", 2, "unknown key 'overrides.sets'"),
]


@pytest.mark.parametrize(("text", "line", "what"), WRONG)
def test_mistakes_name_their_line_and_the_reason(text: str, line: int, what: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        read_scenario(path, "sim")
    (problem,) = caught.value.problems
    assert (problem.place.file, problem.place.line) == (str(path), line)
    assert what in problem.what


def test_the_lab_refuses_what_needs_pfc(tmp_path: Path) -> None:
    text = "faults:\n- {at: 1ms, kind: pfc-storm, nic: 'H100-01:gpu0_eth'}\n"
    with pytest.raises(SpecError, match="lab cannot do pfc-storm") as caught:
        read_scenario(written(tmp_path, text), "lab")
    assert "railweave sim" in caught.value.problems[0].fix


TARGET_MISTAKES = [
    ("{at: 1ms, kind: device-down, device: spine9}", "there is no switch 'spine9'"),
    ("{at: 1ms, kind: plane-down, plane: plane2}", "there is no plane 'plane2'"),
    ("{at: 1ms, kind: link-down, link: stripe1-leaf1--stripe1-leaf2}", "there is no link"),
    ("{at: 1ms, kind: nic-down, nic: 'H100-01:gpu9_eth'}", "there is no NIC 'H100-01:gpu9_eth'"),
    ("{at: 1ms, kind: bgp-session-down, device: spine1, neighbor: spine2}", "spine1 has no link to a switch 'spine2'"),
    ("{at: 1ms, kind: device-reboot, device: H100-01}", "there is no switch 'H100-01'"),
    ("{at: 1ms, kind: ra-stopped, device: spine1, port: et-9}", "no cable is on port 'et-9'"),
]


@pytest.mark.parametrize(("fault", "what"), TARGET_MISTAKES)
def test_names_that_are_not_on_the_network_name_their_line(fault: str, what: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"name: x\nfaults:\n- {fault}\n")
    with pytest.raises(SpecError) as caught:
        fault_targets(railweave.load(EXAMPLES / "h100-rlb.yaml"), read_scenario(path, "lab"))
    (problem,) = caught.value.problems
    assert (problem.place.line, problem.fix != "") == (3, True)
    assert what in problem.what


def test_a_plane_stands_for_its_switches(tmp_path: Path) -> None:
    network = railweave.load(EXAMPLES / "two-planes.yaml")

    def devices(text: str) -> tuple[str, ...]:
        path = written(tmp_path, f"name: x\nfaults:\n- {{at: 1ms, kind: plane-down, plane: {text}}}\n")
        return fault_targets(network, read_scenario(path, "lab"))[0].devices

    own = tuple(one.name for one in network.switches if one.plane == "plane2")
    assert len(own) == 6
    assert devices("plane2") == devices("backend/plane2") == own
    for text, fix in (("plane3", "plane[12]"), ("frontend/plane2", "planes")):
        with pytest.raises(SpecError, match="there is no plane") as caught:
            devices(text)
        assert re.search(fix, caught.value.problems[0].fix)


def test_links_of_targets_by_either_end_first(tmp_path: Path) -> None:
    network = railweave.load(EXAMPLES / "h100-rlb.yaml")
    cable = next(cable for cable in network.cables if cable.kind == "fabric")
    turned = "--".join(reversed(cable.name.split("--")))
    kinds = [
        f"{{at: 0us, kind: link-down, link: '{turned}'}}",
        f"{{at: 0us, kind: link-slow, link: {cable.b.device}--{cable.a.device}, rate: 100G}}",
        f"{{at: 0us, kind: bgp-session-down, device: {cable.b.device}, neighbor: {cable.a.device}}}",
        "{at: 0us, kind: nic-down, nic: 'H100-01:gpu0_eth'}",
        "{at: 0us, kind: blackhole, device: spine1}",
        "{at: 0us, kind: bgp-down, device: stripe1-leaf1}",
    ]
    path = written(tmp_path, "faults:\n" + "".join(f"- {one}\n" for one in kinds))
    found = fault_targets(network, read_scenario(path, "sim"))
    both = tuple(one.name for one in network.cables if (one.a.device, one.b.device) == (cable.a.device, cable.b.device))
    assert [one.links for one in found[:3]] == [(cable.name,), both, both]
    assert found[3].links == ("H100-01:gpu0_eth--stripe1-leaf1:et-0/0/16:0",)
    assert found[4].links == ()
    uplinks = [one.name for one in network.cables if one.kind == "fabric" and one.a.device == "stripe1-leaf1"]
    assert list(found[5].links) == uplinks
