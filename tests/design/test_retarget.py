"""``--device``: a fabric file for other switches than it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave import api
from railweave.design.retarget import _like, parse_target
from railweave.errors import InputError, Option
from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from tests.conftest import EXAMPLES, SMALL
from tests.outputs.folder.fabrics import fabric

H100 = EXAMPLES / "h100-rlb.yaml"


def kinds(network: Network) -> dict[str, tuple[str, str, str]]:
    """Model, system and release by role."""
    return {one.role: (one.model, one.nos, one.release) for one in network.switches}


def test_one_role_and_the_other_stays() -> None:
    found = kinds(api.load(H100, device=["leaf=:frr"]))
    assert found == {
        "leaf": ("qfx5240-64od", "frr", catalog().systems["frr"].release),
        "spine": ("qfx5240-64od", "junos", "25.4R1"),
    }


def test_every_role_and_then_one_of_them() -> None:
    found = kinds(api.load(H100, device=["arista-7060x6-64pe:frr", "backend/spine=qfx5240-64qd:junos:23.4R2"]))
    assert found["leaf"][:2] == ("arista-7060x6-64pe", "frr")
    assert found["spine"] == ("qfx5240-64qd", "junos", "23.4R2")


def test_a_model_alone_takes_a_system_that_it_runs() -> None:
    assert kinds(api.load(H100, device=["leaf=arista-7060x6-64pe"]))["leaf"][1] in (
        catalog().switches["arista-7060x6-64pe"].systems
    )
    assert kinds(api.load(H100, device=["leaf=qfx5240-64qd"]))["leaf"] == ("qfx5240-64qd", "junos", "25.4R1")


def test_ports_keep_their_places(tmp_path: Path) -> None:
    """Cages that count from 1 in place of 0: everything is one further; lengths and overrides follow their ports."""
    ports = ("      device: qfx5240-64od\n", "      device: qfx5240-64od\n      server_ports: {first: 32, last: 47}\n")
    override = (
        "management:\n",
        "overrides:\n  cables: [{between: [stripe1-leaf1, spine2], ports: {spine2: 'et-0/0/9:1'}}]\nmanagement:\n",
    )
    file = fabric(tmp_path, ports, override)
    (tmp_path / "pod1.inventory.csv").write_text("device,interface,length\nstripe1-leaf1,et-0/0/0:1,7\n")
    old, new = api.load(file), api.load(file, device=["arista-7060x6-64pe:frr"])
    for before, after in zip(old.cables, new.cables, strict=True):
        for one, other in ((before.a, after.a), (before.b, after.b)):
            if one.physical is not None:
                assert other.physical == one.physical + 1
            assert other.channel == one.channel
        assert before.length_m == after.length_m
        assert before.measured == after.measured
    assert any(one.measured for one in new.cables)
    assert [one.b.port for one in new.cables if one.name.startswith("stripe1-leaf1:") and one.b.device == "spine2"] == [
        "et-10-1"
    ]


def test_a_release_that_was_fixed_goes_with_its_system(tmp_path: Path) -> None:
    fixed = ("management:\n", "overrides:\n  devices: {spine1: {release: 23.4R2}}\nmanagement:\n")
    file = fabric(tmp_path, fixed)
    assert api.load(file).switch("spine1").release == "23.4R2"
    assert api.load(file, device=["spine=qfx5240-64qd"]).switch("spine1").release == "23.4R2"
    assert api.load(file, device=["spine=:frr"]).switch("spine1").release == catalog().systems["frr"].release


def test_nothing_else_moves() -> None:
    """Names, numbers, prefixes and the lock do not depend on who makes the switches."""
    old, new = api.load(H100), api.load(H100, device=["arista-7060x6-64pe:frr"])
    assert old.segments == new.segments
    assert [(one.name, one.asn, one.router_id) for one in old.switches] == [
        (one.name, one.asn, one.router_id) for one in new.switches
    ]


def test_switches_of_two_systems_carry_colors_in_one_form() -> None:
    """A leaf without deterministic path forwarding tags its prefixes; its spines must then look at tags, too."""
    network = api.load(H100, device=["leaf=:frr"])
    for name in ("stripe1-leaf1", "spine1"):
        bgp = device_config(network, name).bgp
        assert bgp is not None
        assert "path-green" in {one.name for one in bgp.communities}
        assert not bgp.fabric_advertise
        assert all(group.fabric_color is None for group in bgp.groups)


@pytest.mark.parametrize(("word", "same"), [("sonic", ":sonic"), ("leaf=eos", "leaf=:eos")])
def test_a_system_without_its_colon(word: str, same: str) -> None:
    assert api.load(H100, device=[word]).switches == api.load(H100, device=[same]).switches


def test_a_system_as_a_device_of_a_fabric_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "h100-rlb.yaml"
    file.write_text(H100.read_text().replace("device: qfx5240-64od", "device: sonic"))
    with pytest.raises(InputError, match="'sonic' is an operating system, not a switch model") as refused:
        api.load(file)
    assert "models that run it: z9864f-on, " in str(refused.value)


WRONG = [
    ("leaf=", "names neither a model nor an operating system"),
    ("leaf", "switch model 'leaf' is not in the catalog"),
    ("", "names neither a model nor an operating system"),
    ("leaf=a=b:c", "names neither a model nor an operating system"),
    ("laef=:frr", "there is no role 'laef'"),
    ("leaf=qfx9999:junos", "switch model 'qfx9999' is not in the catalog"),
    ("leaf=:ios", "there is no operating system 'ios'"),
    ("arista-7060x6-64pe:junos", "arista-7060x6-64pe does not run 'junos'"),
    ("storage/leaf=:frr", "there is no fabric 'storage'"),
    ("super-spine=:frr", "no fabric has super-spines"),
    ("backend/super-spine=:frr", "fabric 'backend' has no super-spines"),
    ("leaf=:frr:newest", "'newest' is not a release"),
]


@pytest.mark.parametrize(("word", "what"), WRONG)
def test_wrong_words(word: str, what: str) -> None:
    with pytest.raises(InputError) as error:
        api.load(H100, device=[word])
    (problem,) = error.value.problems
    assert problem.place == Option("--device", word)
    assert problem.what == what
    assert problem.fix


def test_a_build_is_of_the_switches_it_has(tmp_path: Path) -> None:
    api.build(fabric(tmp_path / "in"), tmp_path / "out")
    with pytest.raises(InputError, match="is built for the switches it has"):
        api.load(tmp_path / "out", device=["leaf=:frr"])


def test_a_model_with_other_ports_stays_where_it_runs_the_system(tmp_path: Path) -> None:
    file = fabric(tmp_path, ("qfx5240-64od", "qfx5130-32cd"), ("spines: 2,", "spines: 2, link_speed: 200G,"))
    assert kinds(api.load(file, device=["leaf=:frr"]))["leaf"][0] == "qfx5130-32cd"


LIKE = [
    ("qfx5240-64od", "eos", "arista-7060x6-64pe"),  # as many of the same speed
    ("qfx5130-32cd", "eos", "arista-7060dx4-32"),
    ("ptx10008-lc1301", "eos", "arista-7060x6-64pe"),  # no model of 288: the largest of that speed
    ("ptx10008-lc1201", "eos", "arista-7060dx5-64s"),
]


@pytest.mark.parametrize(("old", "nos", "new"), LIKE)
def test_the_nearest_model_takes_its_place(old: str, nos: str, new: str) -> None:
    assert _like(old, catalog().switches[old], parse_target(f":{nos}")) == new


def test_of_larger_models_the_smallest_takes_its_place() -> None:
    old = catalog().switches["qfx5130-32cd"]
    ports = (old.ports[0].model_copy(update={"count": 40}),)
    assert _like("x", old.model_copy(update={"ports": ports}), parse_target(":eos")) == "arista-7060dx5-64s"


def test_a_speed_that_no_model_has_is_refused() -> None:
    old = catalog().switches["qfx5240-64od"]
    ports = (old.ports[0].model_copy(update={"speed_gbps": 1600}),)
    with pytest.raises(InputError, match="no model that runs 'eos' has 1600G ports like x"):
        _like("x", old.model_copy(update={"ports": ports}), parse_target(":eos"))


@pytest.mark.parametrize("nos", ["eos", "frr"])
@pytest.mark.parametrize("name", SMALL)
def test_every_example_can_be_of_one_system(name: str, nos: str) -> None:
    network = api.load(EXAMPLES / f"{name}.yaml", device=[f":{nos}"])
    assert {one.nos for one in network.switches} == {nos}
    assert not [one for one in network.findings if one.severity == "error"]


def test_ports_to_routers_outside_keep_their_places() -> None:
    file = EXAMPLES / "aidc-three-fabrics.yaml"
    old, new = (
        [
            (link.leaf, link.port, link.physical)
            for tenant in api.load(file, device=device).fabric("frontend").tenants
            for router in tenant.external
            for link in router.links
        ]
        for device in ((), [":eos"])
    )
    assert [(leaf, physical + 1) for leaf, _, physical in old] == [(leaf, physical) for leaf, _, physical in new]
    assert [port for _, port, _ in old] == ["et-0/0/30", "et-0/0/30", "et-0/0/31"]
    assert [port for _, port, _ in new] == ["Ethernet31/1", "Ethernet31/1", "Ethernet32/1"]


def test_routers_of_an_interconnect_have_their_role() -> None:
    file = EXAMPLES / "dci-50km.yaml"
    with pytest.raises(InputError, match="no fabric has dcis"):
        api.load(file, device=["dci=:eos"])
