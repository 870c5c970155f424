"""Build the wheel and the sdist twice, in two folders and two environments, and compare the bytes: ``make trial NAME=reproducible``.

Each build is of a clone of the last commit. The second one has a different path, home folder, time zone, language and umask. ``WORDS=system`` links
by this machine's linker instead of zig's, which ``make release`` uses. With ``--debian`` the Debian packages are built and compared, too.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conftest import ROOT

TOOL = ROOT / "build" / "release-tool"


def tool(system: bool) -> Path:
    """Return maturin: that of the virtual environment, or that of the release with zig, which is installed here if it is missing."""
    if system:
        return Path(sys.executable).with_name("maturin")
    if not (TOOL / "bin" / "maturin").exists():
        subprocess.run([sys.executable, "-m", "venv", TOOL], check=True)
        words = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "-r",
            "requirements/release.lock",
        ]
        subprocess.run([TOOL / "bin" / "python", *words], check=True, cwd=ROOT)
    return TOOL / "bin" / "maturin"


def build(checkout: Path, maturin: Path, environment: dict[str, str], umask: int, debian: bool) -> dict[str, Path]:
    """Clone the last commit into a folder, build there, and return the built files by their names."""
    subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True, umask=umask)
    command = ["tools/packages.sh", sys.executable, str(maturin), "dist"]
    start = time.monotonic()
    subprocess.run(command, check=True, cwd=checkout, env=environment, umask=umask, stdout=subprocess.DEVNULL)
    if debian:
        for words in (["cmake", "-S", "plugin", "-B", "build/plugin"], ["cmake", "--build", "build/plugin"]):
            subprocess.run(words, check=True, cwd=checkout, env=environment, umask=umask, stdout=subprocess.DEVNULL)
        subprocess.run(
            ["tools/deb.sh", sys.executable, "build/plugin", "dist"],
            check=True,
            cwd=checkout,
            env=environment,
            umask=umask,
            stdout=subprocess.DEVNULL,
        )
    print(f"reproducible: built in {time.monotonic() - start:.0f} s: {checkout}", flush=True)
    return {path.name: path for path in (checkout / "dist").iterdir()}


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def members(first: Path, second: Path) -> list[str]:
    """Return the members of two wheels that differ."""
    if first.suffix != ".whl":
        return []
    with zipfile.ZipFile(first) as left, zipfile.ZipFile(second) as right:
        names = sorted({*left.namelist(), *right.namelist()})
        both = set(left.namelist()) & set(right.namelist())
        return [name for name in names if name not in both or left.read(name) != right.read(name)]


def main(words: list[str]) -> int:
    """Build twice and compare; 1 if bytes differ."""
    debian = "--debian" in words
    maturin = tool("system" in words)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        first = os.environ | {"RAILWEAVE_LINKER": "system" if "system" in words else "zig"}
        for name in ("SOURCE_DATE_EPOCH", "RUSTFLAGS"):
            first.pop(name, None)
        home = folder / "a-home"
        (home / "crates").mkdir(parents=True)
        # Sources of crates are downloaded for a different home; the toolchain and the settings stay.
        settings = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "config.toml"
        if settings.exists():
            (home / "crates" / "config.toml").symlink_to(settings)
        rustup = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
        second = first | {
            "HOME": str(home),
            "CARGO_HOME": str(home / "crates"),
            "RUSTUP_HOME": rustup,
            "TZ": "Asia/Kolkata",
            "LC_ALL": "C.UTF-8",
        }
        with ThreadPoolExecutor(2) as builds:  # linking with optimization uses one processor
            near = builds.submit(build, folder / "one", maturin, first, 0o022, debian)
            far = builds.submit(build, folder / "elsewhere" / "and" / "deeper", maturin, second, 0o077, debian)
        left, right = near.result(), far.result()
        wrong = left.keys() ^ right.keys()
        for name in sorted(left.keys() & right.keys()):
            contents = left[name].read_bytes(), right[name].read_bytes()
            same = contents[0] == contents[1]
            print(
                f"reproducible: {name}: {len(contents[0]):,} bytes, {'the same' if same else 'DIFFERENT'}, SHA-256 {digest(contents[0])}"
            )
            if not same:
                wrong.add(name)
                print(
                    "".join(f"reproducible:   {member} differs\n" for member in members(left[name], right[name])),
                    end="",
                )
    return 1 if wrong or not left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
