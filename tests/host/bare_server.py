"""A bare server: a copy-on-write view of a Debian root folder in a mount namespace, in which `railweave host setup` runs for real.

dpkg, apt, make, tar and mv are real, and so are dkms, rpm and systemctl if the folder has them. What no such folder can run is stood in for: the
vendors' installers, their source trees, modinfo, ethtool and update-grub. /sys is a plain folder with eight NICs on a PCI bus, and some files of /proc are plain files, so a
restart is to write another boot id and to load what was installed.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railweave.host import files
from tests.host.plans import designed

KERNEL = "6.1.0-test"
ADDRESSES = [f"0000:{bus:02x}:00.0" for bus in (0x1D, 0x43, 0x56, 0x69, 0x9F, 0xC3, 0xD5, 0xE7)]
ROOT_FOLDER = Path(__file__).parents[2] / ".validators" / "bare"
"""A Debian root folder with dkms and rpm, as ``tools/bare-root.sh`` makes it. Without it, the view is of this machine's own root."""

DRIVER = """\
import os, signal, sys
sys.path.insert(0, "/setup/railweave-host.pyz")
from railweave_host import commands, setup_run
mode, number, counts = sys.argv[1], int(sys.argv[2]), {"command": 0, "write": 0}
def end():
    os.kill(os.getpid(), signal.SIGKILL)
run, fsync = setup_run.run_command, os.fsync
def running(*arguments):
    counts["command"] += 1
    due = counts["command"] == number
    if due and mode == "before":
        end()
    if due and mode == "half":
        open("/setup/half", "w").close()
    try:
        run(*arguments)
    finally:
        if due and os.path.exists("/setup/half"):  # a command that has no middle
            os.unlink("/setup/half")
        if due and mode in ("half", "after"):
            end()
        if due and mode == "interrupt":
            os.kill(os.getpid(), signal.SIGTERM)
def writing(file):
    counts["write"] += 1
    if counts["write"] == number and mode == "write":
        end()
    fsync(file)
setup_run.run_command, os.fsync = running, writing
code = commands.main(sys.argv[3:])
print("counts", counts["command"], counts["write"])
sys.exit(code)
"""
"""Runs the program from its zipapp, and kills it before, in, or after the command of a number, or at a write."""

HALF = "if [ -e /setup/half ]; then rm /setup/half; kill -KILL $PPID 0; fi\n"
"""Kills the installer, and whatever runs it, in the middle of its work."""

PROC = {"cmdline": "quiet", "kallsyms": "", "sys/kernel/osrelease": KERNEL, "sys/kernel/random/boot_id": "x"}
"""The files of /proc that are written in place of the kernel's, and what they hold at first."""

STAND_INS = {
    "modinfo": '[ "$1" = -F ] && cat "/setup/modules/$3/$2" 2>/dev/null || { echo "Module $3 not found." >&2; exit 1; }\n',
    "ethtool": 'echo "firmware-version: $(cat /setup/firmware)"\n',
    "update-grub": "mkdir -p /boot/grub; GRUB_CMDLINE_LINUX=quiet; for f in /etc/default/grub.d/*.cfg; do [ ! -e $f ] || . $f; done\n"
    'echo "  linux /boot/vmlinuz root=/dev/vda $GRUB_CMDLINE_LINUX" >/boot/grub/grub.cfg\n',
}
SYSTEMCTL = (
    "d=/etc/systemd/system; w=$d/multi-user.target.wants; mkdir -p $w\n"
    "case $1 in enable) ln -sf $d/$2 $w/$2;; disable) rm -f $w/$2;; *) exit 1;; esac\n"
)

ROCM = f"""\
m=/setup/modules/amdgpu
case "$*" in
amdgpu) mkdir -p $m; echo /lib/modules/x/updates/dkms/amdgpu.ko >$m/filename;;
*uninstall-rocm) rm -rf /opt/rocm;;
uninstall-amdgpu) rm -rf $m;;
*rocm) mkdir -p /opt/rocm/.info;;
*) exit 9;;
esac
{HALF}case "$*" in
amdgpu) echo 6.16.6 >$m/version;;
*uninstall*) ;;
*rocm) echo 7.1.0-25 >/opt/rocm/.info/version;;
esac
"""
WIZARD = f"""\
m=/setup/modules
echo "$*" >/setup/wizard
case "$*" in *-U*) rm -rf $m/bnxt_en $m/bnxt_re $m/ib_peer_mem; exit;; esac
for n in bnxt_en bnxt_re ib_peer_mem; do
mkdir -p $m/$n
echo /lib/modules/x/updates/dkms/$n.ko >$m/$n/filename
done
echo 1.10.3.237.1.148.0 >$m/bnxt_en/version
{HALF}echo 237.1.148.0 >$m/bnxt_re/version
echo 237.1.148.0 >$m/ib_peer_mem/version
echo 237.1.148.0/pkg >/setup/firmware
"""
CONFIGURE = (
    "prefix=; flag=; for w; do case $w in --prefix=*) prefix=${w#--prefix=};; *rocm*) flag=--use_rocm;; *cuda*) flag=--use_cuda;; esac; done\n"
    '[ "$prefix" ] || exit 7\n'
    'cat >Makefile <<END\nall:\n\tprintf "#!/bin/sh\\necho $flag\\n" >PROGRAM\ninstall:\n\tmkdir -p \\$(DESTDIR)$prefix/bin\n'
    "\t@if [ -e /setup/half ]; then rm /setup/half; kill -KILL 0; fi\n"
    "\tinstall -m 755 PROGRAM \\$(DESTDIR)$prefix/bin/PROGRAM\nEND\n"
)
TESTS = "all:\n\t[ -d $(MPI_HOME)/bin ]\n\tmkdir -p build\n\techo echo >build/all_reduce_perf\n"
SOURCES = {"perftest-25.10.0": "ib_write_bw", "ucx-1.19.0": "ucx_info", "openmpi-5.0.8": "mpirun"}
VERSIONS: dict[str, Any] = {
    "gpu_driver": "6.16.6",
    "nic_driver": {"bnxt_en": "1.10.3.237.1.148.0"},
    "nic_firmware": {"thor2": "237.1.148.0"},
    "software": {
        "rocm": "7.1.0",
        "broadcom-nic": "237.1.148.0a",
        "perftest": "25.10.0",
        "ucx": "1.19.0",
        "open-mpi": "5.0.8",
        "rccl-tests": "2.28.7",
    },
}


