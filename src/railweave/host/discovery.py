"""A server without a design: its NICs and GPUs as the machine shows them, and values to compare with other servers."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from . import gids
from .checks import outcome, qos
from .checks.gpus import version as gpu_driver
from .checks.link import announcements
from .checks.server import Counters, Server, WantedNic
from .host_file import HostFile, Nic
from .machine import CannotTellError, objects

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .machine import Machine

_NET, _PCI, _DMI = "/sys/class/net", "/sys/bus/pci/devices", "/sys/class/dmi/id"

_MODELS = {
    "15b3:1017": "ConnectX-5", "15b3:1019": "ConnectX-5 Ex", "15b3:101b": "ConnectX-6", "15b3:101d": "ConnectX-6 Dx",
    "15b3:101e": "ConnectX virtual function", "15b3:101f": "ConnectX-6 Lx", "15b3:1021": "ConnectX-7", "15b3:1023": "ConnectX-8",
    "15b3:a2d6": "BlueField-2", "15b3:a2dc": "BlueField-3", "14e4:1750": "BCM57508", "14e4:1760": "BCM57608", "1dd8:1002": "DSC",
}  # fmt: skip
"""Names of NICs by PCI vendor and device (pci.ids). Other NICs are named by these numbers."""

NUMA_BALANCING = {"kernel.numa_balancing": "0"}
"""The kernel parameters that every GPU server should have, with or without a design (Thor2 guide, section 2.6, check 17)."""


def discovered(machine: Machine, earlier: Counters | None = None) -> Server:
    """Return a server whose NICs and GPUs are taken from the machine itself.

    ``earlier`` has the counters of an earlier run to compare with. Every RoCE port counts as a NIC, and every data center GPU on the PCI
    bus as a GPU.

    An InfiniBand port counts as a NIC only if other ports of the same model are Ethernet; a check then reports its link type as a fault.
    The required speed and MTU of a NIC are those of most NICs of its kind on this server. A virtual function is left out if its physical
    function is on the server too.
    """
    shown = [port for port in (_port(machine, *place) for place in gids.ports(machine)) if port is not None]
    ethernet = {port["model"] for port in shown if port["layer"] != "InfiniBand"}
    ports = [port for port in shown if port["model"] in ethernet]
    vendor = next((name for name in ("NVIDIA", "AMD") if outcome.gpu_addresses(machine, name)), "")
    gpus = outcome.gpu_addresses(machine, vendor)
    beside = {port["netdev"]: _gpu_beside(machine, port["netdev"], gpus) for port in ports}
    kinds = [_kind(machine, port, beside) for port in ports]
    alike = {kind: [port for port, other in zip(ports, kinds) if other == kind] for kind in kinds}
    nics = tuple(_nic(machine, port, kind, alike[kind], beside[port["netdev"]]) for port, kind in zip(ports, kinds))
    host = machine.text("/proc/sys/kernel/hostname") or "this server"
    plan = HostFile(Path(), host, "", tuple(nic.plan for nic in nics), (), {}, (), {})
    library = {"NVIDIA": "NCCL", "AMD": "RCCL"}.get(vendor, "")
    balancing = machine.text("/proc/sys/kernel/numa_balancing") is not None
    sysctl = NUMA_BALANCING if balancing else {}
    return Server(
        machine, plan, nics, len(gpus), vendor, sysctl, (), {}, library, {}, "", {}, earlier=earlier, generic=True
    )


def _port(machine: Machine, device: str, number: int) -> dict[str, Any] | None:
    """Return an RDMA port's names, driver, link layer, model, MTU and speed, by key such as ``netdev``. ``number`` is the port's number.

    Return None if the port has no interface or belongs to a virtual function.
    """
    folder = f"{gids.DEVICES}/{device}"
    real = machine.real(f"{folder}/device")
    if not real or machine.real(f"{folder}/device/physfn"):
        return None
    interfaces = [name for name in machine.names(_NET) if machine.real(f"{_NET}/{name}/device") == real]
    netdevs = [gid.netdev for gid in gids.of_port(machine, device, number, None) if gid.netdev in interfaces]
    netdev = netdevs[0] if netdevs else interfaces[0] if interfaces else ""
    if not netdev:
        return None
    address = outcome.pci_chain(machine, f"{folder}/device")[-1:]
    words = [(machine.readable(f"{real}/{name}") or "").replace("0x", "") for name in ("vendor", "device")]
    model = _MODELS.get(":".join(words), ":".join(words)) if all(words) else "NIC"
    board = machine.readable(f"{folder}/board_id") or ""
    function = address[0][-1] if address else "0"
    driver = (machine.real(f"{_NET}/{netdev}/device/driver") or "").rpartition("/")[2]
    return {
        "rdma": device, "number": number, "netdev": netdev, "driver": driver,
        "layer": machine.readable(f"{folder}/ports/{number}/link_layer"),
        "model": f"{model}{f' ({board})' if board else ''}{f' port {int(function, 16) + 1}' if function != '0' else ''}",
        "mtu": _readable_number(machine, f"{_NET}/{netdev}/mtu"),
        "speed": _readable_number(machine, f"{_NET}/{netdev}/speed"),
    }  # fmt: skip


def _readable_number(machine: Machine, path: str) -> int:
    text = machine.readable(path) or ""
    return int(text) if text.isdigit() else 0


def _nic(machine: Machine, port: dict[str, Any], kind: str, like: list[dict[str, Any]], gpu: int | None) -> WantedNic:
    """Return the requirements of a NIC. ``like`` has the ports of its kind, and ``gpu`` is the index of the GPU beside it."""
    mtu, speed = (_most(other[key] for other in like) or port[key] for key in ("mtu", "speed"))
    plan = Nic(
        port["netdev"],
        port["rdma"],
        port["number"],
        None,
        gpu,
        "",
        mtu,
        (),
    )
    leaf, leaf_port = _switch(machine, port["netdev"])
    return WantedNic(
        "", plan, kind, port["driver"], 0, leaf, leaf_port, (), speed // 1000, 0, "", (), False, {}, (), None
    )


def _kind(machine: Machine, port: dict[str, Any], beside: dict[str, int | None]) -> str:
    """Return the kind of a NIC: its model and its use. Only NICs of one kind are compared with each other.

    ``port`` is a result of ``_port``. ``beside`` has the result of ``_gpu_beside`` for every NIC: a NIC is for GPUs if it shares a PCIe
    switch with one of them. A NIC with a default route is for management.
    """
    if port["netdev"] in _default_routes(machine):
        return f"{port['model']} with the default route"
    for_gpus = beside[port["netdev"]] is not None or all(gpu is None for gpu in beside.values())
    return port["model"] if for_gpus else f"{port['model']} beside no GPU"


def _default_routes(machine: Machine) -> set[str]:
    try:
        return {str(row.get("dev")) for row in machine.rows("ip", "-j", "route", "show", "default")}
    except CannotTellError:
        return set()


def _most(values: Iterable[int]) -> int:
    """Return the most frequent value other than 0; 0 if there is none. Of equally frequent values, return the smallest."""
    counts = Counter(value for value in values if value)
    return max(sorted(counts), key=lambda value: counts[value], default=0)


def _gpu_beside(machine: Machine, netdev: str, gpus: list[str]) -> int | None:
    """Return the index of the GPU in ``gpus`` (PCI addresses) that shares the most PCIe bridges with a NIC.

    Return None if no GPU shares a PCIe switch with it.
    """
    chain = outcome.pci_chain(machine, f"{_NET}/{netdev}/device")
    shared = [outcome.shared_bridges(chain, outcome.pci_chain(machine, f"{_PCI}/{gpu}")) for gpu in gpus]
    return shared.index(max(shared)) if shared and max(shared) > 1 else None


def _switch(machine: Machine, netdev: str) -> tuple[str, str]:
    """Return (switch, port) at the other end of a NIC's cable, by LLDP; ("the switch", "port") if LLDP shows none."""
    try:
        neighbor = next(iter(announcements(machine, netdev)), None)
    except CannotTellError:
        neighbor = None
    return (neighbor["name"] or "the switch", neighbor["port"]) if neighbor else ("the switch", "port")


