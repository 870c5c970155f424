"""What holds for every script of a server: shells take it, shellcheck finds nothing, same input gives the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from railweave.model.device.host import host_config
from railweave.outputs.rendering.host import boot, nccl_env_files, nic_qos
from railweave.outputs.rendering.host.boot import bios
from railweave.outputs.rendering.host.cluster import cluster_files
from railweave.outputs.rendering.host.nic_qos import nic_nvm
from tests.conftest import example

SHELLCHECK = Path(sys.executable).with_name("shellcheck")
EXAMPLES = ["h100-rlb", "mi300x-leaf-24"]


def files(name: str) -> dict[str, str]:
    network = example(name)
    config = host_config(network, network.servers[0].name)
    own = {"nic-nvm.sh": nic_nvm(config), "bios.md": bios(config), "nccl.env": nccl_env_files(config)["nccl.env"]}
    return nic_qos.files(config) | boot.files(config) | own | cluster_files(network)


@pytest.mark.parametrize("name", EXAMPLES)
def test_bash_takes_every_script(tmp_path: Path, name: str) -> None:
    scripts = {file: text for file, text in files(name).items() if file.endswith(".sh")}
    assert set(scripts) == {"nic-qos.sh", "nic-nvm.sh", "acs-off.sh", "mpirun.sh"}
    for file, text in scripts.items():
        (tmp_path / file).write_text(text)
        assert subprocess.run(["bash", "-n", tmp_path / file], capture_output=True, check=False).stderr == b""


@pytest.mark.parametrize("name", EXAMPLES)
def test_shellcheck_finds_nothing(tmp_path: Path, name: str) -> None:
    for file, text in files(name).items():
        if file.endswith(".sh"):
            (tmp_path / file).write_text(text)
            done = subprocess.run(
                [SHELLCHECK, tmp_path / file], capture_output=True, text=True, check=False, timeout=120
            )
            assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("name", EXAMPLES)
def test_same_input_same_bytes_and_only_what_a_vendor_needs(name: str) -> None:
    once = files(name)
    assert once == files(name)
    other = "broadcom" if name == "h100-rlb" else "mlx"
    assert all(other not in once[file] for file in ("nic-qos.sh", "nic-nvm.sh"))
    assert all(text.endswith("\n") and "\r" not in text for text in once.values())
