"""What a server is told, where the fabric file asks for something unusual."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.model.device.host import host_config
from railweave.model.device.host_model import HostQos
from railweave.model.network.model import Network
from railweave.outputs.folder.differences import diff
from tests.conftest import designed

FILE = """
name: pod1
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 1}
    leaf: {device: qfx5240-64od}
    load_balancing: {mode: dlb-flowlet}
    addressing: {server_mode: static, server_pool: 192.168.0.0/16, server_prefix: "192.168.{rail}.0/24"}
    qos: {classes: CLASSES}
servers:
  - {names: "amd[1-2]", model: mi300x-8gpu-thor2}
  - {names: "nv[1-2]", model: h100-8gpu-cx7}
hosts: HOSTS
"""


def network(folder: Path, classes: str = "{}", hosts: str = "{}") -> Network:
    return designed(folder, FILE.replace("CLASSES", classes).replace("HOSTS", hosts))[0]


def qos(net: Network, server: str) -> HostQos:
    return host_config(net, server).qos[0]


def test_lossy_rdma_keeps_its_class_and_its_congestion_control(tmp_path: Path) -> None:
    found = qos(network(tmp_path, "{no-loss: {lossless: false, pfc_priority: null}}"), "nv1")
    assert (found.dscp, found.traffic_class, found.ecn, found.lossless) == (26, 106, True, False)


def test_without_a_class_of_their_own_cnps_keep_the_usual_dscp(tmp_path: Path) -> None:
    net = network(tmp_path, "{cnp: null}")
    assert (qos(net, "amd1").cnp_dscp, qos(net, "amd1").cnp_priority) == (48, 7)
    assert "cnp-no-class" in {finding.id for finding in net.findings}


@pytest.mark.parametrize(("priority", "amd", "nvidia"), [(3, 7, 6), (7, 6, 6), (6, 7, 7)])
def test_cnps_never_share_the_priority_of_data(tmp_path: Path, priority: int, amd: int, nvidia: int) -> None:
    net = network(tmp_path, f"{{no-loss: {{pfc_priority: {priority}}}}}")
    assert (qos(net, "amd1").cnp_priority, qos(net, "nv1").cnp_priority) == (amd, nvidia)


def test_a_class_without_dscp_is_said(tmp_path: Path) -> None:
    net = network(tmp_path, "{no-loss: {dscp: []}}")
    assert "rdma-no-dscp" in {finding.id for finding in net.findings}


def test_diff_sees_files_that_servers_share(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    old, new = network(tmp_path / "old"), network(tmp_path / "new", hosts="{job: {mpi_version: 4}}")
    found = diff(old, new)
    assert not found.equal
    assert any(name.startswith("mpirun") for name in found.shared)
    assert found.servers == {}
