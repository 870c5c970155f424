"""The parts of the steps of `setup`: the states, commands and files of packages, GPUs, NICs and settings of the system.

Source: Thor2 guide, sections 2.1, 2.2, 2.3 and 2.7 and chapter 8, and the vendors' installation guides. A step reads the machine only; ``setup_run``
runs the commands. Nothing is downloaded: the files come from the folder that ``--from`` names.
"""

from __future__ import annotations

import fnmatch
import platform
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Callable, cast

from .failure import HostInputError
from .machine import CannotTellError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .checks.server import Server
    from .machine import Machine

DONE, TO_DO, NOT_SEEN = "done", "to do", "not seen"

PREFIX = "/opt/railweave"
"""The folder of programs that are built from source, and of vendors' installers that `undo --setup` needs."""

IF_INSTALLED = '! command -v "$1" >/dev/null || exec "$@"'
_REMOVE_RPMS = 'set -- $(rpm -q --qf "%{NAME}\\n" "$@" | grep -v " "); [ $# = 0 ] || rpm -e "$@"'
_ADD_DKMS = 'dkms status "$2" ${4:+-k "$4"} | grep -q "${4:+installed}" || dkms "$@"'
"""Arguments: ``add NAME/VERSION``, or ``install NAME/VERSION -k KERNEL``. What DKMS has already is left alone."""


@dataclass(frozen=True)
class State:
    """The state of a step: ``done``, ``to do`` or ``not seen``, with the reason.

    ``restart``: True if only a restart is left to do.
    """

    word: str
    text: str
    restart: bool = False


@dataclass(frozen=True)
class Command:
    """A command, and the folder in which it runs. If the folder is empty, the command can run in any folder."""

    words: tuple[str, ...]
    folder: str = ""

    def __str__(self) -> str:
        words = self.words
        if words[:2] == ("sh", "-c") and words[2] in {IF_INSTALLED, _ADD_DKMS}:
            words = words[4:] if words[2] == IF_INSTALLED else ("dkms", *words[4:])
        elif words[:2] == ("sh", "-c") and words[2] == _REMOVE_RPMS:
            words = ("rpm", "-e", *words[4:])
        return f"{f'cd {shlex.quote(self.folder)} && ' if self.folder else ''}{' '.join(map(shlex.quote, words))}"


@dataclass(frozen=True)
class Bare:
    """The server to set up, its plan, and the folder of packages.

    - ``packages``: the folder that ``--from`` names, with the path that commands see; None without the option.
    - ``names``: the names of the files in this folder.
    - ``repositories``: True if distribution packages may come from the repositories that are configured on the server.
    - ``image``: True if the server is the root folder of an image, which has no hardware and does not run.
    """

    machine: Machine
    plan: Server
    packages: str | None
    names: tuple[str, ...]
    repositories: bool
    image: bool

    @property
    def family(self) -> str:
        """The package manager: ``apt`` or ``rpm``. Raises HostInputError for another distribution."""
        release = self.release
        like = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
        if like & {"debian", "ubuntu"}:
            return "apt"
        if like & {"rhel", "fedora", "centos"}:
            return "rpm"
        raise HostInputError(
            f"setup knows Debian, Ubuntu and Red Hat with its rebuilds, not {release.get('PRETTY_NAME') or 'this system'}:"
            " install by the vendors' guides, then run `railweave host check`"
        )

    @property
    def release(self) -> Mapping[str, str]:
        """The fields of os-release."""
        lines = (self.machine.text("/etc/os-release") or "").splitlines()
        return {key: value.strip("\"'") for key, mark, value in (line.partition("=") for line in lines) if mark}

    @property
    def gpu_vendor(self) -> str:
        """The GPU vendor of the plan; empty without GPUs."""
        return self.plan.gpu_vendor

    @property
    def kernel(self) -> str:
        """The kernel that the design requires, else the running kernel; empty if neither is known."""
        wanted = str(self.plan.versions.get("kernel") or "")
        return wanted or ("" if self.image else self.machine.text("/proc/sys/kernel/osrelease") or "")

    def has_nic(self, driver: str) -> bool:
        """Return True if the plan has a NIC with this driver."""
        return any(nic.driver == driver for nic in self.plan.nics)

    def version(self, name: str) -> str:
        """Return the release of a software that the design requires; empty if it requires none."""
        return self.versions("software").get(name, "")

    def versions(self, key: str) -> dict[str, str]:
        """Return the required versions of a group, by the name of each member.

        The groups are ``software``, ``nic_driver`` and ``nic_firmware``.
        """
        group = self.plan.versions.get(key)
        return (
            {str(name): str(text) for name, text in cast("dict[str, object]", group).items()}
            if isinstance(group, dict)
            else {}
        )

    def file(self, pattern: str) -> str:
        """Return the path of the file that matches ``pattern``, a file name as its vendor writes it.

        If no file matches, return the folder with the pattern. Raises HostInputError if several files match.
        """
        matching = self.matching(pattern)
        if len(matching) > 1:
            raise HostInputError(
                f"--from {self.packages}: {' and '.join(matching)} both match {pattern}: keep one of them there,"
                " or name the release under hosts.versions in the fabric file"
            )
        return f"{self.packages or 'DIR'}/{matching[0] if matching else pattern}"

    def matching(self, pattern: str) -> list[str]:
        """Return the names of files in the folder of packages that match a pattern."""
        return fnmatch.filter(self.names, pattern)


