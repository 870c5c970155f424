"""RDMA devices: there, named as planned, active, with an address of every path as a GID."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..gids import DEVICES, V2, devices, of_port
from ..machine import CannotTellError, objects
from . import reading
from .outcome import failed, failed_or_ok, of_nic, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server, WantedNic


_NAMES = "sudo install -m 644 70-railweave-net.rules /etc/udev/rules.d/ && sudo udevadm control --reload, then reboot"


@of_server(
    "nic-present",
    what="Every planned network interface is there, by its planned name.",
    why="A NIC that is missing or called otherwise takes no part in jobs: NCCL_IB_HCA and the routing tables name it.",
    how="/sys/class/net",
    source="Thor2 guide, section 2.6, check 6; host.json nics[].netdev",
)
def present(server: Server) -> Iterator[Outcome]:
    """Look for each planned interface; one of another name is found by its MAC address."""
    machine = server.machine
    there = machine.names("/sys/class/net")
    for nic in server.nics:
        if nic.netdev in there:
            yield ok("there", nic.netdev)
            continue
        mac = nic.plan.mac
        other = next((one for one in there if mac and machine.text(f"/sys/class/net/{one}/address") == mac), "")
        seen = f"its MAC address {mac} is on {other}" if other else "there is no such interface"
        lost = "" if other else "look for it: lspci -nn | grep -i ethernet (rev ff: off the bus, power cycle); "
        yield failed(
            seen, f"an interface of that name, a {nic.model}", f"host.json {nic.key}.netdev", lost + _NAMES, nic.netdev
        )


@of_nic(
    "nic-mac",
    what="Each NIC has the MAC address that was delivered.",
    why="Another address is another card, or the host.json of another server: addresses by SLAAC and rules follow from it.",
    how="/sys/class/net/NIC/address",
    source="host.json nics[].mac, from the inventory",
    unless=lambda _, nic: "the inventory has no MAC address for it yet" if nic.plan.mac is None else "",
)
def mac(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Compare the address."""
    seen = server.machine.text(f"/sys/class/net/{nic.netdev}/address") or "none"
    if seen == nic.plan.mac:
        yield ok(seen)
    else:
        remedy = "railweave inventory fill FABRIC CAPTURE, or install this server's own host.json"
        yield failed(seen, nic.plan.mac, f"host.json {nic.key}.mac", remedy)


