"""The file ``netplan.yaml`` for fabric NICs with systemd-networkd, and matching files for NetworkManager and the kernel.

A NIC with static addresses has the keys of the Thor2 guide's files (sections 2.4.1.1 and 2.4.2.1). A SLAAC NIC follows the RLB
document's "Server SLAAC Configuration", with source routing as in its Tables 8 to 10. Every NIC also has ``ignore-carrier``:
netplan then writes ``ConfigureWithoutCarrier=`` for networkd, and ``IgnoreCarrierLoss=`` defaults to that value
(systemd.network(5)). Otherwise a link that is down for more than 3 s loses its addresses, routes and rules.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from railweave.model.config.addresses import Prefix
from railweave.outputs.rendering.host.shell import comment_head
from railweave.outputs.rendering.host.units import devices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.model.device.host_model import HostConfig, HostNic, HostRoute, HostRule


SCRIPT = "/usr/local/sbin/railweave-net-setup"
"""The installation path of ``net-setup.sh``."""


def by_kernel(config: HostConfig) -> list[HostNic]:
    """Return the NICs whose router advertisements the kernel handles."""
    return [nic for nic in config.nics if nic.slaac] if config.advertisements_by == "kernel" else []


def kernel_mode_files(config: HostConfig) -> dict[str, str]:
    """Return the texts of the files for NICs whose router advertisements the kernel handles, by name. The result is empty if networkd handles all of them."""
    if not by_kernel(config):
        return {}
    return {
        "05-railweave-unmanaged.network": _unmanaged(config),
        "networkd.conf": _networkd(config),
        "railweave-net.service": _service(config),
    }


def _unmanaged(config: HostConfig) -> str:
    lines = comment_head(
        config,
        "/etc/systemd/network/05-railweave-unmanaged.network",
        "systemd-networkd sets accept_ra to 0 on every interface that any .network file matches, also one that matches all.",
        "The first file that matches counts, so this one sorts before netplan's 10-netplan-*.network.",
    )
    names = " ".join(nic.netdev for nic in by_kernel(config))
    return "\n".join([*lines, "[Match]", f"Name={names}", "", "[Link]", "Unmanaged=yes"]) + "\n"


def _networkd(config: HostConfig) -> str:
    lines = comment_head(
        config,
        "/etc/systemd/networkd.conf.d/railweave.conf",
        "networkd removes rules and routes that it did not make itself whenever it starts (networkd.conf(5)), an update of the",
        "package included. It needs to know nothing of those that railweave-net.service makes.",
    )
    return "\n".join([*lines, "[Network]", "ManageForeignRoutes=no", "ManageForeignRoutingPolicyRules=no"]) + "\n"


def _service(config: HostConfig) -> str:
    lines = comment_head(
        config,
        "/etc/systemd/system/railweave-net.service",
        "For servers whose kernel handles router advertisements: no systemd-networkd sets up the NICs' routes and rules there.",
        f"Install net-setup.sh as {SCRIPT}, then: systemctl enable --now railweave-net.service",
    )
    # Wants, not Requires: if a NIC is missing, the others are still set up. The unit then fails and names the missing NIC.
    named = devices(config.nics)
    unit = (
        "[Unit]",
        "Description=railweave: links, routes and rules of the fabric NICs (the kernel handles router advertisements)",
        "ConditionPathExists=" + SCRIPT,
        "Wants=network-pre.target " + named,
        "After=network-pre.target systemd-sysctl.service " + named,
        "Before=network.target network-online.target",
        "",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        "ExecStart=" + SCRIPT,
        "ExecStop=" + SCRIPT + " --undo",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    )
    return "\n".join([*lines, *unit]) + "\n"


def network_manager_files(config: HostConfig) -> dict[str, str]:
    """Return the texts of NetworkManager's files, by name; empty if the server has no NIC."""
    if not config.nics:
        return {}
    kernel = by_kernel(config)
    lines = comment_head(
        config,
        "/etc/NetworkManager/conf.d/railweave.conf",
        "For servers with NetworkManager, which otherwise takes addresses, routes and rules from a NIC whose link is down for more",
        "than a few seconds, and with them the GIDs that queue pairs are bound to.",
    )
    lines += ["[device-railweave]", _match(config.nics), "ignore-carrier=yes"]
    if kernel:
        lines += [
            "",
            "# The kernel handles router advertisements of these NICs: NetworkManager would turn that off.",
            "[device-railweave-unmanaged]",
            _match(kernel),
            "managed=no",
        ]
    return {"networkmanager.conf": "\n".join(lines) + "\n"}


def _match(nics: Iterable[HostNic]) -> str:
    return "match-device=" + ";".join(f"interface-name:={nic.netdev}" for nic in nics)


