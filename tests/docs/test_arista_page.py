"""The page of Arista: its statements for eAPI's certificate are built, and its access file is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from railweave.api import build
from railweave.api.starting import init_sized
from railweave.live.collect.access_file import read_access
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/vendors/arista.md").read_text()


def test_the_certificate_of_eapi_is_in_the_configuration(tmp_path: Path) -> None:
    file = init_sized(tmp_path / "mine", gpus=16, nic="cx7", switch="arista").written[0]
    (block,) = re.findall(r"```yaml\n(    leaf:\n.*?)```", PAGE, re.DOTALL)
    text, count = re.subn(r"^    leaf: .*\n", block.replace("\\", "\\\\"), file.read_text(), flags=re.MULTILINE)
    assert count == 1
    file.write_text(text)
    built = build(file, tmp_path / "out")
    assert not [finding for finding in built.findings if finding.severity == "error"]
    for switch in built.network.switches:
        lines = (tmp_path / "out" / "devices" / switch.name / "eos.conf").read_text().splitlines()
        at = lines.index("management api http-commands")
        section = lines[at : at + lines[at:].index("!")]
        assert "   protocol https ssl profile eapi" in section
        assert "   no shutdown" in section  # merged into the section that is there
        assert "      certificate eapi.crt key eapi.key" in lines


def test_the_access_file_names_the_authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EOS_PASSWORD", "x")
    (systems,) = re.findall(r"`(systems: \{eos: .*?\}\})`", PAGE)
    (tmp_path / "ca.pem").write_text("")
    file = tmp_path / "access.yaml"
    file.write_text(f"{systems}\n")
    access = read_access(file).access
    assert access.systems["eos"].certificates is not None
    assert str(access.systems["eos"].certificates) == "ca.pem"