def _script(text: str) -> bytes:
    return f"#!/bin/sh\nset -e\n{text}".encode()


def _tar(file: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(file, "w:gz") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))


def deb(folder: Path, name: str, conflicts: str = "") -> Path:
    """Build a package with one file, and a script that runs after its installation.

    Its epoch makes it newer than the distribution's own, with whose libraries older ones may conflict.
    """
    tree = folder / f"{name}.tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "usr/share/bare").mkdir(parents=True)
    (tree / "usr/share/bare" / name).write_text(name)
    fields = {"Package": name, "Version": "9:1.0", "Architecture": "all", "Maintainer": "test", "Description": "test"}
    if conflicts:
        fields["Conflicts"] = conflicts
    (tree / "DEBIAN/control").write_text("".join(f"{key}: {value}\n" for key, value in fields.items()))
    (tree / "DEBIAN/postinst").write_bytes(_script(HALF))
    (tree / "DEBIAN/postinst").chmod(0o755)
    file = folder / f"{name}_1.0_all.deb"
    subprocess.run(["dpkg-deb", "--build", "-Znone", "--root-owner-group", tree, file], check=True, capture_output=True)
    shutil.rmtree(tree)
    return file


def packages(folder: Path, names: list[str]) -> None:
    """Write everything that the plan of an AMD server with Broadcom's NICs needs, under the vendors' file names."""
    folder.mkdir(parents=True)
    for name in names:
        deb(folder, name)
    (folder / "rocm-installer_1.2.5.70100-25-43~deb12.run").write_bytes(_script(ROCM))
    _tar(folder / "bcm_237.1.148.0a.tar.gz", {"bcm_237.1.148.0a/utils/nic_wizard/install.sh": _script(WIZARD)})
    for name, program in SOURCES.items():
        configure = _script(CONFIGURE.replace("PROGRAM", program))
        scripts = dict.fromkeys((f"{name}/configure", f"{name}/contrib/configure-release"), configure)
        _tar(folder / f"{name}.tar.gz", {**scripts, f"{name}/autogen.sh": _script("")})
    _tar(folder / "rccl-tests-2.28.7.tar.gz", {"rccl-tests-2.28.7/Makefile": TESTS.encode()})


def document() -> dict[str, Any]:
    """The plan: a server of the Thor2 guide, with versions."""
    return {**designed("mi300x-leaf-31", "host1"), "versions": VERSIONS}


