"""The script that makes root folders of Debian refuses a mirror whose Release file has expired, and records what it installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

HELPER = Path("/usr/lib/apt/apt-helper")
SCRIPT = ROOT / "src/railweave/live/lab/frr/debian-root.sh"
pytestmark = pytest.mark.skipif(not HELPER.exists(), reason="no apt on this machine")


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A mirror with the suites ``old`` and ``new``, and programs in its place of apt-get, mmdebstrap and dpkg-query."""
    folder = tmp_path / "debian"
    for suite, until in (
        ("old", "Fri, 06 Nov 2020 08:08:01 UTC"),
        ("new", "Fri, 06 Nov 2099 08:08:01 UTC"),
        ("stable", ""),
    ):
        place = folder / "dists" / suite
        place.mkdir(parents=True)
        fields = [
            "Origin: Debian",
            "Version: 13.8",
            "Date: Fri, 30 Oct 2020 08:08:01 UTC",
            *([f"Valid-Until: {until}"] if until else []),
        ]
        (place / "InRelease").write_text("\n".join(fields) + "\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {
        "apt-get": f"echo file://{folder}/",
        "mmdebstrap": f'echo "$@" > {tmp_path}/words; for word; do case $word in */root) mkdir -p "$word/var/lib/dpkg";; esac; done',
        "dpkg-query": 'printf "frr\\t10.3-1\\tamd64\\tfrr\\n"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    return tmp_path


def make(folder: Path, suite: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", **variables}
    command = ["bash", SCRIPT, folder / "root", suite, "frr,lldpd"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("suite", ["new", "stable"])
def test_a_root_folder_lists_its_packages(mirror: Path, suite: str) -> None:
    done = make(mirror, suite, RAILWEAVE_EXPIRED_SUITES="old")
    assert done.returncode == 0, done.stderr
    head, columns, *rows = (mirror / "root" / "packages.tsv").read_text().splitlines()
    assert head.startswith(f"# Debian {suite} 13.8, Release file of Fri, 30 Oct 2020 08:08:01 UTC, SHA-256 ")
    assert columns.split("\t") == ["package", "version", "architecture", "source"]
    assert rows == ["frr\t10.3-1\tamd64\tfrr"]
    assert "Check-Valid-Until" not in (mirror / "words").read_text()
    assert "--include=frr,lldpd" in (mirror / "words").read_text()


def test_an_expired_release_file_is_refused(mirror: Path) -> None:
    for variables in ({}, {"RAILWEAVE_EXPIRED_SUITES": "older new"}):
        done = make(mirror, "old", **variables)
        assert done.returncode == 1
        assert "Release file of old expired on Fri, 06 Nov 2020 08:08:01 UTC" in done.stderr
        assert "RAILWEAVE_EXPIRED_SUITES=old" in done.stderr
        assert not (mirror / "words").exists()


def test_an_expired_release_file_is_accepted_by_name(mirror: Path) -> None:
    done = make(mirror, "old", RAILWEAVE_EXPIRED_SUITES="new old")
    assert done.returncode == 0, done.stderr
    assert "expired on Fri, 06 Nov 2020 08:08:01 UTC; RAILWEAVE_EXPIRED_SUITES accepts it" in done.stderr
    assert 'Acquire::Check-Valid-Until "false"' in (mirror / "words").read_text()


def test_a_suite_that_the_mirror_lacks(mirror: Path) -> None:
    done = make(mirror, "nothing")
    assert done.returncode == 1
    assert done.stderr == "debian-root: the mirror has no Release file of nothing\n"


def test_no_other_script_turns_the_check_off() -> None:
    words = ["git", "grep", "-l", "Check-Valid-Until", "--", "*.sh", "*.py", "Makefile", ".ci"]
    files = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert files == ["src/railweave/live/lab/frr/debian-root.sh", "tests/supply/test_debian_root.py"]
