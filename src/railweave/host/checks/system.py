"""The system: kernel parameters, CPUs and memory, limits of jobs, time, disk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError
from . import reading
from .outcome import failed, not_applicable, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server

_CPU = "/sys/devices/system/cpu"


@of_server(
    "system-kernel",
    what="The kernel is the one that the fabric file asks for.",
    why="Drivers are built for one kernel; after an unattended update they may be missing.",
    how="/proc/sys/kernel/osrelease",
    source="fabric file, hosts.versions.kernel",
)
def kernel(server: Server) -> Iterator[Outcome]:
    """Compare the release."""
    now, wanted = server.machine.text("/proc/sys/kernel/osrelease") or "", str(server.versions.get("kernel") or "")
    if not wanted:
        yield not_applicable(f"the fabric file asks for none; {now} runs")
    elif now == wanted:
        yield ok(now)
    else:
        yield failed(now, wanted, "host.json versions.kernel", f"boot {wanted}, and hold the package")


@of_server(
    "system-command-line",
    what="The kernel was started with the planned parameters.",
    why="They decide about the IOMMU and about PCI, and hold only from the next boot.",
    how="/proc/cmdline",
    source="Thor2 guide, section 2.3.2; host.json kernel_command_line",
)
def command_line(server: Server) -> Iterator[Outcome]:
    """Look for each word."""
    if not server.command_line:
        yield not_applicable("none is planned")
        return
    words = (server.machine.text("/proc/cmdline") or "").split()
    missing = [one for one in server.command_line if one not in words]
    if missing:
        remedy = "sudo install grub-railweave.cfg /etc/default/grub.d/ && sudo update-grub, then reboot"
        yield failed(
            f"without {' '.join(missing)}", " ".join(server.command_line), "host.json kernel_command_line", remedy
        )
    else:
        yield ok(" ".join(server.command_line))


@of_server(
    "system-sysctl",
    what="Kernel parameters have the planned values.",
    why="kernel.numa_balancing above all: the kernel moves pages that NICs write to.",
    how="/proc/sys",
    source="Thor2 guide, section 2.6, check 17; host.json sysctl",
)
def sysctl(server: Server) -> Iterator[Outcome]:
    """Compare each value."""
    if not server.sysctl:
        yield not_applicable("none is planned")
    for name, wanted in server.sysctl.items():
        now = server.machine.text("/proc/sys/" + name.replace(".", "/"))
        if now is None:
            yield warning(
                "this kernel has none", wanted, f"host.json sysctl.{name}", "see the kernel's configuration", name
            )
        elif now.split() == str(wanted).split():
            yield ok(now, name)
        else:
            remedy = f"sudo sysctl -w {name}={wanted}; install sysctl.conf so that it stays"
            yield failed(now, wanted, f"host.json sysctl.{name}", remedy, name)


@of_server(
    "system-memlock",
    what="Programs may pin as much memory as they like.",
    why="RDMA pins its buffers: with a limit, registration fails or falls back.",
    how="/proc/self/limits",
    source="Thor2 guide, section 2.3 (limits.conf); Slurm, FAQ on memory limits",
)
def memlock(server: Server) -> Iterator[Outcome]:
    """Read the limit that this program was started with."""
    found = re.search(r"Max locked memory\s+(\S+)", server.machine.text("/proc/self/limits") or "")
    if not found:
        raise CannotTellError("the kernel shows no limit of locked memory")
    if found[1] == "unlimited":
        yield ok("unlimited")
    else:
        remedy = (
            "install limits.conf of this server; for services LimitMEMLOCK=infinity (slurmd too), then log in again"
        )
        yield failed(f"{found[1]} bytes", "unlimited", "Thor2 guide, section 2.3", remedy)


@of_server(
    "system-open-files",
    what="Programs may open 65,536 files or more.",
    why="A job of many ranks has a socket and a queue pair for each peer.",
    how="/proc/self/limits",
    source="NCCL, troubleshooting (open files)",
)
def open_files(server: Server) -> Iterator[Outcome]:
    """Read the hard limit, which a launcher can raise to."""
    found = re.search(r"Max open files\s+\S+\s+(\S+)", server.machine.text("/proc/self/limits") or "")
    if not found:
        raise CannotTellError("the kernel shows no limit of open files")
    if found[1] == "unlimited" or int(found[1]) >= 65536:
        yield ok(found[1])
    else:
        yield warning(
            found[1], "65536", "NCCL, troubleshooting", "install limits.conf of this server; LimitNOFILE for services"
        )


@of_server(
    "system-shared-memory",
    what="Shared memory (/dev/shm) holds gigabytes.",
    why="Ranks of one server exchange data by it; containers often have 64 MB.",
    how="/proc/self/mounts; /proc/meminfo",
    source="NCCL, troubleshooting (shared memory)",
)
def shared_memory(server: Server) -> Iterator[Outcome]:
    """Read the size of the mount."""
    mounts = server.machine.text("/proc/self/mounts") or ""
    found = re.search(r"^\S+ /dev/shm tmpfs (\S+)", mounts, re.MULTILINE)
    if not found:
        yield warning(
            "no tmpfs on /dev/shm", "one", "NCCL, troubleshooting", "mount it, or give the container --ipc=host"
        )
        return
    size = re.search(r"\bsize=(\d+)k", found[1])
    if size and int(size[1]) < 1 << 20:
        yield warning(
            f"{int(size[1]) // 1024} MiB",
            "1 GiB or more",
            "NCCL, troubleshooting",
            "docker run --shm-size=16g, or --ipc=host",
        )
    else:
        yield ok(f"{int(size[1]) >> 20} GiB" if size else "half of the memory")


@of_server(
    "system-governor",
    what="CPUs run at their full clock (governor performance).",
    why="Proxy threads that sleep and wake pay for each step of the clock.",
    how="/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    source="OCI GPU images; AMD, MI300X system optimization",
)
def governor(server: Server) -> Iterator[Outcome]:
    """Look at all CPUs."""
    machine = server.machine
    cpus = [one for one in machine.names(_CPU) if re.fullmatch(r"cpu\d+", one)]
    have: dict[str, int] = {}
    for one in cpus:
        value = machine.text(f"{_CPU}/{one}/cpufreq/scaling_governor")
        if value:
            have[value] = have.get(value, 0) + 1
    if not have:
        yield not_applicable("the kernel does not set clocks here (firmware or hypervisor does)")
    elif set(have) == {"performance"}:
        yield ok("performance")
    else:
        seen = ", ".join(f"{count} {name}" for name, count in sorted(have.items()))
        yield warning(seen, "performance", "OCI GPU images", "sudo cpupower frequency-set -g performance")


@of_server(
    "system-idle-states",
    what="CPUs do not fall into deep sleep (C2 and deeper).",
    why="To wake takes tens of microseconds, as long as a small collective.",
    how="/sys/devices/system/cpu/cpu0/cpuidle/state*/{name,latency,disable}",
    source="AMD, MI300X system optimization (cpupower idle-set -d 2)",
)
def idle_states(server: Server) -> Iterator[Outcome]:
    """Look at the first CPU: all are set alike."""
    machine, folder = server.machine, f"{_CPU}/cpu0/cpuidle"
    states = machine.names(folder)
    if not states:
        yield not_applicable("the kernel sets no idle states here")
        return
    deep: list[str] = []
    for one in states:
        latency, disabled = (machine.number(f"{folder}/{one}/{name}") for name in ("latency", "disable"))
        if latency is not None and latency >= 50 and not disabled:
            deep.append(f"{machine.text(f'{folder}/{one}/name')} ({latency} us)")
    if deep:
        remedy = "sudo cpupower idle-set -D 49 while jobs run"
        yield warning(f"on: {', '.join(deep)}", "off for jobs", "AMD, MI300X system optimization", remedy)
    else:
        yield ok("none that takes 50 us or more to leave")


@of_server(
    "system-smt",
    what="Says whether two threads share a core (SMT): like servers should agree.",
    why="Documents disagree about what is better; a fleet of both kinds is worse than either.",
    how="/sys/devices/system/cpu/smt/active",
    source="AMD, MI300X system optimization; Thor2 guide, BIOS table",
)
def smt(server: Server) -> Iterator[Outcome]:
    """Say the state."""
    active = server.machine.text(f"{_CPU}/smt/active")
    if active is None:
        raise CannotTellError("the kernel does not show it")
    yield ok("on" if active == "1" else "off")


@of_server(
    "system-huge-pages",
    what="Transparent huge pages are not off.",
    why="Registration of buffers takes longer with small pages.",
    how="/sys/kernel/mm/transparent_hugepage/enabled; /proc/meminfo",
    source="Linux, Documentation/admin-guide/mm/transhuge",
)
def huge_pages(server: Server) -> Iterator[Outcome]:
    """Read the setting."""
    text = server.machine.text("/sys/kernel/mm/transparent_hugepage/enabled")
    found = re.search(r"\[(\w+)\]", text or "")
    if not found:
        raise CannotTellError("the kernel does not show it")
    fixed = reading.pairs(server.machine.text("/proc/meminfo") or "").get("HugePages_Total", "0")
    if found[1] == "never":
        yield warning(
            "never",
            "always or madvise",
            "Linux, transhuge",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    else:
        yield ok(f"{found[1]}, {fixed} fixed huge pages")


@of_server(
    "system-numa-nodes",
    what="Each socket is one NUMA node (NPS1, no sub-NUMA clusters).",
    why="Ranks, NICs and GPUs are bound by node; more nodes than sockets put them apart.",
    how="/sys/devices/system/node; /sys/devices/system/cpu/cpu*/topology/physical_package_id",
    source="AMD, MI300X system optimization (NPS1); Thor2 guide, BIOS table (SubNumaCluster off)",
)
def numa_nodes(server: Server) -> Iterator[Outcome]:
    """Count both."""
    machine = server.machine
    nodes = [one for one in machine.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", one)]
    # A node of memory alone, as of an accelerator, has no CPU.
    nodes = [one for one in nodes if machine.text(f"/sys/devices/system/node/{one}/cpulist")]
    cpus = [one for one in machine.names(_CPU) if re.fullmatch(r"cpu\d+", one)]
    sockets = {machine.text(f"{_CPU}/{one}/topology/physical_package_id") for one in cpus} - {None}
    if not nodes or not sockets:
        raise CannotTellError("the kernel shows no nodes or sockets")
    if len(nodes) > len(sockets):
        remedy = "set NPS1, or Sub-NUMA Clustering off, in the BIOS (bios.md)"
        yield warning(
            f"{len(nodes)} nodes on {len(sockets)} sockets",
            f"{len(sockets)} nodes",
            "AMD, MI300X system optimization",
            remedy,
        )
    else:
        yield ok(f"{len(nodes)} nodes on {len(sockets)} sockets")


@of_server(
    "system-time",
    what="The clock is synchronized.",
    why="Logs of servers and switches can be laid side by side only then.",
    how="timedatectl show -p NTPSynchronized --value",
    source="timedatectl(1)",
)
def time(server: Server) -> Iterator[Outcome]:
    """Ask systemd."""
    said = server.machine.output("timedatectl", "show", "-p", "NTPSynchronized", "--value").strip()
    if said == "yes":
        yield ok("synchronized")
    elif said == "no":
        yield warning(
            "not synchronized", "synchronized", "timedatectl(1)", "sudo systemctl enable --now chrony; chronyc tracking"
        )
    else:
        raise CannotTellError(f"timedatectl says {said or 'nothing'}")


@of_server(
    "system-disk",
    what="There is room for logs.",
    why="A full disk ends jobs, and loses the log that would say why.",
    how="df -Pk /var/log",
    source="df(1)",
)
def disk(server: Server) -> Iterator[Outcome]:
    """Read what is free."""
    lines = server.machine.output("df", "-Pk", "/var/log").splitlines()
    cells = lines[-1].split() if lines else []
    if len(cells) < 6 or not cells[3].isdigit() or not cells[4].rstrip("%").isdigit():
        raise CannotTellError("df prints no line for /var/log")
    free, used = int(cells[3]) / (1 << 20), int(cells[4].rstrip("%"))
    if used >= 95 or free < 1:
        yield warning(
            f"{used} % used, {free:.1f} GiB free", "1 GiB or more", "df(1)", "sudo journalctl --vacuum-size=1G"
        )
    else:
        yield ok(f"{used} % used, {free:.0f} GiB free")
