"""`railweave host setup` on bare servers: twice, killed at every step, undone, and with files that are missing."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from railweave.host.setup_steps import STEPS
from tests.drawn import some
from tests.host.bare_server import KERNEL, ROOT_FOLDER, VERSIONS, BareServer, bare_server, deb, document, prepared
from tests.host.plans import SOURCE, designed
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
    assert "libpci-dev installed 9:1.0" not in server.tree()["packages"]
    assert not (server.root / "var/lib/railweave/host.state.json").exists()


@pytest.fixture(scope="module")
def whole(given: Path) -> tuple[dict[str, str], list[str]]:
    """A server that was set up without a kill, and its steps."""
    with bare_server(given) as server:
        finished(server)
        return server.tree(), [name for name in server.states() if name != "conflicts"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_killed_at_every_step(given: Path, whole: tuple[dict[str, str], list[str]], mode: str) -> None:
    """Killed before, in or after each command of a step, interrupted there, or killed at each write: the next runs finish."""
    tree, steps = whole
    commanded = [step for step in steps if mode == "write" or step != "peer-memory"]  # which only writes a file
    killed = some(commanded, 1, "killed steps of setup")
    with bare_server(given) as server:
        earlier = steps[: steps.index(killed[0])]
        if earlier:
            code, text = server.setup("apply", "--skip", "check", *_only(earlier))
            assert code in {0, 1}, text
        kills = _killed_at_each_point(server, mode, *killed)
        assert kills >= len(killed), mode
        finished(server)
        assert server.tree() == tree, mode
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


def test_no_package_of_the_server_is_removed_for_a_new_one(server: BareServer, tmp_path: Path) -> None:
    server.write("/setup/bystander.deb", deb(tmp_path, "bystander").read_bytes())
    assert server.run("dpkg", "--install", "/setup/bystander.deb").returncode == 0
    server.write("/setup/packages/flex_1.0_all.deb", deb(tmp_path, "flex", conflicts="bystander").read_bytes())
    before = server.tree()["packages"]
    code, text = server.setup("apply", "--skip", "check")
    assert (code, "--no-remove" in text) == (1, True), text
    assert server.tree()["packages"] == before


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


needs_root_folder = pytest.mark.skipif(
    not ROOT_FOLDER.exists(), reason="no root folder with dkms and rpm (sudo make validators)"
)
DKMS = 'PACKAGE_NAME="{name}"\nPACKAGE_VERSION="{version}"\nBUILT_MODULE_NAME[0]="{name}"\nDEST_MODULE_LOCATION[0]="/updates"\n'


@needs_root_folder
def test_modules_that_conflict_are_removed_by_the_real_dkms(server: BareServer) -> None:
    """Thor2 guide, section 2.2.2: not bnxt_en and bnxt_re beside netxtreme-peer-mem."""
    modules = {"bnxt_en": "1.10.3.234.0.171.0", "bnxt_re": "234.0.171.0", "netxtreme-peer-mem": "234.0.154.0"}
    for name, version in modules.items():
        server.write(f"/usr/src/{name}-{version}/dkms.conf", DKMS.format(name=name, version=version))
        assert server.run("dkms", "add", f"{name}/{version}").returncode == 0
    before = server.run("dkms", "status").stdout
    code, text = server.setup("apply", "--only", "conflicts")
    assert (code, "restart the server" in text) == (1, True), text
    assert server.run("dkms", "status").stdout == "netxtreme-peer-mem/234.0.154.0: added\n"
    server.boot()
    code, text = server.setup("apply", "--only", "conflicts")
    assert (code, "nothing changed" in text) == (0, True), text
    assert server.host("undo", "--setup")[0] == 0
    assert server.run("dkms", "status").stdout == before


SPEC = """\
Name: bare
Version: 1.0
Release: 1
Summary: test
License: test
BuildArch: noarch
AutoReqProv: no
%description
%install
mkdir -p %{buildroot}/usr/share/bare
for name in NAMES; do echo x >%{buildroot}/usr/share/bare/$name.rpm; done
"""
SUBPACKAGE = "%package -n {name}\nVersion: {version}\nRelease: {release}\nSummary: test\n%description -n {name}\n%files -n {name}\n/usr/share/bare/{name}.rpm\n"


@needs_root_folder
def test_packages_are_installed_by_the_real_rpm_after_a_kill_too(server: BareServer) -> None:
    """Red Hat's branch: by its names of packages and files. The first run is killed in the middle of rpm's work."""
    names = "gcc gcc-c++ make dkms autoconf automake libtool flex pciutils ethtool pciutils-devel rdma-core-devel libibverbs-utils infiniband-diags"
    spec = SPEC.replace("NAMES", f"{names} kernel-devel")
    spec += "".join(SUBPACKAGE.format(name=name, version="1.0", release="1") for name in names.split())
    spec += SUBPACKAGE.format(name="kernel-devel", version=KERNEL.partition("-")[0], release=KERNEL.partition("-")[2])
    kill = 'os.remove("/setup/half"); posix.kill(posix.getprocessid("pid"), 9)'  # a shell would be a dependency
    spec += f'%post -n flex -p <lua>\nif posix.access("/setup/half") then {kill} end\n'
    server.write("/setup/bare.spec", spec)
    (server.root / "etc/os-release").unlink()
    server.write("/etc/os-release", 'ID="rocky"\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="Rocky Linux 9"\n')
    defined = (
        "--define",
        "_rpmdir /setup/packages",
        "--define",
        "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
    )
    built = server.run("rpmbuild", "-bb", "--quiet", "--nodeps", *defined, "/setup/bare.spec")
    assert built.returncode == 0, built.stderr
    assert server.run("rpm", "-qa").stdout == ""
    code, text = server.setup("apply", "--only", "distribution-packages", mode="half", number=1)
    assert code == -9, text
    log = (server.root / "var/lib/railweave/setup.log").read_text()
    assert (server.root / "usr/share/bare/flex.rpm").exists(), log
    code, text = server.setup("apply", "--only", "distribution-packages")
    assert (code, "has not finished it" in text) == (0, True), text
    assert len(server.run("rpm", "-qa").stdout.split()) == 15
    assert "nothing changed" in server.setup("apply", "--only", "distribution-packages")[1]
    assert server.host("undo", "--setup")[0] == 0
    assert server.run("rpm", "-qa").stdout == ""


def test_another_distribution_is_refused(server: BareServer) -> None:
    (server.root / "etc/os-release").unlink()
    server.write("/etc/os-release", 'ID="sles"\nID_LIKE="suse"\nPRETTY_NAME="SUSE Linux Enterprise Server 15"\n')
    code, text = server.setup("plan")
    assert (code, "not SUSE Linux Enterprise Server 15" in text) == (2, True), text


def test_a_server_of_nvidia_has_its_own_steps(server: BareServer) -> None:
    """The commands as the vendor's guides have them, on Ubuntu: what its names are is all that is tried of it."""
    wanted = designed("h100-rlb", "H100-01")
    software = {"cuda": "12.8.0", "mlnx-ofed": "24.10-2.1.8.0", "perftest": "25.10.0"}
    versions = {
        "kernel": "6.8.0-60-generic",
        "gpu_driver": "570.86.10",
        "collective_library": "2.27.3",
        "software": software,
    }
    server.write(
        "/setup/host.json",
        json.dumps({**wanted, "versions": {**versions, "nic_firmware": {wanted["nics"][0]["model"]: "28.39.1002"}}}),
    )
    (server.root / "etc/os-release").unlink()
    server.write("/etc/os-release", 'ID=ubuntu\nID_LIKE=debian\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n')
    for number in range(8):
        for name, value in {"vendor": "0x15b3", "device": "0x1021", "class": "0x020700"}.items():
            server.write(f"/sys/bus/pci/devices/0000:{number + 1:02x}:00.1/{name}", value)
    for name, value in {"vendor": "0x10de", "class": "0x068000"}.items():
        server.write(f"/sys/bus/pci/devices/0000:07:00.0/{name}", value)
    _, text = server.setup("plan", "--json")
    steps = {step["step"]: step for step in json.loads(text.split("\ncounts")[0])["steps"]}
    assert list(steps) == [
        "kernel", "distribution-packages", "nvidia-driver", "fabric-manager", "cuda", "nccl", "mlnx-ofed", "nvidia-nic-firmware",
        "peer-memory", "boot-parameters", "acs", "perftest", "ucx", "open-mpi", "nccl-tests",
    ]  # fmt: skip
    files = {name: [file["name"] for file in step["files"]] for name, step in steps.items()}
    assert files["kernel"] == ["linux-image-6.8.0-60-generic_*.deb", "linux-modules-extra-6.8.0-60-generic_*.deb"]
    assert "linux-headers-6.8.0-60-generic_*.deb" in files["distribution-packages"]
    assert files["nvidia-driver"] == [f"NVIDIA-Linux-{platform.machine()}-570.86.10.run"]
    assert files["fabric-manager"] == ["nvidia-fabricmanager_570.86.10*.deb"]
    assert files["cuda"] == ["cuda_12.8.0_*_linux.run"]
    assert files["nccl"] == ["libnccl2_2.27.3*.deb", "libnccl-dev_2.27.3*.deb"]
    assert files["mlnx-ofed"] == ["MLNX_OFED_LINUX-24.10-2.1.8.0-*.tgz"]
    assert files["nccl-tests"] == ["nccl-tests-[0-9]*.tar.*"]
    assert any("CUDA_H_PATH=/usr/local/cuda/include/cuda.h" in command for command in steps["perftest"]["commands"])
    assert any(
        "./mlnxofedinstall --force --without-fw-update --dkms" in command for command in steps["mlnx-ofed"]["commands"]
    )
    assert {step["state"] for step in steps.values()} == {"to do"}


