"""The netplan validator: errors with their line, and honest words where there is no netplan."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.analysis.checks import validators
from railweave.analysis.checks.validators import validate_all
from railweave.model.findings.validators import MOST_VALIDATED
from railweave.outputs.rendering.host.netplan import netplan_yaml
from tests.outputs.rendering.host.servers import config, every


def tool_or_skip() -> None:
    found = validators.find(None)
    if isinstance(found, str):
        pytest.skip(found)


def test_every_server_passes() -> None:
    tool_or_skip()
    texts = {f"{one.network} {one.name}": {"netplan.yaml": netplan_yaml(one)} for one in every()}
    report = validators.validate(texts)
    assert (report.ran, report.validated, report.findings) == (True, len(texts), [])


def test_a_refused_line_is_a_finding() -> None:
    tool_or_skip()
    text = netplan_yaml(config("mi300x-leaf-24", "host1"))
    lines = text.splitlines()
    number = lines.index("      mtu: 9000")
    lines[number] = "      mtuu: 9000"
    report = validators.validate({"host1": {"netplan.yaml": "\n".join(lines)}, "host2": {"netplan.yaml": text}})
    (found,) = report.findings
    assert (found.id, found.severity, found.where) == ("validator-netplan", "error", "host1")
    assert (found.file, found.line) == ("hosts/host1/netplan.yaml", number + 1)
    assert "unknown key 'mtuu'" in found.what


def test_a_sample_holds_every_shape() -> None:
    tool_or_skip()
    text = "network: {version: 2, ethernets: {eth1: {mtu: %d}}}\n"
    texts = {f"host{number}": {"netplan.yaml": text % (9000 + number)} for number in range(200)}
    texts["odd"] = {"netplan.yaml": "network: {version: 2, ethernet: {}}\n"}
    report = validators.validate(texts)
    assert report.validated == MOST_VALIDATED
    assert [one.where for one in report.findings] == ["odd"]
    assert "64 of 201 servers" in report.reason
    assert validate_all(texts, every=True)[-1].validated == 201


def test_without_netplan(tmp_path: Path) -> None:
    report = validate_all({"host1": {"netplan.yaml": ""}}, {"netplan_root": tmp_path})[-1]
    assert (report.name, report.ran) == ("netplan", False)
    assert "make validators" in report.reason


def test_a_netplan_that_does_not_run(tmp_path: Path) -> None:
    program = tmp_path / "usr/libexec/netplan/generate"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho no libnetplan >&2\nexit 127\n")
    program.chmod(0o755)
    report = validators.validate({"host1": {"netplan.yaml": "network: {version: 2}\n"}}, tmp_path)
    assert not report.ran
    assert "no libnetplan" in report.reason


def test_nothing_to_validator() -> None:
    assert not validators.validate({"leaf1": {"frr.conf": ""}}).ran