Value: TypeAlias = "int | bool | str | list[Value] | dict[str, Value]"
"""A value of the YAML subset that netplan files need."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*|\d+(\.\d+){3}(/\d+)?")
_RESERVED = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


def netplan_yaml(config: HostConfig) -> str:
    """Return the text of netplan.yaml."""
    lines = comment_head(
        config,
        "/etc/netplan/60-railweave.yaml (mode 600: netplan complains of any other)",
        "The servers' management interface is not in it: that is in a file of its own.",
        *(_why(config) if config.nics else ()),
    )
    kernel = by_kernel(config)
    if kernel:
        lines += [
            "#",
            f"# Not here, because the kernel handles their router advertisements: {', '.join(nic.netdev for nic in kernel)}.",
            "# systemd-networkd turns the kernel's handling off on every interface it manages, so it is kept away from them by",
            "# 05-railweave-unmanaged.network, and railweave-net.service sets up their routes and rules.",
        ]
    return "\n".join([*lines, *_printed(document(config), "")]) + "\n"


def _why(config: HostConfig) -> tuple[str, ...]:
    lines = (
        "ignore-carrier: without it networkd removes addresses, routes and rules of a link that is down for more than 3 s, and",
        "the GIDs that queue pairs are bound to with them. It needs netplan 0.104 or newer.",
    )
    if any(nic.slaac for nic in config.nics):
        lines = (
            "eui64, and no privacy addresses: the design knows the addresses from the MACs.",
            *lines,
            "It also lets routes be set before the first router advertisement has come, as on-link does.",
        )
    return ("", *lines)


def document(config: HostConfig) -> dict[str, Value]:
    """Return the content of netplan.yaml as nested mappings."""
    left_alone = {nic.netdev for nic in by_kernel(config)}
    routes: dict[str, list[HostRoute]] = {}
    for route in config.routes:
        routes.setdefault(route.dev, []).append(route)
    rules: dict[str, list[HostRule]] = {}
    for rule in config.rules:
        rules.setdefault(rule.dev, []).append(rule)
    ethernets: dict[str, Value] = {
        nic.netdev: _ethernet(nic, routes.get(nic.netdev, ()), rules.get(nic.netdev, ()))
        for nic in config.nics
        if nic.netdev not in left_alone
    }
    network: dict[str, Value] = {"version": 2, "renderer": "networkd"}
    if ethernets:
        network["ethernets"] = ethernets
    return {"network": network}


def _ethernet(nic: HostNic, routes: Sequence[HostRoute], rules: Sequence[HostRule]) -> dict[str, Value]:
    static: list[Value] = [
        f"{address.address}/{address.prefix_length}" for address in nic.addresses if address.origin == "static"
    ]
    mapping: dict[str, Value] = {"mtu": nic.mtu, "ignore-carrier": True}
    if nic.slaac:
        mapping |= {
            "dhcp4": False,
            "dhcp6": False,
            "accept-ra": True,
            "link-local": ["ipv6"],
            "ipv6-address-generation": "eui64",
            "ipv6-privacy": False,
        }
    if static:
        mapping["addresses"] = static
    if routes:
        main: list[Value] = [{"to": to, "via": _main_gateway(nic, to)} for to in nic.main_routes]
        mapping["routes"] = main + [_route(nic, route) for route in routes]
    if rules:
        mapping["routing-policy"] = [_rule(rule) for rule in rules]
    return mapping


def _main_gateway(nic: HostNic, to: str) -> str:
    """Return the gateway of the NIC's first address with the same address family as the destination ``to``.

    For `default`, or if no address has this family, it is the gateway of the NIC's first address.
    """
    family = nic.addresses[0].address.family if to == "default" else Prefix(to).family
    return next(
        (address.gateway for address in nic.addresses if address.address.family == family), nic.addresses[0].gateway
    )


def _route(nic: HostNic, route: HostRoute) -> Value:
    mapping: dict[str, Value] = {"to": route.to}
    if route.via is None:
        mapping["scope"] = "link"
    else:
        mapping["via"] = route.via
        if (
            nic.slaac and route.via.family == "ipv6"
        ):  # the gateway is on the link, even before the address exists from which this follows
            mapping["on-link"] = True
    mapping["table"] = route.table
    if route.scope:
        mapping["scope"] = route.scope
    return mapping


def _rule(rule: HostRule) -> Value:
    mapping: dict[str, Value] = {}
    if rule.from_ is not None:
        mapping["from"] = rule.from_
    if rule.to is not None:
        mapping["to"] = rule.to
    mapping["table"] = rule.table
    if rule.priority is not None:
        mapping["priority"] = rule.priority
    return mapping


def _printed(value: dict[str, Value], indent: str) -> Iterator[str]:
    """Yield the lines of a mapping as YAML, each after ``indent``. PyYAML needs a tenth of a second for a server with many paths."""
    for key, child in value.items():
        if isinstance(child, dict):
            yield f"{indent}{_text(key)}:"
            yield from _printed(child, indent + "  ")
        elif isinstance(child, list) and any(isinstance(item, dict) for item in child):
            yield f"{indent}{_text(key)}:"
            yield f"{indent}  - " + f"\n{indent}  - ".join(map(_item, child))
        else:
            yield f"{indent}{_text(key)}: {_item(child)}"


def _item(item: Value) -> str:
    """Return a list item as one line of YAML, so that routes are easy to read."""
    if isinstance(item, str):
        return _text(item)
    if isinstance(item, dict):
        return (
            "{"
            + ", ".join(
                [f"{key}: {_text(child) if isinstance(child, str) else _item(child)}" for key, child in item.items()]
            )
            + "}"
        )
    if isinstance(item, list):
        return "[" + ", ".join(map(_item, item)) + "]"
    return str(item).lower()


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    """Return a text as a YAML value. It is quoted (as JSON) if YAML 1.1 or 1.2 could read it as a different type."""
    return value if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED else json.dumps(value)