@of_nic(
    "nic-driver",
    what="Each NIC is driven by the planned driver.",
    why="Checks, settings and counters go by the vendor's family; vfio or no driver means that the NIC was given away.",
    how="/sys/class/net/NIC/device/driver",
    source="host.json nics[].driver, from the hardware catalog",
    unless=lambda _, nic: "" if nic.driver else "the design names no driver",
)
def driver(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Compare the driver."""
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
    what="Each NIC has the firmware version that the fabric file asks for, and the same as its like.",
    why="A NIC of another firmware behaves otherwise under congestion, and one slow NIC slows the whole job.",
    how="ethtool -i NIC",
    source="fabric file, hosts.versions.nic_firmware; Thor2 guide, section 2.6, check 1",
)
def firmware(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Compare with the plan, or with the server's other NICs of this model."""
    seen = _version(server, nic, "firmware-version")
    yield from _compared(server, nic, seen, "nic_firmware", nic.model, "firmware-version")


@of_nic(
    "nic-driver-version",
    what="Each NIC's driver has the version that the fabric file asks for.",
    why="Mixed driver versions are the first thing a vendor's support asks to end.",
    how="ethtool -i NIC",
    source="fabric file, hosts.versions.nic_driver; Thor2 guide, section 2.6, check 1",
)
def driver_version(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Compare with the plan."""
    seen = _version(server, nic, "version")
    yield from _compared(server, nic, seen, "nic_driver", nic.driver, "version")


def _version(server: Server, nic: WantedNic, name: str) -> str:
    text = reading.pairs(server.machine.output("ethtool", "-i", nic.netdev)).get(name, "")
    if not text:
        raise CannotTellError(f"ethtool -i {nic.netdev} prints no {name}")
    return text.split(" ")[0].split("/")[0]


def _compared(server: Server, nic: WantedNic, seen: str, key: str, of: str, name: str) -> Iterator[Outcome]:
    wanted = "".join(str(one.get(of, "")) for one in objects(server.versions.get(key)))
    like = [one for one in server.nics if one.model == nic.model and one.driver == nic.driver]
    if wanted:
        if seen == wanted:
            yield ok(seen)
        else:
            remedy = f"update it with the vendor's tool to {wanted}, then reboot"
            yield failed(seen, wanted, f"host.json versions.{key}.{of}", remedy)
        return
    others: dict[str, int] = {}
    for one in like:
        try:
            version = _version(server, one, name)
        except CannotTellError:
            continue
        others[version] = others.get(version, 0) + 1
    most = max(sorted(others), key=lambda one: others[one], default=seen)
    if seen == most or others[most] * 2 <= len(like):
        yield ok(f"{seen} (the fabric file asks for none)")
    else:
        remedy = f"bring it to {most}, or write the wanted version under hosts.versions of the fabric file"
        yield warning(seen, f"{most}, as {others[most]} of {len(like)} such NICs here", "this server", remedy)


@of_nic(
    "nic-flash",
    what="The settings that the NIC keeps in its own flash are the planned ones.",
    why="Firmware that answers LLDP or DCBX itself takes QoS away from the driver; others turn RDMA or congestion control off.",
    how="mlxconfig -d PCI query (mstconfig), niccli --dev PCI nvm --getoption NAME [--scope FUNCTION]",
    source="Thor2 guide, section 2.2.4 and section 5.1, question 5; hardware catalog, firmware",
    root=True,
    unless=lambda _, nic: "" if nic.flash else "no setting is planned for it",
)
def flash(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Compare each setting; of one that the tool does not show nobody can tell."""
    address = reading.pci_of(server.machine, nic.netdev)
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


def _mlx5_flash(server: Server, address: str) -> dict[str, int | None]:
    tool = next((one for one in ("mlxconfig", "mstconfig") if server.machine.has(one)), "mstconfig")
    found: dict[str, int | None] = {}
    for line in server.machine.output(tool, "-d", address, "query").splitlines():
        words = line.lstrip("* ").split()
        if len(words) >= 2:
            number = re.search(r"\((0x[0-9a-fA-F]+|\d+)\)$|^(0x[0-9a-fA-F]+|\d+)$", words[-1])
            found[words[0]] = int(number[1] or number[2], 0) if number else None
    return found


_WORDS = {"true": 1, "enabled": 1, "enable": 1, "on": 1, "roce": 1}
_WORDS.update(dict.fromkeys(("false", "disabled", "disable", "off", "none", "default"), 0))


def _bnxt_flash(server: Server, nic: WantedNic, address: str) -> dict[str, int | None]:
    """Each setting by itself: those of a function with its number, without which niccli answers with nothing (Thor2 guide, section 2.2.4)."""
    if not server.machine.has("niccli"):
        raise CannotTellError("niccli is not installed")
    found: dict[str, int | None] = {}
    for name in nic.flash:
        scope = ("--scope", address.rpartition(".")[2]) if name in nic.flash_per_function else ()
        text = server.machine.run("niccli", "--dev", address, "nvm", "--getoption", name, *scope).out
        values = re.findall(rf"^\s*{re.escape(name)}[^=:\n]*[=:]\s*(.*\S)\s*$", text, re.MULTILINE)
        if values:
            word = values[-1].lower()
            number = re.match(r"(0x[0-9a-f]+|\d+)(?:[\s(].*)?$", word) or re.search(r"\((0x[0-9a-f]+|\d+)\)$", word)
            found[name] = int(number[1], 0) if number else _WORDS.get(word)
    return found


_STACKS = {"mlx5_core": ("mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs"), "bnxt_en": ("bnxt_en", "bnxt_re")}
"""Modules that must come from one build, by the driver of the NIC."""


def _stacks(server: Server) -> list[tuple[str, ...]]:
    drivers = dict.fromkeys(nic.driver for nic in server.nics)
    return [_STACKS[one] for one in drivers if one in _STACKS]


def _unknown(server: Server) -> str:
    return "" if _stacks(server) else "no planned NIC is of a family whose modules are known"


def _origin(server: Server, module: str) -> str:
    """``kernel`` for one that came with the kernel, ``added`` for one of a package or DKMS, empty where it is not there."""
    said = server.machine.run("modinfo", "-F", "filename", module)
    file = said.out.strip()
    if said.code or not file:
        return ""
    return "kernel" if "/kernel/" in file.split("/lib/modules/")[-1] or file == "(builtin)" else "added"


@of_server(
    "driver-loaded",
    what="The modules of NIC and RDMA are loaded.",
    why="Without the RDMA half of the driver there is no RDMA device, and NCCL goes by TCP in silence.",
    how="/sys/module",
    source="Thor2 guide, section 2.6, check 1",
    unless=_unknown,
)
def loaded(server: Server) -> Iterator[Outcome]:
    """Look for each module."""
    stacks = _stacks(server)
    for module in (one for stack in stacks for one in stack):
        if server.machine.names(f"/sys/module/{module}"):
            yield ok("loaded", module)
        else:
            yield failed("not loaded", "loaded", "the driver of the planned NICs", f"sudo modprobe {module}", module)


@of_server(
    "driver-origin",
    what="The modules of NIC and RDMA come from one build: all with the kernel, or all from the vendor's package.",
    why="Inbox and vendor modules mixed disagree about symbols: devices vanish, or GPU memory cannot be registered.",
    how="modinfo -F filename MODULE; ofed_info -s",
    source="Thor2 guide, section 5.1, questions 6 and 7",
    unless=_unknown,
)
def origin(server: Server) -> Iterator[Outcome]:
    """Compare the origins."""
    stacks = _stacks(server)
    for stack in stacks:
        origins = {module: _origin(server, module) for module in stack}
        there = {module: one for module, one in origins.items() if one}
        if not there:
            raise CannotTellError(f"modinfo knows none of {', '.join(stack)}")
        if len(set(there.values())) > 1:
            seen = ", ".join(f"{module}: {one}" for module, one in there.items())
            remedy = "install one of the two alone, then sudo update-initramfs -u (dracut -f) and reboot"
            yield failed(seen, "all of one build", "Thor2 guide, section 2.6, check 1", remedy, stack[0])
        else:
            yield ok(
                f"{', '.join(there)}: all {'with the kernel' if 'kernel' in there.values() else 'of a package'}",
                stack[0],
            )
    if all(stack[0] == "bnxt_en" for stack in stacks):
        said = server.machine.run("ofed_info", "-s") if server.machine.has("ofed_info") else None
        if said is not None and not said.code:
            remedy = "sudo ofed_uninstall.sh, then install Broadcom's package again"
            yield failed(
                said.out.strip(),
                "no NVIDIA OFED beside Broadcom NICs",
                "Thor2 guide, section 5.1, question 7",
                remedy,
                "OFED",
            )


@of_server(
    "driver-current",
    what="The module that runs is the one that is installed.",
    why="After an update without a reboot, or with an old initramfs, the old driver runs and versions lie.",
    how="/sys/module/MODULE/srcversion; modinfo -F srcversion MODULE",
    source="modinfo(8)",
    unless=_unknown,
)
def current(server: Server) -> Iterator[Outcome]:
    """Compare the two."""
    stacks = _stacks(server)
    for module in (stack[0] for stack in stacks):
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
    what="There is one peer memory interface, not two.",
    why="GPU drivers register with one of them; NIC drivers that look at the other copy through host memory.",
    how="grep -w ib_register_peer_memory_client /proc/kallsyms; dkms status",
    source="Thor2 guide, section 5.1, question 3, and its installation notes (netxtreme-peer-mem)",
)
def peer_memory_once(server: Server) -> Iterator[Outcome]:
    """Count who has the symbol, and which packages are installed."""
    said = server.machine.run("grep", "-w", "ib_register_peer_memory_client", "/proc/kallsyms")
    owners = sorted(set(re.findall(r"ib_register_peer_memory_client\s+\[(\w+)\]", said.out)))
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


def _port(nic: WantedNic) -> str:
    return f"{DEVICES}/{nic.rdma}/ports/{nic.plan.rdma_port}"


def _there(server: Server, nic: WantedNic) -> None:
    if nic.rdma not in devices(server.machine):
        raise CannotTellError(f"there is no RDMA device {nic.rdma}")


@of_nic(
    "rdma-device",
    what="Each planned RDMA device is there, by its planned name, on the planned NIC.",
    why="NCCL_IB_HCA names it; under another name the NIC is left out, or another rail's is taken.",
    how="/sys/class/infiniband",
    source="Thor2 guide, section 2.6, check 6, and section 5.1, question 1",
)
def device(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Look for the device, and for one of another name on the same card."""
    machine = server.machine
    there = devices(machine)
    card = machine.real(f"/sys/class/net/{nic.netdev}/device")
    own = [one for one in there if machine.real(f"{DEVICES}/{one}/device") == card] if card else []
    origin = f"host.json {nic.key}.rdma"
    if nic.rdma in own or (nic.rdma in there and not own):
        yield ok(nic.rdma)
    elif own:
        remedy = "sudo install -m 644 60-rdma-persistent-naming.rules /etc/udev/rules.d/, then reboot"
        yield failed(f"called {', '.join(own)}", nic.rdma, origin, remedy)
    else:
        remedy = (
            "sudo modprobe bnxt_re" if nic.bnxt else "sudo modprobe mlx5_ib" if nic.mlx5 else "load its RDMA driver"
        )
        yield failed("none", nic.rdma, origin, f"{remedy}; is RDMA on in its flash? (nic-flash)")


@of_nic(
    "rdma-port",
    what="The RDMA port is active, and its link is Ethernet.",
    why="A port that is down, or set to InfiniBand, carries no RoCE.",
    how="/sys/class/infiniband/DEVICE/ports/PORT/{state,phys_state,link_layer}",
    source="Thor2 guide, section 2.6, check 6",
)
def port(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Read the three."""
    _there(server, nic)
    state, layer = (server.machine.text(f"{_port(nic)}/{one}") or "" for one in ("state", "link_layer"))
    if not state:
        raise CannotTellError(f"the kernel shows no port {nic.plan.rdma_port} of it")
    origin = f"host.json {nic.key}.rdma_port"
    if layer and layer != "Ethernet":
        yield failed(layer, "Ethernet", origin, "sudo ./nic-nvm.sh apply (LINK_TYPE), then reboot")
    elif "ACTIVE" not in state:
        yield failed(state, "ACTIVE", origin, "see link-carrier; an interface that is down has a port that is down")
    else:
        yield ok("active, Ethernet")


@of_nic(
    "rdma-gids",
    what="Every planned path has its address as a RoCE v2 GID on the planned interface.",
    why="A path without a GID is not used: its color, and what it was to carry, falls on the others.",
    how="/sys/class/infiniband/DEVICE/ports/PORT/{gids,gid_attrs}",
    source="Thor2 guide, section 2.6, check 10; host.json nics[].addresses",
)
def gids(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Find each path's address by value, never by index."""
    _there(server, nic)
    of_paths = [
        one for one in of_port(server.machine, nic.rdma, nic.plan.rdma_port, nic.plan) if one.path and one.type == V2
    ]
    found = {one.path.number for one in of_paths if one.path and one.netdev == nic.netdev}
    elsewhere = [f"{one.address} on {one.netdev}" for one in of_paths if one.netdev not in {"", nic.netdev}]
    missing = [path for path in nic.plan.paths if path.number not in found]
    if not missing:
        yield ok(f"{len(found)} of {len(nic.plan.paths)}")
        return
    names = ", ".join(f"path {one.number} ({one.color_name or 'no color'}, {one.prefix})" for one in missing)
    seen = f"{len(found)} of {len(nic.plan.paths)}; missing {names}" + (
        f"; {', '.join(elsewhere)}" if elsewhere else ""
    )
    remedy = "see host-addresses: the GID follows when the address is there; after a change of VRF or name, reload the RDMA driver"
    yield failed(seen, f"{len(nic.plan.paths)} RoCE v2 GIDs", f"host.json {nic.key}.addresses", remedy)


@of_nic(
    "rdma-mtu",
    what="RDMA sends packets of 4,096 bytes where the interface's MTU holds them.",
    why="At 1,024 bytes a 400G port needs four times the packets, and falls short of its rate.",
    how="ibv_devinfo -d DEVICE",
    source="InfiniBand Architecture Specification, path MTU; Thor2 guide, section 2.6, check 11",
)
def mtu(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Read active_mtu."""
    _there(server, nic)
    text = server.machine.output("ibv_devinfo", "-d", nic.rdma)
    found = re.search(r"active_mtu:\s+(\d+)", text)
    if not found:
        raise CannotTellError("ibv_devinfo prints no active_mtu")
    wanted = next(one for one in (4096, 2048, 1024, 512, 256) if one + 90 <= nic.plan.mtu or one == 256)
    if int(found[1]) >= wanted:
        yield ok(f"{found[1]} bytes")
    else:
        yield failed(
            f"{found[1]} bytes", f"{wanted} bytes", f"host.json {nic.key}.mtu", "see link-mtu: it follows the MTU"
        )


@of_nic(
    "rdma-verbs",
    what="Programs reach the RDMA device: library and kernel driver fit each other.",
    why="With a library older than the driver the device is not listed, and NCCL goes by TCP.",
    how="ibv_devinfo -d DEVICE",
    source="Thor2 guide, section 5.1, question 6",
)
def verbs(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Ask through the library."""
    _there(server, nic)
    said = server.machine.run("ibv_devinfo", "-d", nic.rdma)
    abi = re.search(r"does not support the kernel ABI of \d+ \(supports \d+ to \d+\)", said.err + said.out)
    if abi:
        remedy = "install the user library of the same release as the driver; `strace -e openat ibv_devinfo` shows which is taken"
        yield failed(abi[0], "a library that fits", "Thor2 guide, section 5.1, question 6", remedy)
    elif said.code:
        reason = (said.err.strip() or said.out.strip() or "no reason given").splitlines()[-1]
        remedy = "install ibverbs-providers (rdma-core) or the vendor's library; may this user open /dev/infiniband?"
        yield failed(reason, "an answer", "Thor2 guide, section 2.6, check 6", remedy)
    else:
        version = reading.pairs(said.out).get("fw_ver", "")
        yield ok(f"answers{', firmware ' + version if version else ''}")