def _nothing(_: Bare) -> Sequence[Command]:
    return ()


def _no_files(_: Bare) -> Sequence[str]:
    return ()


def _nothing_left(_: Bare) -> str:
    return ""


def stays(part: str) -> Callable[[Bare], str]:
    """Return the function of a step of which the same part always stays after `undo --setup`."""
    return lambda _: part


def _no_writes(_: Bare) -> Mapping[str, tuple[str, int]]:
    return {}


@dataclass(frozen=True)
class SetupStep:
    """A step of `setup`, as a row of the table of steps.

    - ``subject``: the software or setting of the step. ``source``: the document that requires it.
    - ``applies``: a function that returns True for servers that need the step.
    - ``state``: a function that returns the state on the machine.
    - ``commands``, ``inverse``: functions that return the commands to carry the step out, and to undo it. No inverse
      removes anything that the server had before.
    - ``left``: the part of the step that stays after `undo --setup`.
    - ``files``: names of the files needed, as their vendor names them; ``*`` matches any text.
    - ``writes``: the text and the mode of each file that the step writes before its commands run, by path.
    - ``restart``: ``at the end`` or ``at once`` (before the next step) if the server must restart; empty if not.
    - ``tried``: the systems on which the step has been run.
    """

    name: str
    subject: str
    source: str
    tried: str
    applies: Callable[[Bare], bool]
    state: Callable[[Bare], State]
    commands: Callable[[Bare], Sequence[Command]] = field(default=_nothing)
    inverse: Callable[[Bare], Sequence[Command]] = field(default=_nothing)
    files: Callable[[Bare], Sequence[str]] = field(default=_no_files)
    writes: Callable[[Bare], Mapping[str, tuple[str, int]]] = field(default=_no_writes)
    restart: str = ""
    left: Callable[[Bare], str] = _nothing_left


def state_of(step: SetupStep, bare: Bare) -> State:
    """Return the state of a step; ``not seen`` with the reason if a file or a command cannot be read."""
    try:
        return step.state(bare)
    except CannotTellError as error:
        return State(NOT_SEEN, str(error))


def _same_release(installed: str, wanted: str) -> bool:
    """Return True if an installed version is the wanted release, or continues it after a separator.

    For example, 2.27.3-1+cuda12.9 is the release 2.27.3.
    """
    return bool(re.match(re.escape(wanted) + r"(?![0-9A-Za-z])", installed)) if wanted else bool(installed)


def versioned(installed: str, wanted: str, subject: str) -> State:
    """Return ``done`` if a software is installed in the wanted release, or in any release if none is wanted."""
    if installed and _same_release(installed, wanted):
        return State(DONE, f"{subject} {installed}")
    return State(
        TO_DO, f"{f'{installed} is' if installed else 'nothing is'} installed, wanted: {wanted or 'any release'}"
    )


# Packages of the distribution.

_APT_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends", "--no-remove", "-o", "DPkg::Lock::Timeout=600")
"""The command that installs packages. With ``-y`` alone, apt removes packages of the server that conflict with new ones."""
_NO_SOURCES = ("-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts=/dev/null")
"""Options with which apt knows no repository. Its option ``--no-download`` fails for files (apt 2.6: "not absolute")."""

_APT = (
    "gcc g++ make dkms autoconf automake libtool flex pciutils ethtool libpci-dev libibumad-dev libibverbs-dev"
    " librdmacm-dev ibverbs-utils infiniband-diags"
)
_RPM = (
    "gcc gcc-c++ make dkms autoconf automake libtool flex pciutils ethtool pciutils-devel rdma-core-devel"
    " libibverbs-utils infiniband-diags"
)


def tool_packages(bare: Bare) -> list[str]:
    """Return the distribution's packages for builds, RDMA and checks, with the headers of the kernel."""
    names: list[str] = [*(_APT if bare.family == "apt" else _RPM).split()]
    headers = f"{'linux-headers' if bare.family == 'apt' else 'kernel-devel'}-{bare.kernel}"
    return [*names, headers] if bare.kernel else names


def kernel_packages(bare: Bare) -> list[str]:
    """Return the packages of the wanted kernel, by the distribution's names."""
    if bare.family == "rpm":
        return [f"kernel-{bare.kernel}"]
    names: list[str] = [f"linux-image-{bare.kernel}"]
    return [*names, f"linux-modules-extra-{bare.kernel}"] if bare.release.get("ID") == "ubuntu" else names


def _absent(bare: Bare, names: Sequence[str], version: str = "") -> list[str]:
    """Return the packages that are not installed, or not in the wanted release."""
    installed = _package_versions(bare, names)
    return [name for name in names if not _same_release(installed.get(name, ""), version)]


