"""Servers on trunks, on routed ports and testers without BGP on one leaf: examples/frontend-mixed.yaml, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave import api
from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.errors import InputError
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.outputs.folder.designing import design_file
from tests.analysis.routing.fabrics import configurations
from tests.conftest import EXAMPLES
from tests.systems.there_and_back import lost, one_of_each_role

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

FABRIC = EXAMPLES / "frontend-mixed.yaml"


def _changed(tmp_path: Path, *changes: tuple[str, str]) -> Network:
    text = FABRIC.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "mixed.yaml"
    file.write_text(text, encoding="utf-8")
    return design_file(file)[0]


def test_a_leaf_has_trunks_routed_ports_and_an_edge_port() -> None:
    leaf = device_config(api.load(FABRIC), "frontend-leaf1")
    ports = {one.peer: one for one in leaf.interfaces if one.kind == "server"}
    assert (ports["H100-01"].native_vlan, ports["H100-01"].tagged) == (2, (300, 301))
    assert (ports["WEKA-1"].vlan, ports["WEKA-1"].tagged) == (None, ())
    of_port = {one.port: one.addresses for one in leaf.gateways if one.port}
    assert of_port[ports["WEKA-1"].name] == ("10.30.1.6/31", "fd00:30:1:3::1/64")
    assert of_port[ports["tester1"].name] == ("10.90.1.0/31", "fd00:90:1::/127")
    assert leaf.bgp is not None
    assert {session.peer for group in leaf.bgp.groups for session in group.sessions} == {
        "frontend-spine1",
        "frontend-spine2",
    }


@pytest.mark.parametrize(("said", "length"), [("", 10), (", length: 25m", 25)])
def test_an_edge_port_has_the_headroom_of_its_cable(said: str, length: int, tmp_path: Path) -> None:
    old = "port: et-0/0/30, speed: 100G, prefixes: [10.90.1.0/31"
    network = _changed(tmp_path, (old, old.replace("speed: 100G", f"speed: 100G{said}")))
    leaf = device_config(network, "frontend-leaf1")
    assert leaf.qos is not None
    profile = next(one for one in leaf.qos.profiles if "et-0/0/30" in one.ports)
    assert profile.cable_length_m == length


def test_edge_ports_count_in_the_headroom_of_a_switch(tmp_path: Path) -> None:
    tester2 = '      tester2: {leaf: frontend-leaf2, port: et-0/0/30, speed: 100G, prefixes: [10.90.2.0/31, "fd00:90:2::/127"]}'
    more = "\n".join(
        f"      more{n}: {{leaf: frontend-leaf1, port: et-0/0/{n}, speed: 400G, length: 2000m, prefixes: [10.91.{n}.0/31]}}"
        for n in range(18, 30)
    )
    ports = ("server_ports: {first: 8, last: 29,", "server_ports: {first: 8, last: 17,")
    headroom = {one.id for one in _changed(tmp_path, ports).findings}
    with_more = {one.id for one in _changed(tmp_path, ports, (tester2, f"{tester2}\n{more}")).findings}
    assert "headroom-short" in with_more - headroom


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic", "dell_sonic", "frr"])
def test_mixed_ports_come_back(nos: str) -> None:
    network = api.load(FABRIC, device=[f":{nos}"])
    for device in {*one_of_each_role(network), "frontend-leaf1"}:
        assert lost(device_config(network, device)) == []


def test_every_leaf_reaches_what_is_behind_an_edge_port() -> None:
    network = api.load(FABRIC)
    routes = ControlPlane(configurations(network)).routes()
    for prefix in ("10.90.2.0/31", "fd00:90:2::/127", "10.30.2.6/31"):
        assert len(routes.next_hops("frontend-leaf1", prefix)) == 4
    assert [one for one in run_checks(Subject.of(network), slow=False) if one.severity == "error"] == []


def test_a_routed_server_finds_those_on_trunks() -> None:
    host = host_config(api.load(FABRIC), "WEKA-1")
    front = [str(one.to) for one in host.rules if one.dev == "mgmt_eth" and one.to is not None]
    assert front == ["10.30.1.6/16", "10.20.0.0/16", "fd00:30:1:3::1/32", "fd00:20::/32"]
    on_trunk = [one for one in host_config(api.load(FABRIC), "H100-01").rules if one.dev == "mgmt_eth"]
    assert [str(one.from_) for one in on_trunk] == ["10.20.10.2", "fd00:20:1::2"]


def test_what_cannot_be_mixed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="both put NICs on a VLAN of their rail"):
        _changed(
            tmp_path,
            ("server_link: routed\n          server_pool: 10.30", "server_link: access\n          server_pool: 10.30"),
        )
    with pytest.raises(InputError, match=r"no server 'WEKA-5' on fabric 'frontend'\n +did you mean 'WEKA-[1-4]'\?"):
        _changed(tmp_path, ('"WEKA-[1-4]"\n', '"WEKA-[1-5]"\n'))
    with pytest.raises(InputError, match=r"et-0/0/8 for edge port tester1 .*H100-01"):
        _changed(
            tmp_path,
            ("port: et-0/0/30, speed: 100G, prefixes: [10.90.1", "port: et-0/0/8, speed: 100G, prefixes: [10.90.1"),
        )
    with pytest.raises(InputError, match="has no leaf 'frontend-leaf7'"):
        _changed(tmp_path, ("leaf: frontend-leaf2", "leaf: frontend-leaf7"))
    with pytest.raises(InputError, match="have the same address family"):
        _changed(tmp_path, ('"fd00:90:1::/127"', "10.91.0.0/31"))
    with pytest.raises(InputError, match=r"0\.0\.0\.0/0 is a default route(.|\n)*external: …"):
        _changed(tmp_path, ("10.90.1.0/31", "0.0.0.0/0"))
    with pytest.raises(InputError, match="tagged_vlans without trunk ports"):
        _changed(tmp_path, ("server_link: trunk", "server_link: access"))
    with pytest.raises(
        InputError,
        match=r":19: tagged VLAN 2 is also the VLAN that frontend-leaf1 uses for the prefixes of row1 rail 1"
        r"\n.*another number, such as 4094, or begin `pools.vlan` above 2",
    ):
        _changed(tmp_path, ("tagged_vlans: [300, 301]", "tagged_vlans: [2, 301]"))
    with pytest.raises(InputError, match=r"overlapping prefixes: .*10\.30\.1\.6/31"):
        _changed(tmp_path, ("10.90.1.0/31", "10.30.1.6/31"))


@pytest.mark.parametrize("prefix", ["10.20.10.0/31", "10.20.0.0/16"])
def test_an_edge_prefix_over_servers_is_named_as_the_edge_ports(prefix: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        _changed(tmp_path, ("10.90.1.0/31", prefix))
    said = str(refused.value)
    line = next(n for n, row in enumerate(FABRIC.read_text(encoding="utf-8").splitlines(), 1) if "tester1:" in row)
    assert f"mixed.yaml:{line}: overlapping prefixes: " in said
    assert f"{prefix} of edge port 'tester1'" in said
    assert "of servers of fabric 'frontend'" in said
    assert "give the edge port another prefix" in said


def test_an_edge_prefix_with_host_bits_is_one_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        _changed(tmp_path, ('[10.90.1.0/31, "fd00:90:1::/127"]', "[10.90.1.5/31]"))
    assert "'10.90.1.5/31' is not a prefix" in str(refused.value)
    assert "there is none" not in str(refused.value)
    with pytest.raises(InputError, match=r"edge_ports.tester1.prefixes: there is none"):
        _changed(tmp_path, ('[10.90.1.0/31, "fd00:90:1::/127"]', "[]"))


def test_a_pool_that_former_links_fill_says_how_to_free_it(tmp_path: Path) -> None:
    """The pool is of just the size: another name of a stripe takes four links more while the lock keeps the former ones."""
    _, lock = design_file(FABRIC)
    text = (
        FABRIC.read_text(encoding="utf-8")
        .replace("[row1, row2]", "[row1, row3]")
        .replace("frontend: row2", "frontend: row3")
    )
    text = text.replace('leaf: "frontend-leaf{number}"', 'leaf: "{stripe}-leaf"').replace("frontend-leaf1", "row1-leaf")
    text = text.replace("leaf: frontend-leaf2", "leaf: row3-leaf")
    file = tmp_path / "mixed.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        design_file(file, lock.copy())
    said = str(refused.value)
    assert "former links that the lock still has" in said
    assert (
        "or free what the lock keeps for parts that are gone or moved (row2, frontend-leaf1--frontend-spine1," in said
    )
    assert "`railweave build mixed.yaml --compact -o OUT`" in said
    lock.compacting = True
    design_file(file, lock)


def test_a_job_without_nics_beside_gpus_says_which_it_uses() -> None:
    job = {one.name: one for one in host_config(api.load(FABRIC), "H100-01").job}
    assert job["NCCL_IB_HCA"].why.startswith("the NICs of fabric frontend, for no NIC is beside a GPU; the leading =")