def test_an_image_is_set_up_by_chroot(server: BareServer) -> None:
    """The root folder of an image, from outside: its commands and its journal are inside; what needs hardware is not seen."""
    root = str(server.inside)
    more = ["--host-file", f"{root}/setup/host.json", "--from", f"{root}/setup/packages", "--root", root]
    python = [sys.executable, "-m", "railweave.host"]
    enter = ["nsenter", "-t", str(server.pid), "-m", "env", f"PYTHONPATH={SOURCE}", *python]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*enter, *words], capture_output=True, text=True, check=False)

    before = server.tree()
    only = _only(["distribution-packages", "boot-parameters", "acs", "perftest"])
    done = run("setup", "apply", *more, *only)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 steps carried out" in done.stdout
    assert "nothing changed" in run("setup", "apply", *more, *only).stdout
    assert (server.root / "opt/railweave/perftest/bin/ib_write_bw").exists()
    steps = {step["step"]: step for step in json.loads(run("setup", "plan", *more, "--json").stdout)["steps"]}
    assert steps["broadcom-nic"]["state"] == "not seen"
    assert "name it under hosts.versions.kernel" in steps["broadcom-nic"]["text"]
    wrong = run("setup", "plan", *more[:2], "--from", "/usr", "--root", root)
    assert (wrong.returncode, "must be inside --root" in wrong.stderr) == (2, True), wrong.stderr
    assert run("undo", "--setup", "--root", root).returncode == 0
    assert {name for name in server.tree() if name not in before} <= {"boot/grub/grub.cfg"}


