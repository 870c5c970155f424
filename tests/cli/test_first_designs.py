"""Fresh designs from ``init`` alone: hardware of several makers, and a user's own, without a word written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave import api
from railweave.cli.app import app
from tests.conftest import EXAMPLES

pytestmark = pytest.mark.slow

OWN = ("--hardware", str(EXAMPLES / "hardware"))

DESIGNS = {
    "H200 with four NICs each": ("--nic", "hgx-h200-8gpu-cx7", "--nics-per-server", "4"),
    "B200 with ConnectX-8": ("--nic", "hgx-b200-8gpu-cx8"),
    "B300": ("--nic", "dgx-b300", "--switch", "qfx5241-64od"),
    "MI355X with Pollara": ("--nic", "pollara"),
    "MI325X": ("--nic", "mi325x-8gpu-thor2"),
    "Arista": ("--switch", "arista-7060x6-64pe"),
    "NVIDIA": ("--switch", "sn5600", "--nic", "dgx-h200"),
    "Dell": ("--switch", "z9864f-on"),
    "Edgecore": ("--switch", "ais800-64o"),
    "two to one": ("--oversubscription", "2:1", "--shape", "two-tier"),
    "two stripes": ("--stripes", "2"),
    "four tenants": ("--stripes", "2", "--tenants", "4"),
    "a switch and a server by file": ("--switch", "acme-32x800", "--nic", "acme-4gpu", *OWN),
}


@pytest.mark.parametrize("words", DESIGNS.values(), ids=DESIGNS)
def test_a_design_from_init_alone_is_built_and_verified(
    tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = CliRunner().invoke(app, ["init", str(tmp_path / "new"), "--gpus", "64", *words], catch_exceptions=False)
    assert made.exit_code == 0
    hardware = EXAMPLES / "hardware" if "--hardware" in words else None
    built = api.build(tmp_path / "new" / "rail-64.yaml", tmp_path / "out", hardware=hardware)
    assert [one.id for one in built.findings if one.severity == "error"] == []
    found = api.verify(tmp_path / "out")
    assert [one.id for one in found if one.severity == "error"] == []
    gpus = {server.name: built.network.catalog.servers[server.model].gpus for server in built.network.servers}
    assert sum(gpus.values()) == 64
