"""The NICs of a node as nmstate sets them: links, addresses, routes and rules of ``HostConfig``, as in netplan.yaml.

Sources: nmstate, "YAML API" (interfaces, routes, route-rules); kubernetes-nmstate, "NodeNetworkConfigurationPolicy".
"""

from __future__ import annotations

from ipaddress import ip_interface
from typing import TYPE_CHECKING, Any

from railweave.model.config.addresses import Prefix
from railweave.operations.exports.manifests import HOSTNAME, PREFIX, Document, document, object_name, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.config.addresses import Address, Family
    from railweave.model.device.host_model import HostConfig, HostNic, HostRoute, HostRule

GPUS = "nmstate-gpus"
"""The folder of the policies for the NICs of the GPUs' fabric."""
EVERYWHERE: dict[Family, str] = {"ipv4": "0.0.0.0/0", "ipv6": "::/0"}
"""The destination of a default route, by address family."""


def files(nodes: dict[str, tuple[HostConfig, str]]) -> dict[str, str]:
    """Return the policy files of each node, by file name.

    ``nodes`` maps a node to the configuration of its server and to the fabric of its GPUs. The NICs of that fabric have a policy of
    their own, in the folder ``nmstate-gpus/FABRIC``: it must not be applied if pods get whole NICs. A node has no policy for NICs that it
    lacks, or that nmstate must not manage.
    """
    texts: dict[str, str] = {}
    for node, (config, fabric) in nodes.items():
        nics = managed(config)
        for folder, members in (
            ("nmstate", [nic for nic in nics if nic.fabric != fabric]),
            (f"{GPUS}/{fabric}", [nic for nic in nics if nic.fabric == fabric]),
        ):
            if members:
                name = object_name(PREFIX, node, "" if folder == "nmstate" else "gpus")
                texts[f"{folder}/{node}.yaml"] = _policy(name, node, config, members)
    return texts


def managed(config: HostConfig) -> list[HostNic]:
    """Return the NICs that nmstate may manage: all but those whose router advertisements the kernel handles (netplan leaves these out too)."""
    if config.advertisements_by == "kernel":
        return [nic for nic in config.nics if not nic.slaac]
    return list(config.nics)


def _policy(name: str, node: str, config: HostConfig, nics: Sequence[HostNic]) -> str:
    spec = {"nodeSelector": {HOSTNAME: node}, "desiredState": desired_state(config, nics)}
    head = [
        f"{config.name}: written by `railweave export kubernetes` for {config.network}.",
        "Also install networkmanager.conf of the server's files (`railweave build`): nmstate has no setting for",
        "ignore-carrier, and without it NetworkManager removes the addresses of a link that is down.",
    ]
    if any(nic.slaac for nic in nics):
        head += [
            "dhcp with autoconf is the only form of SLAAC that nmstate has. DHCPv6 starts only if router",
            "advertisements ask for it, and those of the design do not.",
        ]
    left_out = [nic.netdev for nic in config.nics if nic not in managed(config)]
    if left_out:
        head.append(f"In no policy, because the kernel handles their router advertisements: {', '.join(left_out)}.")
    return text_of(head, [document("nmstate.io/v1", "NodeNetworkConfigurationPolicy", name, spec)])


def desired_state(config: HostConfig, nics: Sequence[HostNic]) -> Document:
    """Return nmstate's desired state of some NICs of a server."""
    names = {nic.netdev for nic in nics}
    routes = [route for nic in nics for route in _main_routes(nic)]
    routes += [_route(route) for route in config.routes if route.dev in names]
    rules = [_rule(rule) for rule in config.rules if rule.dev in names]
    state: Document = {"interfaces": [_interface(nic) for nic in nics]}
    if routes:
        state["routes"] = {"config": routes}
    if rules:
        state["route-rules"] = {"config": rules}
    return state


def _interface(nic: HostNic) -> Document:
    interface: Document = {"name": nic.netdev, "type": "ethernet", "state": "up", "mtu": nic.mtu}
    static = {
        family: [
            {"ip": str(address.address), "prefix-length": address.prefix_length}
            for address in nic.addresses
            if address.origin == "static" and address.address.family == family
        ]
        for family in EVERYWHERE
    }
    interface["ipv4"] = _family(static["ipv4"]) if static["ipv4"] else {"enabled": False}
    ipv6: Document = {"enabled": False}
    if nic.slaac:
        ipv6 = {"enabled": True, "dhcp": True, "autoconf": True, "auto-dns": False, "addr-gen-mode": "eui64"}
    elif static["ipv6"]:
        ipv6 = {"enabled": True, "dhcp": False, "autoconf": False}
    interface["ipv6"] = ipv6 | ({"address": static["ipv6"]} if static["ipv6"] else {})
    return interface


def _family(addresses: list[Document]) -> Document:
    return {"enabled": True, "dhcp": False, "address": addresses}


def _main_routes(nic: HostNic) -> list[Document]:
    """Return the routes of the main table through the gateway of the NIC's first address of the same family."""
    routes: list[Document] = []
    for to in nic.main_routes:
        family = nic.addresses[0].address.family if to == "default" else Prefix(to).family
        gateway = next(
            (address.gateway for address in nic.addresses if address.address.family == family), nic.addresses[0].gateway
        )
        routes.append(_to(to, gateway, nic.netdev))
    return routes


def _to(to: str, gateway: Address | None, netdev: str) -> Document:
    destination = EVERYWHERE[gateway.family] if to == "default" and gateway is not None else str(to)
    route: Document = {"destination": destination, "next-hop-interface": netdev}
    return route if gateway is None else route | {"next-hop-address": str(gateway)}


def _route(route: HostRoute) -> Document:
    return _to(route.to, route.via, route.dev) | {"table-id": route.table}


def _rule(rule: HostRule) -> Document:
    selectors: dict[str, Any] = {}
    if rule.from_ is not None:
        selectors["ip-from"] = _network(rule.from_)
    if rule.to is not None:
        selectors["ip-to"] = _network(rule.to)
    priority = {} if rule.priority is None else {"priority": rule.priority}
    return selectors | priority | {"route-table": rule.table}


def _network(prefix: str) -> str:
    """Return an address or prefix without host bits: nmstate compares rules with those of the kernel, which drops host bits."""
    return str(ip_interface(prefix).network)
