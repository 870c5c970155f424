"""Checks of the system: kernel parameters, memory, limits of jobs, time, disk, CPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError
from . import outcome
from .outcome import failed, not_applicable, of_nic, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server, WantedNic


@of_server(
    "system-kernel",
    rule="The kernel has the version that the fabric file requires.",
    why="Drivers are built for one kernel version; after an unattended update, they may be missing.",
    how="/proc/sys/kernel/osrelease",
    source="fabric file, hosts.versions.kernel",
    design=True,
)
def kernel(server: Server) -> Iterator[Outcome]:
    """Check that the planned kernel release is running."""
    now, wanted = server.machine.text("/proc/sys/kernel/osrelease") or "", str(server.versions.get("kernel") or "")
    if not wanted:
        yield not_applicable(f"the fabric file asks for none; {now} runs")
    elif now == wanted:
        yield ok(now)
    else:
        yield failed(now, wanted, "host.json versions.kernel", f"boot {wanted}, and hold the package")


@of_server(
    "system-command-line",
    rule="The kernel was started with the planned parameters.",
    why="These parameters control the IOMMU and PCI, and take effect only at boot.",
    how="/proc/cmdline",
    source="Thor2 guide, section 2.3.2; host.json kernel_command_line",
    unless=lambda server: "" if server.command_line else "none is planned",
    design=True,
)
def command_line(server: Server) -> Iterator[Outcome]:
    """Check that the kernel command line contains each planned parameter."""
    words = (server.machine.text("/proc/cmdline") or "").split()
    missing = [word for word in server.command_line if word not in words]
    if missing:
        remedy = "sudo install grub-railweave.cfg /etc/default/grub.d/ && sudo update-grub, then reboot"
        yield failed(
            f"without {' '.join(missing)}", " ".join(server.command_line), "host.json kernel_command_line", remedy
        )
    else:
        yield ok(" ".join(server.command_line))


@of_server(
    "system-sysctl",
    rule="Kernel parameters have the planned values.",
    why="With kernel.numa_balancing on, the kernel moves memory pages while NICs write to them.",
    how="/proc/sys",
    source="Thor2 guide, section 2.6, check 17; host.json sysctl",
    unless=lambda server: "" if server.sysctl else "none is planned",
)
def sysctl(server: Server) -> Iterator[Outcome]:
    """Check that each kernel parameter has its planned value."""
    for name, wanted in server.sysctl.items():
        now = server.machine.text("/proc/sys/" + name.replace(".", "/"))
        origin = server.origin(f"sysctl.{name}", "Thor2 guide, section 2.6, check 17")
        if now is None:
            yield warning("this kernel has none", wanted, origin, "see the kernel's configuration", name)
        elif now.split() == str(wanted).split():
            yield ok(now, name)
        else:
            remedy = f"sudo sysctl -w {name}={wanted}; install sysctl.conf so that it stays"
            yield failed(now, wanted, origin, remedy, name)


@of_server(
    "system-memlock",
    rule="Programs may lock any amount of memory.",
    why="RDMA locks its buffers in memory: with a limit, registration fails, or a slower method is used.",
    how="/proc/self/limits",
    source="Thor2 guide, section 2.3 (limits.conf); Slurm, FAQ on memory limits",
)
def memlock(server: Server) -> Iterator[Outcome]:
    """Check that this program was started without a limit on locked memory."""
    match = re.search(r"Max locked memory\s+(\S+)", server.machine.text("/proc/self/limits") or "")
    if not match:
        raise CannotTellError("the kernel shows no limit of locked memory")
    if match[1] == "unlimited":
        yield ok("unlimited")
    else:
        install = _limits(server, "* soft memlock unlimited", "* hard memlock unlimited")
        remedy = f"{install}; for services LimitMEMLOCK=infinity (slurmd too), then log in again"
        yield failed(f"{match[1]} bytes", "unlimited", "Thor2 guide, section 2.3", remedy)


@of_server(
    "system-open-files",
    rule="Programs may open 65,536 files or more.",
    why="A job with many ranks opens a socket and a queue pair for each peer.",
    how="/proc/self/limits",
    source="NCCL, troubleshooting (open files)",
)
def open_files(server: Server) -> Iterator[Outcome]:
    """Check the hard limit of open files. A launcher can raise its own limit up to this value."""
    match = re.search(r"Max open files\s+\S+\s+(\S+)", server.machine.text("/proc/self/limits") or "")
    if not match:
        raise CannotTellError("the kernel shows no limit of open files")
    if match[1] == "unlimited" or int(match[1]) >= 65536:
        yield ok(match[1])
    else:
        install = _limits(server, "* hard nofile 65536")
        yield warning(match[1], "65536", "NCCL, troubleshooting", f"{install}; LimitNOFILE for services")


def _limits(server: Server, *lines: str) -> str:
    """Return the remedy for a limit: install the design's limits.conf, or write ``lines`` if the server has no design."""
    if not server.generic:
        return "install limits.conf of this server"
    return f"write `{'` and `'.join(lines)}` into /etc/security/limits.d/90-rdma.conf"