def machine_kind(server: Server) -> str:
    """Return the kind of machine: its product, and the PCI device of its GPUs. Servers of one kind should have the same versions and settings."""
    machine = server.machine
    words = [(machine.readable(f"{_DMI}/{name}") or "").strip() for name in ("sys_vendor", "product_name")]
    gpus = outcome.gpu_addresses(machine, server.gpu_vendor)
    devices = sorted({machine.readable(f"{_PCI}/{gpu}/device") or "" for gpu in gpus} - {""})
    gpu = " ".join([server.gpu_vendor, *devices]).strip()
    return ", ".join([*filter(None, [" ".join(filter(None, words))]), gpu or "no GPU"])


def _of_nics(read: Callable[[Server, WantedNic], object]) -> Callable[[Server], str]:
    """Return a function that describes a value of all NICs of a server in one line, such as ``8 ConnectX-7: 400``.

    The example says that each of 8 NICs of this model has the value 400. ``read`` returns the value of one NIC.
    """

    def value(server: Server, nic: WantedNic) -> str:
        try:
            return str(read(server, nic))
        except CannotTellError:
            return "not seen"

    def text(server: Server) -> str:
        counts = Counter((nic.model, value(server, nic)) for nic in server.nics)
        return "; ".join(f"{count} {kind}: {seen}" for (kind, seen), count in sorted(counts.items()))

    return text


