"""The vendors there are: each has every part, and what is common to all names none."""

from __future__ import annotations

import re

import pytest

from railweave.model.catalog import catalog
from railweave.model.catalog.definitions import vendor_files
from railweave.model.device.host import host_config
from railweave.nics import vendor
from railweave.nics.protocol import missing_parts
from railweave.outputs.rendering.host import nic_qos
from railweave.outputs.rendering.host.boot import bios
from tests.conftest import ROOT, example

SRC = ROOT / "src" / "railweave"
HOST = SRC / "outputs" / "rendering" / "host"
COMMON = [
    SRC / "prediction" / "simulation" / "model" / "fabric.py",
    *(SRC / "model" / "device" / f"{name}.py" for name in ("host", "host_model")),
    *(HOST / f"{name}.py" for name in ("__init__", "boot", "nic_qos", "shell", "units")),
    *(HOST / "scripts" / f"{name}.sh" for name in ("nic_nvm", "nic_qos")),
]


@pytest.mark.parametrize("name", vendor_files())
def test_every_part_is_there(name: str) -> None:
    assert missing_parts(name) == []
    own = vendor(name)
    for function in (f"apply_{name}", f"show_{name}"):
        assert f"\n{function}() {{\n" in own.qos_script()
    assert f"\n{name}() {{\n" in own.nvm_script()
    assert own.checklist()[-1] == ""
    assert own.transport("model-1").note.startswith("model-1: ")


def test_every_model_is_of_the_vendor_of_its_folder() -> None:
    models = catalog().nics
    assert {one.vendor.lower() for one in models.values()} == vendor_files().keys()
    for name, path in vendor_files().items():
        rows = re.findall(r"^([\w.-]+):", path.read_text(), re.MULTILINE)
        assert {models[row].vendor.lower() for row in rows} == {name}


def test_names_that_the_kernel_gives_are_known() -> None:
    for model in catalog().servers.values():
        for group in model.nics.values():
            pattern = vendor(catalog().nics[group.nic].vendor).rdma_devices
            assert all(re.fullmatch(pattern, name) for name in group.rdma), group.nic


@pytest.mark.parametrize("path", COMMON, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_is_common_names_no_driver_or_device(path) -> None:
    found = re.findall(r"(?i)mlx\d|bnxt|connectx|niccli|mlxconfig|broadcom|mellanox", path.read_text())
    assert found == []


def test_files_of_a_vendor_are_those_it_names() -> None:
    for name in ("h100-rlb", "mi300x-leaf-24"):
        config = host_config(example(name), example(name).servers[0].name)
        own = vendor(config.nics[0].vendor)
        assert set(own.driver_files(config)) == set(own.driver_file_paths)
        assert nic_qos.files(config).keys() == {
            "nic-qos.sh",
            *(path.rpartition("/")[2] for path in own.driver_file_paths),
        }
        assert "\n".join(own.checklist()) in bios(config)
