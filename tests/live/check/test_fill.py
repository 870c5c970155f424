"""``railweave inventory fill``: what devices say of hardware, as a difference first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from railweave import api
from railweave.analysis.expect.hosts import expected_host
from railweave.errors import InputError
from railweave.live.check.learnt import LearnedCells, add_lengths, filled, learnt, lengths
from railweave.model.intent.inventory import Item
from railweave.model.network.model import Network
from railweave.model.state.device_state import DeviceState, Identity
from railweave.model.state.host_state import HostState, read_host
from railweave.model.state.ports import Optic
from railweave.model.state.protocols import LldpNeighbor, NeighborEntry
from tests.live.check.captures import Heard, heard, write_capture
from tests.live.check.said.host import document
from tests.live.check.test_check import FRR, run
from tests.outputs.folder.fabrics import fabric


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return fabric(tmp_path / "in")


@pytest.fixture
def network(file: Path) -> Network:
    return api.load(file, device=[":frr"])


def with_macs(network: Network) -> Heard:
    """What switches hear where every NIC names its port by its MAC address, as NICs' firmware does."""
    ports = heard(network)
    for row, server in enumerate(network.servers):
        for column, nic in enumerate(server.nics):
            ports[nic.leaf, nic.leaf_port] = (server.name, f"a0:88:c2:00:{row:02x}:{column:02x}", "mac")
    return ports


def test_without_a_capture_it_adds_the_rows_that_are_missing(file: Path) -> None:
    inventory = file.with_name("pod1.inventory.csv")
    inventory.write_text("device,interface,mac\ngpu-01,gpu0_eth,a0:88:c2:00:00:00\n")
    network = api.load(file)
    count = len(network.switches) + len(network.servers) + sum(len(server.nics) for server in network.servers) - 1
    code, out = run("inventory", "fill", file)
    assert (code, out.splitlines()[-1]) == (1, f"{inventory}: {count} rows to write (--write)")
    code, out = run("inventory", "fill", file, "--write")
    assert (code, out.splitlines()[-1]) == (0, f"{inventory}: {count} rows written")
    lines = inventory.read_text().splitlines()
    assert lines[:3] == ["device,interface,mac", "gpu-01,gpu0_eth,a0:88:c2:00:00:00", f"{network.switches[0].name},,"]
    assert len(lines) == 2 + count
    assert run("inventory", "fill", file) == (0, f"{inventory}: nothing new\n")
    assert api.load(file) == network  # empty rows change nothing


def test_a_file_without_an_inventory_gets_all_columns(file: Path) -> None:
    filled_in = api.fill_inventory(file)
    assert filled_in.after.startswith("device,interface,mac,serial,netdev,rdma,length\n")
    findings = api.build(file, file.parent / "out").findings
    [fix] = {finding.fix for finding in findings if finding.id == "mac-placeholder"}
    assert "`railweave inventory fill FABRIC --write`" in fix


def test_macs_are_shown_then_written_then_nothing_new(file: Path, network: Network, tmp_path: Path) -> None:
    folder = write_capture(tmp_path / "now", network, with_macs(network))
    inventory = file.with_name("pod1.inventory.csv")
    code, out = run("inventory", "fill", file, folder, *FRR)
    assert code == 1
    assert "+gpu-01,gpu0_eth,a0:88:c2:00:00:00" in out
    assert out.endswith("32 cells to write (--write)\n")
    assert not inventory.exists()
    code, out = run("inventory", "fill", file, folder, *FRR, "--write")
    assert (code, out.splitlines()[-1]) == (0, f"{inventory}: 32 cells written")
    nics = [nic for server in api.load(file).servers for nic in server.nics]
    assert not any(nic.mac_is_placeholder for nic in nics)
    assert nics[0].mac == "a0:88:c2:00:00:00"
    assert run("inventory", "fill", file, folder, *FRR) == (0, f"{inventory}: nothing new\n")


def test_rows_comments_and_columns_stay() -> None:
    text = "serial,device,interface\n# ours,\nS1,leaf1,\n,gpu-01,gpu0_eth\n"
    cells = {("leaf1", ""): {"serial": "S2"}, ("gpu-01", "gpu0_eth"): {"mac": "a0:88:c2:00:00:01"}}
    more = {("leaf2", ""): {"serial": "S3"}}
    assert filled(text, {**cells, **more}) == (
        "serial,device,interface,mac\n# ours,\nS2,leaf1,,\n,gpu-01,gpu0_eth,a0:88:c2:00:00:01\nS3,leaf2,,\n"
    )


def _nic(network: Network) -> tuple[str, str, str, str]:
    server = network.servers[0]
    nic = server.nics[0]
    return server.name, nic.name, nic.leaf, nic.leaf_port


def _said(leaf: str, local: str, /, **fields: str) -> dict[str, DeviceState]:
    return {leaf: DeviceState(leaf, "frr", neighbors={local: (LldpNeighbor(**fields),)})}


