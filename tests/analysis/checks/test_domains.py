"""GPUs whose NVLink reaches beyond their server: models that do not say so, and racks that are no domain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import designed
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.model.catalog import catalog
from railweave.model.catalog.hardware import ServerModel
from railweave.model.catalog.server_shapes import wider_domain

BOARD = catalog().servers["dgx-b300"]
TRAY = """\
servers:
  TRAY:
    description: a tray of a rack
    gpus: 4
    gpu: GB300
    gpu_vendor: NVIDIA
    gpu_link: {name: NVLink, gbps: 7200, source: test}
    cpu_vendor: Intel
    source: test
    nics:
      gpu: {nic: connectx-8, names: [e0, e1, e2, e3], rdma: [mlx5_0, mlx5_1, mlx5_2, mlx5_3], per_gpu: true, source: test}
"""


@pytest.mark.parametrize(
    ("name", "gpu", "gpus", "width"),
    [
        ("tray", "GB300", 4, "72"),
        ("tray", "NVIDIA GB200", 4, "72"),
        ("gb300-tray", "B300", 4, "72"),
        ("tray", "Rubin", 4, "72"),
        ("tray", "GB200 NVL36", 4, "36"),
        ("gh200-nvl32", "GH200", 1, "32"),
        ("tray", "GB200 NVL4", 4, ""),
        ("hgx-b300-nvl16", "B300", 8, ""),
        ("half", "B300", 4, "72"),
        ("half", "B200", 4, "72"),
        ("board", "B300", 8, ""),
        ("half", "H100", 4, ""),
        ("grace", "GH200", 1, ""),
    ],
)
def test_which_domains_are_wider(name: str, gpu: str, gpus: int, width: str) -> None:
    model = BOARD.model_copy(update={"gpu": gpu, "gpus": gpus, "description": "a server"})
    why = wider_domain(name, model)
    assert bool(why) == bool(width)
    assert width in why


@pytest.mark.parametrize("gpus", [4, 72])
def test_a_model_that_names_its_domain_is_believed(gpus: int) -> None:
    model = BOARD.model_copy(update={"gpu": "GB300", "gpus": 4, "domain_gpus": gpus})
    assert not wider_domain("gb300-nvl72", model)


@pytest.mark.parametrize("model", list(catalog().servers.values()), ids=list(catalog().servers))
def test_every_tray_of_the_catalog_names_its_domain(model: ServerModel) -> None:
    assert not wider_domain("", model)
    assert bool(model.domain_gpus) == bool(model.domain_source)


RACKED = """
name: racked
fabrics: {{backend: {{topology: {{stripes: 2, spines: 2, links_per_spine: 10}}, leaf: {{device: qfx5240-64od}}}}}}
servers:
  - {{names: "a-[01-19]", model: gb200-nvl72, stripe: stripe1}}
  - {{names: "b-[01-18]", model: gb200-nvl72, stripe: stripe2}}
racks: {{racks: {{{racks}}}}}
"""


@pytest.mark.parametrize(
    ("racks", "noted"),
    [
        ('r1: {devices: {"a-[01-18]": 1}}, r2: {devices: {"b-[01-18]": 1}}', []),
        ('r1: {devices: {"a-[01-17]": 1, "b-01": 20}}', ["its servers are on stripes stripe1, stripe2"]),
        ('r1: {devices: {"a-[01-19]": 1}}', ["it has 19 servers, but an NVLink domain has 18"]),
    ],
)
def test_a_rack_that_is_no_domain_is_noted(racks: str, noted: list[str], tmp_path: Path) -> None:
    network, _ = designed(tmp_path, RACKED.format(racks=racks))
    findings = [finding for finding in network.findings if finding.id == "nvlink-rack"]
    assert [finding.what for finding in findings] == noted
    assert {finding.line for finding in findings} <= {7}


def text(*words: str | Path) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_verb_that_uses_them_says_so(tmp_path: Path) -> None:
    hardware = tmp_path / "hardware"
    hardware.mkdir()
    (hardware / "tray.yaml").write_text(TRAY.replace("TRAY", "gb300-tray"))
    more = ("--hardware", hardware)
    file, out = tmp_path / "new" / "rail-8.yaml", tmp_path / "out"
    assert "[nvlink-domain] gpu-1 and 1 more: gb300-tray: " in text(
        "init", tmp_path / "new", "--gpus", "8", "--nic", "gb300-tray", *more
    )
    assert "[nvlink-domain]" in text("build", file, "-o", out, *more)
    assert "[nvlink-domain]" in text("verify", out)
    sim = ("sim", out, "--collective", "all-reduce", "--size", "1M", "--engine", "flow")
    assert "note           gb300-tray: by its name, its GPUs are in an NVLink domain of 72 GPUs" in text(*sim)
    assert any("NVLink domain" in note for note in json.loads(text(*sim, "--json"))["notes"])
    assert "note: gb300-tray: by its name" in text("bench", "plan", out, "--suite", "quick", "-o", tmp_path / "plan")


def test_a_job_on_half_boards_says_so(tmp_path: Path) -> None:
    text("init", tmp_path / "new", "--gpus", "8", "--nic", "dgx-b200", "--gpus-per-server", "4")
    job = tmp_path / "job.yaml"
    job.write_text("model: llama3-8b\nparallel: {tensor: 4}\nbatch: {global: 8, micro: 1}\n")
    out = text("sim", tmp_path / "new" / "rail-8.yaml", "--job", job)
    assert "NVL72, set domain_gpus: 72 in the server model" in out
