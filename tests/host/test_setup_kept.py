"""`railweave host setup` and its undo take away nothing that the server had: files, settings, packages and drivers of others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.host.bare_server import BareServer, bare_server, deb, document, prepared
from tests.host.plans import designed
from tests.netns import needs_root

pytestmark = needs_root

MODULES = "etc/modules-load.d/railweave-peer-memory.conf"
GRUB = "etc/default/grub.d/grub-railweave.cfg"
UNIT = "etc/systemd/system/acs-off.service"
LINK = "etc/systemd/system/multi-user.target.wants/acs-off.service"
GRUBBY = """\
#!/usr/bin/env python3
import json, sys
file = "/setup/kernels.json"
kernels = json.load(open(file))
options = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
if options.get("info"):
    for kernel, args in kernels.items():
        print(f'index=0\\nkernel="{kernel}"\\nargs="{args}"\\nroot="/dev/vda"')
for kernel in kernels if options.get("update-kernel") == "ALL" else [options.get("update-kernel")]:
    if kernel is None:
        break
    have = kernels[kernel].split()
    gone = options.get("remove-args", "").split()
    have = [word for word in have if word not in gone]
    for word in options.get("args", "").split():  # one value for each name, as grubby has it
        have = [other for other in have if other.partition("=")[0] != word.partition("=")[0]] + [word]
    kernels[kernel] = " ".join(have)
