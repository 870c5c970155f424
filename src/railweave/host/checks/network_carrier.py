"""Network daemons and NICs whose link goes down: networkd and NetworkManager take what they gave it, unless told otherwise."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ..machine import CannotTellError
from .outcome import failed, not_applicable, of_nic, ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..machine import Machine
    from .outcome import Outcome
    from .server import Server, WantedNic

_YES = frozenset({"1", "yes", "y", "true", "t", "on", "infinity"})
_NETWORKD = (
    "put ConfigureWithoutCarrier=yes into [Network] of {} (netplan: ignore-carrier: true), then networkctl reload"
)
_NETWORK_MANAGER = (
    "install networkmanager.conf as /etc/NetworkManager/conf.d/railweave.conf, then systemctl reload NetworkManager"
)


@of_nic(
    "host-carrier",
    what="Whatever gives the NIC its addresses leaves them, its routes and its rules alone while the link is down.",
    why="A flap of a few seconds otherwise takes the GIDs that queue pairs are bound to, and jobs end.",
    how="/run/systemd/netif/links/N and the .network file that it names; /run/NetworkManager/devices/N and NetworkManager --print-config",
    source="systemd.network(5), IgnoreCarrierLoss; NetworkManager.conf(5), ignore-carrier",
)
def carrier(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Find the daemon that manages the NIC, and what it is told."""
    machine = server.machine
    index = machine.number(f"/sys/class/net/{nic.netdev}/ifindex")
    if index is None:
        raise CannotTellError(f"/sys/class/net/{nic.netdev}/ifindex cannot be read")
    link = machine.text(f"/run/systemd/netif/links/{index}") or ""
    state = dict(re.findall(r'^(\w+)="?(.*?)"?$', link, re.MULTILINE))
    device = machine.text(f"/run/NetworkManager/devices/{index}") or ""
    if state.get("NETWORK_FILE") and state.get("ADMIN_STATE") != "unmanaged":
        files = [state["NETWORK_FILE"], *state.get("NETWORK_FILE_DROPINS", "").split()]
        kept, remedy = _networkd_keeps(machine, files), _NETWORKD.format(files[0])
        daemon = "systemd-networkd"
    elif re.search(r"^managed=true", device, re.MULTILINE):
        kept, remedy = _network_manager_keeps(machine, nic.netdev), _NETWORK_MANAGER
        daemon = "NetworkManager"
    else:
        yield not_applicable("neither systemd-networkd nor NetworkManager manages it")
        return
    if kept:
        yield ok(f"{daemon} ignores the loss of its carrier")
    else:
        yield failed(f"{daemon} drops them", "they stay", "netplan.yaml, networkmanager.conf", remedy)


def _networkd_keeps(machine: Machine, files: list[str]) -> bool:
    found: dict[str, str] = {}
    for file in files:
        text = machine.text(file)
        if text is None:
            raise CannotTellError(f"{file} cannot be read")
        found.update(
            re.findall(r"^[ \t]*(ConfigureWithoutCarrier|IgnoreCarrierLoss)[ \t]*=[ \t]*(\S+)", text, re.MULTILINE)
        )
    # The loss of a carrier is ignored by default if addresses are configured without a carrier.
    told = found.get("IgnoreCarrierLoss", found.get("ConfigureWithoutCarrier", "no"))
    return told.lower() in _YES


def _network_manager_keeps(machine: Machine, netdev: str) -> bool:
    """Return whether sections of devices say so that match; if none says anything, whether the list of ``[main]`` has the interface."""
    told: list[str] = []
    fallback = ""
    for section in re.split(r"^\[", machine.output("NetworkManager", "--print-config"), flags=re.MULTILINE):
        values = dict(re.findall(r"^([\w.-]+)[ \t]*=[ \t]*(.*?)[ \t]*$", section, re.MULTILINE))
        if "ignore-carrier" not in values:
            continue
        if section.startswith("main]"):
            fallback = values["ignore-carrier"]
        elif section.startswith("device") and _matches(values.get("match-device", "*"), netdev):
            told.append(values["ignore-carrier"].lower())
    return all(one in _YES for one in told) if told else _matches(fallback, netdev)


def _matches(devices: str, netdev: str) -> bool:
    """Return whether a list of devices names an interface, as far as it goes by names (NetworkManager.conf(5), Device List Format)."""
    for one in filter(None, re.split(r"[;,\s]+", devices)):
        name = one.removeprefix("interface-name:").removeprefix("~")
        if name in {"type:ethernet", f"={netdev}"} or fnmatchcase(netdev, name):
            return True
    return False
