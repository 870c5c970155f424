"""The steps of `setup`, from a bare machine to a server that can run jobs: the table ``STEPS``.

Source: Thor2 guide, sections 2.1, 2.2, 2.3 and 2.7 and chapter 8, and the vendors' installation guides.
``setup_parts`` and ``setup_devices`` have the functions that the steps use, and ``setup_run`` carries the steps out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Callable

from .setup_devices import (
    MODULES_FILE,
    acs_files,
    acs_inverse,
    acs_state,
    acs_texts,
    boot_commands,
    boot_inverse,
    boot_state,
    boot_writes,
    broadcom_commands,
    broadcom_file,
    broadcom_inverse,
    broadcom_state,
    conflict_commands,
    conflict_inverse,
    conflict_state,
    cuda_folder,
    cuda_state,
    had_module,
    had_ofed,
    had_rocm,
    left_if_had,
    module_state,
    nvidia_file,
    nvidia_firmware_commands,
    nvidia_firmware_state,
    nvidia_images,
    nvidia_options,
    nvswitch,
    ofed_commands,
    ofed_file,
    ofed_state,
    other_nics,
    other_state,
    peer_memory_state,
    peer_module,
    rocm_file,
    rocm_state,
    unless_had,
)
from .setup_parts import (
    IF_INSTALLED,
    PREFIX,
    TO_DO,
    Bare,
    Command,
    SetupStep,
    State,
    installed_state,
    kernel_packages,
    kernel_state,
    nccl_names,
    package_step,
    released_state,
    stays,
    tool_packages,
    versioned,
    wanted_driver,
    wanted_library,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# Programs built from source.


def _prefix(bare: Bare, name: str) -> str:
    return f"{PREFIX}/{name}-{_source_release(bare, name)}"


_SOURCES = {
    "perftest": "perftest",
    "ucx": "ucx",
    "open-mpi": "openmpi",
    "rccl-tests": "rccl-tests",
    "nccl-tests": "nccl-tests",
}
"""The name of each program in the file names of its releases."""


def _source_file(bare: Bare, name: str) -> str:
    return f"{_SOURCES[name]}-{bare.version(name) or '[0-9]*'}.tar.*"


def _source_release(bare: Bare, name: str) -> str:
    """Return the release of a source archive: the one that the design requires, or else the one in the archive's file name.

    ``bare`` is the server to set up.
    """
    if bare.version(name):
        return bare.version(name)
    file = Path(bare.file(_source_file(bare, name))).name
    match = re.match(rf"{_SOURCES[name]}-([0-9][\w.-]*?)\.tar\.", file)
    return match[1] if match else "RELEASE"


def _source_state(name: str, program: str) -> Callable[[Bare], State]:
    def state(bare: Bare) -> State:
        link = bare.machine.real(f"{PREFIX}/{name}")
        if link is None or program not in bare.machine.names(f"{PREFIX}/{name}/bin"):
            return State(TO_DO, f"{PREFIX}/{name} has no {program}")
        flag = {"AMD": "use_rocm", "NVIDIA": "use_cuda"}.get(bare.gpu_vendor, "")
        if name == "perftest" and flag not in bare.machine.run(f"{PREFIX}/perftest/bin/{program}", "--help").out:
            return State(TO_DO, f"{program} has no --{flag}: it was built without GPU memory")
        release = link.rpartition(f"/{name}-")[2]
        return versioned(release, bare.version(name), name)

    return state


def _built(name: str, *build: Callable[[Bare], tuple[str, ...]]) -> Callable[[Bare], list[Command]]:
    """Return a function that returns the commands of the build of the program ``name``. Each function in ``build`` returns one command.

    The commands unpack and build the source, install it into a staging folder, and rename this folder into place. If a build stops at any
    command, the final folder does not exist, so the next run starts the build again.
    """

    def commands(bare: Bare) -> list[Command]:
        work, prefix = f"{PREFIX}/build/{name}", _prefix(bare, name)
        return [
            Command(("rm", "-rf", work, prefix)),
            Command(("mkdir", "-p", f"{work}/source")),
            Command(
                ("tar", "-xf", bare.file(_source_file(bare, name)), "-C", f"{work}/source", "--strip-components=1")
            ),
            *(Command(step(bare), f"{work}/source") for step in build),
            Command(("mv", "-T", f"{work}/staging{prefix}", prefix)),
            Command(("ln", "-sfn", Path(prefix).name, f"{PREFIX}/{name}")),
            Command(("rm", "-rf", work)),
        ]

    return commands


def _unbuilt(name: str) -> Callable[[Bare], list[Command]]:
    return lambda bare: [Command(("rm", "-rf", f"{PREFIX}/{name}", _prefix(bare, name)))]


def _configure(
    name: str, script: str, amd: Sequence[str], nvidia: Sequence[str], *more: str
) -> Callable[[Bare], tuple[str, ...]]:
    def words(bare: Bare) -> tuple[str, ...]:
        gpu = {"AMD": amd, "NVIDIA": nvidia}.get(bare.gpu_vendor, ())
        return (script, f"--prefix={_prefix(bare, name)}", *gpu, *more)

    return words


def _make(_: Bare) -> tuple[str, ...]:
    return ("make", f"-j{os.cpu_count() or 1}")


def _make_install(name: str) -> Callable[[Bare], tuple[str, ...]]:
    return lambda _: ("make", f"DESTDIR={PREFIX}/build/{name}/staging", "install")


def _make_tests(bare: Bare) -> tuple[str, ...]:
    amd = ("HIP_HOME=/opt/rocm", "NCCL_HOME=/opt/rocm")
    gpu = amd if bare.gpu_vendor == "AMD" else ("CUDA_HOME=/usr/local/cuda",)
    return ("make", f"-j{os.cpu_count() or 1}", "MPI=1", f"MPI_HOME={PREFIX}/open-mpi", *gpu)


def _install_tests(name: str) -> Callable[[Bare], tuple[str, ...]]:
    def words(bare: Bare) -> tuple[str, ...]:
        target = f"{PREFIX}/build/{name}/staging{_prefix(bare, name)}/bin"
        return ("sh", "-c", 'mkdir -p "$1" && cp build/*_perf "$1"', "sh", target)

    return words


def _source_files(name: str) -> Callable[[Bare], Sequence[str]]:
    return lambda bare: (_source_file(bare, name),)


def _has_gpus(bare: Bare) -> bool:
    return bool(bare.gpu_vendor)


def _amd(bare: Bare) -> bool:
    return bare.gpu_vendor == "AMD"


def _nvidia(bare: Bare) -> bool:
    return bare.gpu_vendor == "NVIDIA"


_ROOTS = "real apt, dpkg and rpm in Debian 12 root folders; Ubuntu and Red Hat only by stand-ins of their names"
_STAND_IN = "only a stand-in of the vendor's installer"
_ROCM_INSTALL = ("target=/", "gpu-access=all", "postrocm", "rocm")

STEPS: tuple[SetupStep, ...] = (
    package_step(
        "kernel",
        ("the kernel that the design requires", "hosts.versions.kernel", _ROOTS),
        lambda bare: bool(bare.plan.versions.get("kernel")),
        kernel_packages,
        kernel_state,
        restart="at once",
    ),
    package_step(
        "distribution-packages",
        (
            "compilers, DKMS, kernel headers, RDMA libraries and tools of the distribution",
            "Thor2 guide, sections 2.7 and 8.3",
            _ROOTS,
        ),
        lambda _: True,
        tool_packages,
        installed_state,
    ),
    SetupStep(
        "conflicts",
        "removal of driver packages that keep others from working",
        "Thor2 guide, sections 2.2.2 and 5.1, question 7",
        "real dkms in Debian 12 root folders; " + _STAND_IN + " of OFED",
        lambda bare: bare.has_nic("bnxt_en"),
        conflict_state,
        conflict_commands,
        conflict_inverse,
        restart="at once",
        left=stays("NVIDIA's OFED, if it was there, stays uninstalled"),
    ),
    SetupStep(
        "amdgpu-driver",
        "the driver of AMD's GPUs",
        "Thor2 guide, section 2.1.1; ROCm Runfile Installer",
        _STAND_IN,
        _amd,
        lambda bare: module_state(bare, "amdgpu", wanted_driver(bare)),
        lambda bare: [Command(("bash", bare.file(rocm_file(bare)), "amdgpu"))],
        unless_had(
            had_module("amdgpu"), lambda bare: [Command(("bash", bare.file(rocm_file(bare)), "uninstall-amdgpu"))]
        ),
        lambda bare: (rocm_file(bare),),
        restart="at the end",
        left=left_if_had(had_module("amdgpu")),
    ),
    SetupStep(
        "rocm",
        "ROCm with RCCL",
        "Thor2 guide, section 2.1.1; ROCm Runfile Installer",
        _STAND_IN,
        _amd,
        rocm_state,
        lambda bare: [Command(("bash", bare.file(rocm_file(bare)), *_ROCM_INSTALL))],
        unless_had(
            had_rocm, lambda bare: [Command(("bash", bare.file(rocm_file(bare)), "target=/", "uninstall-rocm"))]
        ),
        lambda bare: (rocm_file(bare),),
        left=left_if_had(had_rocm),
    ),
    SetupStep(
        "nvidia-driver",
        "the driver of NVIDIA's GPUs, with its open kernel modules",
        "NVIDIA, driver README (nvidia-installer)",
        _STAND_IN,
        _nvidia,
        lambda bare: module_state(bare, "nvidia", wanted_driver(bare)),
        lambda bare: [Command(("sh", bare.file(nvidia_file(bare)), "--silent", "--dkms", *nvidia_options(bare)))],
        unless_had(
            had_module("nvidia"),
            lambda _: [Command(("sh", "-c", IF_INSTALLED, "sh", "nvidia-uninstall", "--silent"))],
        ),
        lambda bare: (nvidia_file(bare),),
        restart="at the end",
        left=left_if_had(had_module("nvidia")),
    ),
    package_step(
        "fabric-manager",
        (
            "Fabric Manager, without which GPUs behind NVSwitch do not start",
            "NVIDIA, Fabric Manager user guide",
            _STAND_IN,
        ),
        lambda bare: _nvidia(bare) and nvswitch(bare),
        lambda _: ["nvidia-fabricmanager"],
        released_state(wanted_driver),
        wanted_driver,
        restart="at the end",
    ),
    SetupStep(
        "cuda",
        "the CUDA toolkit",
        "NVIDIA, CUDA installation guide (runfile)",
        _STAND_IN,
        _nvidia,
        cuda_state,
        lambda bare: [
            Command(("sh", bare.file(f"cuda_{bare.version('cuda') or '*'}_*_linux.run"), "--silent", "--toolkit"))
        ],
        lambda bare: [
            Command(("sh", "-c", IF_INSTALLED, "sh", f"{cuda_folder(bare)}/bin/cuda-uninstaller", "--silent"))
        ],
        lambda bare: (f"cuda_{bare.version('cuda') or '*'}_*_linux.run",),
    ),
    package_step(
        "nccl",
        ("NCCL", "NVIDIA, NCCL installation guide", _STAND_IN),
        _nvidia,
        nccl_names,
        released_state(wanted_library),
        wanted_library,
    ),
    SetupStep(
        "broadcom-nic",
        "driver, RDMA driver, peer memory, QoS defaults and firmware of Broadcom's NICs, by the NIC wizard",
        "Thor2 guide, sections 2.2.1 and 2.2.1.4",
        _STAND_IN,
        lambda bare: bare.has_nic("bnxt_en"),
        broadcom_state,
        broadcom_commands,
        unless_had(had_module("bnxt_en", "bnxt_re"), broadcom_inverse),
        lambda bare: (broadcom_file(bare),),
        restart="at the end",
        left=left_if_had(had_module("bnxt_en", "bnxt_re"), "the firmware stays"),
    ),
    SetupStep(
        "mlnx-ofed",
        "driver and RDMA libraries of NVIDIA's NICs",
        "NVIDIA, MLNX_OFED user manual (mlnxofedinstall)",
        _STAND_IN,
        lambda bare: bare.has_nic("mlx5_core"),
        ofed_state,
        ofed_commands,
        unless_had(had_ofed, lambda _: [Command(("sh", "-c", IF_INSTALLED, "sh", "ofed_uninstall.sh", "--force"))]),
        lambda bare: (ofed_file(bare),),
        restart="at the end",
        left=left_if_had(had_ofed),
    ),
    SetupStep(
        "nvidia-nic-firmware",
        "firmware of NVIDIA's NICs",
        "NVIDIA, MFT user manual (mlxfwmanager)",
        _STAND_IN,
        lambda bare: bool(nvidia_images(bare)),
        nvidia_firmware_state,
        nvidia_firmware_commands,
        files=nvidia_images,
        restart="at the end",
        left=stays("the firmware stays"),
    ),
    SetupStep(
        "other-nics",
        "drivers of NICs whose installer setup does not know",
        "the vendors' guides",
        "nowhere",
        lambda bare: bool(other_nics(bare)),
        other_state,
    ),
    SetupStep(
        "peer-memory",
        "the module by which NICs reach GPU memory, at every start",
        "Thor2 guide, sections 2.2 and 5.1, question 3",
        "writing of the file; no GPU or NIC",
        _has_gpus,
        peer_memory_state,
        writes=lambda bare: {MODULES_FILE: (f"{peer_module(bare)}\n", 0o644)},
        restart="at the end",
    ),
    SetupStep(
        "boot-parameters",
        "parameters of the kernel's command line",
        "Thor2 guide, section 2.3",
        "a stand-in of update-grub and of grubby",
        lambda bare: bool(bare.plan.command_line),
        boot_state,
        boot_commands,
        boot_inverse,
        writes=boot_writes,
        restart="at the end",
    ),
    SetupStep(
        "acs",
        "PCIe access control services off at every start",
        "Thor2 guide, section 2.3 and appendix C",
        "the real systemctl enable in Debian 12 root folders; no PCIe switch",
        _has_gpus,
        acs_state,
        lambda _: [Command(("systemctl", "enable", "acs-off.service"))],
        acs_inverse,
        acs_files,
        acs_texts,
        restart="at the end",
    ),
    SetupStep(
        "perftest",
        "perftest with GPU memory",
        "Thor2 guide, section 2.7",
        "a stand-in source tree",
        lambda _: True,
        _source_state("perftest", "ib_write_bw"),
        _built(
            "perftest",
            lambda _: ("./autogen.sh",),
            _configure(
                "perftest",
                "./configure",
                ("--enable-rocm", "--with-rocm=/opt/rocm"),
                ("--enable-cudart", "CUDA_H_PATH=/usr/local/cuda/include/cuda.h"),
            ),
            _make,
            _make_install("perftest"),
        ),
        _unbuilt("perftest"),
        _source_files("perftest"),
    ),
    SetupStep(
        "ucx",
        "UCX",
        "Thor2 guide, section 8.2",
        "a stand-in source tree",
        _has_gpus,
        _source_state("ucx", "ucx_info"),
        _built(
            "ucx",
            _configure(
                "ucx",
                "./contrib/configure-release",
                ("--with-rocm=/opt/rocm",),
                ("--with-cuda=/usr/local/cuda",),
                "--with-rc",
                "--with-ud",
                "--with-dc",
                "--with-dm",
                "--with-ib-hw-tm",
            ),
            _make,
            _make_install("ucx"),
        ),
        _unbuilt("ucx"),
        _source_files("ucx"),
    ),
    SetupStep(
        "open-mpi",
        "Open MPI",
        "Thor2 guide, section 8.3",
        "a stand-in source tree",
        _has_gpus,
        _source_state("open-mpi", "mpirun"),
        _built(
            "open-mpi",
            _configure("open-mpi", "./configure", (), (), f"--with-ucx={PREFIX}/ucx", "--enable-mca-no-build=btl-uct"),
            _make,
            _make_install("open-mpi"),
        ),
        _unbuilt("open-mpi"),
        _source_files("open-mpi"),
    ),
    *(
        SetupStep(
            name,
            name,
            "Thor2 guide, section 8.4" if name == "rccl-tests" else "NVIDIA, nccl-tests README",
            "a stand-in source tree",
            applies,
            _source_state(name, "all_reduce_perf"),
            _built(name, _make_tests, _install_tests(name)),
            _unbuilt(name),
            _source_files(name),
        )
        for name, applies in (("rccl-tests", _amd), ("nccl-tests", _nvidia))
    ),
)
"""The steps in the order in which they run."""