def _package_versions(bare: Bare, names: Sequence[str]) -> dict[str, str]:
    """Return the version of each installed package. Packages that are only partly installed are left out."""
    if bare.family == "rpm":
        lines = bare.machine.run("rpm", "-q", *names).out.splitlines()  # one for each name, in their order
        versions = {name: line for name, line in zip(names, lines) if "is not installed" not in line}
        return {name: line[len(name) + 1 :] or line for name, line in versions.items()}
    form = "${Package} ${db:Status-Status} ${Version}\\n"
    rows = [line.split() for line in bare.machine.run("dpkg-query", "-W", "-f", form, *names).out.splitlines()]
    return {row[0]: row[2] for row in rows if len(row) == 3 and row[1] == "installed"}


def _package_file(bare: Bare, name: str, version: str = "") -> str:
    """Return a pattern of the file name that a package has in its distribution."""
    if bare.family == "apt":
        return f"{name}_{version}*.deb"
    return f"{name}-{version or '[0-9]'}*.rpm" if not name[-1].isdigit() and bare.kernel not in name else f"{name}*.rpm"


def _install(bare: Bare, names: Sequence[str], version: str = "") -> list[Command]:
    if not names:
        return _repaired(bare)
    if bare.repositories and not version:
        tool = _APT_INSTALL if bare.family == "apt" else ("dnf", "install", "-y")
        return [*_repaired(bare), Command((*tool, *names))]
    paths = {name: bare.file(_package_file(bare, name, version)) for name in names}
    if bare.family == "rpm":
        # An upgrade (-U) of a kernel package removes the kernels that the server has.
        beside = [path for name, path in paths.items() if re.match(r"kernel-(devel-)?\d", name)]
        others = [path for path in paths.values() if path not in beside]
        upgrade = ("rpm", "-Uvh", *(("--oldpackage",) if version else ()))
        return [
            *([Command(("rpm", "-ivh", *beside))] if beside else []),
            *([Command((*upgrade, *others))] if others else []),
        ]
    older = ("--allow-downgrades",) if version else ()
    return [*_repaired(bare), Command((*_APT_INSTALL, *_NO_SOURCES, *older, *paths.values()))]


def _repaired(bare: Bare) -> list[Command]:
    """Return the command that completes an interrupted dpkg; without it, apt refuses to work."""
    if bare.family != "apt":
        return []
    half = bare.machine.run("dpkg", "--audit").out.strip() or bare.machine.names("/var/lib/dpkg/updates")
    return [Command(("dpkg", "--configure", "-a"))] if half else []


def _uninstall(bare: Bare, names: Sequence[str]) -> list[Command]:
    if not names:
        return []
    if bare.family == "rpm":
        return [Command(("sh", "-c", _REMOVE_RPMS, "sh", *names))]
    return [Command(("dpkg", "--remove", *names))]


def _any_version(_: Bare) -> str:
    return ""


def package_step(
    name: str,
    texts: tuple[str, str, str],
    applies: Callable[[Bare], bool],
    names: Callable[[Bare], list[str]],
    state: Callable[[Bare, list[str]], State],
    version: Callable[[Bare], str] = _any_version,
    restart: str = "",
) -> SetupStep:
    """Return the row of a step that installs packages. ``texts``: subject, source, and where it was tried."""

    def wanted(bare: Bare) -> list[str]:
        # Never all names: those that the distribution brought in another version would be replaced.
        return _absent(bare, names(bare), version(bare))

    def replaced(bare: Bare) -> dict[str, str]:
        return _package_versions(bare, wanted(bare)) if version(bare) else {}

    def left(bare: Bare) -> str:
        had = ", ".join(f"{package} {number}" for package, number in replaced(bare).items())
        return f"{had}: the server had it before; the new release stays" if had else ""

    def files(bare: Bare) -> Sequence[str]:
        if bare.repositories and not version(bare):
            return ()
        return [_package_file(bare, package, version(bare)) for package in wanted(bare)]

    return SetupStep(
        name,
        *texts,
        applies,
        lambda bare: state(bare, names(bare)),
        lambda bare: _install(bare, wanted(bare), version(bare)),
        lambda bare: _uninstall(bare, [package for package in wanted(bare) if package not in replaced(bare)]),
        files,
        restart=restart,
        left=left,
    )


def installed_state(bare: Bare, names: list[str]) -> State:
    """Return ``done`` if all packages are installed."""
    absent = _absent(bare, names)
    if absent:
        return State(TO_DO, f"{len(absent)} of {len(names)} packages are not installed: {', '.join(absent)}")
    return State(DONE, f"{len(names)} packages")


def kernel_state(bare: Bare, names: list[str]) -> State:
    """Return ``done`` if the wanted kernel is installed and runs."""
    absent = _absent(bare, names)
    if absent:
        return State(TO_DO, f"not installed: {', '.join(absent)}")
    running = bare.machine.text("/proc/sys/kernel/osrelease")
    if bare.image or running == bare.kernel:
        return State(DONE, bare.kernel)
    return State(TO_DO, f"{bare.kernel} is installed, {running} runs", restart=True)


