"""The states, commands and files of the `setup` steps for GPUs and NICs: drivers, firmware, driver conflicts, kernel settings.

Source: Thor2 guide, sections 2.1, 2.2, 2.3 and 2.7 and chapter 8, and the vendors' installation guides.
``setup_parts`` has the packages of the distribution, and the functions that all steps share.
"""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Callable

from .machine import CannotTellError
from .setup_parts import (
    ADD_DKMS,
    DONE,
    NOT_SEEN,
    PREFIX,
    TO_DO,
    Bare,
    Command,
    State,
    same_release,
    versioned,
    wanted_driver,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .machine import Machine

# GPUs.


def _module(bare: Bare, name: str) -> tuple[str, str]:
    """Return the file and the version of a kernel module. Both are empty if the module is not installed.

    The version is also empty if the module does not state one. ``bare`` is the server to set up.
    """
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
    """Return the state of a vendor's kernel module: ``done`` if the wanted version is installed and loaded, else ``to do``.

    ``bare`` is the server to set up.
    """
    file, version = _module(bare, module)
    if not _from_vendor(file) or not same_release(version or "unnumbered", wanted):
        seen = f"{version or 'the module of the kernel'} is" if file else "nothing is"
        return State(TO_DO, f"{module}: {seen} installed, wanted: {wanted or 'any release'} of the vendor")
    runs = bare.machine.text(f"/sys/module/{module}/version")
    if not bare.image and (runs is None or not same_release(runs or version, wanted)):
        return State(TO_DO, f"{module} {version} is installed, {runs or 'nothing'} is loaded", restart=True)
    return State(DONE, f"{module} {version}")


def had_module(*modules: str) -> Callable[[Bare], str]:
    """Return a function that lists, before a step, the vendor's kernel modules on the server with their versions.

    The vendor's modules are those in ``modules`` that are not part of the kernel's own modules. The function returns an empty
    text if there are none.
    """

    def had(bare: Bare) -> str:
        installed = {module: _module(bare, module) for module in modules}
        return ", ".join(
            f"{name} {version}".strip() for name, (file, version) in installed.items() if _from_vendor(file)
        )

    return had


def unless_had(
    had: Callable[[Bare], str], inverse: Callable[[Bare], Sequence[Command]]
) -> Callable[[Bare], Sequence[Command]]:
    """Return the undo function of a step whose installer replaces an earlier release. If the server had one, nothing is undone.

    ``had`` returns the earlier release; ``inverse`` returns the commands that uninstall the new release. Uninstalling it would
    leave the server without the driver that it had.
    """
    return lambda bare: () if had(bare) else inverse(bare)


def left_if_had(had: Callable[[Bare], str], always: str = "") -> Callable[[Bare], str]:
    """Return a function that describes what stays on the server after `undo --setup`.

    ``had`` returns the earlier release, if any; then the new release stays (``unless_had``). ``always`` describes what stays
    in any case.
    """

    def left(bare: Bare) -> str:
        release = had(bare)
        kept = f"{release}: the server had it before; the new release stays" if release else ""
        return "; ".join(filter(None, [kept, always]))

    return left


def had_rocm(bare: Bare) -> str:
    """Return the release of ROCm that is on the server before `setup` installs ROCm, such as ``ROCm 7.1.0``; empty if there is none.

    ``bare`` is the server to set up.
    """
    version = bare.machine.text("/opt/rocm/.info/version")
    return f"ROCm {version}" if version else ""


def had_ofed(bare: Bare) -> str:
    """Return the release of MLNX_OFED that is on the server before `setup` installs MLNX_OFED; empty if there is none.

    ``bare`` is the server to set up.
    """
    return bare.machine.run("ofed_info", "-s").out.strip(" :\n") if bare.machine.has("ofed_info") else ""


def rocm_file(bare: Bare) -> str:
    """Return the file name of the ROCm installer. In the name, release 7.1.0 is written as 70100. ``bare`` is the server to set up."""
    numbers = [part for part in bare.version("rocm").split(".") if part.isdigit()]
    if not numbers:
        return "rocm-installer_*.run"
    return (
        f"rocm-installer_*.{int(numbers[0])}{''.join(f'{int(part):02}' for part in [*numbers[1:], '0', '0'][:2])}-*.run"
    )


def rocm_state(bare: Bare) -> State:
    """Return the state of ROCm, taken from the version file that its installer writes. ``bare`` is the server to set up."""
    version = (bare.machine.text("/opt/rocm/.info/version") or "").partition("-")[0]
    return versioned(version, bare.version("rocm"), "ROCm")


def nvidia_file(bare: Bare) -> str:
    """Return the file name of NVIDIA's driver installer, with ``*`` for the release if the design requires none.

    ``bare`` is the server to set up.
    """
    return f"NVIDIA-Linux-{platform.machine()}-{wanted_driver(bare) or '*'}.run"


def nvidia_options(bare: Bare) -> tuple[str, ...]:
    """Return the options of NVIDIA's driver installer. In an image, the kernel must be named. ``bare`` is the server to set up."""
    return ("--kernel-module-type=open", *((f"--kernel-name={bare.kernel}",) if bare.image else ()))


def cuda_folder(bare: Bare) -> str:
    """Return the folder of the CUDA release. ``bare`` is the server to set up."""
    number = ".".join(bare.version("cuda").split(".")[:2])
    return f"/usr/local/cuda-{number}" if number else "/usr/local/cuda"


def cuda_state(bare: Bare) -> State:
    """Return ``done`` if CUDA is completely installed, else ``to do``. ``bare`` is the server to set up.

    CUDA is completely installed if the folder of the required release has the compiler, and either has the uninstaller or belongs to a
    package.
    """
    compiler = f"{cuda_folder(bare)}/bin/nvcc"
    tools = bare.machine.names(f"{cuda_folder(bare)}/bin")
    there = {"nvcc", "cuda-uninstaller"} <= set(tools)
    owner = ("dpkg-query", "-S") if bare.family == "apt" else ("rpm", "-qf")
    if "nvcc" in tools and not there and bare.machine.run(*owner, compiler).code == 0:
        return State(DONE, f"{cuda_folder(bare)}, from a package")
    return State(DONE, cuda_folder(bare)) if there else State(TO_DO, f"{cuda_folder(bare)} has no nvcc")


def nvswitch(bare: Bare) -> bool:
    """Return True if an NVSwitch is on the PCI bus. ``bare`` is the server to set up."""
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
    """Return the PCI addresses of the planned NICs that use ``driver``. Raises CannotTellError if these NICs are not on the PCI bus.

    On a bare machine, no driver is loaded yet that names the interfaces. Broadcom's NICs are then found on the PCI bus
    by their device numbers.
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
    """Return a sentence for each planned NIC of ``driver`` that has a different firmware version than required.

    ``bare`` is the server to set up.
    """
    required = bare.versions("nic_firmware")
    different: list[str] = []
    for nic in bare.plan.nics:
        wanted = required.get(nic.model, "") if nic.driver == driver else ""
        if wanted:
            match = re.search(
                r"^firmware-version: (.*)$", bare.machine.output("ethtool", "-i", nic.netdev), re.MULTILINE
            )
            installed = match[1].strip() if match else ""
            if not same_release(installed, wanted) and wanted not in re.split(r"[/\s]", installed):
                different.append(f"{nic.netdev} has {installed or 'no known firmware'}, wanted {wanted}")
    return different


def _peer_memory_clients(machine: Machine) -> set[str]:
    """Return the loaded modules with the peer memory interface (Thor2 guide, section 5.1, question 3)."""
    text = machine.run("grep", "-w", "ib_register_peer_memory_client", "/proc/kallsyms").out
    return set(re.findall(r"ib_register_peer_memory_client\s+\[(\w+)\]", text))


def broadcom_state(bare: Bare) -> State:
    """Return the state of Broadcom's software: ``done``, or ``to do`` with the first part that is missing or has a wrong version.

    The parts are the two kernel modules, the module for peer memory (only with AMD GPUs), and the NICs' firmware. ``bare`` is the server to
    set up.
    """
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
    """Return the folder of the installer inside the unpacked release. Release 237 renamed it (Thor2 guide, section 2.2.1).

    ``bare`` is the server to set up.
    """
    name = Path(bare.file(broadcom_file(bare))).name
    release = re.match(r"bcm_(\d+)", name)
    tool = "linux_installer" if release and int(release[1]) < 237 else "nic_wizard"
    return f"{PREFIX}/vendor/{name.replace('.tar.gz', '')}/utils/{tool}"


def broadcom_file(bare: Bare) -> str:
    """Return the file name of Broadcom's release, with ``*`` for the number of the release if the design requires none.

    ``bare`` is the server to set up.
    """
    return f"bcm_{bare.version('broadcom-nic') or '*'}.tar.gz"


def _broadcom_qos(bare: Bare) -> list[str]:
    """Return the installer's options for congestion control.

    The result is empty if the fabrics of the NICs have different settings, because the installer accepts only one. ``bare`` is the server
    to set up.
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
    """Return the commands that unpack Broadcom's release and run its installer for all planned NICs. ``bare`` is the server to set up."""
    devices = [word for address in _addresses(bare, "bnxt_en") for word in ("-i", address)]
    return [
        Command(("mkdir", "-p", f"{PREFIX}/vendor")),
        Command(("tar", "-xf", bare.file(broadcom_file(bare)), "-C", f"{PREFIX}/vendor")),
        Command(("bash", "./install.sh", "-v", *devices, "-f", "-g", *_broadcom_qos(bare)), _broadcom_folder(bare)),
    ]


def broadcom_inverse(bare: Bare) -> list[Command]:
    """Return the command that uninstalls Broadcom's software. ``bare`` is the server to set up."""
    devices = [word for address in _addresses(bare, "bnxt_en") for word in ("-i", address)]
    return [Command(("bash", "./install.sh", "-v", "-U", *devices), _broadcom_folder(bare))]


def ofed_file(bare: Bare) -> str:
    """Return a pattern of the file name of NVIDIA's OFED, with ``*`` for the release if the design requires none.

    ``bare`` is the server to set up.
    """
    return f"MLNX_OFED_LINUX-{bare.version('mlnx-ofed') or '*'}-*.tgz"


def ofed_state(bare: Bare) -> State:
    """Return the state of NVIDIA's OFED, by ``ofed_info``. ``bare`` is the server to set up."""
    answer = bare.machine.run("ofed_info", "-s") if bare.machine.has("ofed_info") else None
    match = re.search(r"(?:MLNX_OFED_LINUX|OFED-internal)-([\w.-]+?):?$", answer.out.strip()) if answer else None
    return versioned(match[1] if match else "", bare.version("mlnx-ofed"), "MLNX_OFED")


def ofed_commands(bare: Bare) -> list[Command]:
    """Return the commands that unpack NVIDIA's OFED and run its installer. ``bare`` is the server to set up."""
    folder = f"{PREFIX}/vendor/{Path(bare.file(ofed_file(bare))).name.replace('.tgz', '')}"
    more = ("--add-kernel-support",) if bare.family == "rpm" else ("--dkms",)
    return [
        Command(("mkdir", "-p", f"{PREFIX}/vendor")),
        Command(("tar", "-xf", bare.file(ofed_file(bare)), "-C", f"{PREFIX}/vendor")),
        Command(("./mlnxofedinstall", "--force", "--without-fw-update", *more), folder),
    ]


def nvidia_firmware_state(bare: Bare) -> State:
    """Return ``done`` if all NICs of NVIDIA have the required firmware, otherwise ``to do`` with the NICs that differ.

    ``bare`` is the server to set up.
    """
    _addresses(bare, "mlx5_core")
    different = _firmware(bare, "mlx5_core")
    return State(TO_DO, "; ".join(different)) if different else State(DONE, "firmware")


def nvidia_images(bare: Bare) -> list[str]:
    """Return the file names of the required firmware images of NVIDIA's NICs. ``bare`` is the server to set up."""
    required = bare.versions("nic_firmware")
    models = {nic.model for nic in bare.plan.nics if nic.driver == "mlx5_core"}
    releases = sorted({required[model] for model in models if model in required})
    return [f"fw-ConnectX*-rel-{release.replace('.', '_')}-*.bin" for release in releases]


def nvidia_firmware_commands(bare: Bare) -> list[Command]:
    """Return a command for each NIC of NVIDIA that writes its firmware. ``bare`` is the server to set up."""
    tool = ("mlxfwmanager", "-u", "-y", "-D", bare.packages or "DIR")
    return [Command((*tool, "-d", address)) for address in _addresses(bare, "mlx5_core")]


def other_nics(bare: Bare) -> list[str]:
    """Return the drivers of planned NICs for which `setup` has no installer. ``bare`` is the server to set up."""
    return sorted({nic.driver for nic in bare.plan.nics} - {"bnxt_en", "mlx5_core"})


def other_state(bare: Bare) -> State:
    """Return ``done`` if the drivers without an installer in `setup` are loaded, otherwise ``not seen``.

    ``bare`` is the server to set up.
    """
    drivers = other_nics(bare)
    absent = [driver for driver in drivers if not bare.machine.names(f"/sys/module/{driver}")]
    if not absent:
        return State(DONE, f"{', '.join(drivers)} loaded")
    return State(NOT_SEEN, f"{', '.join(absent)}: setup knows no installer of this driver; use the vendor's guide")


# Conflicts.


def _dkms_conflicts(bare: Bare) -> dict[str, list[str]]:
    """Return the DKMS modules that must not be installed together with netxtreme-peer-mem (Thor2 guide, section 2.2.2).

    Each key is a module and its version, such as ``bnxt_en/1.10``. Its value lists the kernels for which DKMS has installed the module.
    ``bare`` is the server to set up.
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
    """Return True if NVIDIA's OFED is on a server with only Broadcom NICs (Thor2 guide, section 5.1, question 7).

    ``bare`` is the server to set up.
    """
    only = bare.has_nic("bnxt_en") and not bare.has_nic("mlx5_core")
    return only and "ofed_uninstall.sh" in bare.machine.names("/usr/sbin")


def conflict_state(bare: Bare) -> State:
    """Return ``to do`` with the conflicts of driver packages, or ``done`` if there are none. ``bare`` is the server to set up."""
    conflicts = [f"DKMS has {name} beside netxtreme-peer-mem" for name in _dkms_conflicts(bare)]
    conflicts += (
        ["NVIDIA's OFED is installed, with which Broadcom's RDMA driver does not load"] if _ofed_conflicts(bare) else []
    )
    return State(TO_DO, "; ".join(conflicts)) if conflicts else State(DONE, "no conflicting driver packages")


def conflict_commands(bare: Bare) -> list[Command]:
    """Return the commands that remove conflicting driver packages. ``bare`` is the server to set up."""
    ofed = [Command(("/usr/sbin/ofed_uninstall.sh", "--force"))] if _ofed_conflicts(bare) else []
    return [*ofed, *(Command(("dkms", "remove", name, "--all")) for name in _dkms_conflicts(bare))]


def conflict_inverse(bare: Bare) -> list[Command]:
    """Return the commands that install the removed DKMS modules again. ``bare`` is the server to set up."""
    words = [
        again
        for name, kernels in _dkms_conflicts(bare).items()
        for again in ([("install", name, "-k", kernel) for kernel in kernels] or [("add", name)])
    ]
    return [Command(("sh", "-c", ADD_DKMS, "sh", *again)) for again in words]


# Settings of the system.

MODULES_FILE = "/etc/modules-load.d/railweave-peer-memory.conf"
GRUB_FILE = "/etc/default/grub.d/grub-railweave.cfg"
WANTS = "/etc/systemd/system/multi-user.target.wants"
ACS_SCRIPT, ACS_UNIT = "/usr/local/sbin/acs-off.sh", "/etc/systemd/system/acs-off.service"


def peer_module(bare: Bare) -> str:
    """Return the kernel module through which NICs access the memory of the planned GPUs. ``bare`` is the server to set up."""
    return "nvidia_peermem" if bare.gpu_vendor == "NVIDIA" else "ib_peer_mem"


def peer_memory_state(bare: Bare) -> State:
    """Return ``done`` if NICs can access GPU memory, through a loaded module, the kernel itself, or dma-buf; otherwise ``to do``.

    ``bare`` is the server to set up.
    """
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
    """Return the state of the planned kernel parameters: ``done`` if they are in effect, otherwise ``to do``.

    If they are already set for the next start, only a restart is left to do. In an image, this counts as ``done``. ``bare`` is the server
    to set up.
    """
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
    """Return the command that sets the planned kernel parameters for the next start. ``bare`` is the server to set up."""
    if bare.family == "apt":
        return [Command(("update-grub",))]
    return [Command(("grubby", "--update-kernel=ALL", f"--args={_grub_words(bare)}"))]


def boot_inverse(bare: Bare) -> list[Command]:
    """Return the commands that remove the kernel parameters that `setup` added, and restore the values that grubby replaced.

    ``bare`` is the server to set up.
    """
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
    """Return the parameters of each kernel that grubby lists, by the kernel's file. ``bare`` is the server to set up."""
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
    """Return the GRUB file with the kernel parameters: text and mode by path. Empty on Red Hat, where grubby sets them.

    ``bare`` is the server to set up.
    """
    if bare.family != "apt":
        return {}
    line = f'GRUB_CMDLINE_LINUX="${{GRUB_CMDLINE_LINUX:-}} {_grub_words(bare)}"\n'
    return {
        GRUB_FILE: (f"# Kernel command line of {bare.plan.plan.host}, written by railweave host setup.\n{line}", 0o644)
    }


def acs_texts(bare: Bare) -> dict[str, tuple[str, int]]:
    """Return the script and the service that turn ACS off, as text and mode by path of installation.

    They come from the folder of host.json or of ``--from``. The result is empty if neither folder has both files. ``bare`` is the server to
    set up.
    """
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
    """Return ``done`` if the script and the service that turn ACS off are installed and the service is enabled, otherwise ``to do``.

    ``bare`` is the server to set up.
    """
    texts = acs_texts(bare)
    have = {path: bare.machine.text(path) for path in (ACS_SCRIPT, ACS_UNIT)}
    old = [path for path, text in have.items() if text is None or (texts and text != texts[path][0].strip())]
    if old:
        return State(TO_DO, f"absent or of another release: {', '.join(old)}")
    if "acs-off.service" not in bare.machine.names(WANTS):
        return State(TO_DO, "acs-off.service is not enabled")
    return State(DONE, "ACS is turned off at every start")


def acs_inverse(bare: Bare) -> list[Command]:
    """Return the command with which `undo --setup` disables ``acs-off.service``, the service that turns ACS off.

    The result is empty if that service is already enabled before the step runs. ``bare`` is the server to set up.
    """
    link = "acs-off.service"
    return [] if link in bare.machine.names(WANTS) else [Command(("rm", "-f", f"{WANTS}/{link}"))]


def acs_files(bare: Bare) -> Sequence[str]:
    """Return the names of the files that the operator must supply: ``acs-off.sh`` and ``acs-off.service``, unless ``acs_texts`` finds both.

    ``bare`` is the server to set up.
    """
    return () if acs_texts(bare) else ("acs-off.sh", "acs-off.service")
