"""The bill of materials by the rules of CycloneDX 1.6 that a reader depends on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import locked
import pytest
import sbom

from tests.conftest import ROOT

PURL = re.compile(r"pkg:(pypi|cargo|npm|deb/debian)/[\w.%+~/-]+@[\w.%~+-]+(\?arch=\w+)?")
EXPRESSION = re.compile(r"\(?[\w.+-]+\)?( (OR|AND|WITH) \(?[\w.+-]+\)?)*")


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    return sbom.bill()


def test_a_bill_has_the_form_of_cyclonedx(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", bill["serialNumber"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["metadata"]["timestamp"])
    references = [bill["metadata"]["component"]["bom-ref"]]
    for component in bill["components"]:
        references += [component["bom-ref"], *(part["bom-ref"] for part in component.get("components", []))]
        assert component["type"] in {"library", "application"}
        assert component["name"]
        assert component["scope"] in {"required", "optional", "excluded"}
        assert "purl" not in component or PURL.fullmatch(component["purl"]), component["purl"]
        for licence in component.get("licenses", []):
            assert licence.keys() == {"expression"}
            assert EXPRESSION.fullmatch(licence["expression"]), component
        for entry in component.get("hashes", []):
            assert entry["alg"] == "SHA-256"
            assert re.fullmatch("[0-9a-f]{64}", entry["content"])
        assert all(item.keys() == {"name", "value"} for item in component["properties"])
    assert len(references) == len(set(references))
    for entry in bill["dependencies"]:
        assert {entry["ref"], *entry["dependsOn"]} <= set(references)
        assert len(entry["dependsOn"]) == len(set(entry["dependsOn"]))


def test_a_bill_has_everything(bill: dict[str, Any]) -> None:
    purls = {component.get("purl", component["name"]) for component in bill["components"]}
    for package in locked.all_packages():
        assert f"pkg:{sbom.TYPES[package.ecosystem]}/{package.name}@{package.version}" in purls
    assert {"pkg:npm/uplot@1.6.32", "railweave-nccl-net", "libibverbs"} <= purls
    assert any(purl.startswith("pkg:deb/debian/frr@") for purl in purls)
    required = {component["name"] for component in bill["components"] if component["scope"] == "required"}
    assert {"pydantic", "numpy", "pyo3", "serde-json".replace("-", "_"), "uplot"} <= required
    assert not {"pytest", "criterion", "asyncssh", "maturin"} & required


def test_a_bill_is_the_same_twice(bill: dict[str, Any], tmp_path: Path) -> None:
    program = [sys.executable, ROOT / "tools" / "sbom.py", "-o", tmp_path / "bill.json"]
    subprocess.run(program, check=True, stdout=subprocess.PIPE)
    assert json.loads((tmp_path / "bill.json").read_text()) == bill


def test_no_other_javascript_or_header_is_copied() -> None:
    """A new file of another project is a component of the bill."""
    tracked = subprocess.run(
        ["git", "ls-files", "*.js", "*.css", "*.h", "*.c", "*.woff*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    minified = [name for name in tracked.stdout.split() if ".min." in name or "woff" in name]
    assert [Path(name).name for name in minified] == ["uPlot.iife.min.js", "uPlot.min.css"]
    foreign = re.compile(r"copyright \(c\)|SPDX-License-Identifier: (?!Apache-2\.0)", re.IGNORECASE)
    texts = {name: (ROOT / name).read_text() for name in tracked.stdout.split() if name not in minified}
    assert [name for name, text in texts.items() if foreign.search(text)] == []


def test_root_folders_of_this_machine_come_before_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ".validators" / "frr"
    folder.mkdir(parents=True)
    (folder / "packages.tsv").write_text(
        "# Debian trixie 13.9, Release file of a day, SHA-256 00\npackage\tversion\tarchitecture\tsource\nfrr\t10.3-1\tamd64\tfrr\n"
    )
    monkeypatch.setattr(sbom, "ROOT", tmp_path)
    rows = [row for row in sbom.debian_rows() if row["root"] == ".validators/frr"]
    assert [(row["package"], row["version"], row["release"]) for row in rows] == [
        ("frr", "10.3-1", "Debian trixie 13.9, Release file of a day")
    ]
    assert any(row["root"] == ".validators/bare" for row in sbom.debian_rows())