@of_server(
    "system-shared-memory",
    rule="Shared memory (/dev/shm) has a size of several gigabytes.",
    why="Ranks of a server exchange data through shared memory; containers often have only 64 MB.",
    how="/proc/self/mounts; /proc/meminfo",
    source="NCCL, troubleshooting (shared memory)",
)
def shared_memory(server: Server) -> Iterator[Outcome]:
    """Check that the tmpfs on /dev/shm is large enough."""
    mounts = server.machine.text("/proc/self/mounts") or ""
    match = re.search(r"^\S+ /dev/shm tmpfs (\S+)", mounts, re.MULTILINE)
    if not match:
        yield warning(
            "no tmpfs on /dev/shm", "one", "NCCL, troubleshooting", "mount it, or give the container --ipc=host"
        )
        return
    size = re.search(r"\bsize=(\d+)k", match[1])
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
    "system-huge-pages",
    rule="Transparent huge pages are enabled.",
    why="Registering buffers takes longer with small pages.",
    how="/sys/kernel/mm/transparent_hugepage/enabled; /proc/meminfo",
    source="Linux, Documentation/admin-guide/mm/transhuge",
)
def huge_pages(server: Server) -> Iterator[Outcome]:
    """Check that transparent huge pages are available: set to ``always`` or ``madvise``."""
    text = server.machine.text("/sys/kernel/mm/transparent_hugepage/enabled")
    match = re.search(r"\[(\w+)\]", text or "")
    if not match:
        raise CannotTellError("the kernel does not show it")
    fixed = outcome.pairs(server.machine.text("/proc/meminfo") or "").get("HugePages_Total", "0")
    if match[1] == "never":
        yield warning(
            "never",
            "always or madvise",
            "Linux, transhuge",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    else:
        yield ok(f"{match[1]}, {fixed} fixed huge pages")


MOST_OFFSET_MS = 10
"""The largest clock offset in ms; above it, log lines of two servers may appear in the wrong order."""


@of_server(
    "system-time",
    rule=f"The clock is synchronized, and within {MOST_OFFSET_MS} ms of its source if chrony reports the offset.",
    why="Otherwise logs of servers and switches cannot be compared.",
    how="timedatectl show -p NTPSynchronized --value; chronyc -c tracking",
    source="timedatectl(1); chronyc(1), tracking",
)
def time(server: Server) -> Iterator[Outcome]:
    """Check that the clock is synchronized, by systemd and, if installed, chrony."""
    answer = server.machine.output("timedatectl", "show", "-p", "NTPSynchronized", "--value").strip()
    offset = _offset_ms(server) if answer == "yes" else None
    if answer == "yes" and offset is not None and offset > MOST_OFFSET_MS:
        remedy = "chronyc sources; sudo chronyc makestep"
        yield warning(f"{offset:.3g} ms off", f"within {MOST_OFFSET_MS} ms", "chronyc(1), tracking", remedy)
    elif answer == "yes":
        yield ok("synchronized")
    elif answer == "no":
        yield warning(
            "not synchronized", "synchronized", "timedatectl(1)", "sudo systemctl enable --now chrony; chronyc tracking"
        )
    else:
        raise CannotTellError(f"timedatectl says {answer or 'nothing'}")


def _offset_ms(server: Server) -> float | None:
    """Return the offset of the clock in ms that chrony reports.

    Return None if chrony reports no offset, for example because a different program sets the clock.
    """
    if not server.machine.has("chronyc"):
        return None
    cells = server.machine.run("chronyc", "-c", "tracking").out.strip().split(",")
    try:
        return abs(float(cells[4])) * 1000
    except (IndexError, ValueError):
        return None


_USABLE = 0.95
"""The smallest fraction of a server's memory that the kernel should show. The kernel reserves the rest."""


@of_server(
    "system-memory",
    rule="The server has the memory of its model, and every NUMA node with CPUs as much as the others.",
    why="If a memory module fails, its CPU socket has less memory or slower memory, without an error message.",
    how="/sys/devices/system/node/node*/{cpulist,meminfo}; /proc/meminfo",
    source="Linux, Documentation/admin-guide/mm/numaperf; AMD, MI300X system optimization (memory)",
)
def memory(server: Server) -> Iterator[Outcome]:
    """Check that the server has its planned memory, and that all NUMA nodes have about the same memory.

    The kernel reserves a few percent, so small differences are accepted.
    """
    machine, folder = server.machine, "/sys/devices/system/node"
    sizes: dict[str, int] = {}
    for node in machine.names(folder):
        if re.fullmatch(r"node\d+", node) and machine.text(f"{folder}/{node}/cpulist"):
            match = re.search(r"MemTotal:\s+(\d+) kB", machine.text(f"{folder}/{node}/meminfo") or "")
            sizes[node] = int(match[1]) >> 20 if match else 0
    total = outcome.pairs(machine.text("/proc/meminfo") or "").get("MemTotal", "").split()
    if not sizes or not any(sizes.values()) or not total or not total[0].isdigit():
        raise CannotTellError("the kernel shows no memory of its nodes")
    gib = int(total[0]) >> 20
    if gib < _USABLE * server.memory_gib:
        remedy = "look for a memory module that is not seen: sudo dmidecode -t memory; sudo ras-mc-ctl --errors"
        yield failed(
            f"{gib} GiB", f"{server.memory_gib} GiB, less what the kernel reserves", "host.json memory_gib", remedy
        )
    elif min(sizes.values()) < 0.9 * max(sizes.values()):
        seen = ", ".join(f"{node} {size} GiB" for node, size in sizes.items())
        remedy = "look for a memory module that is not seen: sudo dmidecode -t memory; sudo ras-mc-ctl --errors"
        yield warning(seen, f"{max(sizes.values())} GiB on each", "the other nodes", remedy)
    else:
        yield ok(f"{int(total[0]) >> 20} GiB on {len(sizes)} nodes")


@of_server(
    "system-disk",
    rule="The file system has free space for logs.",
    why="A full disk ends jobs, and loses the log messages that would explain it.",
    how="df -Pk /var/log",
    source="df(1)",
)
def disk(server: Server) -> Iterator[Outcome]:
    """Check that there is enough free space under /var/log."""
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


_CPU = "/sys/devices/system/cpu"


_IDLE = f"{_CPU}/cpu0/cpuidle"


@of_server(
    "system-governor",
    rule="CPUs run at their full clock rate (governor performance).",
    why="Proxy threads sleep and wake often, and each change of the clock rate delays them.",
    how="/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    source="OCI GPU images; AMD, MI300X system optimization",
)
def governor(server: Server) -> Iterator[Outcome]:
    """Check that all CPUs use the performance governor."""
    machine = server.machine
    cpus = [name for name in machine.names(_CPU) if re.fullmatch(r"cpu\d+", name)]
    have: dict[str, int] = {}
    for cpu in cpus:
        value = machine.text(f"{_CPU}/{cpu}/cpufreq/scaling_governor")
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
    rule="CPUs do not enter deep idle states (C2 and deeper).",
    why="Waking up takes tens of microseconds, as long as a small collective.",
    how="/sys/devices/system/cpu/cpu0/cpuidle/state*/{name,latency,disable}",
    source="AMD, MI300X system optimization (cpupower idle-set -d 2)",
    unless=lambda server: "" if server.machine.names(_IDLE) else "the kernel sets no idle states here",
)
def idle_states(server: Server) -> Iterator[Outcome]:
    """Check that no deep idle state is on. Only the first CPU's states are read, because all CPUs have the same settings."""
    machine, folder = server.machine, _IDLE
    states = machine.names(folder)
    deep: list[str] = []
    for state in states:
        latency, disabled = (machine.number(f"{folder}/{state}/{name}") for name in ("latency", "disable"))
        if latency is not None and latency >= 50 and not disabled:
            deep.append(f"{machine.text(f'{folder}/{state}/name')} ({latency} us)")
    if deep:
        remedy = "sudo cpupower idle-set -D 49 while jobs run"
        yield warning(f"on: {', '.join(deep)}", "off for jobs", "AMD, MI300X system optimization", remedy)
    else:
        yield ok("none that takes 50 us or more to leave")


