"""CPUs of the system: clocks, idle states, threads, NUMA nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError
from .outcome import not_applicable, of_nic, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server, WantedNic

_CPU = "/sys/devices/system/cpu"
_IDLE = f"{_CPU}/cpu0/cpuidle"


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
    unless=lambda server: "" if server.machine.names(_IDLE) else "the kernel sets no idle states here",
)
def idle_states(server: Server) -> Iterator[Outcome]:
    """Look at the first CPU: all are set alike."""
    machine, folder = server.machine, _IDLE
    states = machine.names(folder)
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


@of_nic(
    "system-interrupts",
    what="A NIC's interrupts may be served by CPUs of its own NUMA node.",
    why="Those of completions that are waited for cross the sockets otherwise. RDMA that polls does not mind.",
    how="/sys/class/net/NIC/device/{msi_irqs,local_cpulist}; /proc/irq/N/smp_affinity_list",
    source="Linux, Documentation/core-api/irq/irq-affinity; NVIDIA, performance tuning (IRQ affinity)",
)
def interrupts(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Look for interrupts that only CPUs of another node serve."""
    machine, folder = server.machine, f"/sys/class/net/{nic.netdev}/device"
    near = _cpus(machine.text(f"{folder}/local_cpulist") or "")
    numbers = [one for one in machine.names(f"{folder}/msi_irqs") if one.isdigit()]
    served = {one: _cpus(text) for one in numbers if (text := machine.text(f"/proc/irq/{one}/smp_affinity_list"))}
    if not near or not served:
        raise CannotTellError("the kernel shows no interrupts of it, or not which CPUs are near")
    far = [one for one, cpus in served.items() if not cpus & near]
    if far:
        remedy = f"for i in {' '.join(far[:3])}{' …' if len(far) > 3 else ''}; do cat {folder}/local_cpulist | sudo tee /proc/irq/$i/smp_affinity_list; done"
        seen = f"{len(far)} of {len(served)} interrupts on other nodes"
        yield warning(seen, "CPUs of its node", "Linux, IRQ affinity", remedy)
    else:
        yield ok(f"{len(served)} interrupts on its node")


def _cpus(text: str) -> set[int]:
    """The CPUs of a list such as ``0-3,8``."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            found.update(range(int(first), int(last or first) + 1))
    return found
