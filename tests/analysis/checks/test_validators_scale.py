"""Outside validators on one switch of every role and a server of each scale example, as they are committed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.conftest import ROOT, frr_root

from railweave.analysis.checks.validators import validate_all

FOLDERS = sorted((ROOT / "tests" / "golden").glob("scale-*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_shape_of_device_is_accepted(folder: Path) -> None:
    root = frr_root()
    if root is None and shutil.which("vtysh") is None:
        pytest.skip("no vtysh: install FRR, or set RAILWEAVE_FRR_ROOT to a root folder with FRR 10")
    files = {
        device.name: {path.name: path.read_text() for path in device.iterdir()}
        for device in folder.iterdir()
        if device.is_dir()
    }
    netplan_root = ROOT / ".validators" / "netplan"
    reports = validate_all(files, {"frr_root": root, "netplan_root": netplan_root if netplan_root.is_dir() else None})
    vtysh = next(one for one in reports if one.name == "vtysh")
    assert (vtysh.ran, vtysh.validated) == (True, sum("frr.conf" in one for one in files.values()))
    assert [finding for report in reports for finding in report.findings] == []
