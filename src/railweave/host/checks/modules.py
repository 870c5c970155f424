"""Checks of the kernel modules of NICs and RDMA: their origin, their version, and that only one module provides peer memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError
from .outcome import failed, failed_or_ok, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server

_STACKS = {"mlx5_core": ("mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs"), "bnxt_en": ("bnxt_en", "bnxt_re")}
"""The kernel modules of each driver. All modules of a driver must come from the same build."""


def stacks(server: Server) -> list[tuple[str, ...]]:
    """Return the modules of the planned NICs: one tuple for each driver in ``_STACKS``."""
    drivers = dict.fromkeys(nic.driver for nic in server.nics)
    return [_STACKS[driver] for driver in drivers if driver in _STACKS]


def _unknown(server: Server) -> str:
    return "" if stacks(server) else "no planned NIC is of a family whose modules are known"


def _origin(server: Server, module: str) -> str:
    """Return the origin of a module: ``kernel``, ``added`` if it comes from a package or DKMS, or an empty string if it is absent."""
    answer = server.machine.run("modinfo", "-F", "filename", module)
    file = answer.out.strip()
    if answer.code or not file:
        return ""
    return "kernel" if "/kernel/" in file.split("/lib/modules/")[-1] or file == "(builtin)" else "added"


@of_server(
    "driver-loaded",
    rule="The kernel modules of NICs and RDMA are loaded.",
    why="Without the RDMA module there is no RDMA device, and NCCL uses TCP without a message.",
    how="/sys/module",
    source="Thor2 guide, section 2.6, check 1",
    unless=_unknown,
)
def loaded(server: Server) -> Iterator[Outcome]:
    """Check that each module of the planned NICs' drivers is loaded."""
    families = stacks(server)
    for module in (module for stack in families for module in stack):
        if server.machine.names(f"/sys/module/{module}"):
            yield ok("loaded", module)
        else:
            yield failed("not loaded", "loaded", "the driver of the planned NICs", f"sudo modprobe {module}", module)


@of_server(
    "driver-origin",
    rule="The kernel modules of NICs and RDMA come from one build: all from the kernel, or all from the vendor's "
    "package.",
    why="Modules of different builds have incompatible symbols: devices disappear, or GPU memory cannot be registered.",
    how="modinfo -F filename MODULE; ofed_info -s",
    source="Thor2 guide, section 5.1, questions 6 and 7",
    unless=_unknown,
)
def origin(server: Server) -> Iterator[Outcome]:
    """Check that all kernel modules of a driver have the same origin: the kernel, or an added package or DKMS."""
    families = stacks(server)
    for stack in families:
        origins = {module: _origin(server, module) for module in stack}
        there = {module: source for module, source in origins.items() if source}
        if not there:
            raise CannotTellError(f"modinfo knows none of {', '.join(stack)}")
        if len(set(there.values())) > 1:
            seen = ", ".join(f"{module}: {source}" for module, source in there.items())
            remedy = "install one of the two alone, then sudo update-initramfs -u (dracut -f) and reboot"
            yield failed(seen, "all of one build", "Thor2 guide, section 2.6, check 1", remedy, stack[0])
        else:
            yield ok(
                f"{', '.join(there)}: all {'with the kernel' if 'kernel' in there.values() else 'of a package'}",
                stack[0],
            )
    if all(stack[0] == "bnxt_en" for stack in families):
        answer = server.machine.run("ofed_info", "-s") if server.machine.has("ofed_info") else None
        if answer is not None and not answer.code:
            remedy = "sudo ofed_uninstall.sh, then install Broadcom's package again"
            yield failed(
                answer.out.strip(),
                "no NVIDIA OFED beside Broadcom NICs",
                "Thor2 guide, section 5.1, question 7",
                remedy,
                "OFED",
            )


