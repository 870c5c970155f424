"""Kernel command line, locked memory, and the unit that turns ACS off."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from railweave.outputs.rendering.host import boot
from tests.outputs.rendering.host.stand_ins import server


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ("h100-rlb", ["intel_iommu=on", "iommu=pt"]),  # Thor2 guide, section 2.3.2
        ("mi300x-leaf-24", ["pci=realloc=off", "amd_iommu=on", "iommu=pt"]),  # section 2.3.1
    ],
)
def test_grub_adds_to_what_is_there(tmp_path: Path, example: str, words: list[str]) -> None:
    text = boot.files(server(example))["grub-railweave.cfg"]
    (tmp_path / "drop-in").write_text(text)
    done = subprocess.run(
        [
            "sh",
            "-euc",
            'GRUB_CMDLINE_LINUX="console=ttyS0"; . "$1"; echo "$GRUB_CMDLINE_LINUX"',
            "-",
            tmp_path / "drop-in",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.split() == ["console=ttyS0", *words]


def test_locked_memory_is_unlimited_for_root_too() -> None:
    lines = boot.files(server("h100-rlb"))["limits.conf"].splitlines()
    rules = {tuple(line.split()) for line in lines if not line.startswith("#")}
    assert rules == {(who, kind, "memlock", "unlimited") for who in ("*", "root") for kind in ("soft", "hard")}
    assert any("LimitMEMLOCK=infinity" in line for line in lines)


def values(unit: str) -> dict[str, str]:
    """What a unit file sets."""
    return dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and not line.startswith("#"))


def test_the_unit_runs_once_at_every_start_before_jobs() -> None:
    unit = boot.files(server("h100-rlb"))["acs-off.service"]
    found = values(unit)
    assert found["Type"] == "oneshot"
    assert found["RemainAfterExit"] == "yes"
    assert found["WantedBy"] == "multi-user.target"
    assert "slurmd.service" in found["Before"].split()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here (package systemd)")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = boot.files(server("h100-rlb"))["acs-off.service"]
    program = tmp_path / "acs-off.sh"
    program.write_text(boot.files(server("h100-rlb"))["acs-off.sh"])
    program.chmod(0o755)
    (tmp_path / "acs-off.service").write_text(unit.replace("/usr/local/sbin/acs-off.sh", str(program)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "acs-off.service")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "acs-off" not in done.stderr
    assert "acs-off" not in done.stdout