def _ethtool(name: str) -> Callable[[Server, WantedNic], str]:
    return lambda server, nic: outcome.pairs(server.machine.output("ethtool", "-i", nic.netdev)).get(name, "not seen")


def _file(path: str) -> Callable[[Server], str | None]:
    return lambda server: server.machine.text(path)


def _number_of(folder: str, pattern: str) -> Callable[[Server], str]:
    return lambda server: str(sum(bool(re.fullmatch(pattern, name)) for name in server.machine.names(folder)))


def _of_net(name: str) -> Callable[[Server, WantedNic], int]:
    return lambda server, nic: _readable_number(server.machine, f"{_NET}/{nic.netdev}/{name}")


def _memory(server: Server) -> str:
    """Return the memory in GiB, rounded to 16, because kernels reserve different parts of it."""
    kib = int(outcome.pairs(server.machine.text("/proc/meminfo") or "")["MemTotal"].split()[0])
    return f"{round(kib / 2**24) * 16} GiB"


_SYSTEM = "/sys/devices/system"

_FACTS: dict[str, Callable[[Server], str | None]] = {
    "machine": machine_kind,
    "bios": _file(f"{_DMI}/bios_version"),
    "kernel": _file("/proc/sys/kernel/osrelease"),
    "kernel-command-line": lambda server: command_line(server.machine.text("/proc/cmdline") or ""),
    "memory": _memory,
    "cpus": _number_of(f"{_SYSTEM}/cpu", r"cpu\d+"),
    "smt": _file(f"{_SYSTEM}/cpu/smt/active"),
    "governor": _file(f"{_SYSTEM}/cpu/cpu0/cpufreq/scaling_governor"),
    "numa-nodes": _number_of(f"{_SYSTEM}/node", r"node\d+"),
    "numa-balancing": _file("/proc/sys/kernel/numa_balancing"),
    "gpus": lambda server: str(server.gpus),
    "gpu-driver": lambda server: gpu_driver(server.machine, server.gpu_vendor),
    "nics": _of_nics(lambda _, nic: nic.driver),
    "nic-names": lambda server: ", ".join(f"{nic.netdev} {nic.rdma}" for nic in server.nics),
    "nic-firmware": _of_nics(_ethtool("firmware-version")),
    "nic-driver": _of_nics(_ethtool("version")),
    "nic-speed": _of_nics(_of_net("speed")),
    "nic-mtu": _of_nics(_of_net("mtu")),
    "nic-trust": _of_nics(lambda server, nic: qos.qos_of(server, nic).trust),
    "nic-pfc": _of_nics(lambda server, nic: _priorities(qos.qos_of(server, nic).pause)),
}
"""The functions that read the values in which servers of one kind should agree, by the value's name, in the order of output."""


def facts(server: Server) -> dict[str, str]:
    """Return the values in which servers of one kind should agree, by name. Values that cannot be read are left out."""
    values: dict[str, str] = {}
    for name, read in _FACTS.items():
        with contextlib.suppress(CannotTellError, ValueError, KeyError, TypeError, IndexError):
            values[name] = read(server) or ""
    return {name: value for name, value in values.items() if value}


def _priorities(pause: Iterable[int] | None) -> str:
    return "not seen" if pause is None else ", ".join(map(str, sorted(pause))) or "none"


def command_line(text: str) -> str:
    """Return a kernel command line without the arguments that name disks and images, because they differ between servers."""
    local = re.compile(
        r"(?:BOOT_IMAGE|root|initrd|resume|rd\.\S+|crashkernel|ip|BOOTIF|ds|console)=\S*|ro|rw|quiet|splash"
    )
    return " ".join(word for word in text.split() if not local.fullmatch(word))


def addresses(machine: Machine) -> dict[str, list[str]]:
    """Return the global addresses of each physical interface or bond, by interface name. The result is empty if ``ip`` does not show them."""
    try:
        rows = machine.rows("ip", "-j", "addr", "show")
    except CannotTellError:
        return {}
    texts_of = {
        str(row.get("ifname")): [
            str(entry["local"])
            for entry in objects(row.get("addr_info"))
            if entry.get("local") and entry.get("scope", "global") == "global"
        ]
        for row in rows
        if any(machine.real(f"{_NET}/{row.get('ifname')}/{kind}") for kind in ("device", "bonding"))
    }
    return {netdev: texts for netdev, texts in texts_of.items() if texts}
