"""What the tests of server files share: configurations of the examples, and what a server's kernel holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from railweave.model.device.host import host_config
from railweave.model.device.host_model import HostConfig
from railweave.model.network.model import Network
from tests.conftest import example
from tests.netns import Namespace

EXAMPLES = ("h100-rlb", "h100-rlb-8up", "mi300x-leaf-24", "mi300x-leaf-31")
BUILT_IN_TABLES = {"253", "254", "255"}


@cache
def network(name: str, advertisements_by: str = "networkd") -> Network:
    found = example(name)
    return replace(found, hosts=found.hosts.model_copy(update={"router_advertisements": advertisements_by}))


@cache
def config(name: str, host: str, advertisements_by: str = "networkd") -> HostConfig:
    return host_config(network(name, advertisements_by), host)


def every() -> Iterator[HostConfig]:
    """Every server of every example."""
    for name in EXAMPLES:
        for one in network(name).servers:
            yield config(name, one.name)


def macs(server: HostConfig) -> dict[str, str]:
    return {nic.netdev: nic.mac for nic in server.nics}


def planned_addresses(server: HostConfig) -> dict[str, set[str]]:
    return {nic.netdev: {one.address for one in nic.addresses} for nic in server.nics}


def addresses(host: Namespace) -> dict[str, set[str]]:
    """The addresses of every NIC but the loopback that are neither link-local nor tentative."""
    return {
        link["ifname"]: {info["local"] for info in link["addr_info"] if info.get("scope", "link") != "link"}
        for link in host.ip("addr", "show", "-tentative")
        if link.get("ifname", "lo") != "lo"
    }


def planned_routes(server: HostConfig) -> set[tuple[str, str, str, str]]:
    return {(str(one.table), one.to, one.via or "", one.dev) for one in server.routes}


def routes(host: Namespace) -> set[tuple[str, str, str, str]]:
    """Table, destination, gateway and interface of every route that is in no built-in table."""
    found = [one for family in ("-4", "-6") for one in host.ip("-N", family, "route", "show", "table", "all")]
    return {
        (one["table"], one["dst"], one.get("gateway", ""), one["dev"])
        for one in found
        if one.get("table", "254") not in BUILT_IN_TABLES
    }


def planned_rules(server: HostConfig) -> set[tuple[int | None, str, str, str]]:
    return {(one.priority, one.from_ or "all", one.to or "", str(one.table)) for one in server.rules}


def rules(host: Namespace) -> set[tuple[int | None, str, str, str]]:
    """Priority, source, destination and table of every rule that is not of the kernel's own."""
    found = [one for family in ("-4", "-6") for one in host.ip("-N", family, "rule", "show")]
    return {
        (one["priority"], _selector(one, "src") or "all", _selector(one, "dst"), one["table"])
        for one in found
        if one["table"] not in BUILT_IN_TABLES
    }


def _selector(rule: dict[str, object], end: str) -> str:
    length = f"/{rule[f'{end}len']}" if f"{end}len" in rule else ""
    return f"{rule.get(end, '')}{length}"


def check_as_planned(host: Namespace, server: HostConfig) -> None:
    """The kernel holds exactly what was designed."""
    shown = addresses(host)
    assert {nic.netdev: shown[nic.netdev] for nic in server.nics} == planned_addresses(server)
    assert routes(host) == planned_routes(server)
    check_rules(host, server)


def check_rules(host: Namespace, server: HostConfig) -> None:
    """The rules are those designed, where their priority was left to the kernel whichever it is."""
    left_open = any(one.priority is None for one in server.rules)
    shown = {(None, *rule[1:]) for rule in rules(host)} if left_open else rules(host)
    assert shown == planned_rules(server)


def check_way_out(host: Namespace, server: HostConfig, elsewhere: str) -> None:
    """Packets to another segment leave from each address by its own NIC, table and gateway."""
    for nic in server.nics:
        for one in nic.addresses:
            (way,) = host.ip("-N", "route", "get", elsewhere, "from", one.address)
            assert (way["dev"], way["table"], way["gateway"]) == (nic.netdev, str(one.table), one.gateway)