def wanted_library(bare: Bare) -> str:
    """Return the version of NCCL or RCCL that the design requires; empty if none."""
    return str(bare.plan.versions.get("collective_library") or "")


def wanted_driver(bare: Bare) -> str:
    """Return the version of the GPU driver that the design requires; empty if none."""
    return str(bare.plan.versions.get("gpu_driver") or "")


def nccl_names(bare: Bare) -> list[str]:
    """Return the names of NCCL's packages."""
    return ["libnccl2", "libnccl-dev"] if bare.family == "apt" else ["libnccl", "libnccl-devel"]


def released_state(version: Callable[[Bare], str]) -> Callable[[Bare, list[str]], State]:
    """Return a function that compares the installed release of packages with the release that ``version`` returns."""

    def state(bare: Bare, names: list[str]) -> State:
        installed = _package_versions(bare, names)
        worst = min((installed.get(name, "") for name in names), key=lambda text: _same_release(text, version(bare)))
        return versioned(worst, version(bare), names[0])

    return state


# GPUs.


def _module(bare: Bare, name: str) -> tuple[str, str]:
    """Return the file and the version of a kernel module that is installed; empty if it is absent or has no version."""
    if bare.image and not bare.kernel:
        raise CannotTellError("an image does not show its kernel: name it under hosts.versions.kernel")
    kernel = ("-k", bare.kernel) if bare.image else ()
    file, version = (
        bare.machine.run("modinfo", *kernel, "-F", key, name).out.strip() for key in ("filename", "version")
    )
    return file, version


def _from_vendor(file: str) -> bool:
    return bool(file) and file != "(builtin)" and "/kernel/" not in file.rsplit("/lib/modules/", maxsplit=1)[-1]


def module_state(bare: Bare, module: str, wanted: str) -> State:
    """Return the state of a vendor's kernel module: installed in the wanted version, and loaded."""
    file, version = _module(bare, module)
    if not _from_vendor(file) or not _same_release(version or "unnumbered", wanted):
        seen = f"{version or 'the module of the kernel'} is" if file else "nothing is"
        return State(TO_DO, f"{module}: {seen} installed, wanted: {wanted or 'any release'} of the vendor")
    runs = bare.machine.text(f"/sys/module/{module}/version")
    if not bare.image and (runs is None or not _same_release(runs or version, wanted)):
        return State(TO_DO, f"{module} {version} is installed, {runs or 'nothing'} is loaded", restart=True)
    return State(DONE, f"{module} {version}")


def had_module(*modules: str) -> Callable[[Bare], str]:
    """Return the function that names the vendor's modules, with their versions, that the server has before a step."""

    def had(bare: Bare) -> str:
        installed = {module: _module(bare, module) for module in modules}
        return ", ".join(
            f"{name} {version}".strip() for name, (file, version) in installed.items() if _from_vendor(file)
        )

    return had


def unless_had(
    had: Callable[[Bare], str], inverse: Callable[[Bare], Sequence[Command]]
) -> Callable[[Bare], Sequence[Command]]:
    """Return the inverse of an installer that replaces an earlier release: nothing if the server had one.

    Uninstalling the new release would leave the server without the driver that it had.
    """
    return lambda bare: () if had(bare) else inverse(bare)


def left_if_had(had: Callable[[Bare], str], always: str = "") -> Callable[[Bare], str]:
    """Return the part that stays because of ``unless_had``; ``always``: the part that stays in any case."""

    def left(bare: Bare) -> str:
        release = had(bare)
        kept = f"{release}: the server had it before; the new release stays" if release else ""
        return "; ".join(filter(None, [kept, always]))

    return left


def had_rocm(bare: Bare) -> str:
    """Return the release of ROCm that the server has before the step; empty if it has none."""
    version = bare.machine.text("/opt/rocm/.info/version")
    return f"ROCm {version}" if version else ""


def had_ofed(bare: Bare) -> str:
    """Return the release of MLNX_OFED that the server has before the step; empty if it has none."""
    return bare.machine.run("ofed_info", "-s").out.strip(" :\n") if bare.machine.has("ofed_info") else ""


def rocm_file(bare: Bare) -> str:
    """Return the file name of the ROCm installer, whose number 70100 is release 7.1.0."""
    numbers = [part for part in bare.version("rocm").split(".") if part.isdigit()]
    if not numbers:
        return "rocm-installer_*.run"
    return (
        f"rocm-installer_*.{int(numbers[0])}{''.join(f'{int(part):02}' for part in [*numbers[1:], '0', '0'][:2])}-*.run"
    )


def rocm_state(bare: Bare) -> State:
    """Return the state of ROCm, by the version file that its installer writes."""
    version = (bare.machine.text("/opt/rocm/.info/version") or "").partition("-")[0]
    return versioned(version, bare.version("rocm"), "ROCm")


