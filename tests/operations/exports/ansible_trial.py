"""``make trial NAME=ansible``: Ansible's own programs over the exported files, and the FRR playbook on FRR.

``python -m tests.operations.exports.ansible_trial`` (root). It installs Ansible into ``.validators/ansible`` (``tools/ansible.sh``), runs the
tests that need it, and then loads a spine's frr.conf into FRR in a network namespace: shown, applied, and applied again.
Ends with ``ansible-trial: ok``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT, frr_root
from tests.operations.exports.test_ansible import PLACE, ran, written

NAME = "rw-ansible"
HOST = "spine1"


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


@contextmanager
def frr(folder: Path, root: Path) -> Iterator[Path]:
    """Run zebra and bgpd in a namespace, on a copy of the root folder that lies over it. Gives the copy."""
    parts = {name: folder / name for name in ("upper", "work", "merged")}
    for part in parts.values():
        part.mkdir()
    options = f"lowerdir={root},upperdir={parts['upper']},workdir={parts['work']}"
    merged = parts["merged"]
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, merged], check=True)
    subprocess.run(["ip", "netns", "add", NAME], check=True)
    try:
        (merged / "etc" / "frr" / "frr.conf").write_text(f"hostname {HOST}\n")
        subprocess.run(["ip", "-n", NAME, "link", "set", "lo", "up"], check=True)
        script = "mkdir -p /run/frr && chown frr:frr /run/frr && for d in mgmtd zebra staticd bgpd bfdd; do /usr/lib/frr/$d -d -A 127.0.0.1 -P 0; done; vtysh -b"
        inside = ["ip", "netns", "exec", NAME, "chroot", str(merged)]
        subprocess.run(  # not into a pipe, which the daemons would keep open
            [*inside, "sh", "-c", script], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(2)
        yield merged
    finally:
        pids = subprocess.run(["ip", "netns", "pids", NAME], check=False, capture_output=True, text=True).stdout.split()
        for pid in pids:
            subprocess.run(["kill", pid], check=False)
        time.sleep(1)
        subprocess.run(["ip", "netns", "del", NAME], check=False)
        subprocess.run(["umount", merged], check=False)


def load(folder: Path, root: Path) -> None:
    """The FRR playbook, by Ansible's connection into a root folder."""
    written(folder, "h100-rlb", "frr")
    fabric = ROOT / "examples" / "h100-rlb.yaml"
    words = [sys.executable, "-m", "railweave", "build", fabric, "--device", ":frr", "-o", folder / "build", "-q"]
    subprocess.run(words, check=True, capture_output=True)
    with frr(folder, root) as merged:
        inside = ["ip", "netns", "exec", NAME]
        shown = [*inside, "chroot", str(merged), "vtysh", "-c", "show running-config"]
        play = (
            *(*inside, str(PLACE / "bin" / "ansible-playbook"), "load-frr.yaml", "-l", HOST),
            *("-e", "ansible_connection=community.general.chroot", "-e", f"ansible_host={merged}"),
            *("-e", "ansible_become=false", "-e", "ansible_python_interpreter=/usr/bin/python3"),
        )
        before = subprocess.run(shown, check=True, capture_output=True, text=True).stdout
        first = ran(folder, *play)
        assert first.returncode == 0, first.stdout + first.stderr
        assert "router bgp" in first.stdout, first.stdout
        assert subprocess.run(shown, check=True, capture_output=True, text=True).stdout == before
        say("FRR: the difference is shown, and nothing has changed")
        second = ran(folder, *play, "-e", "railweave_apply=true")
        assert second.returncode == 0, second.stdout + second.stderr
        after = subprocess.run(shown, check=True, capture_output=True, text=True).stdout
        assert "router bgp" in after, after
        assert (merged / "etc" / "frr" / "frr.conf").read_text() == (
            folder / "build" / "devices" / HOST / "frr.conf"
        ).read_text()
        say(f"FRR: loaded; its running configuration has {after.count(chr(10))} lines")
        third = ran(folder, *play, "-e", "railweave_apply=true")
        assert third.returncode == 0, third.stdout + third.stderr
        assert subprocess.run(shown, check=True, capture_output=True, text=True).stdout == after
        say("FRR: loaded again, and the running configuration is the same")


def main() -> int:
    """All parts. Gives the exit status."""
    root = frr_root()
    if os.geteuid() != 0 or root is None:
        say("ansible-trial: cannot run here: it needs root and FRR (sudo make validators)")
        return 1
    subprocess.run([ROOT / "tools" / "ansible.sh", PLACE], check=True)
    if not (PLACE / "bin" / "ansible-lint").exists():
        return 1
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/operations/exports/test_ansible.py", "-q", "-rs", "-p", "no:cacheprovider"],
        check=False, cwd=ROOT,
    )  # fmt: skip
    if tests.returncode:
        say("ansible-trial: failed")
        return 1
    try:
        with tempfile.TemporaryDirectory() as place:
            load(Path(place), root)
    except (AssertionError, subprocess.SubprocessError) as wrong:
        say(f"{wrong}\nansible-trial: failed")
        return 1
    say("ansible-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
