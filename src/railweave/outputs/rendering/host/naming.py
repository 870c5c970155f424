"""Names of network interfaces and RDMA devices, by MAC address, as udev rules.

Rules and not systemd ``.link`` files: udev's ``NAME=`` also holds where the initial RAM disk has already renamed the NIC,
netplan writes ``.link`` files itself of which only the first that matches counts, and one file is easier to review than
one per NIC. Both work on Ubuntu 22.04.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.nics import every_vendor
from railweave.outputs.rendering.host.comments import head

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.host_model import HostConfig

_KERNEL_NETDEV = re.compile(r"eth\d+")
_KERNEL_RDMA = r"(irdma|rocep?|rxe|siw|hns|erdma|efa|mana)_?\d+"
"""Of drivers whose vendors have no folder under ``railweave.nics``, and of software."""


def files(config: HostConfig) -> dict[str, str]:
    """Text by name."""
    return {"70-railweave-net.rules": _net(config), "60-rdma-persistent-naming.rules": _rdma(config)}


def _net(config: HostConfig) -> str:
    why = [
        "Names each fabric NIC by its MAC. DRIVERS: only the device itself, no VLAN or bridge that has its MAC too.",
        "To try: udevadm trigger --action=add --subsystem-match=net, with the NIC down (a name cannot change while it is up).",
    ]
    taken = [nic.netdev for nic in config.nics if _KERNEL_NETDEV.fullmatch(nic.netdev)]
    if taken:
        why += [
            "",
            f"Careful: {taken[0]} to {taken[-1]} are names that the kernel itself gives, in the order it finds devices. Renaming fails",
            "(File exists) while another interface has the name (systemd.link(5) advises against such names). Give the NICs names of",
            "their own by `netdev` in the inventory, for example gpu0_eth; addresses and tables do not change with them.",
        ]
    rules = (
        (
            nic.mac_is_placeholder,
            f'SUBSYSTEM=="net", ACTION=="add", DRIVERS=="?*", ATTR{{type}}=="1", ATTR{{address}}=="{_mac(nic.mac, nic.mac_is_placeholder)}", NAME="{nic.netdev}"',
            nic.name,
        )
        for nic in config.nics
    )
    return _text(head(config, "/etc/udev/rules.d/70-railweave-net.rules", *why), rules)


def _rdma(config: HostConfig) -> str:
    why = [
        "Takes the place of rdma-core's file of the same name, which would rename mlx5_0 to rocep24s0 or the like (its",
        "NAME_FALLBACK). Devices that are not listed keep the kernel's name, which follows from the order of the PCI bus.",
        "An RDMA device is known by the MAC of the network interface of the same PCI function. rdma_rename is rdma-core's; it has",
        "NAME_FIXED in Ubuntu 22.04.",
    ]
    given = "|".join([_KERNEL_RDMA, *(vendor.rdma_devices for vendor in every_vendor())])
    taken = [nic.rdma for nic in config.nics if re.fullmatch(given, nic.rdma)]
    if taken:
        why += [
            "",
            f"Careful: {taken[0]} and the like are names that the kernel itself gives. Where it has given one to another device, the",
            "rename is refused without a message; `rdma link show` tells which device has which interface. Names of their own, by",
            "`rdma` in the inventory, cannot collide.",
        ]
    lines = head(config, "/etc/udev/rules.d/60-rdma-persistent-naming.rules", *why)
    lines += [
        'ACTION!="add", GOTO="railweave_end"',
        'SUBSYSTEM!="infiniband", GOTO="railweave_end"',
        'PROGRAM=="/bin/sh -c \'cat /sys%p/../../net/*/address | paste -sd,\'", ENV{RAILWEAVE_MAC}="%c"',
    ]
    rules = (
        (
            nic.mac_is_placeholder,
            f'ENV{{RAILWEAVE_MAC}}=="*{_mac(nic.mac, nic.mac_is_placeholder)}*", PROGRAM=="rdma_rename %k NAME_FIXED {nic.rdma}"',
            nic.name,
        )
        for nic in config.nics
    )
    return _text(lines, rules) + 'LABEL="railweave_end"\n'


def _mac(mac: str, placeholder: bool) -> str:
    return "MAC" if placeholder else mac.lower()


def _text(lines: list[str], rules: Iterable[tuple[bool, str, str]]) -> str:
    for unknown, rule, nic in rules:
        lines.append(f"# placeholder: the inventory has no MAC of {nic}\n#{rule}" if unknown else rule)
    return "\n".join(lines) + "\n"
