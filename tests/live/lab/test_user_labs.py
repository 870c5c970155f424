"""Labs of a user who is not root: in namespaces that one process holds, which leaves nothing."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from railweave.errors import LabError
from railweave.live.lab import lldp, logins, names, user_labs
from railweave.live.lab.frr import rootfs, routers
from railweave.live.lab.frr.rootfs import Frr
from railweave.live.lab.kernel import processes
from railweave.live.lab.kernel.namespace import existing, has_user
from railweave.live.lab.running import Running
from railweave.tool_roots import INSIDE
from tests.conftest import EXAMPLES, ROOT, frr_root
from tests.live.lab.untouched import SLICE

USER = 1_000_000 + os.getpid()
"""The user of these tests, who has no other labs. Tests in another process have another user."""

_OPENED = """
number=0
for folder in $NEEDED; do
  number=$((number + 1)); mkdir "$STASH/$number"; mount --rbind "$folder" "$STASH/$number"
done
for folder in $CLOSED; do mount -t tmpfs -o mode=755 none "$folder"; done
number=0
for folder in $NEEDED; do
  number=$((number + 1)); mkdir -p "$folder"; mount --rbind "$STASH/$number" "$folder"
done
exec setpriv --reuid="$USER" --regid="$USER" --clear-groups "$@"
"""
"""A shell command that runs its arguments as the user, who then reaches folders below closed ones, for example below /root."""


_PROGRAM = """
import os
from railweave.cli import main
if "RAILWEAVE_LAB_INSIDE" in os.environ:  # what enters the namespaces must have one thread: it imports little
    from railweave.live.lab import life
    life.SETTLE_S = 0