def nvidia_file(bare: Bare) -> str:
    """Return the file name of NVIDIA's driver installer."""
    return f"NVIDIA-Linux-{platform.machine()}-{wanted_driver(bare) or '*'}.run"


def nvidia_options(bare: Bare) -> tuple[str, ...]:
    """Return the options of NVIDIA's driver installer. In an image, the kernel must be named."""
    return ("--kernel-module-type=open", *((f"--kernel-name={bare.kernel}",) if bare.image else ()))


def cuda_folder(bare: Bare) -> str:
    """Return the folder of the CUDA release."""
    number = ".".join(bare.version("cuda").split(".")[:2])
    return f"/usr/local/cuda-{number}" if number else "/usr/local/cuda"


def cuda_state(bare: Bare) -> State:
    """Return ``done`` if the compiler and the uninstaller of CUDA are in its folder."""
    compiler = f"{cuda_folder(bare)}/bin/nvcc"
    tools = bare.machine.names(f"{cuda_folder(bare)}/bin")
    there = {"nvcc", "cuda-uninstaller"} <= set(tools)
    owner = ("dpkg-query", "-S") if bare.family == "apt" else ("rpm", "-qf")
    if "nvcc" in tools and not there and bare.machine.run(*owner, compiler).code == 0:
        return State(DONE, f"{cuda_folder(bare)}, from a package")
    return State(DONE, cuda_folder(bare)) if there else State(TO_DO, f"{cuda_folder(bare)} has no nvcc")


def nvswitch(bare: Bare) -> bool:
    """Return True if an NVSwitch is on the PCI bus."""
    folder = "/sys/bus/pci/devices"
    return not bare.image and any(
        bare.machine.readable(f"{folder}/{address}/vendor") == "0x10de"
        and (bare.machine.readable(f"{folder}/{address}/class") or "").startswith("0x0680")
        for address in bare.machine.names(folder)
    )


# NICs.

_BROADCOM_DEVICES = {"0x1750", "0x1751", "0x1752", "0x1760"}
"""The PCI devices of the BCM575xx and BCM576xx families; 0x1760 is the BCM57608 (Thor2 guide, section 8.3)."""


def _addresses(bare: Bare, driver: str) -> list[str]:
    """Return the PCI addresses of the planned NICs with a driver. Raises CannotTellError if they are not on the bus.

    A bare machine has no driver that names interfaces. Then Broadcom's NICs are found on the PCI bus by their numbers.
    """
    planned = [nic for nic in bare.plan.nics if nic.driver == driver]
    named = [
        real.rpartition("/")[2] for nic in planned if (real := bare.machine.real(f"/sys/class/net/{nic.netdev}/device"))
    ]
    if len(named) == len(planned):
        return named
    folder = "/sys/bus/pci/devices"
    vendor, devices = ("0x14e4", _BROADCOM_DEVICES) if driver == "bnxt_en" else ("0x15b3", None)
    on_bus = [
        address
        for address in bare.machine.names(folder)
        if bare.machine.readable(f"{folder}/{address}/vendor") == vendor
        and (bare.machine.readable(f"{folder}/{address}/class") or "").startswith("0x02")
        and (devices is None or bare.machine.readable(f"{folder}/{address}/device") in devices)
    ]
    if len(on_bus) < len(planned):
        raise CannotTellError(
            "an image has no NIC: run setup again after its first start"
            if bare.image
            else f"{len(on_bus)} of {len(planned)} planned NICs are on the PCI bus (lspci)"
        )
    return on_bus


def _firmware(bare: Bare, driver: str) -> list[str]:
    """Return a text for each planned NIC whose firmware is not the required one; empty if none is required."""
    required = bare.versions("nic_firmware")
    different: list[str] = []
    for nic in bare.plan.nics:
        wanted = required.get(nic.model, "") if nic.driver == driver else ""
        if wanted:
            match = re.search(
                r"^firmware-version: (.*)$", bare.machine.output("ethtool", "-i", nic.netdev), re.MULTILINE
            )
            installed = match[1].strip() if match else ""
            if not _same_release(installed, wanted) and wanted not in re.split(r"[/\s]", installed):
                different.append(f"{nic.netdev} has {installed or 'no known firmware'}, wanted {wanted}")
    return different


def _peer_memory_clients(machine: Machine) -> set[str]:
    """Return the loaded modules with the peer memory interface (Thor2 guide, section 5.1, question 3)."""
    text = machine.run("grep", "-w", "ib_register_peer_memory_client", "/proc/kallsyms").out
    return set(re.findall(r"ib_register_peer_memory_client\s+\[(\w+)\]", text))


