"""What several checks read: PCI devices and their bridges, the blocks of lspci, lines of ``name: value``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError

if TYPE_CHECKING:
    from ..machine import Machine

_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def pci_of(machine: Machine, netdev: str) -> str:
    """The PCI address of a network interface. Raises CannotTellError where it has none."""
    chain = pci_chain(machine, f"/sys/class/net/{netdev}/device")
    if not chain:
        raise CannotTellError(f"{netdev} is no PCI device")
    return chain[-1]


def pci_chain(machine: Machine, path: str) -> list[str]:
    """The PCI addresses from the root port down to the device that a path of sysfs leads to."""
    return _ADDRESS.findall(machine.real(path) or "")


def gpu_addresses(machine: Machine, vendor: str) -> list[str]:
    """The PCI addresses of the GPUs, in their order on the bus: NVIDIA's and AMD's data center GPUs, by PCI class."""
    ours = {"NVIDIA": ("0x10de", ("0x0302", "0x0300")), "AMD": ("0x1002", ("0x1200", "0x0380", "0x0300"))}.get(vendor)
    if ours is None:
        return []
    number, classes = ours
    folder = "/sys/bus/pci/devices"

    def addresses() -> list[str]:
        of_vendor = [one for one in machine.names(folder) if machine.text(f"{folder}/{one}/vendor") == number]
        return [one for one in of_vendor if (machine.text(f"{folder}/{one}/class") or "").startswith(classes)]

    return machine.once(("GPUs", vendor), addresses)


def lspci(machine: Machine) -> dict[str, str]:
    """What ``lspci -D -vvv`` says of each device, by PCI address. Raises CannotTellError."""

    def blocks() -> dict[str, str]:
        found = re.split(r"\n\n+", machine.output("lspci", "-D", "-vvv").strip())
        return {block.split(" ", 1)[0]: block for block in found if _ADDRESS.match(block)}

    return machine.once(("lspci",), blocks)


def capability(block: str, name: str) -> str:
    """The line of a capability such as ``DevCtl`` with those that continue it; empty where the device does not show it."""
    found = re.search(rf"^(\s*){name}:(.*(?:\n\1\s+.*)*)", block, re.MULTILINE)
    return found[2] if found else ""


def pairs(text: str) -> dict[str, str]:
    """Lines of ``name: value``; of a name that is there twice, the last."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and value.strip():
            found[name.strip()] = value.strip()
    return found


def counters(machine: Machine, netdev: str) -> dict[str, int]:
    """The counters of ``ethtool -S``; those of single rings (``[0]: …``) are left out. Raises CannotTellError."""

    def numbers() -> dict[str, int]:
        text = machine.output("ethtool", "-S", netdev)
        found = re.findall(r"^\s*([A-Za-z0-9_.\-]+(?:\[\d+\])?): (\d+)\s*$", text, re.MULTILINE)
        return {name: int(value) for name, value in found}

    return machine.once(("ethtool -S", netdev), numbers)


def list_of_numbers(text: str) -> list[int]:
    """All whole numbers of a text."""
    return [int(one) for one in re.findall(r"\d+", text)]
