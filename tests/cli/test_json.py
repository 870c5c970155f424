"""--json: what machines read has the documented fields, and nothing but JSON goes to standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from railweave.cli import main
from tests.outputs.folder.fabrics import fabric

FINDING = {"id", "severity", "where", "file", "line", "what", "why", "fix"}
SAME_RAIL = ("--src", "gpu-01:gpu0_eth", "--dst", "gpu-03:gpu0_eth")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """A function that runs a command line and reads the JSON it prints."""

    def run(*arguments: str | Path) -> Any:
        monkeypatch.setattr("sys.argv", ["railweave", *map(str, arguments), "--json"])
        with pytest.raises(SystemExit):
            main()
        printed = capsys.readouterr()
        assert printed.err == ""
        return json.loads(printed.out)

    return run


def check_findings(findings: list[dict[str, Any]]) -> None:
    assert findings
    for finding in findings:
        assert finding.keys() == FINDING
        assert finding["severity"] in {"error", "warning", "info"}
        assert isinstance(finding["line"], int)
        assert all(isinstance(finding[key], str) for key in FINDING - {"line"})
        assert finding["id"]
        assert finding["what"]
    ranks = [("error", "warning", "info").index(finding["severity"]) for finding in findings]
    assert ranks == sorted(ranks)


def test_build(read: Any, tmp_path: Path) -> None:
    file = fabric(tmp_path)
    found = read("build", file, "-o", tmp_path / "out")
    check_findings(found.pop("findings"))
    changed = found.pop("changed")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert found == {
        "network": "pod1",
        "out": str(tmp_path / "out"),
        "files": len(files) - 1,
        "switches": 4,
        "servers": 4,
        "cables": 36,
    }
    assert sorted([*changed, "manifest.json"]) == sorted(str(path.relative_to(tmp_path / "out")) for path in files)
    assert read("build", file, "-o", tmp_path / "out")["changed"] == []


def test_findings_file(read: Any, tmp_path: Path) -> None:
    printed = read("build", fabric(tmp_path), "-o", tmp_path / "out")["findings"]
    assert json.loads((tmp_path / "out" / "findings.json").read_text()) == printed


def test_a_finding_points_into_the_fabric_file(read: Any, tmp_path: Path) -> None:
    file = fabric(tmp_path, ("    leaf:\n", "    cabling:\n      fabric: {length: 10km}\n    leaf:\n"))
    found = read("build", file, "-o", tmp_path / "out")["findings"]
    optic = next(finding for finding in found if finding["id"] == "optic-unlisted")
    assert (optic["file"], optic["line"]) == ("pod1.yaml", 6)


def test_verify(read: Any, tmp_path: Path) -> None:
    found = read("verify", fabric(tmp_path))
    assert found.keys() == {"good", "checks", "validators", "findings"}
    assert found["good"] is True
    assert found["checks"]
    assert all(isinstance(check, str) for check in found["checks"])
    assert found["validators"]
    for validator in found["validators"]:
        assert validator.keys() == {"name", "ran", "validated", "reason"}
        assert isinstance(validator["ran"], bool)
        assert isinstance(validator["validated"], int)
        assert validator["ran"] or validator["reason"], "a validator that did not run says why"
    check_findings(found["findings"])


def test_verify_of_a_file_and_of_its_build_agree(read: Any, tmp_path: Path) -> None:
    file = fabric(tmp_path)
    read("build", file, "-o", tmp_path / "out")
    assert read("verify", file) == read("verify", tmp_path / "out")


def test_paths(read: Any, tmp_path: Path) -> None:
    file = fabric(tmp_path)
    found = read("paths", file, *SAME_RAIL, "--qps", "3")
    assert [path["qp"] for path in found] == [0, 1, 2]
    assert [path["color"] for path in found] == ["color1", "color2", "color1"]
    for path in found:
        assert path.keys() == {"qp", "src_gid", "dst_gid", "color", "hops", "pinned", "pinned_to"}
        assert (path["pinned"], path["pinned_to"]) == (True, "links")
        assert [len(hop) for hop in path["hops"]] == [1, 1, 1, 1]
        assert all(link.keys() == {"link", "share"} for hop in path["hops"] for link in hop)
        assert path["hops"][0][0] == {"link": path["hops"][0][0]["link"], "share": 1.0}
    assert found[0]["hops"][0][0]["link"].startswith("gpu-01:gpu0_eth--stripe1-leaf1:et-")
    assert found[0]["hops"][-1][0]["link"].startswith("gpu-03:gpu0_eth--stripe2-leaf1:et-")
    assert found[0] == {**found[2], "qp": 0}
    assert found[0]["src_gid"] != found[1]["src_gid"]


def test_paths_of_a_file_and_of_its_build_agree(read: Any, tmp_path: Path) -> None:
    file = fabric(tmp_path)
    read("build", file, "-o", tmp_path / "out")
    assert read("paths", file, *SAME_RAIL) == read("paths", tmp_path / "out", *SAME_RAIL)


def test_shares_of_a_hop_add_up(read: Any, tmp_path: Path) -> None:
    file = fabric(tmp_path, ("    leaf:\n", "    load_balancing: {mode: ecmp}\n    leaf:\n"))
    (path,) = read("paths", file, *SAME_RAIL)
    assert path["pinned"] is False
    assert [len(hop) for hop in path["hops"]] == [1, 2, 2, 1]
    for hop in path["hops"]:
        assert sum(link["share"] for link in hop) == pytest.approx(1)


def test_no_path(read: Any, tmp_path: Path) -> None:
    found = read("paths", fabric(tmp_path), *SAME_RAIL, "--down", "spine1", "--down", "spine2")
    assert [(path["hops"], path["pinned"]) for path in found] == [([], False)]


def test_diff(read: Any, tmp_path: Path) -> None:
    old = fabric(tmp_path / "old")
    same = read("diff", old, old)
    assert same == {
        "equal": True,
        "devices": [],
        "servers": {},
        "shared": {},
        "cables_removed": [],
        "cables_added": [],
        "cables_changed": {},
        "devices_changed": {},
        "bill": [],
        "cable_work": [],
    }
    found = read("diff", old, fabric(tmp_path / "new", ("spines: 2", "spines: 3")))
    assert found.keys() == same.keys()
    assert found["equal"] is False
    changes = {device["device"]: device["change"] for device in found["devices"]}
    assert {"spine3", "stripe1-leaf1", "stripe2-leaf1"} <= changes.keys()
    assert changes["spine3"] != changes["stripe1-leaf1"]
    assert all(
        device.keys() == {"device", "change", "junos", "removed", "added", "changes", "systems"}
        for device in found["devices"]
    )
    for device in found["devices"]:
        for file in device["changes"]:
            assert file.keys() == {"system", "file", "commands", "inverse", "disrupts", "refused"}
            assert all(row.keys() == {"statement", "what", "why", "source"} for row in file["disrupts"])
        assert bool(device["changes"]) == (device["change"] == "changed")
    assert len(found["cables_added"]) == 2
    assert found["cables_removed"] == []


def test_schema(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["railweave", "schema"])
    with pytest.raises(SystemExit):
        main()
    found = json.loads(capsys.readouterr().out)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"name", "fabrics", "servers", "overrides"} <= found["properties"].keys()
