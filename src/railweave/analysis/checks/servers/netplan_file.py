"""``netplan.yaml``: interfaces with their MTU, addresses, routes and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.checks.located import read_yaml
from railweave.analysis.checks.servers.entries import Entry, Kind
from railweave.analysis.checks.servers.rules import ADDRESS, MTU, ROUTE, RULE, SERVICE
from railweave.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.checks.located import Located

NETWORK = Kind("network", SERVICE)
INTERFACE = Kind("interface", ADDRESS, {"mtu": MTU, "ignore-carrier": SERVICE}, {"mtu": "MTU"})
ADDRESS_OF = Kind("address", ADDRESS, names={"length": "prefix length"})
ROUTE_OF = Kind("route", ROUTE, {"mtu": MTU}, {"via": "next hop (via)", "to": "destination (to)"})
RULE_OF = Kind("rule", RULE, names={"from": "source (from)", "to": "destination (to)"})

_KEPT = ("addresses", "routes", "routing-policy")


def read(text: str) -> list[Entry]:
    """What the file states. Raises ``RenderError`` with the line of what cannot be read."""
    whole = read_yaml(text)
    network = whole.named().get("network")
    if network is None:
        raise RenderError("there is no `network:` in it", 1)
    beside = Entry(NETWORK, whole.fields(["network"]), whole.line, "file", lines=whole.lines())
    return [beside, *_entries(network)]


def _entries(network: Located) -> Iterator[Entry]:
    own = network.fields(["ethernets"])
    yield Entry(NETWORK, own, network.line, "settings", lines=network.lines())
    ethernets = network.named().get("ethernets")
    for name, one in ethernets.named().items() if ethernets else ():
        yield Entry(INTERFACE, one.fields(_KEPT), one.line, name, lines=one.lines())
        inner = one.named()
        for address in inner["addresses"].items() if "addresses" in inner else ():
            yield _address(name, address)
        for kind, key in ((ROUTE_OF, "routes"), (RULE_OF, "routing-policy")):
            for entry in inner[key].items() if key in inner else ():
                yield Entry(kind, entry.fields() or {"value": entry.text}, entry.line, whose=name, lines=entry.lines())


def _address(interface: str, one: Located) -> Entry:
    address, _, length = one.text.partition("/")
    return Entry(ADDRESS_OF, {"address": address, "length": length}, one.line, whose=interface)
