"""`railweave host setup` on bare servers: twice, killed at every step, undone, and with files that are missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from railweave.host.setup_steps import STEPS
from tests.drawn import every, some
from tests.host.bare_server import KERNEL, BareServer, bare_server, prepared
from tests.netns import needs_root

pytestmark = [
    needs_root,
    pytest.mark.skipif(
        shutil.which("dpkg-deb") is None or shutil.which("unshare") is None, reason="no dpkg or unshare"
    ),
]
NAMES = [
    "gcc", "g++", "make", "dkms", "autoconf", "automake", "libtool", "flex", "pciutils", "ethtool", "libpci-dev", "libibumad-dev",
    "libibverbs-dev", "librdmacm-dev", "ibverbs-utils", "infiniband-diags", f"linux-headers-{KERNEL}",
]  # fmt: skip
MODES = ("before", "half", "after", "interrupt", "write")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("bare") / "setup", NAMES)


@pytest.fixture
def server(given: Path) -> Iterator[BareServer]:
    with bare_server(given) as bare:
        yield bare


def finished(server: BareServer) -> str:
    """Run setup to its end, with the restarts that it asks for; gives what all runs printed."""
    printed = ""
    for _ in range(4):
        code, text = server.setup("apply", "--skip", "check")
        printed += text
        if code == 0:
            return printed
        assert "restart the server" in text, text
        server.boot()
    raise AssertionError(printed)


def test_twice(server: BareServer) -> None:
    """The second run changes nothing; the first needs one restart; undo gives back what was there before."""
    before = server.tree()
    assert set(server.states().values()) == {"to do", "done"}
    printed = finished(server)
    assert printed.count("restart the server") == 1
    assert set(server.states().values()) == {"done"}
    devices = " ".join(f"-i 0000:{bus}:00.0" for bus in ("1d", "43", "56", "69", "9f", "c3", "d5", "e7"))
    qos = "-o ECNPFC -r 3 -d 26 -c 7 -p 48 -b 50"
    assert (server.root / "setup/wizard").read_text() == f"-v {devices} -f -g {qos}\n"
    after, journal = server.tree(), (server.root / "var/lib/railweave/host.state.json").read_text()
    code, text = server.setup("apply", "--skip", "check")
    assert (code, text.splitlines()[-2].endswith("0 steps carried out, nothing changed")) == (0, True), text
    assert (server.tree(), (server.root / "var/lib/railweave/host.state.json").read_text()) == (after, journal)
    code, text = server.host("undo", "--setup")
    assert code == 0, text
    assert "the firmware stays" in text
    left = {name for name, content in server.tree().items() if before.get(name) != content}
    assert {name for name in left if not name.startswith(("opt/railweave/vendor", "boot/grub"))} <= {"packages"}
    assert "libpci-dev installed 1.0" not in server.tree()["packages"]
    assert not (server.root / "var/lib/railweave/host.state.json").exists()


@pytest.mark.slow
def test_killed_at_every_step(given: Path) -> None:
    """Killed before, in or after each command of a step, interrupted there, or killed at each write: the next runs finish."""
    with bare_server(given) as server:
        finished(server)
        whole = server.tree()
        names = [step.name for step in STEPS if step.name in server.states()]
    steps = [name for name in names if name != "conflicts"]
    for mode in MODES if every() else some(MODES, 1, "kills of setup"):
        with bare_server(given) as server:
            if not every():
                [step] = some(steps, 1, "killed steps of setup")
                if step != names[0]:
                    code, text = server.setup("apply", "--skip", "check", *_only(names[: names.index(step)]))
                    assert code in {0, 1}, text
                kills = _killed_at_each_point(server, mode, step)
            else:
                kills = _killed_at_each_point(server, mode, *steps)
                assert kills > 40
            assert kills > 0, mode
            finished(server)
            assert server.tree() == whole, mode
            assert "nothing changed" in server.setup("apply", "--skip", "check")[1], mode


def _only(names: Iterable[str]) -> list[str]:
    return [word for name in names for word in ("--only", name)]


def _killed_at_each_point(server: BareServer, mode: str, *steps: str) -> int:
    """Run the steps, killed at the first point of what is left, then at the second, and so on; gives the number of kills."""
    number, kills = 1, 0
    while True:
        ended = _ended(server)
        code, text = server.setup("apply", "--skip", "check", *_only(steps), mode=mode, number=number)
        if code in {0, 1}:
            assert "restart the server" in text or code == 0, f"{mode} {number}: {text}"
            return kills
        assert code == (130 if mode == "interrupt" else -9), f"{mode} {number}: {code} {text}"
        kills += 1
        number = 1 if _ended(server) > ended else number + 1


def _ended(server: BareServer) -> int:
    file = server.root / "var/lib/railweave/host.state.json"
    return sum(step["ended"] for step in json.loads(file.read_text())["steps"]) if file.exists() else 0


def test_missing_files_are_named_before_anything_is_changed(server: BareServer) -> None:
    (server.root / "setup/packages/bcm_237.1.148.0a.tar.gz").unlink()
    (server.root / "setup/packages/libpci-dev_1.0_all.deb").unlink()
    (server.root / "setup/packages/ucx-1.19.0.tar.gz").unlink()
    before = server.tree()
    code, text = server.setup("apply", "--skip", "check")
    assert code == 1
    named = ["  libpci-dev_*.deb", "  bcm_237.1.148.0a.tar.gz", "  ucx-1.19.0.tar.*"]
    assert [line for line in text.splitlines() if line in named] == named, text
    assert "  openmpi-5.0.8.tar.*" not in text.splitlines()
    assert "nothing was changed" in text
    assert server.tree() == before
    server.write("/setup/packages/openmpi-5.0.8.tar.bz2", "")
    code, text = server.setup("plan")
    assert (code, "both match openmpi-5.0.8.tar.*" in text) == (2, True), text


def test_a_failed_installer_is_named_with_its_last_lines(server: BareServer) -> None:
    server.write("/setup/packages/rocm-installer_1.2.5.70100-25-43~deb12.run", "echo no space left; exit 3\n")
    code, text = server.setup("apply", "--skip", "check", "--only", "rocm")
    assert code == 1
    assert "gpu-access=all postrocm rocm: exit code 3 (output: /var/lib/railweave/setup.log)" in text
    assert text.splitlines()[-2].strip() == "no space left" or "no space left" in text
    assert server.states()["rocm"] == "to do"


def test_the_plan_shows_the_commands_and_where_they_were_tried(server: BareServer) -> None:
    code, text = server.setup("plan", "--json")
    steps = {step["step"]: step for step in json.loads(text.split("\ncounts")[0])["steps"]}
    assert code == 0
    assert list(steps) == [step.name for step in STEPS if step.name in steps]
    assert "stand-in" in steps["rocm"]["tried"]
    assert steps["rocm"]["commands"] == [
        "bash '/setup/packages/rocm-installer_1.2.5.70100-25-43~deb12.run' target=/ gpu-access=all postrocm rocm"
    ]
    assert steps["broadcom-nic"]["stays"] == "the firmware stays"
    assert {"nvidia-driver", "cuda", "nccl", "mlnx-ofed"}.isdisjoint(steps)
