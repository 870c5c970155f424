"""What is printed and written of a lab: JUnit, the page of faults, a fault written on the command line."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.errors import InputError, Option
from railweave.live.lab import life
from railweave.live.lab.assertions import Outcome
from railweave.live.lab.faults.measure import FaultMeasurement
from railweave.live.lab.faults.page import InjectedFaults, summary_table
from railweave.live.lab.faults.sweep import targets, written
from railweave.live.lab.frr.rootfs import AIGP, PLAIN, TENANTS, FrrRequirement, find
from railweave.live.lab.proof import Proof
from railweave.live.lab.state import Record
from railweave.pages.table import shown
from tests.conftest import example

GOOD = Outcome("bgp-sessions", "every BGP session is established", True, 8, "8 ends", seconds=0.5)
BAD = Outcome("mtu", "packets pass", False, 4, "4 of 4", ("9000 bytes <do not> arrive",), 1, 0.25)
NONE = replace(GOOD, id="path-colors", checked=0, applies=False)

RECORD = Record("rw0", "/f.yaml", "net", "", None, "/", "10.3", "up")
MEASURED = FaultMeasurement(
    "link-down", "a--b", 80, 8000, 12, 0.34, 0.4, 2.1, 3, 64, 64, 64, (), 0.01
)  # fmt: skip


def test_junit_has_a_case_for_each_assertion() -> None:
    top = ET.fromstring(Proof(RECORD, [GOOD, BAD, NONE]).to_junit())  # noqa: S314 - our own text
    assert (top.get("tests"), top.get("failures"), top.get("skipped"), top.get("time")) == ("3", "1", "1", "1.25")
    cases = {case.get("name"): case for case in top.iter("testcase")}
    assert cases["bgp-sessions"].findtext("system-out") == "8 ends"
    failure = cases["mtu"].find("failure")
    assert failure is not None
    assert failure.text == "9000 bytes <do not> arrive"
    assert failure.get("message") == "1 of 4 fail: packets pass"
    assert cases["path-colors"].find("skipped") is not None


def test_the_page_puts_first_what_is_not_as_designed() -> None:
    wrong = replace(MEASURED, kind="device-down", target="<spine1>", switch_s=None, kept=60, unexpected=("qp 1",))
    page = InjectedFaults(RECORD, [MEASURED, wrong]).to_html()
    rows = page.partition("Every fault</h2>")[2]
    assert rows.index("&lt;spine1&gt;") < rows.index("a--b")
    assert "1 fault not as designed" in page
    assert "1 fault lost packets to the end and has no bar" in page
    assert "2 faults, of which 1 went as designed" in page
    by_kind = summary_table([MEASURED, wrong, replace(MEASURED, switch_s=0.4)])
    assert [[shown(cell) for cell in row] for row in by_kind.rows] == [
        [
            "link-down",
            "2 of 2",
            f"{(MEASURED.switch_s or 0) / 2 + 0.2:.2f} s, 0.40 s at most",
            "2.10 s, 2.10 s at most",
        ],
        ["device-down", "0 of 1", "-", "2.10 s, 2.10 s at most"],
    ]
    assert [shown(cell) for cell in InjectedFaults(RECORD, [wrong]).table.rows[0]][3:] == [
        "-", "2.10 s", "60 of 64 (64 should)", "not as designed; qp 1",
    ]  # fmt: skip
    assert shown(InjectedFaults(RECORD, [MEASURED]).table.rows[0][2]) == "12 of 8,000, then 3"
    assert InjectedFaults(RECORD, [MEASURED]).table.to_json() == [
        {"kind": "link-down", "target": "a--b", "lost": 12, "switch_s": 0.34, "return_s": 2.1, "kept": 64, "note": ""}
    ]
    assert not wrong.passed
    assert MEASURED.passed


def test_a_fault_is_written_as_in_a_scenario() -> None:
    assert written("link-flap link=a--b period=1s count=3") == {
        "at": "0s", "kind": "link-flap", "link": "a--b", "period": "1s", "count": 3,
    }  # fmt: skip
    with pytest.raises(InputError, match="'link' is no KEY=VALUE"):
        written("link-down link")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("link-down link=a--b", "there is no link 'a--b'"),
        ("link-downn link=a--b", "faults.0.kind: input should be"),
    ],
)
def test_a_wrong_fault_is_told_of_the_option_that_has_no_lines(fault: str, what: str) -> None:
    lab = SimpleNamespace(plan=SimpleNamespace(network=example("h100-rlb")))
    with pytest.raises(InputError) as caught:
        targets(lab, [written(fault)])  # pyright: ignore[reportArgumentType]
    (problem,) = caught.value.problems
    assert (problem.place, problem.what[: len(what)]) == (Option("--fault"), what)


@pytest.mark.parametrize(
    "words",
    [["up", "x.yaml"], ["test", "x.yaml"], ["down", "x.yaml"], ["fault", "x.yaml", "--all-single"]],
    ids=lambda words: words[0],
)
def test_without_root_the_command_to_run_is_said(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    done = CliRunner().invoke(app, ["lab", *words])
    assert done.exit_code == 1
    assert "needs root" in str(done.exception)
    assert f"lab {words[0]} x.yaml`" in str(done.exception)


def test_without_frr_the_command_to_run_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(life.LabError, match="run `sudo make validators`"):
        find(tmp_path, PLAIN, lambda _: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("railweave.live.lab.frr.rootfs.CACHE", tmp_path / "cache")
    monkeypatch.setattr("railweave.live.lab.frr.rootfs._DAEMONS", Path("nowhere"))
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(life.LabError, match="run `sudo apt-get install -y mmdebstrap`"):
        find(None, PLAIN, lambda _: None)


def test_a_root_folder_of_another_release_is_refused(tmp_path: Path) -> None:
    for name in ("usr/lib/frr", "var/lib/dpkg", "etc"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "usr/lib/frr/zebra").touch()
    (tmp_path / "etc/passwd").write_text("frr:x:997:996::/nonexistent:/bin/sh\n")
    status = tmp_path / "var/lib/dpkg/status"
    for version in ("8.4.4-1.1~deb12u1", "9.1-1"):
        status.write_text(f"Package: frr\nStatus: install ok installed\nVersion: {version}\n\n")
        remedy = "give no --frr-root: the lab then finds or makes its own"
        with pytest.raises(
            life.LabError, match=rf"holds FRR {re.escape(version)}, and the lab is made for 10\.3: {remedy}"
        ):
            find(tmp_path, PLAIN, lambda _: None)
    status.write_text("Package: frr\nStatus: install ok installed\nVersion: 10.3-3\n\n")
    found = find(tmp_path, AIGP, lambda _: None)
    assert (found.version, found.user, found.group) == ("10.3-3", 997, 996)


def _frr(root: Path, version: str) -> None:
    for name in ("usr/lib/frr", "var/lib/dpkg", "etc"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "usr/lib/frr/zebra").touch()
    (root / "etc/passwd").write_text("frr:x:997:996::/nonexistent:/bin/sh\n")
    (root / "var/lib/dpkg/status").write_text(f"Package: frr\nStatus: install ok installed\nVersion: {version}\n\n")


@pytest.mark.parametrize("need", [PLAIN, AIGP, TENANTS])
def test_the_frr_of_an_older_debian_is_refused_with_what_to_run(
    need: FrrRequirement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("railweave.live.lab.frr.rootfs.CACHE", tmp_path / "cache")
    monkeypatch.setattr("railweave.live.lab.frr.rootfs.project_root", lambda _: None)
    monkeypatch.setattr("railweave.live.lab.frr.rootfs.packaged", lambda _: "8.4.4-1.1~deb12u1")
    monkeypatch.setattr(
        "railweave.live.lab.frr.rootfs._DAEMONS", tmp_path.relative_to("/")
    )  # as if it were installed here
    (tmp_path / "zebra").touch()
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(
        life.LabError, match=r"FRR 8\.4\.4\S* is older than 10\.3.*run `sudo apt-get install -y mmdebstrap`"
    ):
        find(None, need, lambda _: None)


def test_what_is_fetched_is_announced_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, said = tmp_path / "cache", list[str]()

    def made(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert said, "it is fetched before anything was said"
        _frr(Path(command[2]), "10.3-3")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("railweave.live.lab.frr.rootfs.CACHE", cache)
    monkeypatch.setattr("railweave.live.lab.frr.rootfs.project_root", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/mmdebstrap")
    monkeypatch.setattr("railweave.live.lab.frr.rootfs._DAEMONS", Path("usr/lib/frr"))
    monkeypatch.setattr("railweave.live.lab.frr.rootfs._reported_version", lambda _: "8.4")
    monkeypatch.setattr("subprocess.run", made)
    assert find(None, PLAIN, said.append).version == "10.3-3"
    assert len(said) == 1
    assert "fetching FRR 10.3 or newer, once: packages of Debian trixie from this machine's mirror" in said[0]
    assert str(cache / "frr") in said[0]
    find(None, PLAIN, said.append)
    assert len(said) == 1  # it is there now