json.dump(kernels, open(file, "w"))
"""


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("bare") / "setup", [])


@pytest.fixture
def server(given: Path) -> Iterator[BareServer]:
    with bare_server(given) as bare:
        yield bare


def system(server: BareServer, text: str) -> None:
    (server.root / "etc/os-release").unlink()
    server.write("/etc/os-release", text)


def steps(server: BareServer) -> dict[str, dict[str, Any]]:
    code, text = server.setup("plan", "--json")
    assert code in {0, 1}, text
    return {step["step"]: step for step in json.loads(text.split("\ncounts")[0])["steps"]}


def only(*names: str) -> list[str]:
    return [word for name in names for word in ("--only", name)]


def test_a_file_that_was_changed_since_is_kept(server: BareServer) -> None:
    code, text = server.setup("apply", *only("peer-memory", "boot-parameters"))
    assert (server.root / MODULES).read_text() == "ib_peer_mem\n", (code, text)
    server.write(f"/{MODULES}", "ib_peer_mem\nour_own_module\n")
    code, shown = server.host("undo", "--setup", "--dry-run")
    assert (code, f"keep /{MODULES}" in shown, f"rm /{GRUB}" in shown) == (0, True, True), shown
    code, text = server.host("undo", "--setup")
    assert (code, f"peer-memory (/{MODULES} stays, because its text is not what setup wrote)" in text) == (0, True), (
        text
    )
    assert (server.root / MODULES).read_text() == "ib_peer_mem\nour_own_module\n"
    assert not (server.root / GRUB).exists()


def test_a_file_that_was_there_gets_its_text_and_mode_back(server: BareServer) -> None:
    server.write(f"/{MODULES}", "of another program\n")
    (server.root / MODULES).chmod(0o600)
    server.setup("apply", *only("peer-memory"))
    assert (server.root / MODULES).read_text() == "ib_peer_mem\n"
    assert server.host("undo", "--setup")[0] == 0
    assert (server.root / MODULES).read_text() == "of another program\n"
    assert (server.root / MODULES).stat().st_mode & 0o777 == 0o600


def test_a_service_that_was_enabled_stays_enabled(server: BareServer) -> None:
    server.write(f"/{UNIT}", "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n")
    (server.root / LINK).parent.mkdir(parents=True, exist_ok=True)
    (server.root / LINK).symlink_to(f"/{UNIT}")
    before = server.tree()
    code, text = server.setup("apply", *only("acs"))
    assert "acs-off.sh" in (server.root / UNIT).read_text(), (code, text)
    assert server.host("undo", "--setup")[0] == 0
    assert {name for name, content in server.tree().items() if before.get(name) != content} == set()
    assert (server.root / LINK).is_symlink()


def test_kernel_parameters_that_were_there_come_back(server: BareServer) -> None:
    """Each kernel gets its own words back: those that the plan has too, and values that grubby replaced."""
    system(server, 'ID="rocky"\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="Rocky Linux 9"\n')
    kernels = {"/boot/vmlinuz-1": "ro quiet iommu=pt", "/boot/vmlinuz-2": "ro iommu=off amd_iommu=on crashkernel=1G"}
    server.write("/setup/kernels.json", json.dumps(kernels))
    server.write("/usr/local/sbin/grubby", GRUBBY)
    (server.root / "usr/local/sbin/grubby").chmod(0o755)

    def now() -> dict[str, set[str]]:
        return {
            name: set(args.split())
            for name, args in json.loads((server.root / "setup/kernels.json").read_text()).items()
        }

    before = now()
    wanted = set(document()["kernel_command_line"])
    assert wanted & before["/boot/vmlinuz-1"]
    assert wanted & before["/boot/vmlinuz-2"]
    server.setup("apply", *only("boot-parameters"))
    assert all(wanted <= args for args in now().values()), now()
    assert not any("iommu=off" in args for args in now().values())
    code, text = server.host("undo", "--setup")
    assert (code, now()) == (0, before), text


def test_a_kernel_is_installed_beside_those_of_the_server(server: BareServer) -> None:
    """With ``rpm -U`` the kernels that the server has would be removed."""
    system(server, 'ID="rocky"\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="Rocky Linux 9"\n')
    server.write("/setup/host.json", json.dumps({**document(), "versions": {"kernel": "5.14.0-570.el9.x86_64"}}))
    server.write("/setup/packages/kernel-5.14.0-570.el9.x86_64.rpm", "")
    server.write("/usr/local/sbin/rpm", "#!/bin/sh\nshift; for n; do echo package $n is not installed; done; exit 1\n")
    (server.root / "usr/local/sbin/rpm").chmod(0o755)
    server.write("/usr/local/sbin/grubby", "#!/bin/sh\n")
    (server.root / "usr/local/sbin/grubby").chmod(0o755)
    assert steps(server)["kernel"]["commands"] == ["rpm -ivh /setup/packages/kernel-5.14.0-570.el9.x86_64.rpm"]


def test_packages_and_drivers_of_another_release_stay_after_undo(server: BareServer, tmp_path: Path) -> None:
    """What setup replaces by a newer release is not uninstalled by undo, and the plan says so."""
    wanted = designed("h100-rlb", "H100-01")
    software = {"cuda": "12.8.0", "mlnx-ofed": "24.10-2.1.8.0"}
    versions = {"gpu_driver": "570.86.10", "collective_library": "2.27.3", "software": software}
    server.write("/setup/host.json", json.dumps({**wanted, "versions": versions}))
    for name in ("libnccl2", "cuda-nvcc"):
        server.write(f"/setup/{name}.deb", deb(tmp_path, name).read_bytes())
        assert server.run("dpkg", "--install", f"/setup/{name}.deb").returncode == 0
    server.write("/setup/modules/nvidia/filename", "/lib/modules/6.1.0-test/updates/dkms/nvidia.ko\n")
    server.write("/setup/modules/nvidia/version", "550.1\n")
    server.write("/usr/local/sbin/ofed_info", "#!/bin/sh\necho MLNX_OFED_LINUX-23.10-0.5.5.0:\n")
    (server.root / "usr/local/sbin/ofed_info").chmod(0o755)
    server.write("/usr/local/cuda-12.8/bin/nvcc", "")
    listed = server.root / "var/lib/dpkg/info/cuda-nvcc.list"
    listed.write_text(f"{listed.read_text()}/usr/local/cuda-12.8/bin/nvcc\n")
    shown = steps(server)
    assert shown["nccl"]["undo"] == ["dpkg --remove libnccl-dev"]
    assert shown["nccl"]["stays"] == "libnccl2 9:1.0: the server had it before; the new release stays"
    assert shown["nvidia-driver"]["undo"] == []
    assert shown["nvidia-driver"]["stays"] == "nvidia 550.1: the server had it before; the new release stays"
    assert shown["mlnx-ofed"]["undo"] == []
    assert shown["mlnx-ofed"]["stays"].startswith("MLNX_OFED_LINUX-23.10-0.5.5.0: the server had it")
    assert (shown["cuda"]["state"], shown["cuda"]["text"]) == ("done", "/usr/local/cuda-12.8, from a package")


def test_drivers_of_the_amd_server_stay_after_undo(server: BareServer) -> None:
    for name in ("amdgpu", "bnxt_en"):
        server.write(f"/setup/modules/{name}/filename", f"/lib/modules/6.1.0-test/updates/dkms/{name}.ko\n")
        server.write(f"/setup/modules/{name}/version", "1.2\n")
    server.write("/opt/rocm/.info/version", "6.4.0-47\n")
    status = (
        "bnxt-en/1.2, 6.1.0-a, x86_64: installed\nbnxt-en/1.2, 6.1.0-b, x86_64: installed\nbnxt-re/1.2: added\n"
        "netxtreme-peer-mem/2, 6.1.0-a, x86_64: installed\n"
    )
    server.write("/usr/local/sbin/dkms", f"#!/bin/sh\ncat <<END\n{status}END\n")
    (server.root / "usr/local/sbin/dkms").chmod(0o755)
    shown = steps(server)
    assert {name: shown[name]["undo"] for name in ("amdgpu-driver", "rocm", "broadcom-nic")} == {
        "amdgpu-driver": [],
        "rocm": [],
        "broadcom-nic": [],
    }
    assert shown["rocm"]["stays"] == "ROCm 6.4.0-47: the server had it before; the new release stays"
    assert shown["broadcom-nic"]["stays"].endswith("the new release stays; the firmware stays")
    assert shown["conflicts"]["undo"] == [
        "dkms install bnxt-en/1.2 -k 6.1.0-a",
        "dkms install bnxt-en/1.2 -k 6.1.0-b",
        "dkms add bnxt-re/1.2",
    ]
