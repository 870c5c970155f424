"""Rows of FRR's forms that claim a parser: vtysh takes every statement of frr.conf, nft every one of nftables.conf."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from tests.analysis.checks.test_validator_vtysh import real_root
from tests.systems.form_corpus import covering

from railweave.model.config.sections import flat, parse
from railweave.systems import system
from railweave.systems.forms import forms_of
from railweave.systems.frr import validator as vtysh


@cache
def files() -> dict[str, dict[str, str]]:
    return {str(place): system("frr").files(config) for place, config in enumerate(covering("frr"))}


def claimed(source: str) -> set[str]:
    return {one.text for one in forms_of("frr").forms if source in one.sources}


def in_lines(lines: list[str]) -> set[str]:
    return {one.text for line in lines for one in forms_of("frr").of(line)}


def test_vtysh_takes_every_form_that_claims_it() -> None:
    assert in_lines([line for own in files().values() for line in flat(parse(own["frr.conf"]))]) == claimed("vtysh")
    report = vtysh.validate(files(), real_root())
    assert (report.ran, report.validated, report.findings) == (True, len(files()), [])


def test_nft_takes_every_form_that_claims_it(tmp_path: Path) -> None:
    texts = [own["nftables.conf"] for own in files().values() if "nftables.conf" in own]
    assert in_lines([line.strip() for text in texts for line in text.splitlines()]) == claimed("nft")
    if os.geteuid() != 0 or shutil.which("nft") is None:
        pytest.skip("to check a ruleset, nft asks the kernel: it needs root and nftables")
    for text in texts:
        file = tmp_path / "nftables.conf"
        file.write_text(text)
        found = subprocess.run(["nft", "-c", "-f", str(file)], capture_output=True, text=True, check=False)
        assert (found.returncode, found.stderr) == (0, "")