@dataclass
class BareServer:
    """The server. ``pid``: the process that holds the mount namespace; ``inside``: the root folder as that process sees it."""

    pid: int
    inside: Path

    @property
    def root(self) -> Path:
        """The root folder as the tests see it."""
        return Path(f"/proc/{self.pid}/root{self.inside}")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command on the server."""
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        enter = ["nsenter", "-t", str(self.pid), "-m", "chroot", str(self.inside), "env", "-i", path, *words]
        return subprocess.run(enter, capture_output=True, text=True, check=False)

    def host(self, *words: str, mode: str = "", number: int = 0) -> tuple[int, str]:
        """Run `railweave host`, killed as ``mode`` and ``number`` say; gives its exit code and what it printed."""
        done = self.run("python3", "-B", "/setup/driver.py", mode or "-", str(number), *words)
        # What runs the program under nsenter and chroot is the program itself, by exec.
        return done.returncode, done.stdout + done.stderr

    def setup(self, verb: str, *words: str, mode: str = "", number: int = 0) -> tuple[int, str]:
        """Run `railweave host setup` with the packages."""
        more = ("--host-file", "/setup/host.json", "--from", "/setup/packages")
        return self.host("setup", verb, *more, *words, mode=mode, number=number)

    def states(self) -> dict[str, str]:
        """The state of each step."""
        _, text = self.setup("plan", "--json")
        return {step["step"]: step["state"] for step in json.loads(text.split("\ncounts")[0])["steps"]}

    def write(self, path: str, text: str | bytes) -> None:
        """Write a file on the server."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)

    def boot(self) -> None:
        """Restart: another boot id, the kernel command line of grub.cfg, and the modules that are installed."""
        sys_module = self.root / "sys/module"
        shutil.rmtree(sys_module, ignore_errors=True)
        for module in (self.root / "setup/modules").iterdir():
            version = module / "version"
            if version.exists():
                self.write(f"/sys/module/{module.name}/version", version.read_text())
        if (sys_module / "ib_peer_mem").exists():
            self.write("/setup/proc/kallsyms", "0 T ib_register_peer_memory_client [ib_peer_mem]\n")
        grub = self.root / "boot/grub/grub.cfg"
        self.write("/setup/proc/cmdline", grub.read_text().partition("linux ")[2] if grub.exists() else "quiet")
        self.write("/setup/proc/boot_id", f"{(self.root / 'setup/proc/boot_id').read_text().strip()}x\n")
        if (sys_module / "bnxt_en").exists():
            for i, address in enumerate(ADDRESSES, 1):
                self._link(f"/sys/class/net/eth{i}/device", f"/sys/devices/{address}")

    def _link(self, link: str, to: str) -> None:
        there = self.root / link.lstrip("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        if not there.is_symlink():
            there.symlink_to(os.path.relpath(to, Path(link).parent))

    def tree(self) -> dict[str, str]:
        """What setup may have changed: files under /opt, /etc, /usr/local and the installers' own, and the packages."""
        found: dict[str, str] = {}
        for top in ("opt/railweave", "opt/rocm", "etc", "usr/local", "boot/grub", "setup/modules", "usr/share/bare"):
            for path in (self.root / top).rglob("*"):
                name = str(path.relative_to(self.root))
                if path.is_symlink():
                    found[name] = str(path.readlink())
                elif path.is_file():
                    found[name] = path.read_bytes().hex()
        found["packages"] = self.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status} ${Version}\n").stdout
        return found


@contextmanager
def bare_server(given: Path) -> Iterator[BareServer]:
    """A fresh server. ``given``: the folder with the packages, the program and its plan, as ``prepared`` wrote it."""
    lower = ROOT_FOLDER if ROOT_FOLDER.exists() else Path("/")
    mounts = "\n".join(
        (
            "set -e",
            "mount -t tmpfs bare /mnt",
            "mkdir /mnt/up /mnt/work /mnt/root",
            f"mount -t overlay bare -o lowerdir={lower},upperdir=/mnt/up,workdir=/mnt/work /mnt/root",
            "mkdir -p /mnt/root/setup/modules /mnt/root/setup/proc /mnt/root/proc /mnt/root/sys",
            f"cp -r {given}/. /mnt/root/setup/",
            "rm -rf /mnt/root/var/lib/railweave",
            "mount -t proc proc /mnt/root/proc",
            *(
                f"echo {text} >/mnt/root/setup/proc/{Path(name).name}"
                f" && mount --bind /mnt/root/setup/proc/{Path(name).name} /mnt/root/proc/{name}"
                for name, text in PROC.items()
            ),
            "[ -e /mnt/root/dev/null ] || mknod -m 666 /mnt/root/dev/null c 1 3",
            "ln -sfn /proc/self/fd /mnt/root/dev/fd",
            "echo ready",
            "exec cat",
        )
    )
    with subprocess.Popen(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", mounts],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        server = BareServer(holder.pid, Path("/mnt/root"))
        for name, text in STAND_INS.items():
            server.write(f"/usr/local/sbin/{name}", _script(text))
        if not (server.root / "usr/bin/systemctl").exists():
            server.write("/usr/local/sbin/systemctl", _script(SYSTEMCTL))
        for name in (*STAND_INS, "systemctl"):
            file = server.root / "usr/local/sbin" / name
            if file.exists():
                file.chmod(0o755)
        server.write("/setup/firmware", "234.1.124.0/pkg")
        for address in ADDRESSES:
            for name, value in {"vendor": "0x14e4", "device": "0x1760", "class": "0x020000"}.items():
                server.write(f"/sys/devices/{address}/{name}", value)
            server._link(f"/sys/bus/pci/devices/{address}", f"/sys/devices/{address}")
        server.boot()
        yield server
        holder.stdin.close()


def prepared(folder: Path, names: list[str]) -> Path:
    """Write the packages, the program, its plan and the files of ``build`` beside it."""
    packages(folder / "packages", names)
    files.write_program(folder / "railweave-host.pyz")
    (folder / "driver.py").write_text(DRIVER)
    (folder / "host.json").write_text(json.dumps(document()))
    (folder / "acs-off.sh").write_bytes(_script(""))
    (folder / "acs-off.service").write_text(
        "[Service]\nExecStart=/usr/local/sbin/acs-off.sh\n[Install]\nWantedBy=multi-user.target\n"
    )
    return folder
