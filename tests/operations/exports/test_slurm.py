"""Slurm's files. ``make trial NAME=slurm`` loads those of every example into two releases of Slurm."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import railweave
from railweave import api
from railweave.cli.app import app
from railweave.errors import InputError
from railweave.operations.exports import slurm
from tests.conftest import EXAMPLES


def test_racks_are_blocks_and_stripes_are_switches() -> None:
    files = slurm.files(railweave.load(EXAMPLES / "gb300-racks.yaml"))
    tree, block = yaml.safe_load(files["topology.yaml"])
    assert tree["tree"]["switches"][:2] == [
        {"switch": "gb300-racks", "children": "stripe[1-3]"},
        {"switch": "stripe1", "nodes": "gb300-[001-054]"},
    ]
    assert block["block"]["block_sizes"] == [18, 36, 72, 144]
    assert block["block"]["blocks"][0] == {"block": "A01", "nodes": "gb300-[001-018]"}
    assert "SwitchName=stripe1 Nodes=gb300-[001-054]\n" in files["topology.conf"]
    assert "NodeName=gb300-[001-018] Gres=gpu:gb300:4 Feature=stripe1,A01 State=UNKNOWN\n" in files["nodes.conf"]


def test_gpus_are_found_by_the_library_of_their_vendor() -> None:
    files = slurm.files(railweave.load(EXAMPLES / "evpn-server-isolation.yaml"))
    assert "NodeName=H100-[01-04] Name=gpu AutoDetect=nvml\n" in files["gres.conf"]
    assert "NodeName=MI300-[01-04] Name=gpu AutoDetect=rsmi\n" in files["gres.conf"]


def test_planned_servers_are_left_out_and_failed_ones_are_drained(tmp_path: Path) -> None:
    file = tmp_path / "fabric.yaml"
    text = (EXAMPLES / "h100-rlb.yaml").read_text()
    file.write_text(f"{text}\nstatus:\n  H100-02: failed\n  H100-04: planned\n")
    files = slurm.files(railweave.load(file))
    assert "H100-04" not in "".join(files.values())
    line = (
        'NodeName=H100-02 Gres=gpu:h100:8 Feature=stripe1 State=DRAIN Reason="railweave: failed in the fabric file"\n'
    )
    assert line in files["nodes.conf"]
    assert "SwitchName=stripe1 Nodes=H100-[01-02]\n" in files["topology.conf"]


def test_the_command_and_the_function_write_the_same(tmp_path: Path) -> None:
    fabric = str(EXAMPLES / "h100-rlb.yaml")
    result = CliRunner().invoke(app, ["export", "slurm", fabric, "-o", str(tmp_path / "cli"), "-q"])
    assert result.exit_code == 0, result.output
    names = api.export(fabric, tmp_path / "api", target="slurm")
    assert len(names) == 9
    assert (tmp_path / "cli" / ".railweave-slurm").read_text().split() == sorted(names)
    for name in names:
        assert (tmp_path / "cli" / name).read_text() == (tmp_path / "api" / name).read_text()


def test_files_that_are_no_longer_written_are_removed_and_others_stay(tmp_path: Path) -> None:
    first, second = EXAMPLES / "aidc-three-fabrics.yaml", EXAMPLES / "h100-rlb.yaml"
    api.export(first, tmp_path, target="slurm")
    (tmp_path / "mine.conf").write_text("mine")
    assert (tmp_path / "nccl-tests-a100-8.sbatch").exists()
    names = api.export(second, tmp_path, target="slurm")
    assert {path.name for path in tmp_path.iterdir()} == {*names, "mine.conf", ".railweave-slurm"}


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"is a file\n +name a folder"):
        api.export(EXAMPLES / "h100-rlb.yaml", tmp_path / "file", target="slurm")
    assert (tmp_path / "file").read_text() == "mine"


def test_two_fabrics_have_a_block_topology_each() -> None:
    files = slurm.files(railweave.load(EXAMPLES / "aidc-three-fabrics.yaml"))
    tree, *blocks = yaml.safe_load(files["topology.yaml"])
    assert [block["topology"] for block in blocks] == ["block-backend1", "block-backend2"]
    assert [block["block"]["block_sizes"] for block in blocks] == [[4, 8], [2, 4]]
    assert "--nodes=2 nccl-tests-h100-8.sbatch" in files["nccl-tests-h100-8.sbatch"]
    assert "# --constraint=backend1-stripe1 keeps" in files["nodes.conf"]
    assert len(tree["tree"]["switches"]) == 6


def test_a_gpu_with_blanks_in_its_name_is_one_word(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    text = (EXAMPLES / "mi300x-leaf-24.yaml").read_text()
    own = "hardware:\n  servers:\n    lab: {extends: mi300x-8gpu-thor2, gpu: RTX PRO 6000}\n"
    file.write_text(text.replace("mi300x-8gpu-thor2", "lab") + own)
    assert "Gres=gpu:rtx_pro_6000:8 " in slurm.files(railweave.load(file))["nodes.conf"]


def test_an_unknown_target_is_refused_with_the_targets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no target 'slurmm'\n +targets are .*slurm"):
        api.export(EXAMPLES / "h100-rlb.yaml", tmp_path, target="slurmm")


def _scripts(folder: Path, *, status: int, text: str, state: str) -> dict[str, str]:
    """Write the scripts beside programs that answer as given; scontrol notes its words in the file ``drained``."""
    files = slurm.files(railweave.load(EXAMPLES / "h100-rlb.yaml"))
    programs = {
        "railweave-host": f"echo '{text}'\nexit {status}",
        "scontrol": f'case $1 in show) echo "   State={state} ThreadsPerCore=1";; *) echo "$@" >> {folder}/drained;; esac',
    }
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    for name in ("railweave-health.sh", "railweave-prolog.sh", "railweave-task-prolog.sh"):
        script = files[name].replace("/usr/local/bin/railweave-host", str(folder / "railweave-host"))
        (folder / name).write_text(script)
    return {"PATH": f"{folder}:/usr/bin:/bin", "SLURMD_NODENAME": "H100-01"}


FAILED = "railweave: nic-up gpu0_eth: the link is down"


@pytest.mark.parametrize(
    ("status", "text", "state", "prolog", "drained"),
    [
        (0, "", "IDLE", 0, False),
        (1, FAILED, "IDLE", 1, True),
        (1, FAILED, "MIXED+PLANNED", 1, True),
        (1, FAILED, "IDLE+DRAIN", 1, False),  # another reason stays
        (1, "", "IDLE", 0, False),  # nothing was found wrong
        (2, "error: no host.json", "IDLE", 0, False),  # not checked is not wrong
        (127, "", "IDLE", 0, False),
    ],
)
def test_a_node_is_drained_only_if_a_check_failed(
    tmp_path: Path, status: int, text: str, state: str, prolog: int, drained: bool
) -> None:
    environment = _scripts(tmp_path, status=status, text=text, state=state)
    for name, code in (("railweave-health.sh", 0), ("railweave-prolog.sh", prolog)):
        done = subprocess.run(["sh", tmp_path / name], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, (name, done)
        file = tmp_path / "drained"
        assert file.exists() == drained
        if drained:
            assert file.read_text() == f"update nodename=H100-01 state=drain reason={FAILED}\n"
            file.unlink()
        if name == "railweave-health.sh":
            assert ("was not checked" in done.stderr) == (status > 1)


def test_a_task_gets_variables_with_their_references_expanded(tmp_path: Path) -> None:
    lines = 'export NCCL_IB_HCA==mlx5_0:1\nexport LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+${LD_LIBRARY_PATH}:}"/usr/local/lib\nexport A="b c"'
    environment = _scripts(tmp_path, status=0, text=lines, state="IDLE") | {"LD_LIBRARY_PATH": "/opt/lib"}
    done = subprocess.run(
        ["sh", tmp_path / "railweave-task-prolog.sh"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "export NCCL_IB_HCA==mlx5_0:1",
        "export LD_LIBRARY_PATH=/opt/lib:/usr/local/lib",
        "export A=b c",
    ]