def broadcom_state(bare: Bare) -> State:
    """Return the state of Broadcom's drivers, of peer memory, and of the NICs' firmware."""
    _addresses(bare, "bnxt_en")
    drivers = bare.versions("nic_driver")
    for module in ("bnxt_en", "bnxt_re"):
        state = module_state(bare, module, drivers.get(module, ""))
        if state.word != DONE:
            return state
    client = _peer_memory_clients(bare.machine) or _module(bare, "ib_peer_mem")[0]
    if bare.gpu_vendor == "AMD" and not client:
        return State(TO_DO, "no module has the peer memory interface: ib_peer_mem is not installed")
    different = _firmware(bare, "bnxt_en")
    if different:
        return State(TO_DO, "; ".join(different))
    return State(DONE, "driver, RDMA driver, peer memory and firmware")


def _broadcom_folder(bare: Bare) -> str:
    """Return the folder of the installer inside the unpacked release. Release 237 renamed it (Thor2 guide, section 2.2.1)."""
    name = Path(bare.file(broadcom_file(bare))).name
    release = re.match(r"bcm_(\d+)", name)
    tool = "linux_installer" if release and int(release[1]) < 237 else "nic_wizard"
    return f"{PREFIX}/vendor/{name.replace('.tar.gz', '')}/utils/{tool}"


def broadcom_file(bare: Bare) -> str:
    """Return the file name of Broadcom's release."""
    return f"bcm_{bare.version('broadcom-nic') or '*'}.tar.gz"


def _broadcom_qos(bare: Bare) -> list[str]:
    """Return the installer's options for congestion control.

    The result is empty if the fabrics of the NICs have different settings, because the installer accepts only one.
    """
    traffic = [nic.traffic for nic in bare.plan.nics if nic.driver == "bnxt_en" and nic.traffic]
    if not traffic or any(other != traffic[0] for other in traffic):
        return []
    roce = traffic[0]
    mode = ("ECN" if roce.ecn else "") + ("PFC" if roce.lossless else "")
    if not mode:
        return []
    numbers = (roce.priority, roce.dscp, roce.cnp_priority, roce.cnp_dscp, roce.bandwidth_percent)
    return ["-o", mode, *(word for option, number in zip("rdcpb", numbers) for word in (f"-{option}", str(number)))]


def broadcom_commands(bare: Bare) -> list[Command]:
    """Return the commands that unpack Broadcom's release and run its installer for all planned NICs."""
    devices = [word for address in _addresses(bare, "bnxt_en") for word in ("-i", address)]
    return [
        Command(("mkdir", "-p", f"{PREFIX}/vendor")),
        Command(("tar", "-xf", bare.file(broadcom_file(bare)), "-C", f"{PREFIX}/vendor")),
        Command(("bash", "./install.sh", "-v", *devices, "-f", "-g", *_broadcom_qos(bare)), _broadcom_folder(bare)),
    ]


def broadcom_inverse(bare: Bare) -> list[Command]:
    """Return the command that uninstalls Broadcom's software."""
    devices = [word for address in _addresses(bare, "bnxt_en") for word in ("-i", address)]
    return [Command(("bash", "./install.sh", "-v", "-U", *devices), _broadcom_folder(bare))]


def ofed_file(bare: Bare) -> str:
    """Return the file name of NVIDIA's OFED."""
    return f"MLNX_OFED_LINUX-{bare.version('mlnx-ofed') or '*'}-*.tgz"


def ofed_state(bare: Bare) -> State:
    """Return the state of NVIDIA's OFED, by ``ofed_info``."""
    answer = bare.machine.run("ofed_info", "-s") if bare.machine.has("ofed_info") else None
    match = re.search(r"(?:MLNX_OFED_LINUX|OFED-internal)-([\w.-]+?):?$", answer.out.strip()) if answer else None
    return versioned(match[1] if match else "", bare.version("mlnx-ofed"), "MLNX_OFED")


def ofed_commands(bare: Bare) -> list[Command]:
    """Return the commands that unpack NVIDIA's OFED and run its installer."""
    folder = f"{PREFIX}/vendor/{Path(bare.file(ofed_file(bare))).name.replace('.tgz', '')}"
    more = ("--add-kernel-support",) if bare.family == "rpm" else ("--dkms",)
    return [
        Command(("mkdir", "-p", f"{PREFIX}/vendor")),
        Command(("tar", "-xf", bare.file(ofed_file(bare)), "-C", f"{PREFIX}/vendor")),
        Command(("./mlnxofedinstall", "--force", "--without-fw-update", *more), folder),
    ]


def nvidia_firmware_state(bare: Bare) -> State:
    """Return ``done`` if all NICs of NVIDIA have the required firmware."""
    _addresses(bare, "mlx5_core")
    different = _firmware(bare, "mlx5_core")
    return State(TO_DO, "; ".join(different)) if different else State(DONE, "firmware")


def nvidia_images(bare: Bare) -> list[str]:
    """Return the file names of the required firmware images of NVIDIA's NICs."""
    required = bare.versions("nic_firmware")
    models = {nic.model for nic in bare.plan.nics if nic.driver == "mlx5_core"}
    releases = sorted({required[model] for model in models if model in required})
    return [f"fw-ConnectX*-rel-{release.replace('.', '_')}-*.bin" for release in releases]