@of_server(
    "driver-current",
    rule="The running kernel module is the installed one.",
    why="After an update without a reboot, or with an old initramfs, the old driver runs, and the version of the "
    "installed package is misleading.",
    how="/sys/module/MODULE/srcversion; modinfo -F srcversion MODULE",
    source="modinfo(8)",
    unless=_unknown,
)
def current(server: Server) -> Iterator[Outcome]:
    """Check that the loaded driver has the version of the installed driver."""
    families = stacks(server)
    for module in (stack[0] for stack in families):
        runs = server.machine.text(f"/sys/module/{module}/srcversion")
        installed = server.machine.output("modinfo", "-F", "srcversion", module).strip()
        if not runs or not installed:
            raise CannotTellError(f"{module} has no srcversion")
        if runs == installed:
            yield ok(runs, module)
        else:
            remedy = "sudo update-initramfs -u (or dracut -f), then reboot"
            yield warning(f"{runs} runs, {installed} is installed", "the same", "this server", remedy, module)


@of_server(
    "peer-memory-once",
    rule="The kernel has one peer memory interface, not two.",
    why="GPU drivers register with one of the two; NIC drivers that use the other one copy data through host memory.",
    how="grep -w ib_register_peer_memory_client /proc/kallsyms; dkms status",
    source="Thor2 guide, section 5.1, question 3, and its installation notes (netxtreme-peer-mem)",
)
def peer_memory_once(server: Server) -> Iterator[Outcome]:
    """Check that only one kernel module provides the peer memory interface (NIC access to GPU memory).

    Also check that no conflicting packages are installed.
    """
    answer = server.machine.run("grep", "-w", "ib_register_peer_memory_client", "/proc/kallsyms")
    owners = sorted(set(re.findall(r"ib_register_peer_memory_client\s+\[(\w+)\]", answer.out)))
    wrong: list[str] = []
    if len(owners) > 1:
        wrong.append(f"the symbol is in {' and '.join(owners)}")
    if server.machine.has("dkms"):
        packages = {
            line.split("/")[0].split(",")[0].strip() for line in server.machine.output("dkms", "status").splitlines()
        }
        both = sorted(packages & {"bnxt_en", "bnxt_re", "bnxt-en", "bnxt-re"})
        if "netxtreme-peer-mem" in packages and both:
            wrong.append(f"DKMS has netxtreme-peer-mem beside {' and '.join(both)}")
    remedy = "remove the package that is not wanted (dkms remove NAME/VERSION --all), then reboot"
    yield failed_or_ok(
        wrong,
        f"in {owners[0]}" if owners else "no module has one: GPU memory goes by dma-buf, or not at all",
        "one of them",
        "Thor2 guide, section 5.1, question 3",
        remedy,
    )


@of_server(
    "driver-dkms",
    rule="What DKMS builds is built and installed for the kernel that runs.",
    why="After an update of the kernel the vendor's modules are missing, or the kernel's own are loaded in their place.",
    how="dkms status; /proc/sys/kernel/osrelease",
    source="dkms(8)",
    unless=lambda server: "" if server.machine.has("dkms") else "DKMS is not installed",
)
def dkms(server: Server) -> Iterator[Outcome]:
    """Check that each DKMS package is installed for the running kernel."""
    release = server.machine.text("/proc/sys/kernel/osrelease")
    if not release:
        raise CannotTellError("the kernel shows no release")
    kernels: dict[str, set[str]] = {}
    for line in server.machine.output("dkms", "status").splitlines():
        match = re.match(r"([\w.+-]+)[/,] ?([\w.+~-]+)(?:, ([^,]+), [^:]+)?: (.+)$", line.strip())
        if match:
            there = kernels.setdefault(match[1], set())
            if match[3] and match[4].startswith("installed"):
                there.add(match[3])
    if not kernels:
        yield ok("it has no package")
        return
    for name, built in kernels.items():
        if release in built:
            yield ok(f"installed for {release}", name)
        else:
            seen = f"installed for {', '.join(sorted(built))} only" if built else "installed for no kernel"
            remedy = f"sudo apt install linux-headers-{release} (or kernel-devel), sudo dkms autoinstall, then reboot"
            yield failed(seen, f"installed for {release}, which runs", "this server", remedy, name)
