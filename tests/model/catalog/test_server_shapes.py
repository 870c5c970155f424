"""Servers with as many GPUs and NICs as the fabric file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import packaged
from railweave.model.catalog.server_shapes import with_shape
from railweave.model.device.host import host_config
from railweave.model.network.model import Network
from tests.conftest import designed

if TYPE_CHECKING:
    from pathlib import Path


def fabric(folder: Path, more: str) -> Network:
    text = f"""\
name: shaped
fabrics:
  backend:
    topology: {{stripes: 1, spines: 4}}
    leaf: {{device: qfx5240-64od}}
servers: [{{names: "gpu-[1-2]", model: dgx-b200{more}}}]
"""
    return designed(folder, text)[0]


def test_fewer_nics_than_gpus_have_several_beside_them(tmp_path: Path) -> None:
    found = fabric(tmp_path, ", gpu_nics: 4")
    config = host_config(found, "gpu-1")
    assert (config.gpus, [nic.gpu for nic in config.nics]) == (8, [0, 2, 4, 6])
    assert len([one for one in found.switches if one.role == "leaf"]) == 4
    assert list(found.hardware.servers) == ["dgx-b200-8x4"]
    assert Network.from_json(found.to_json()) == found


def test_a_file_that_says_what_the_model_has_is_the_model(tmp_path: Path) -> None:
    plain = fabric(tmp_path, "")
    same = fabric(tmp_path, ", gpus: 8, gpu_nics: 8")
    assert plain.cables == same.cables
    assert [nic.gpu for nic in host_config(plain, "gpu-1").nics] == list(range(8))


def test_nics_beyond_those_of_the_model_have_names_that_nothing_has() -> None:
    name, model = with_shape("dgx-b200", packaged().servers["dgx-b200"], 4, 10)
    group = model.nics["gpu"]
    assert (name, model.gpus) == ("dgx-b200-4x10", 4)
    assert group.names[8:] == ("gpu8_eth", "gpu9_eth")
    assert group.rdma[8:] == ("mlx5_10", "mlx5_11")  # mlx5_8 and mlx5_9 are those of storage
    assert model.nics["storage"] == packaged().servers["dgx-b200"].nics["storage"]