def nvidia_firmware_commands(bare: Bare) -> list[Command]:
    """Return a command for each NIC of NVIDIA that writes its firmware."""
    tool = ("mlxfwmanager", "-u", "-y", "-D", bare.packages or "DIR")
    return [Command((*tool, "-d", address)) for address in _addresses(bare, "mlx5_core")]


def other_nics(bare: Bare) -> list[str]:
    """Return the drivers of planned NICs for which `setup` has no installer."""
    return sorted({nic.driver for nic in bare.plan.nics} - {"bnxt_en", "mlx5_core"})


def other_state(bare: Bare) -> State:
    """Return ``done`` if these drivers are loaded, otherwise ``not seen``."""
    drivers = other_nics(bare)
    absent = [driver for driver in drivers if not bare.machine.names(f"/sys/module/{driver}")]
    if not absent:
        return State(DONE, f"{', '.join(drivers)} loaded")
    return State(NOT_SEEN, f"{', '.join(absent)}: setup knows no installer of this driver; use the vendor's guide")


# Conflicts.


def _dkms_conflicts(bare: Bare) -> dict[str, list[str]]:
    """Return the DKMS modules that must not be beside netxtreme-peer-mem (Thor2 guide, section 2.2.2).

    The values are the kernels for which DKMS has installed each of them.
    """
    if not bare.has_nic("bnxt_en") or not bare.machine.has("dkms"):
        return {}
    modules: dict[str, list[str]] = {}
    for line in bare.machine.output("dkms", "status").splitlines():
        match = re.match(r"([\w-]+)(?:/|, )([^,:\s]+)(?:, ([^,:\s]+))?.*:\s*(\w+)", line)
        if match:
            kernels = modules.setdefault(f"{match[1]}/{match[2]}", [])
            kernels += [match[3]] if match[4] == "installed" and match[3] else []
    if not any(name.startswith("netxtreme-peer-mem/") for name in modules):
        return {}
    return {name: kernels for name, kernels in modules.items() if re.match(r"bnxt[-_](en|re)/", name)}


def _ofed_conflicts(bare: Bare) -> bool:
    """Return True if NVIDIA's OFED is on a server with only Broadcom NICs (Thor2 guide, section 5.1, question 7)."""
    only = bare.has_nic("bnxt_en") and not bare.has_nic("mlx5_core")
    return only and "ofed_uninstall.sh" in bare.machine.names("/usr/sbin")


def conflict_state(bare: Bare) -> State:
    """Return ``to do`` with each conflict of driver packages."""
    conflicts = [f"DKMS has {name} beside netxtreme-peer-mem" for name in _dkms_conflicts(bare)]
    conflicts += (
        ["NVIDIA's OFED is installed, with which Broadcom's RDMA driver does not load"] if _ofed_conflicts(bare) else []
    )
    return State(TO_DO, "; ".join(conflicts)) if conflicts else State(DONE, "no conflicting driver packages")


def conflict_commands(bare: Bare) -> list[Command]:
    """Return the commands that remove conflicting driver packages."""
    ofed = [Command(("/usr/sbin/ofed_uninstall.sh", "--force"))] if _ofed_conflicts(bare) else []
    return [*ofed, *(Command(("dkms", "remove", name, "--all")) for name in _dkms_conflicts(bare))]


def conflict_inverse(bare: Bare) -> list[Command]:
    """Return the commands that put removed DKMS modules back."""
    words = [
        again
        for name, kernels in _dkms_conflicts(bare).items()
        for again in ([("install", name, "-k", kernel) for kernel in kernels] or [("add", name)])
    ]
    return [Command(("sh", "-c", _ADD_DKMS, "sh", *again)) for again in words]


# Settings of the system.

MODULES_FILE = "/etc/modules-load.d/railweave-peer-memory.conf"
GRUB_FILE = "/etc/default/grub.d/grub-railweave.cfg"
WANTS = "/etc/systemd/system/multi-user.target.wants"
ACS_SCRIPT, ACS_UNIT = "/usr/local/sbin/acs-off.sh", "/etc/systemd/system/acs-off.service"


def peer_module(bare: Bare) -> str:
    """Return the kernel module through which NICs access the memory of the planned GPUs."""
    return "nvidia_peermem" if bare.gpu_vendor == "NVIDIA" else "ib_peer_mem"


def peer_memory_state(bare: Bare) -> State:
    """Return ``done`` if NICs can access GPU memory: through a loaded module, the kernel itself, or dma-buf."""
    module = peer_module(bare)
    if bare.machine.names(f"/sys/module/{module}"):
        return State(DONE, f"{module} is loaded")
    if bare.gpu_vendor == "NVIDIA" and "GPL" in bare.machine.run("modinfo", "-F", "license", "nvidia").out:
        return State(DONE, "NVIDIA's open kernel modules: NICs reach GPU memory by dma-buf")
    if "ib_uverbs" in _peer_memory_clients(bare.machine):
        return State(DONE, "the kernel's ib_uverbs has the peer memory interface")
    if bare.machine.text(MODULES_FILE) == module:
        return (
            State(DONE, module) if bare.image else State(TO_DO, f"{module} is loaded at the next start", restart=True)
        )
    return State(TO_DO, f"{module} is not loaded at start")


