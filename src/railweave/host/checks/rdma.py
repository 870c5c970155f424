"""Checks that RDMA devices are present, named as planned and active, and have the address of every path as a GID."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..gids import DEVICES, V2, devices, of_port
from ..machine import CannotTellError
from . import outcome
from .outcome import failed, of_nic, ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server, WantedNic


def _port(nic: WantedNic) -> str:
    return f"{DEVICES}/{nic.rdma}/ports/{nic.plan.rdma_port}"


def _there(server: Server, nic: WantedNic) -> None:
    if nic.rdma not in devices(server.machine):
        raise CannotTellError(f"there is no RDMA device {nic.rdma}")


@of_nic(
    "rdma-device",
    rule="Each planned RDMA device is there, by its planned name, on the planned NIC.",
    why="NCCL_IB_HCA names it; under another name the NIC is left out, or another rail's is taken.",
    how="/sys/class/infiniband",
    source="Thor2 guide, section 2.6, check 6, and section 5.1, question 1",
)
def device(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the planned RDMA device exists; a device with another name is found by its card."""
    machine = server.machine
    there = devices(machine)
    card = machine.real(f"/sys/class/net/{nic.netdev}/device")
    card_devices = [name for name in there if machine.real(f"{DEVICES}/{name}/device") == card] if card else []
    origin = f"host.json {nic.key}.rdma"
    if nic.rdma in card_devices or (nic.rdma in there and not card_devices):
        yield ok(nic.rdma)
    elif card_devices:
        remedy = "sudo install -m 644 60-rdma-persistent-naming.rules /etc/udev/rules.d/, then reboot"
        yield failed(f"called {', '.join(card_devices)}", nic.rdma, origin, remedy)
    else:
        remedy = (
            "sudo modprobe bnxt_re" if nic.bnxt else "sudo modprobe mlx5_ib" if nic.mlx5 else "load its RDMA driver"
        )
        yield failed("none", nic.rdma, origin, f"{remedy}; is RDMA on in its flash? (nic-flash)")


@of_nic(
    "rdma-port",
    rule="The RDMA port is active, and its link is Ethernet.",
    why="A port that is down, or set to InfiniBand, carries no RoCE.",
    how="/sys/class/infiniband/DEVICE/ports/PORT/{state,phys_state,link_layer}",
    source="Thor2 guide, section 2.6, check 6",
)
def port(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the RDMA port exists, is active, and has Ethernet as its link layer."""
    _there(server, nic)
    state, layer = (server.machine.text(f"{_port(nic)}/{attribute}") or "" for attribute in ("state", "link_layer"))
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
    rule="Every planned path has its address as a RoCE v2 GID on the planned interface.",
    why="A path without a GID is not used: its color, and what it was to carry, falls on the others.",
    how="/sys/class/infiniband/DEVICE/ports/PORT/{gids,gid_attrs}",
    source="Thor2 guide, section 2.6, check 10; host.json nics[].addresses",
)
def gids(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that each path's address is a RoCE v2 GID of the NIC, found by its value and never by its index."""
    _there(server, nic)
    of_paths = [
        gid for gid in of_port(server.machine, nic.rdma, nic.plan.rdma_port, nic.plan) if gid.path and gid.type == V2
    ]
    path_numbers = {address.path.number for address in of_paths if address.path and address.netdev == nic.netdev}
    elsewhere = [
        f"{address.address} on {address.netdev}" for address in of_paths if address.netdev not in {"", nic.netdev}
    ]
    missing = [path for path in nic.plan.paths if path.number not in path_numbers]
    if not missing:
        yield ok(f"{len(path_numbers)} of {len(nic.plan.paths)}")
        return
    names = ", ".join(f"path {path.number} ({path.color_name or 'no color'}, {path.prefix})" for path in missing)
    seen = f"{len(path_numbers)} of {len(nic.plan.paths)}; missing {names}" + (
        f"; {', '.join(elsewhere)}" if elsewhere else ""
    )
    remedy = "see host-addresses: the GID follows when the address is there; after a change of VRF or name, reload the RDMA driver"
    yield failed(seen, f"{len(nic.plan.paths)} RoCE v2 GIDs", f"host.json {nic.key}.addresses", remedy)


@of_nic(
    "rdma-mtu",
    rule="RDMA sends packets of 4,096 bytes where the interface's MTU holds them.",
    why="At 1,024 bytes a 400G port needs four times the packets, and falls short of its rate.",
    how="ibv_devinfo -d DEVICE",
    source="InfiniBand Architecture Specification, path MTU; Thor2 guide, section 2.6, check 11",
)
def mtu(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the RDMA port's active_mtu suits the planned MTU."""
    _there(server, nic)
    text = server.machine.output("ibv_devinfo", "-d", nic.rdma)
    match = re.search(r"active_mtu:\s+(\d+)", text)
    if not match:
        raise CannotTellError("ibv_devinfo prints no active_mtu")
    wanted = next(size for size in (4096, 2048, 1024, 512, 256) if size + 90 <= nic.plan.mtu or size == 256)
    if int(match[1]) >= wanted:
        yield ok(f"{match[1]} bytes")
    else:
        yield failed(
            f"{match[1]} bytes", f"{wanted} bytes", f"host.json {nic.key}.mtu", "see link-mtu: it follows the MTU"
        )


@of_nic(
    "rdma-verbs",
    rule="Programs reach the RDMA device: library and kernel driver fit each other.",
    why="With a library older than the driver the device is not listed, and NCCL goes by TCP.",
    how="ibv_devinfo -d DEVICE",
    source="Thor2 guide, section 5.1, question 6",
)
def verbs(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the verbs library can open the device."""
    _there(server, nic)
    answer = server.machine.run("ibv_devinfo", "-d", nic.rdma)
    abi = re.search(r"does not support the kernel ABI of \d+ \(supports \d+ to \d+\)", answer.err + answer.out)
    if abi:
        remedy = "install the user library of the same release as the driver; `strace -e openat ibv_devinfo` shows which is taken"
        yield failed(abi[0], "a library that fits", "Thor2 guide, section 5.1, question 6", remedy)
    elif answer.code:
        reason = (answer.err.strip() or answer.out.strip() or "no reason given").splitlines()[-1]
        remedy = "install ibverbs-providers (rdma-core) or the vendor's library; may this user open /dev/infiniband?"
        yield failed(reason, "an answer", "Thor2 guide, section 2.6, check 6", remedy)
    else:
        version = outcome.pairs(answer.out).get("fw_ver", "")
        yield ok(f"answers{', firmware ' + version if version else ''}")
