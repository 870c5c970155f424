"""The FRR validator, with a stand-in for vtysh everywhere and with the real one where it is installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.conftest import example, frr_root

from railweave.analysis.checks.validators import validate_all
from railweave.model.device.build import device_config
from railweave.systems import system
from railweave.systems.frr import validator as vtysh

STAND_IN = r"""#!/bin/sh
# Refuses as vtysh does: told by line on stderr, status 2. REFUSED is a word that makes a line bad.
for last; do :; done
bad=$(grep -n "${REFUSED:-zork}" "$last") || exit 0
echo "$bad" | sed 's/^\([0-9]*\):\(.*\)/line \1: % Unknown command[4]:  \2/' >&2
echo "Configuration file[x/frr.conf] processing failure: 2" >&2
exit 2
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in vtysh on PATH."""
    found = program(tmp_path / "bin" / "vtysh", STAND_IN)
    monkeypatch.setenv("PATH", f"{found.parent}:{os.environ['PATH']}")
    return found


def real_root() -> Path | None:
    """The root folder with FRR, None where vtysh is on PATH; skips where there is neither."""
    root = frr_root()
    if root is None and shutil.which("vtysh") is None:
        pytest.skip("no vtysh: install FRR, or set RAILWEAVE_FRR_ROOT to a root folder with FRR 10")
    return root


def rendered(name: str, *devices: str) -> dict[str, dict[str, str]]:
    return {device: system("frr").files(device_config(example(name), device, "frr")) for device in devices}


def test_refused_lines_become_findings(on_path: Path) -> None:
    report = vtysh.validate(
        {"leaf1": {"frr.conf": "hostname a\nzork 1\n!\n zork 2\n"}, "leaf2": {"frr.conf": "hostname b\n"}}, None
    )
    assert (report.ran, report.validated) == (True, 2)
    assert str(on_path) in report.reason
    assert [(f.id, f.severity, f.where, f.file, f.line) for f in report.findings] == [
        ("validator-vtysh", "error", "leaf1", "devices/leaf1/frr.conf", 2),
        ("validator-vtysh", "error", "leaf1", "devices/leaf1/frr.conf", 4),
    ]
    assert report.findings[0].what == "FRR refuses the line: Unknown command: zork 1"


@pytest.mark.usefixtures("on_path")
def test_an_old_vtysh_is_not_given_aigp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSED", "aigp")
    aigp = "router bgp 1\n bgp bestpath aigp\n"
    report = vtysh.validate({"a": {"frr.conf": aigp}, "b": {"frr.conf": "hostname b\n"}}, None)
    assert (report.ran, report.validated, report.findings) == (True, 1, [])
    assert "does not know AIGP; 1 file with AIGP left out, FRR 10 reads AIGP" in report.reason
    alone = vtysh.validate({"a": {"frr.conf": aigp}}, None)
    assert (alone.ran, alone.validated) == (False, 0)


def test_a_vtysh_that_cannot_run_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = program(tmp_path / "bin" / "vtysh", "#!/bin/sh\necho 'no such library' >&2\nexit 127\n")
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    report = vtysh.validate({"a": {"frr.conf": "hostname a\n"}}, None)
    assert not report.ran
    assert "no such library" in report.reason


@pytest.mark.parametrize("loader", ["lib64/ld-linux-x86-64.so.2", "lib/ld-linux-aarch64.so.1"])
def test_a_root_folder_runs_by_its_own_loader(tmp_path: Path, loader: str) -> None:
    multiarch = tmp_path / "usr/lib/any-linux-gnu"
    (multiarch / "frr").mkdir(parents=True)
    program(tmp_path / "usr/bin/vtysh", STAND_IN)
    program(
        tmp_path / loader,
        f'#!/bin/sh\n[ "$1" = --library-path ] && [ "${{2%%:*}}" = "{multiarch}/frr" ] || exit 9\nshift 2\nexec "$@"\n',
    )
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text("Package: frr\nStatus: ok\nDescription: x\n y\nVersion: 10.3-3\n\n")
    report = vtysh.validate({"a": {"frr.conf": "hostname a\nzork\n"}}, tmp_path)
    assert report.ran, report.reason
    assert report.reason.startswith("FRR 10.3-3, which knows AIGP")
    assert [finding.line for finding in report.findings] == [2]


def test_absent_validators_say_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(vtysh, "project_root", lambda _: None)  # a checkout in which `make validators` was not run
    files = {"a": {"frr.conf": "hostname a\n", "junos.conf": "system {\n    host-name a;\n}\n"}}
    found = {report.name: report for report in validate_all(files)}
    assert not any(report.ran for report in found.values())
    assert "--frr-root DIR" in found["vtysh"].reason
    assert "--yang DIR" in found["junos-yang"].reason
    assert "no vtysh and loader" in vtysh.validate(files, tmp_path).reason


def test_nothing_to_validate() -> None:
    assert [report.ran for report in validate_all({"a": {}})] == [False, False, False]


@pytest.mark.parametrize("name", ["h100-rlb", "h100-rlb-8up"])
def test_frr_accepts_what_is_rendered(name: str) -> None:
    root = real_root()
    report = vtysh.validate(rendered(name, "stripe1-leaf1", "spine1"), root)
    assert report.ran, report.reason
    assert (report.validated, report.findings) == (2, [])


def test_frr_refuses_a_misspelt_line_at_its_number() -> None:
    root = real_root()
    text = rendered("h100-rlb", "spine1")["spine1"]["frr.conf"]
    lines = text.splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "bgp router-id" in line)
    lines[number - 1] = " bgp ruoter-id 10.0.0.1"
    report = vtysh.validate({"spine1": {"frr.conf": "\n".join(lines) + "\n"}}, root)
    assert [finding.line for finding in report.findings] == [number]
    assert "ruoter-id" in report.findings[0].what
