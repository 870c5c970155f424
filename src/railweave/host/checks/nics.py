"""Checks that NICs are present and have the planned names, driver, firmware and flash settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError, objects
from . import outcome
from .outcome import WARNING, alike, failed, of_nic, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..machine import Machine
    from .outcome import Outcome
    from .server import Server, WantedNic

_NAMES = "sudo install -m 644 70-railweave-net.rules /etc/udev/rules.d/ && sudo udevadm control --reload, then reboot"


@of_server(
    "nic-present",
    rule="Every planned network interface exists, with its planned name.",
    why="Jobs do not use a NIC that is missing or has a different name: NCCL_IB_HCA and the routing tables "
    "contain the name.",
    how="/sys/class/net",
    source="Thor2 guide, section 2.6, check 6; host.json nics[].netdev",
)
def present(server: Server) -> Iterator[Outcome]:
    """Check that each planned interface exists. An interface that has a different name is recognized by its MAC address."""
    machine = server.machine
    there = machine.names("/sys/class/net")
    if server.generic:
        yield from _functions(server)
        return
    for nic in server.nics:
        if nic.netdev in there:
            yield ok("there", nic.netdev)
            continue
        mac = nic.plan.mac
        other = next(
            (netdev for netdev in there if mac and machine.text(f"/sys/class/net/{netdev}/address") == mac), ""
        )
        seen = f"its MAC address {mac} is on {other}" if other else "there is no such interface"
        lost = "" if other else "look for it: lspci -nn | grep -i ethernet (rev ff: off the bus, power cycle); "
        yield failed(
            seen, f"an interface of that name, a {nic.model}", f"host.json {nic.key}.netdev", lost + _NAMES, nic.netdev
        )


_PCI = "/sys/bus/pci/devices"


def _functions(server: Server) -> Iterator[Outcome]:
    """Check that each PCI function of a NIC has an RDMA device. This check is used for a server without a design.

    The check covers all functions of NVIDIA NICs. A function of another vendor's NIC is covered if a function of the same PCI model has an
    RDMA device on this server. Virtual functions are skipped.
    """
    machine = server.machine
    with_rdma = {
        address
        for device in machine.names("/sys/class/infiniband")
        for address in outcome.pci_chain(machine, f"/sys/class/infiniband/{device}/device")[-1:]
    }

    def identity(address: str) -> tuple[str | None, ...]:
        return tuple(machine.readable(f"{_PCI}/{address}/{name}") for name in ("vendor", "device"))

    kinds = {identity(address) for address in with_rdma}
    functions = [
        name
        for name in machine.names(_PCI)
        if (machine.readable(f"{_PCI}/{name}/class") or "").startswith("0x0200")
        and (identity(name) in kinds or identity(name)[0] == "0x15b3")
        and not machine.real(f"{_PCI}/{name}/physfn")
    ]
    lost = [name for name in functions if name not in with_rdma]
    remedy = "dmesg | grep PCI-ADDRESS; lspci -s PCI-ADDRESS (rev ff: off the bus, power cycle); load its RDMA driver"
    for name in lost:
        yield failed("no RDMA device", "one", "the other NICs of its kind on this server", remedy, name)
    if not with_rdma:
        remedy = (
            "`lspci -nn -d ::0200` lists the NICs; load their RDMA driver (mlx5_ib, bnxt_re, ionic_rdma); see log-nic"
        )
        yield failed("no RDMA device at all", "one for each NIC", "/sys/class/infiniband", remedy)
    elif not lost:
        yield ok(f"{len(with_rdma)} NICs, each with an RDMA device")


@of_nic(
    "nic-mac",
    rule="Each NIC has the MAC address of the inventory.",
    why="A different address means a different NIC, or the host.json of a different server; SLAAC addresses and "
    "rules are derived from it.",
    how="/sys/class/net/NIC/address",
    source="host.json nics[].mac, from the inventory",
    unless=lambda _, nic: "the inventory has no MAC address for it yet" if nic.plan.mac is None else "",
    design=True,
)
def mac(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the interface has the planned MAC address."""
    seen = server.machine.text(f"/sys/class/net/{nic.netdev}/address") or "none"
    if seen == nic.plan.mac:
        yield ok(seen)
    else:
        remedy = "railweave inventory fill FABRIC CAPTURE, or install this server's own host.json"
        yield failed(seen, nic.plan.mac, f"host.json {nic.key}.mac", remedy)


