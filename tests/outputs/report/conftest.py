"""Networks of several sizes for the report's tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from railweave.analysis.checks.subject import Subject
from railweave.design import design
from railweave.model.intent.reading.source import read_source
from railweave.outputs.report.body import body_of
from railweave.outputs.report.page import report_html

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

    Report = Callable[[Network, Sequence[Finding]], str]

EXAMPLE = Path(__file__).parents[3] / "examples" / "h100-rlb.yaml"

LARGE = """
name: large
description: 1,024 servers
fabrics:
  backend:
    topology: {stripes: 16, spines: 64}
    leaf: {device: qfx5240-64od, uplink_ports: {first: 0}, server_ports: {first: 32}}
    load_balancing: {mode: rlb}
servers:
  - {names: "gpu-[0001-1024]", model: h100-8gpu-cx7}
management: {pool: 172.20.0.0/16}
"""

FLAT = """
name: flat
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 4}
    leaf: {device: qfx5240-64od}
    load_balancing: {mode: dlb-flowlet}
    cabling: {server: {length: 2}}
servers:
  - {names: "node[1-3]", model: h100-8gpu-cx7}
"""


def read(path: Path, text: str) -> Network:
    file = path / "fabric.yaml"
    file.write_text(text, encoding="utf-8")
    return design(read_source(file))[0]


@pytest.fixture(scope="session")
def h100(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """2 stripes of 8 leaves, 4 spines, 4 servers, a named path color per uplink; without the inventory beside it."""
    return read(tmp_path_factory.mktemp("h100"), EXAMPLE.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """16 stripes of 8 leaves, 64 spines, 1,024 servers with 8,192 GPUs, 64 path colors."""
    return read(tmp_path_factory.mktemp("large"), LARGE)


@pytest.fixture(scope="session")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """One stripe without spines or path colors, two rails on each leaf, 2 m of copper."""
    return read(tmp_path_factory.mktemp("flat"), FLAT)


@pytest.fixture(scope="session")
def report() -> Report:
    """The page of a network and findings, with the forwarding tables that follow from the network."""
    return lambda network, findings: report_html(network, findings, body_of(network, Subject.of(network).routes))