def test_a_server_s_own_daemon_names_the_interface(network: Network) -> None:
    server, nic, leaf, port = _nic(network)
    found = learnt(network, _said(leaf, port, system=server, port="a088.c200.0001", port_description="enp1s0np0"))
    assert found.cells == {(server, nic): {"mac": "a0:88:c2:00:00:01", "netdev": "enp1s0np0"}}
    firmware = learnt(network, _said(leaf, port, port="a0:88:c2:00:00:01", port_description="port1"))
    assert firmware.cells == {(server, nic): {"mac": "a0:88:c2:00:00:01"}}


def test_what_is_in_doubt_is_a_note(network: Network) -> None:
    server, _, leaf, port = _nic(network)
    other = learnt(network, _said(leaf, port, system="gpu-99", port="a0:88:c2:00:00:01"))
    assert other.cells == {}
    assert f"hears gpu-99 in place of {server}" in other.notes[0]
    state = _said(leaf, port, port="a0:88:c2:00:00:01")[leaf]
    neighbor = NeighborEntry("fe80::1", port, "a0:88:c2:00:00:02")
    both = learnt(network, {leaf: DeviceState(leaf, "frr", neighbors=state.neighbors, ipv6_neighbors=(neighbor,))})
    assert both.cells == {}
    assert "none was taken" in both.notes[0]
    alone = learnt(network, {leaf: DeviceState(leaf, "frr", ipv6_neighbors=(neighbor,))})
    assert list(alone.cells.values()) == [{"mac": "a0:88:c2:00:00:02"}]
    group = learnt(network, _said(leaf, port, port="01:80:c2:00:00:0e"))
    assert group.cells == {}
    ports = {nic.leaf_port: (LldpNeighbor(port="a0:88:c2:00:00:01"),) for nic in network.servers[0].nics}
    twice = learnt(network, {leaf: DeviceState(leaf, "frr", neighbors=ports)})
    assert twice.cells == {}
    assert "was heard of" in twice.notes[0]


def test_serial_numbers_of_switches(network: Network) -> None:
    states = {
        "spine1": DeviceState("spine1", "frr", identity=Identity("spine1.example.net", serial="AB1")),
        "spine2": DeviceState("spine2", "frr", identity=Identity("spine9", serial="AB2")),
    }
    found = learnt(network, states)
    assert found.cells == {("spine1", ""): {"serial": "AB1"}}
    assert found.notes == ["spine2 calls itself spine9: its serial number AB2 was not taken"]


def test_a_build_folder_has_no_inventory(file: Path, network: Network, tmp_path: Path) -> None:
    api.build(file, tmp_path / "out")
    folder = write_capture(tmp_path / "now", network, heard(network))
    with pytest.raises(InputError, match="a build folder has no inventory"):
        api.fill_inventory(tmp_path / "out", folder)


def test_a_mac_address_that_another_row_has_is_a_note(file: Path, network: Network, tmp_path: Path) -> None:
    file.with_name("pod1.inventory.csv").write_text("device,interface,mac\ngpu-04,gpu7_eth,a0:88:c2:00:00:00\n")
    server, nic, leaf, port = _nic(network)
    ports: Heard = {(leaf, port): (server, "a0:88:c2:00:00:00", "mac")}
    folder = write_capture(tmp_path / "now", network, ports)
    found = api.fill_inventory(file, folder, device=[":frr"])
    assert not found.differs
    assert found.notes == [
        f"{server} {nic}: MAC address a0:88:c2:00:00:00 is that of gpu-04 gpu7_eth in pod1.inventory.csv"
    ]


def _answers(network: Network) -> dict[str, dict[str, Any]]:
    """What each server answers, with a MAC address of its own at each NIC."""
    found = {one.name: document(expected_host(network, one.name)) for one in network.servers}
    for row, shown in enumerate(found.values()):
        for column, link in enumerate(shown["links"]):
            link["mac"] = f"a0:88:c2:00:{row:02x}:{column:02x}"
    return found


def _read(answers: dict[str, dict[str, Any]]) -> dict[str, HostState]:
    return {name: read_host(name, {"host": json.dumps(shown)}) for name, shown in answers.items()}


def test_servers_own_answers_end_the_placeholders(file: Path, network: Network, tmp_path: Path) -> None:
    folder = tmp_path / "now"
    for name, shown in _answers(network).items():
        (folder / name).mkdir(parents=True)
        (folder / name / "host.json").write_text(json.dumps(shown))
    code, out = run("inventory", "fill", file, folder, *FRR, "--write")
    assert (code, out.rpartition(": ")[2]) == (0, "32 cells written\n"), out
    nics = [nic for server in api.load(file).servers for nic in server.nics]
    assert not any(nic.mac_is_placeholder for nic in nics)
    assert run("inventory", "fill", file, folder, *FRR)[1].endswith(": nothing new\n")