def _grub_words(bare: Bare) -> str:
    return " ".join(bare.plan.command_line)


def boot_state(bare: Bare) -> State:
    """Return the state of the planned kernel parameters: running, set for the next start, or absent."""
    wanted = bare.plan.command_line
    running = (bare.machine.text("/proc/cmdline") or "").split()
    if not bare.image and all(word in running for word in wanted):
        return State(DONE, " ".join(wanted))
    if bare.family == "apt":
        lines = [line.split() for line in (bare.machine.text("/boot/grub/grub.cfg") or "").splitlines()]
        kernels = [words for words in lines if words[:1] == ["linux"]]
        set_ = bool(kernels) and all(word in words for words in kernels for word in wanted)
    else:
        kernels = list(_grubby_kernels(bare).values())
        set_ = bool(kernels) and all(word in words for words in kernels for word in wanted)
    if set_:
        return State(DONE, " ".join(wanted)) if bare.image else State(TO_DO, "set for the next start", restart=True)
    return State(TO_DO, f"not set: {' '.join(word for word in wanted if word not in running)}")


def boot_commands(bare: Bare) -> list[Command]:
    """Return the command that sets the kernel parameters for the next start."""
    if bare.family == "apt":
        return [Command(("update-grub",))]
    return [Command(("grubby", "--update-kernel=ALL", f"--args={_grub_words(bare)}"))]


def boot_inverse(bare: Bare) -> list[Command]:
    """Return the commands that remove the kernel parameters that no kernel had, and put back the values that grubby replaces."""
    if bare.family == "apt":
        return [Command(("update-grub",))]
    commands: list[Command] = []
    for kernel, have in _grubby_kernels(bare).items():
        added = [word for word in bare.plan.command_line if word not in have]
        keys = {word.partition("=")[0] for word in added if "=" in word}
        former = [word for word in have if word.partition("=")[0] in keys]
        change = [f"--remove-args={' '.join(added)}"] if added else []
        change += [f"--args={' '.join(former)}"] if former else []
        commands += [Command(("grubby", f"--update-kernel={kernel}", word)) for word in change]
    return commands


def _grubby_kernels(bare: Bare) -> dict[str, list[str]]:
    """Return the parameters of each kernel that grubby knows, by the kernel's file."""
    kernels: dict[str, list[str]] = {}
    kernel = ""
    for line in bare.machine.output("grubby", "--info=ALL").splitlines():
        name, _, value = line.partition("=")
        if name == "kernel":
            kernel = value.strip('"')
        elif name == "args" and kernel:
            kernels[kernel] = value.strip('"').split()
    return kernels


def boot_writes(bare: Bare) -> Mapping[str, tuple[str, int]]:
    """Return the file with the kernel parameters for GRUB; empty on Red Hat, where grubby sets them."""
    if bare.family != "apt":
        return {}
    line = f'GRUB_CMDLINE_LINUX="${{GRUB_CMDLINE_LINUX:-}} {_grub_words(bare)}"\n'
    return {
        GRUB_FILE: (f"# Kernel command line of {bare.plan.plan.host}, written by railweave host setup.\n{line}", 0o644)
    }


def acs_texts(bare: Bare) -> dict[str, tuple[str, int]]:
    """Return the files that turn ACS off, from the folder of host.json or ``--from``; empty if neither has both."""
    folders = [bare.plan.plan.file.parent, *([Path(bare.packages)] if bare.packages else [])]
    for folder in folders:
        script, unit = folder / "acs-off.sh", folder / "acs-off.service"
        if script.is_file() and unit.is_file():
            return {
                ACS_SCRIPT: (script.read_text(encoding="utf-8"), 0o755),
                ACS_UNIT: (unit.read_text(encoding="utf-8"), 0o644),
            }
    return {}


def acs_state(bare: Bare) -> State:
    """Return ``done`` if the script and the service that turn ACS off are installed and enabled."""
    texts = acs_texts(bare)
    have = {path: bare.machine.text(path) for path in (ACS_SCRIPT, ACS_UNIT)}
    old = [path for path, text in have.items() if text is None or (texts and text != texts[path][0].strip())]
    if old:
        return State(TO_DO, f"absent or of another release: {', '.join(old)}")
    if "acs-off.service" not in bare.machine.names(WANTS):
        return State(TO_DO, "acs-off.service is not enabled")
    return State(DONE, "ACS is turned off at every start")


def acs_inverse(bare: Bare) -> list[Command]:
    """Return the command that disables the service, unless the server had it enabled before."""
    link = "acs-off.service"
    return [] if link in bare.machine.names(WANTS) else [Command(("rm", "-f", f"{WANTS}/{link}"))]


def acs_files(bare: Bare) -> Sequence[str]:
    """Return the names of the files that turn ACS off if neither folder has them; else nothing."""
    return () if acs_texts(bare) else ("acs-off.sh", "acs-off.service")