def test_another_release_is_built_beside_the_first_and_undo_removes_both(server: BareServer) -> None:
    only = ("apply", "--only", "perftest")
    assert server.setup(*only)[0] == 0
    first = server.root / "setup/packages/perftest-25.10.0.tar.gz"
    first.rename(first.with_name("perftest-26.01.0.tar.gz"))
    versions = {**VERSIONS, "software": {"perftest": "26.01.0"}}
    server.write("/setup/host.json", json.dumps({**document(), "versions": versions}))
    assert server.states()["perftest"] == "to do"
    code, text = server.setup(*only)
    assert code == 0, text
    assert {path.name for path in (server.root / "opt/railweave").glob("perftest*")} == {
        "perftest",
        "perftest-25.10.0",
        "perftest-26.01.0",
    }
    assert (server.root / "opt/railweave/perftest").readlink() == Path("perftest-26.01.0")
    assert server.host("undo", "--setup")[0] == 0
    assert not list((server.root / "opt/railweave").glob("perftest*"))


def test_the_last_step_checks_the_server(server: BareServer) -> None:
    """Of this server little is as planned; the failed checks are named, and count."""
    code, text = server.setup("apply", "--only", "check")
    assert (code, "`railweave host check` has the fixes of " in text) == (1, True), text
    code, text = server.setup("apply", "--only", "check", "--json")
    checked = json.loads(text.split("\ncounts")[0])["check"]
    assert "nic-present" in checked["failed"]
    assert checked["exit_code"] == 1