main()
"""


class User:
    """The user, with a folder of this user's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started = list[subprocess.Popen[str]]()

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command of the user."""
        needed = [Path(sys.base_prefix), Path(sys.prefix), ROOT]
        closed = {above for path in needed for above in path.parents if not above.stat().st_mode & 1}
        needed = [path for path in needed if closed & set(path.parents)]
        opened = {"STASH": tempfile.mkdtemp(dir=self.folder), "USER": str(USER)}
        opened |= {"NEEDED": " ".join(map(str, needed)), "CLOSED": " ".join(map(str, closed))}
        paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
        started = subprocess.Popen(
            ["unshare", "--mount", "sh", "-euc", _OPENED, "sh", *words],
            cwd=self.folder,
            env={**os.environ, **opened, "HOME": str(self.folder), "PYTHONPATH": paths, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(started)
        return started

    def close(self) -> None:
        """Collect the commands, which have ended."""
        for started in self._started:
            started.communicate(timeout=10)

    def railweave(self, *words: str) -> tuple[int, str]:
        """The exit code and the text of a railweave command of the user. `lab up` does not wait for routes."""
        running = self.start(sys.executable, "-c", _PROGRAM, *words)
        printed, error = running.communicate(timeout=120)
        return running.returncode, printed + error

    def holders(self) -> list[int]:
        """The process ids of the holders of the user's labs."""
        mark = f"{user_labs.MARK}={USER}".encode()
        found: list[int] = []
        for path in Path("/proc").iterdir():
            if path.name.isdecimal() and processes.alive(int(path.name)):
                try:
                    marked = mark in (path / "environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                found += [int(path.name)] if marked else []
        return found


@pytest.fixture
def user() -> Iterator[User]:
    """A user to whom the kernel gives namespaces, and whose holders are gone afterwards."""
    if os.geteuid() != 0:
        pytest.skip("to become another user needs root (sudo make test)")
    folder = Path(tempfile.mkdtemp(prefix="railweave-user-"))
    shutil.chown(folder, USER, USER)
    made = User(folder)
    try:
        probe = made.start(
            "unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc", "true"
        )
        _, error = probe.communicate(timeout=10)
        if probe.returncode:
            pytest.skip(f"the kernel gives user {USER} no namespaces: {error.strip()}")
        yield made
    finally:
        for pid in made.holders():
            processes.send(pid, signal.SIGKILL)
        made.close()
        shutil.rmtree(folder)


@pytest.mark.skipif(frr_root() is None, reason="there is no FRR: no .validators/frr (sudo make validators)")
def test_a_user_runs_a_lab_without_root(user: User) -> None:
    for path in EXAMPLES.glob("h100-rlb.*"):
        shutil.copy(path, user.folder)
    fabric = user.folder / "h100-rlb.yaml"
    lab = names.lab_id(fabric)
    code, text = user.railweave("lab", "up", str(fabric), "--slice", SLICE, "--frr-root", str(frr_root()))
    assert "2 routers (FRR 10.3" in text, text
    assert "servers lack designed addresses" not in text
    assert code in (0, 1)  # 1: routes were not waited for
    [first] = user.holders()
    assert f"look around: nsenter -t {first} --user" in text
    # The machine has nothing of it but processes, and these are the user's.
    assert existing(lab) == []
    assert not names.folder(lab).exists()
    assert {Path("/proc", str(pid)).stat().st_uid for pid in processes.of_lab(lab)} == {USER}
    only = [word for name in ("slaac-addresses", "host-tables", "reachability") for word in ("--only", name)]
    code, text = user.railweave("lab", "test", str(fabric), *only)
    assert (code, "3 of 3 assertions passed" in text) == (0, True), text
    code, text = user.railweave("lab", "down", str(fabric))
    assert (code, "gone: 8 processes, 4 namespaces" in text) == (0, True), text
    assert user.holders() == processes.of_lab(lab) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_holder_that_ends_leaves_nothing(user: User, number: signal.Signals) -> None:
    started = user.start(sys.executable, "-m", "railweave.live.lab.holder", **{user_labs.MARK: str(USER)})
    printed, error = started.communicate(timeout=30)
    assert started.returncode == 0, error
    first = int(printed)
    inside = ["nsenter", "-t", str(first), "--user", "--preserve-credentials", "--net", "--mount", "--uts", "--pid"]
    script = "ip netns add mine; ip -n mine link add one type veth peer two; sleep 60 & sleep 60"
    running = user.start(*inside, "sh", "-euc", script, RAILWEAVE_TRIED="yes")
    ready = Path("/proc", str(first), "root/run/netns/mine")
    _until(ready.exists)
    assert existing("mine") == []
    os.kill(first, number)
    _until(lambda: not processes.alive(first), 2)
    _until(lambda: running.poll() is not None, 2)
    assert user.holders() == []


def _until(true: object, limit_s: float = 10) -> None:
    end = time.monotonic() + limit_s
    assert callable(true)
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_kernel_that_refuses_is_named_with_the_command_for_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusing = tmp_path / "python"
    refusing.write_text("#!/bin/sh\necho 'user namespace: unshare: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(refusing))
    monkeypatch.setattr(sys, "argv", ["no-such-railweave"])
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    monkeypatch.setattr(rootfs, "check_owner", lambda named: None)
    words = ["lab", "up", "a b.yaml", "--quiet"]
    with pytest.raises(LabError, match="user namespace: unshare: Operation not permitted") as refused:
        user_labs.run(words, [])
    assert f"needs root, for namespaces: run `sudo railweave {shlex.join(words)}`" in str(refused.value)


def test_a_root_folder_of_another_user_is_refused_before_it_is_entered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    zebra = tmp_path / "usr/lib/frr/zebra"
    zebra.parent.mkdir(parents=True)
    zebra.touch()
    zebra.parent.chmod(0o777)
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    with pytest.raises(LabError, match="nothing is run from this root folder with FRR"):
        user_labs.run(["lab", "up", "a.yaml", f"--frr-root={tmp_path}"], [])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lab up a.yaml", True),
        ("lab down a.yaml", True),
        ("lab export containerlab a.yaml", False),
        ("lab up --help", False),
        ("check a.yaml --lab", True),
        ("check a.yaml --live", False),
        ("build lab", False),
    ],
)
def test_commands_that_concern_labs(line: str, expected: bool) -> None:
    assert user_labs.concern_labs(line.split()) is expected


def test_what_changes_users_needs_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(INSIDE, "1")
    with pytest.raises(LabError, match="`lab access` needs root: an SSH server changes users"):
        logins.listen(cast("Running", None))
    assert "lldpd needs root" in lldp.missing(Frr(tmp_path, "10.3", 0, 0), "trixie")
    monkeypatch.setattr(rootfs, "CACHE", tmp_path)
    monkeypatch.setattr(rootfs, "project_root", lambda name: None)
    if not Path("/usr/lib/frr/zebra").exists():
        with pytest.raises(LabError, match=f"needs root: run `sudo bash {rootfs.BUILD} {tmp_path}/frr trixie` once"):
            rootfs.find(None, rootfs.PLAIN, lambda _: None)


def test_without_other_users_those_of_frr_are_root(tmp_path: Path) -> None:
    assert has_user(0, 0)
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nfrr:x:997:996::/nonexistent:/bin/sh\n")
    (tmp_path / "root/etc/group").write_text("frr:x:996:\nfrrvty:x:995:frr\n")
    (tmp_path / "etc").mkdir()
    routers.write_accounts(tmp_path / "etc", tmp_path / "root")
    assert (tmp_path / "etc/passwd").read_text() == "root:x:0:0:root:/root:/bin/sh\nfrr:x:0:0::/nonexistent:/bin/sh\n"
    assert (tmp_path / "etc/group").read_text() == "frr:x:0:\nfrrvty:x:0:frr\n"
