"""``railweave inventory fill``: what devices say of hardware, as a difference first."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave import api
from railweave.errors import InputError
from railweave.live.learnt import filled, learnt
from railweave.network.model import Network
from railweave.state.device_state import DeviceState, Identity
from railweave.state.protocols import Ipv6Neighbor, LldpNeighbor
from tests.live.captures import Heard, heard, write_capture
from tests.live.test_check import FRR, run
from tests.outputs.fabrics import fabric


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
    neighbor = Ipv6Neighbor("fe80::1", port, "a0:88:c2:00:00:02")
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