def _renamed(shown: dict[str, Any], was: str, name: str) -> None:
    """The interface that had one name has another, in the whole answer."""
    shown["links"] = [one | {"name": name} if one["name"] == was else one for one in shown["links"]]
    shown["gids"] = [
        one | {"netdev": name, "device": "rocep1s0"} if one["netdev"] == was else one for one in shown["gids"]
    ]
    ports = shown["lldp"]["lldp"]["interface"]
    shown["lldp"]["lldp"]["interface"] = [{name if port == was else port: one[port] for port in one} for one in ports]


def test_a_server_tells_names_by_the_leaf_that_it_hears(network: Network) -> None:
    answers, server = _answers(network), network.servers[0]
    nic = server.nics[0]
    _renamed(answers[server.name], nic.netdev, "enp1s0np0")
    found = learnt(network, {}, _read(answers))
    assert found.cells[server.name, nic.name] == {"netdev": "enp1s0np0", "mac": "a0:88:c2:00:00:00", "rdma": "rocep1s0"}
    assert found.notes == []
    agreed = learnt(network, _said(nic.leaf, nic.leaf_port, port="a0:88:c2:00:00:00"), _read(answers))
    assert agreed.cells == found.cells
    disagreed = learnt(network, _said(nic.leaf, nic.leaf_port, port="a0:88:c2:00:00:99"), _read(answers))
    assert "mac" not in disagreed.cells[server.name, nic.name]
    assert "none was taken" in disagreed.notes[0]


def test_of_cables_that_lead_elsewhere_nothing_is_taken(network: Network) -> None:
    answers, server = _answers(network), network.servers[0]
    first, second = server.nics[:2]
    ports = answers[server.name]["lldp"]["lldp"]["interface"]
    ports[0][first.netdev], ports[1][second.netdev] = ports[1][second.netdev], ports[0][first.netdev]
    found = learnt(network, {}, _read(answers))
    assert not found.cells.keys() & {(server.name, first.name), (server.name, second.name)}
    assert len(found.cells) == len([nic for one in network.servers for nic in one.nics]) - 2
    assert f"{first.leaf} {first.leaf_port} hears {server.name} {second.netdev}" in found.notes[0]
    answers = _answers(network)
    answers[server.name]["lldp"]["lldp"]["interface"][0][first.netdev]["chassis"] = {"leaf99": {}}
    elsewhere = learnt(network, {}, _read(answers))
    assert (server.name, first.name) not in elsewhere.cells
    assert elsewhere.notes[0].startswith(f"{server.name} {first.netdev} hears leaf99")
    leaf = _said(first.leaf, first.leaf_port, system=server.name, port=second.netdev)
    assert learnt(network, leaf).cells == {}
    neighbor = NeighborEntry("fe80::1", first.leaf_port, "a0:88:c2:00:00:02")
    heard = {first.leaf_port: (LldpNeighbor("gpu-99", "eth0"),)}
    other = {first.leaf: DeviceState(first.leaf, "frr", neighbors=heard, ipv6_neighbors=(neighbor,))}
    assert learnt(network, other).cells == {}


def test_modules_and_the_cables_that_are_part_of_them(file: Path, network: Network) -> None:
    cable = next(one for one in network.cables if one.kind == "fabric")
    module = Optic(present=True, part="DAC-400-3", serial=" XYZ1 ", cable_m=3.0)
    states = {
        cable.a.device: DeviceState(cable.a.device, "frr", optics={cable.a.port: module}),
        cable.b.device: DeviceState(
            cable.b.device, "frr", optics={cable.b.port: Optic(part="N/A", serial="N/A", cable_m=3)}
        ),
    }
    assert learnt(network, states).cells == {(cable.a.device, cable.a.port): {"part": "DAC-400-3", "serial": "XYZ1"}}
    ends = [(end, there, metres) for end, there, metres in lengths(network, states, [])]
    assert ends == [(cable.a, cable.b, 3.0)]
    notes: list[str] = []
    states[cable.b.device] = DeviceState(cable.b.device, "frr", optics={cable.b.port: Optic(cable_m=5)})
    assert list(lengths(network, states, notes)) == []
    assert "3 m by" in notes[0]


def test_a_measured_length_stays(network: Network) -> None:
    cable = next(one for one in network.cables if one.kind == "fabric")
    here, there = ((end.device, end.port) for end in (cable.a, cable.b))
    states = {here[0]: DeviceState(here[0], "frr", optics={here[1]: Optic(cable_m=3.0)})}
    for items, cells, notes in (
        ({}, {here: {"length": "3"}}, 0),
        ({there: Item(length_m=2.8)}, {}, 0),
        ({there: Item(length_m=12.0)}, {}, 1),
    ):
        found = LearnedCells({}, [])
        add_lengths(network, states, items, found)
        assert (found.cells, len(found.notes)) == (cells, notes)


def test_a_lab_has_no_hardware_to_learn(file: Path, network: Network, tmp_path: Path) -> None:
    folder = write_capture(tmp_path / "now", network, with_macs(network), {"lab": {"slice": "rails=1"}})
    with pytest.raises(InputError, match="capture of a lab"):
        api.fill_inventory(file, folder, device=[":frr"])
