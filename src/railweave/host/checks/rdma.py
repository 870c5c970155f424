"""Checks that RDMA devices are present, named as planned and active, and have the address of every path as a GID."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from ..gids import DEVICES, V2, devices, of_port
from ..machine import CannotTellError, objects
from . import outcome
from .outcome import failed, not_applicable, of_nic, ok, warning

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
    rule="Each planned RDMA device exists, with its planned name, on the planned NIC.",
    why="NCCL_IB_HCA contains the name; a device with a different name is not used, or is used for the wrong rail.",
    how="/sys/class/infiniband",
    source="Thor2 guide, section 2.6, check 6, and section 5.1, question 1",
)
def device(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the planned RDMA device exists. A device that has a different name is found by the PCI address of the NIC."""
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
    why="A port that is down, or configured for InfiniBand, carries no RoCE traffic.",
    how="/sys/class/infiniband/DEVICE/ports/PORT/{state,phys_state,link_layer}",
    source="Thor2 guide, section 2.6, check 6",
)
def port(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the RDMA port exists, is active, and has Ethernet as its link layer."""
    _there(server, nic)
    state, layer = (server.machine.text(f"{_port(nic)}/{attribute}") or "" for attribute in ("state", "link_layer"))
    if not state:
        raise CannotTellError(f"the kernel shows no port {nic.plan.rdma_port} of it")
    origin = server.origin(f"{nic.key}.rdma_port", "a NIC for RoCE")
    if server.generic and machine_dark(server, nic):
        yield not_applicable("no carrier: see link-carrier")
        return
    if layer and layer != "Ethernet":
        yield failed(layer, "Ethernet", origin, "sudo ./nic-nvm.sh apply (LINK_TYPE), then reboot")
    elif "ACTIVE" not in state:
        yield failed(state, "ACTIVE", origin, "see link-carrier; an interface that is down has a port that is down")
    else:
        yield ok("active, Ethernet")


@of_nic(
    "rdma-gids",
    rule="The address of every planned path is a RoCE v2 GID on the planned interface.",
    why="A path without a GID is not used: the other paths have to carry its traffic.",
    how="/sys/class/infiniband/DEVICE/ports/PORT/{gids,gid_attrs}",
    source="Thor2 guide, section 2.6, check 10; host.json nics[].addresses",
)
def gids(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that each path's address is a RoCE v2 GID of the NIC.

    The GID is found by its value, because its index may change.
    """
    _there(server, nic)
    if server.generic:
        yield _addresses_as_gids(server, nic)
        return
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


def machine_dark(server: Server, nic: WantedNic) -> bool:
    """Return True if the NIC has no carrier, or if its carrier cannot be read."""
    return server.machine.readable(f"/sys/class/net/{nic.netdev}/carrier") != "1"


def _addresses_as_gids(server: Server, nic: WantedNic) -> Outcome:
    """Check that each global address of the interface is a RoCE v2 GID. Used for a server without a design."""
    addresses = [
        ipaddress.ip_address(str(entry["local"]))
        for row in server.machine.rows("ip", "-j", "addr", "show")
        if row.get("ifname") == nic.netdev
        for entry in objects(row.get("addr_info"))
        if "local" in entry and entry.get("scope", "global") == "global"
    ]
    there = of_port(server.machine, nic.rdma, nic.plan.rdma_port, None)
    v2 = {gid.address for gid in there if gid.type == V2}
    if not v2:
        seen = f"{len(there)} GIDs, none of RoCE v2"
        return failed(seen, "RoCE v2", "the RoCE mode of NCCL's routed networks", _ROCE_MODE)
    here = {gid.address for gid in there if gid.type == V2 and gid.netdev in {"", nic.netdev}}
    missing = [str(address) for address in addresses if not address.is_link_local and address not in here]
    if missing:
        seen = f"no RoCE v2 GID for {', '.join(missing)}"
        remedy = "after a change of VRF, bond or name, reload the RDMA driver; see rdma-gid-order"
        return failed(seen, "one for each address", f"ip addr show {nic.netdev}", remedy)
    return ok(f"{len(v2)} of RoCE v2, each of {len(addresses)} addresses")


_ROCE_MODE = "cma_roce_mode -d DEVICE -p 1 -m 2 (NVIDIA); RoCE v2 in the NIC's flash settings (niccli, mlxconfig)"


@of_nic(
    "rdma-mtu",
    rule="RDMA packets carry 4,096 bytes if the interface's MTU allows it.",
    why="With 1,024 bytes, a 400G port must send four times as many packets, and does not reach its rate.",
    how="ibv_devinfo -d DEVICE",
    source="InfiniBand Architecture Specification, path MTU; Thor2 guide, section 2.6, check 11",
)
def mtu(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the RDMA port's active_mtu is at least the largest RDMA MTU that fits into the planned MTU."""
    _there(server, nic)
    text = server.machine.output("ibv_devinfo", "-d", nic.rdma)
    match = re.search(r"active_mtu:\s+(\d+)", text)
    if not match:
        raise CannotTellError("ibv_devinfo prints no active_mtu")
    if server.generic:
        remedy = f"raise the MTU of {nic.netdev} and of the switches to 4,200 or more (9000 is usual)"
        if int(match[1]) < 4096 and nic.speed_gbps >= 100 and not machine_dark(server, nic):
            yield warning(f"{match[1]} bytes", "4096 bytes", "InfiniBand Architecture Specification", remedy)
        else:
            yield ok(f"{match[1]} bytes")
        return
    wanted = next(size for size in (4096, 2048, 1024, 512, 256) if size + 90 <= nic.plan.mtu or size == 256)
    if int(match[1]) >= wanted:
        yield ok(f"{match[1]} bytes")
    else:
        yield failed(
            f"{match[1]} bytes", f"{wanted} bytes", f"host.json {nic.key}.mtu", "see link-mtu: it follows the MTU"
        )


@of_nic(
    "rdma-verbs",
    rule="Programs can open the RDMA device: library and kernel driver are compatible.",
    why="If the library is older than the driver, the device is not listed, and NCCL uses TCP.",
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


@of_nic(
    "rdma-gid-order",
    rule="The port's GID table has no hole before its last GID.",
    why="An address that comes back takes the first hole: after a flap a GID may have another index than the one in use.",
    how="/sys/class/infiniband/DEVICE/ports/PORT/gids",
    source="Linux, drivers/infiniband/core/cache.c (the first free entry is used); NCCL_IB_GID_INDEX",
)
def gid_order(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the GID table has no empty entry before its last entry."""
    _there(server, nic)
    indexes = [gid.index for gid in of_port(server.machine, nic.rdma, nic.plan.rdma_port, None)]
    if not indexes:
        raise CannotTellError("the kernel shows no GID of it")
    holes = sorted(set(range(max(indexes))) - set(indexes))
    if holes:
        remedy = "reload the RDMA driver while no job runs, or reboot; programs should look GIDs up by value: railweave host env"
        shown = ", ".join(map(str, holes[:8]))
        yield warning(f"no GID at index {shown}, and one at {max(indexes)}", "no hole", "Linux, GID cache", remedy)
    else:
        yield ok(f"{len(indexes)} GIDs without a hole")


@of_nic(
    "rdma-uverbs",
    rule="Each RDMA device has its character device for programs.",
    why="The port is active, and still no program can open the device.",
    how="/sys/class/infiniband_verbs/*/ibdev",
    source="Linux, ib_uverbs; NVSentinel, NIC health monitor",
)
def uverbs(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the kernel module ib_uverbs serves the NIC's RDMA device."""
    _there(server, nic)
    machine, folder = server.machine, "/sys/class/infiniband_verbs"
    entries = {machine.readable(f"{folder}/{name}/ibdev"): name for name in machine.names(folder)}
    if nic.rdma in entries:
        yield ok(entries[nic.rdma])
    else:
        remedy = "sudo modprobe ib_uverbs; dmesg | grep -i uverbs; is /dev/infiniband in the container?"
        yield failed("none", "a uverbs device", "Linux, ib_uverbs", remedy)
