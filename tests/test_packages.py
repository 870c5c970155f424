"""The Debian packages are built, installed and removed in a clean root folder; manual pages and completions have every verb."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from docs.man_pages import COMPLETIONS, write

from railweave import __version__
from railweave.host import __version__ as host_version

ROOT = Path(__file__).parent.parent
TABLE = "ncclNetPlugin_v8"  # the table of functions that NCCL 2.20 and later look up
PLUGIN = ROOT / "build/plugin"
DEBIAN = ROOT / ".validators/frr"  # a Debian root folder with Python; packages are installed into a layer above it


def test_versions_are_one() -> None:
    cargo = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert cargo
    assert __version__ == host_version == cargo[1]
    assert 'version = "' not in (ROOT / "pyproject.toml").read_text().split("[project.optional")[0]  # it is Cargo's


def test_pages_have_every_verb_and_no_wrong_markup(tmp_path: Path) -> None:
    write(tmp_path)
    pages = {page.stem: page.read_text() for page in (tmp_path / "share/man/man1").iterdir()}
    assert {"railweave", "railweave-build", "railweave-deploy", "railweave-host"} <= set(pages)
    for page in set(pages) - {"railweave"}:
        assert page.replace("-", "\\-") in pages["railweave"]
    assert "\\fB\\-\\-retry\\-for\\fR" in pages["railweave-lab"]
    for shell, name in COMPLETIONS.items():
        assert "railweave" in (tmp_path / "share" / name).read_text()
        if shutil.which(shell):
            subprocess.run([shell, "-n", tmp_path / "share" / name], check=True)
    if shutil.which("groff"):
        for page in pages:
            file = tmp_path / f"share/man/man1/{page}.1"
            done = subprocess.run(
                ["groff", "-man", "-ww", "-z", "-Tutf8", file], capture_output=True, text=True, check=True
            )
            assert done.stderr == "", page


def test_the_shell_completes_verbs_of_a_server(tmp_path: Path) -> None:
    write(tmp_path)
    script = tmp_path / "share/bash-completion/completions/railweave-host"
    asked = (
        f'. {script}; COMP_WORDS=(railweave-host check --ca); COMP_CWORD=2; _railweave_host; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["--capture"]


@pytest.mark.validator
def test_packages_are_installed_and_removed_in_a_clean_root(tmp_path: Path) -> None:
    if os.geteuid() or not shutil.which("dpkg-deb") or not (DEBIAN / "usr/bin/python3").exists():
        pytest.skip("needs root, dpkg-deb and `make validators`")
    if not (PLUGIN / "libnccl-net-railweave.so").exists():
        pytest.skip("needs `make plugin`")
    for folder in ("first", "second"):
        subprocess.run([ROOT / "tools/deb.sh", sys.executable, PLUGIN, tmp_path / folder], check=True, cwd=ROOT)
    packages = sorted((tmp_path / "first").iterdir())
    assert [package.name.split("_")[0] for package in packages] == ["railweave-host", "railweave-nccl-net"]
    for package in packages:
        assert package.read_bytes() == (tmp_path / "second" / package.name).read_bytes()  # same sources, same bytes
    layer = tmp_path / "layer"
    layer.mkdir()
    trial = f"""
set -eu
mount -t tmpfs none {layer}
mkdir {layer}/upper {layer}/work {layer}/root
mount -t overlay overlay -o lowerdir={DEBIAN.resolve()},upperdir={layer}/upper,workdir={layer}/work {layer}/root
cp {tmp_path}/first/*.deb {layer}/root/root/
list() {{ chroot {layer}/root find /usr /etc -xdev ! -name '*.pyc' ! -name __pycache__ ! -path '/etc/ld.so.cache*' | sort; }}
list > {tmp_path}/before
chroot {layer}/root sh -c 'dpkg --install /root/*.deb' >&2
chroot {layer}/root railweave-host --version
chroot {layer}/root railweave-host check --list | head -1
chroot {layer}/root python3 -c 'import ctypes; [ctypes.CDLL(f"lib{{l}}ccl-net-railweave.so").{TABLE} for l in "nr"]; print("found")'
chroot {layer}/root railweave-rdma-ping --help 2>&1 | head -1
chroot {layer}/root sh -c 'dpkg --remove railweave-host railweave-nccl-net' >&2
list > {tmp_path}/after
"""
    done = subprocess.run(["unshare", "--mount", "bash", "-c", trial], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version, first_check, libraries, ping = done.stdout.splitlines()
    assert host_version in version
    assert first_check
    assert libraries == "found"
    assert "rdma-ping" in ping
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()
