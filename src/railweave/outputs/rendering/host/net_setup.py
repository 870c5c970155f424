"""The script ``net-setup.sh``, which sets links, addresses, routes and rules without netplan, and udev rules for interface names."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import Addressed
from railweave.nics import every_vendor
from railweave.outputs.rendering.host.shell import comment_head
from railweave.reading import packaged_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.host_model import HostConfig, HostRoute, HostRule


_KERNEL_NETDEV = re.compile(r"eth\d+")
_KERNEL_RDMA = r"(irdma|rocep?|rxe|siw|hns|erdma|efa|mana)_?\d+"
"""A pattern of the names that the kernel gives to RDMA devices, for drivers without a folder under ``railweave.nics`` and for software RDMA."""


def naming_files(config: HostConfig) -> dict[str, str]:
    """Return the text of the udev rules, by file name."""
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
    return _text(comment_head(config, "/etc/udev/rules.d/70-railweave-net.rules", *why), rules)


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
    lines = comment_head(config, "/etc/udev/rules.d/60-rdma-persistent-naming.rules", *why)
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


def net_setup_sh(config: HostConfig) -> str:
    """Return the text of net-setup.sh."""
    slaac = {nic.netdev for nic in config.nics if nic.slaac}
    values = {
        "head": "\n".join(
            comment_head(
                config,
                "/usr/local/sbin/railweave-net-setup",
                "",
                "Links, addresses, source routes and rules of the fabric NICs, the same as in netplan.yaml, by iproute2. For servers",
                "where the kernel handles router advertisements (railweave-net.service runs it at boot), and for trying things out.",
                "Makes only what is missing, so it can run again. --undo takes back what it made, --dry-run shows what it would do.",
            )
        ),
        "links": _words(f"{nic.netdev} {nic.mtu} {'slaac' if nic.slaac else 'static'}" for nic in config.nics),
        "addresses": _words(
            f"{_version(address.address)}|{address.address}/{address.prefix_length}|{nic.netdev}"
            for nic in config.nics
            for address in nic.addresses
            if address.origin == "static"
        ),
        "routes": _words(_route(route, slaac) for route in config.routes),
        "rules": _words(_rule(rule) for rule in config.rules),
    }
    text = _template()
    for name, value in values.items():
        text = text.replace(f"@{name}@\n", value + "\n" if value else "", 1)
    return text


def _route(route: HostRoute, slaac: set[str]) -> str:
    to = f"{route.to} dev {route.dev}" if route.via is None else f"{route.to} via {route.via} dev {route.dev}"
    more = [f"scope {route.scope}"] if route.scope else []
    # The gateway is on the link, even before the address exists from which this follows.
    more += ["onlink"] if route.via is not None and route.via.family == "ipv6" and route.dev in slaac else []
    return f"{_version(route.via or route.to)}|{to} table {route.table}|{' '.join(more)}"


def _rule(rule: HostRule) -> str:
    selector = f"from {rule.from_ or 'all'}" + (f" to {rule.to}" if rule.to else "")
    priority = "" if rule.priority is None else str(rule.priority)
    return f"{_version(rule.from_ or rule.to)}|{selector} lookup {rule.table}|{priority}"


def _version(way: Addressed | Literal["default"] | None) -> int:
    return 6 if isinstance(way, Addressed) and way.family == "ipv6" else 4


def _words(lines: Iterable[str]) -> str:
    """Return lines as quoted shell words, one per line. Quotes are needed, because every line contains a space or ``|``."""
    text = "\n".join(lines).replace("'", "'\"'\"'").replace("\n", "'\n  '")
    return f"  '{text}'" if text else ""


@cache
def _template() -> str:
    return packaged_text(files("railweave.outputs.rendering.host") / "net_setup.sh")