@of_server(
    "system-smt",
    rule="Reports whether two threads share a core (SMT): servers of one kind should have the same setting.",
    why="Documents disagree about the better setting; different settings on servers of one job are worse than either.",
    how="/sys/devices/system/cpu/smt/active",
    source="AMD, MI300X system optimization; Thor2 guide, BIOS table",
)
def smt(server: Server) -> Iterator[Outcome]:
    """Report if SMT is on."""
    active = server.machine.text(f"{_CPU}/smt/active")
    if active is None:
        raise CannotTellError("the kernel does not show it")
    yield ok("on" if active == "1" else "off")


@of_server(
    "system-numa-nodes",
    rule="Each socket is one NUMA node (NPS1, no sub-NUMA clusters).",
    why="Ranks, NICs and GPUs are bound to NUMA nodes; with more nodes than sockets, a GPU and its NIC may be on "
    "different nodes.",
    how="/sys/devices/system/node; /sys/devices/system/cpu/cpu*/topology/physical_package_id",
    source="AMD, MI300X system optimization (NPS1); Thor2 guide, BIOS table (SubNumaCluster off)",
)
def numa_nodes(server: Server) -> Iterator[Outcome]:
    """Check that there are no more NUMA nodes than sockets."""
    machine = server.machine
    nodes = [name for name in machine.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", name)]
    # A node of memory alone, as of an accelerator, has no CPU.
    nodes = [node for node in nodes if machine.text(f"/sys/devices/system/node/{node}/cpulist")]
    cpus = [name for name in machine.names(_CPU) if re.fullmatch(r"cpu\d+", name)]
    sockets = {machine.text(f"{_CPU}/{cpu}/topology/physical_package_id") for cpu in cpus} - {None}
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


@of_nic(
    "system-interrupts",
    rule="A NIC's interrupts may be handled by CPUs of its NUMA node.",
    why="Otherwise interrupts for completions cross between CPU sockets. RDMA programs that poll are not affected.",
    how="/sys/class/net/NIC/device/{msi_irqs,local_cpulist}; /proc/irq/N/smp_affinity_list",
    source="Linux, Documentation/core-api/irq/irq-affinity; NVIDIA, performance tuning (IRQ affinity)",
)
def interrupts(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that each interrupt of the NIC can be served by a CPU on the NIC's node."""
    machine, folder = server.machine, f"/sys/class/net/{nic.netdev}/device"
    near = _cpus(machine.text(f"{folder}/local_cpulist") or "")
    numbers = [name for name in machine.names(f"{folder}/msi_irqs") if name.isdigit()]
    served = {
        number: _cpus(text) for number in numbers if (text := machine.text(f"/proc/irq/{number}/smp_affinity_list"))
    }
    if not near or not served:
        raise CannotTellError("the kernel shows no interrupts of it, or not which CPUs are near")
    far = [number for number, cpus in served.items() if not cpus & near]
    if far:
        remedy = f"for i in {' '.join(far[:3])}{' …' if len(far) > 3 else ''}; do cat {folder}/local_cpulist | sudo tee /proc/irq/$i/smp_affinity_list; done"
        seen = f"{len(far)} of {len(served)} interrupts on other nodes"
        yield warning(seen, "CPUs of its node", "Linux, IRQ affinity", remedy)
    else:
        yield ok(f"{len(served)} interrupts on its node")


def _cpus(text: str) -> set[int]:
    """Return the CPU numbers in a list such as ``0-3,8``."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            cpus.update(range(int(first), int(last or first) + 1))
    return cpus


@of_server(
    "system-memory-interleaving",
    rule="Memory interleaving is on: addresses alternate between memory modules.",
    why="Without it RDMA from host memory gets about 235 instead of 320 Gb/s, while RDMA from GPU memory is as fast as ever.",
    how="dmidecode -t 20 (Memory Device Mapped Address)",
    source="Thor2 guide, section 5.1, question 8",
    root=True,
    unless=lambda server: "" if server.machine.has("dmidecode") else "dmidecode is not installed; bios.md has the item",
)
def memory_interleaving(server: Server) -> Iterator[Outcome]:
    """Check that memory is interleaved: in the firmware's tables, each memory module must have a position in an interleaved set."""
    blocks = server.machine.output("dmidecode", "-t", "20").split("Memory Device Mapped Address\n")[1:]
    positions = [re.search(r"^\s*Interleave Position: (\w+)$", block, re.MULTILINE) for block in blocks]
    known = [match[1] if match else "" for match in positions if not match or match[1] != "Unknown"]
    if not known:
        yield not_applicable("the firmware's tables do not say; bios.md has the item")
    elif len(known) > 1 and not any(known):
        remedy = "set Memory Interleaving to Auto in the BIOS (bios.md), then reboot"
        yield warning(f"{len(known)} memory modules, none interleaved", "on", "Thor2 guide, section 5.1", remedy)
    else:
        yield ok(
            f"{sum(map(bool, known))} of {len(known)} memory modules interleaved" if any(known) else "one memory module"
        )
