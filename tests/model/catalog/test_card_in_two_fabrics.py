"""A card whose ports are in two fabrics: one card in the bill, each port with its own settings in the card's flash."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.errors import InputError
from railweave.model.catalog import in_force
from railweave.model.catalog.hardware_files import own_hardware
from railweave.model.device.host import host_config
from railweave.model.intent.reading.document import read_document
from railweave.model.network.model import Network
from railweave.outputs.rendering.host.nic_qos import nic_nvm
from railweave.outputs.report.bom import bill
from tests.conftest import designed, example
from tests.planes import network_of_planes

FABRIC = """
name: two
fabrics:
  storage:
    nics: storage
    naming: {leaf: "storage-leaf{leaf}"}
    topology: {stripes: 1, leaves_per_stripe: 1}
    leaf: {device: qfx5240-64od}
    qos: {classes: {cnp: {dscp: [46]}}}
    addressing: {server_pool: "fd01::/16", local_prefixes: ["fd01::/16"]}
  frontend:
    nics: frontend
    addressing: {server_pool: "fd02::/16", local_prefixes: ["fd02::/16"]}
    naming: {leaf: "frontend-leaf{leaf}"}
    topology: {stripes: 1, leaves_per_stripe: 1}
    leaf: {device: qfx5240-64od}
servers: [{names: "h[1-2]", model: cards}]
hardware:
  servers:
    cards:
      extends: weka-storage
      nics:
        storage: {nic: connectx-7-2x200, names: [a0, b0], rdma: [mlx5_0, mlx5_2], source: x}
        frontend: {nic: connectx-7-2x200, FURTHER, names: [a1, b1], rdma: [mlx5_1, mlx5_3], source: x}
management: {root_password: secret:root, users: {ops: {password: secret:ops}}}
"""


def network(folder: Path, further: str = "further_ports_of: storage") -> Network:
    return designed(folder, FABRIC.replace("FURTHER", further))[0]


def cards(found: Network) -> dict[str, int]:
    with in_force(found.catalog):
        return {one.name: one.count for one in bill(found) if one.kind == "NIC"}


def test_the_bill_counts_cards(tmp_path: Path) -> None:
    assert cards(network(tmp_path)) == {"connectx-7-2x200": 4}
    assert cards(network_of_planes(tmp_path)) == {"connectx-8-2x400": 8}
    assert cards(example("two-planes")) == {"connectx-8-2x400": 32}


def test_a_card_in_two_fabrics_has_each_port_as_its_own_fabric_wants_it(tmp_path: Path) -> None:
    config = host_config(network(tmp_path), "h1")
    settings = {nic.netdev: {one.name: one.value for one in nic.firmware} for nic in config.nics}
    first, second = settings["b0"], settings["b1"]
    assert (first["CNP_DSCP_P1"], second["CNP_DSCP_P2"]) == ("46", "48")
    assert not {name for name in first if name.endswith("_P2")} | {name for name in second if name.endswith("_P1")}
    assert first.keys() & second.keys() == {"PCI_WR_ORDERING"}
    assert "'CNP_DSCP_P1 46 device" in nic_nvm(config)
    apart = host_config(network(tmp_path, "rdma_port: 1"), "h1")
    assert all({"CNP_DSCP_P1", "CNP_DSCP_P2"} <= {one.name for one in nic.firmware} for nic in apart.nics)


@pytest.mark.parametrize(
    ("further", "says"),
    [
        ("further_ports_of: backend", "no set of NICs 'backend'"),
        ("further_ports_of: frontend", "no set of NICs 'frontend'"),
        ("further_ports_of: storage, ports: 2", "1 connectx-7-2x200 cannot be on the same cards as 2 connectx-7-2x200"),
    ],
)
def test_sets_that_cannot_share_cards_are_refused(tmp_path: Path, further: str, says: str) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(FABRIC.replace("FURTHER", further))
    with pytest.raises(InputError, match=says) as refused:
        own_hardware(None, read_document(file))
    assert f"{file}:" in str(refused.value)