@of_nic(
    "nic-driver",
    rule="Each NIC uses the planned driver.",
    why="Checks, settings and counters depend on the vendor's driver; with vfio or no driver, the NIC is assigned "
    "to a virtual machine or unused.",
    how="/sys/class/net/NIC/device/driver",
    source="host.json nics[].driver, from the hardware catalog",
    unless=lambda server, nic: "" if nic.driver or server.generic else "the design names no driver",
)
def driver(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC uses the planned driver."""
    if server.generic:
        remedy = "load the driver of the other NICs: is this one given to a virtual machine?"
        yield from alike(server, nic, lambda other: other.driver or "none", remedy=remedy)
        return
    path = server.machine.real(f"/sys/class/net/{nic.netdev}/device/driver")
    seen = path.rpartition("/")[2] if path else "none"
    if seen == nic.driver:
        yield ok(seen)
    else:
        yield failed(
            seen, nic.driver, f"host.json {nic.key}.driver", "give the server its own host.json, or modprobe it"
        )


@of_nic(
    "nic-firmware",
    rule="All NICs of a kind have the same firmware version, and it is the one that the fabric file requires.",
    why="A NIC with different firmware reacts differently to congestion, and one slow NIC slows the whole job.",
    how="ethtool -i NIC",
    source="fabric file, hosts.versions.nic_firmware; Thor2 guide, section 2.6, check 1",
)
def firmware(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the firmware version against the plan.

    If the plan has no version, compare with the versions of the server's other NICs of the same model.
    """
    seen = _version(server, nic, "firmware-version")
    yield from _compared(server, nic, seen, "nic_firmware", nic.model, "firmware-version")


@of_nic(
    "nic-driver-version",
    rule="Each NIC's driver has the version that the fabric file requires.",
    why="Different driver versions are the first thing that a vendor's support asks you to remove.",
    how="ethtool -i NIC",
    source="fabric file, hosts.versions.nic_driver; Thor2 guide, section 2.6, check 1",
)
def driver_version(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the driver version against the plan."""
    seen = _version(server, nic, "version")
    yield from _compared(server, nic, seen, "nic_driver", nic.driver, "version")


def _version(server: Server, nic: WantedNic, name: str) -> str:
    text = outcome.pairs(server.machine.output("ethtool", "-i", nic.netdev)).get(name, "")
    if not text:
        raise CannotTellError(f"ethtool -i {nic.netdev} prints no {name}")
    return text.split(" ")[0].split("/")[0]


def _compared(server: Server, nic: WantedNic, seen: str, key: str, of: str, name: str) -> Iterator[Outcome]:
    wanted = "".join(str(row.get(of, "")) for row in objects(server.versions.get(key)))
    like = [other for other in server.nics if other.model == nic.model and other.driver == nic.driver]
    if wanted:
        if seen == wanted:
            yield ok(seen)
        else:
            remedy = f"update it with the vendor's tool to {wanted}, then reboot"
            yield failed(seen, wanted, f"host.json versions.{key}.{of}", remedy)
        return
    if server.generic:
        remedy = "bring the NICs of one kind to one version with the vendor's tool, then reboot"
        yield from alike(server, nic, lambda other: _version(server, other, name), remedy=remedy, level=warning)
        return
    others: dict[str, int] = {}
    for other in like:
        try:
            version = _version(server, other, name)
        except CannotTellError:
            continue
        others[version] = others.get(version, 0) + 1
    most = max(sorted(others), key=lambda candidate: others[candidate], default=seen)
    if seen == most or others[most] * 2 <= len(like):
        yield ok(f"{seen} (the fabric file asks for none)")
    else:
        remedy = f"bring it to {most}, or write the wanted version under hosts.versions of the fabric file"
        yield warning(seen, f"{most}, as {others[most]} of {len(like)} such NICs here", "this server", remedy)


@of_nic(
    "nic-flash",
    rule="The settings in the NIC's flash memory are as planned.",
    why="If the firmware handles LLDP or DCBX itself, the driver cannot set QoS; other settings turn RDMA or "
    "congestion control off.",
    how="mlxconfig -d PCI query (mstconfig), niccli --dev PCI nvm --getoption NAME [--scope FUNCTION]",
    source="Thor2 guide, section 2.2.4 and section 5.1, question 5; hardware catalog, firmware",
    root=True,
    unless=lambda server, nic: "" if nic.flash or (server.generic and nic.mlx5) else "no setting is planned for it",
)
def flash(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check each planned setting in the NIC's flash. Settings that the vendor's tool does not show are not compared."""
    address = outcome.pci_of(server.machine, nic.netdev)
    if server.generic:
        yield from _flash_alike(server, nic)
        return
    have = _mlx5_flash(server, address) if nic.mlx5 else _bnxt_flash(server, nic, address)
    different = [
        f"{name}={have[name]} (wanted {wanted})"
        for name, wanted in nic.flash.items()
        if have.get(name) is not None and have[name] != int(wanted)
    ]
    odd = [name for name in nic.flash if name in have and have[name] is None]
    absent = [name for name in nic.flash if name not in have]
    if different:
        remedy = "sudo ./nic-nvm.sh apply, then reboot"
        yield failed(", ".join(different), f"{len(nic.flash)} settings", f"host.json {nic.key}.firmware", remedy)
    elif odd or absent:
        why = [f"not understood: {', '.join(odd)}"] if odd else []
        why += [f"the tool does not show {', '.join(absent)}"] if absent else []
        right = len(nic.flash) - len(odd) - len(absent)
        raise CannotTellError(f"{'; '.join(why)} ({right} of {len(nic.flash)} planned settings are as planned)")
    else:
        yield ok(f"{len(nic.flash)} planned settings as planned")


def _flash_alike(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Compare all flash settings of an NVIDIA NIC with the server's other NICs of the same model. Used for a server without a design."""
    settings = _mlx5_flash(server, outcome.pci_of(server.machine, nic.netdev))
    if not settings:
        raise CannotTellError("mlxconfig shows no settings")

    def read(name: str) -> Callable[[WantedNic], object]:
        def value(other: WantedNic) -> int | None:
            return _mlx5_flash(server, outcome.pci_of(server.machine, other.netdev)).get(name)

        return value

    remedy = "sudo mlxconfig -d PCI set NAME=VALUE as on the other NICs, then reboot"
    entries = [
        (name, entry) for name in settings for entry in alike(server, nic, read(name), remedy=remedy, level=warning)
    ]
    if wrong := [(name, entry) for name, entry in entries if entry.verdict == WARNING]:
        seen = "; ".join(f"{name} is {entry.seen}, not {entry.wanted}" for name, entry in wrong[:_MOST_NAMED])
        more = f"; and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
        yield warning(seen + more, "the same settings on all", wrong[0][1].origin, remedy)
    else:
        yield ok(f"{len(settings)} settings as on the other NICs of its kind")


_MOST_NAMED = 6


def _mlx5_flash(server: Server, address: str) -> dict[str, int | None]:
    tool = next((name for name in ("mlxconfig", "mstconfig") if server.machine.has(name)), "mstconfig")
    settings: dict[str, int | None] = {}
    for line in server.machine.output(tool, "-d", address, "query").splitlines():
        words = line.lstrip("* ").split()
        if len(words) >= 2:
            number = re.search(r"\((0x[0-9a-fA-F]+|\d+)\)$|^(0x[0-9a-fA-F]+|\d+)$", words[-1])
            settings[words[0]] = int(number[1] or number[2], 0) if number else None
    return settings


_WORDS = {"true": 1, "enabled": 1, "enable": 1, "on": 1, "roce": 1}
_WORDS.update(dict.fromkeys(("false", "disabled", "disable", "off", "none", "default"), 0))


def _bnxt_flash(server: Server, nic: WantedNic, address: str) -> dict[str, int | None]:
    """Return the planned flash settings of a Broadcom NIC as numbers, by name. Settings that niccli does not show are left out.

    A number is None if the text that niccli prints is unknown. Settings are read one by one. A per-function setting needs
    the function number from the PCI ``address``; without it, niccli prints nothing (Thor2 guide, section 2.2.4).
    """
    if not server.machine.has("niccli"):
        raise CannotTellError("niccli is not installed")
    settings: dict[str, int | None] = {}
    for name in nic.flash:
        scope = ("--scope", address.rpartition(".")[2]) if name in nic.flash_per_function else ()
        shown, number = nvm_option(server.machine, address, name, *scope)
        if shown:
            settings[name] = number
    return settings


def nvm_option(machine: Machine, address: str, name: str, *scope: str) -> tuple[str, int | None]:
    """Return (text, number) for the flash setting ``name`` of a Broadcom NIC: the text that niccli prints, and the number that the text stands for.

    The text is empty if niccli does not show the setting. The number is None if the text is unknown. ``address`` is the NIC's PCI address.
    ``scope`` has further arguments of niccli, such as ``--scope 0`` for PCI function 0.
    """
    text = machine.run("niccli", "--dev", address, "nvm", "--getoption", name, *scope).out
    values: list[str] = re.findall(rf"^\s*{re.escape(name)}[^=:\n]*[=:]\s*(.*\S)\s*$", text, re.MULTILINE)
    if not values:
        return "", None
    word = values[-1].lower()
    number = re.match(r"(0x[0-9a-f]+|\d+)(?:[\s(].*)?$", word) or re.search(r"\((0x[0-9a-f]+|\d+)\)$", word)
    return values[-1], int(number[1], 0) if number else _WORDS.get(word)
