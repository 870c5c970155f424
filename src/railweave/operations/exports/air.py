"""The topology of a network as a simulation for NVIDIA DSX Air, and the ports behind its interfaces (docs/export/air.md).

Sources: NVIDIA Air user guide, "Custom Topology" (Importing Custom Topologies with External Files); DSX Air API reference,
"Create a simulation out of a supported topology format".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.model.config.number_ranges import natural
from railweave.operations.exports.contracts import NameRule, check_distinct, check_names
from railweave.pages.table import columns, csv_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.network.devices import Cable
    from railweave.model.network.model import Network

NODE = NameRule(
    "an Air node",
    r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?",
    "letters, digits and hyphens, with a letter or digit at both ends",
    63,
    "RFC 1123, section 2.1: Air gives the name to the node as its host name",
)
SERVER_IMAGE = "generic/ubuntu2404"
SWITCH_IMAGES = {"sonic": "sonic-vs-202305", "frr": SERVER_IMAGE}
"""The images that Air's guide names, by operating system. A FRR switch is a Linux server with FRR."""
PLACEHOLDER = "IMAGE-"
"""The start of a placeholder for the image of an operating system that Air does not offer."""


def files(network: Network) -> dict[str, str]:
    """Return the files for Air, by name. Raises ``InputError`` if a device name cannot be a host name."""
    switches = [switch for switch in network.switches if switch.name not in network.absent]
    servers = [server for server in network.servers if server.name not in network.absent]
    names = [*(switch.name for switch in switches), *(server.name for server in servers)]
    check_names(NODE, names)
    check_distinct("the Air node", {name: name.lower() for name in names})
    nodes = {switch.name: {"os": SWITCH_IMAGES.get(switch.nos) or PLACEHOLDER + switch.nos} for switch in switches}
    nodes |= {server.name: {"os": SERVER_IMAGE} for server in servers}
    cables = [cable for cable in network.cables if cable.name not in network.absent]
    interfaces = _interfaces(cables)
    macs = {(server.name, nic.name): nic.mac.lower() for server in servers for nic in server.nics}
    links: list[list[dict[str, str]]] = []
    for cable in cables:
        ends: list[dict[str, str]] = []
        for end in (cable.a, cable.b):
            place = (end.device, end.port)
            address = {"mac": macs[place]} if place in macs else {}
            ends.append({"node": end.device, "interface": interfaces[place]} | address)
        links.append(ends)
    manifest = {
        "format": "JSON",
        "name": network.name,
        "content": {"nodes": nodes, "links": links, "oob": True},
    }
    return {"topology.json": json.dumps(manifest, indent=1) + "\n", "ports.csv": _table(interfaces)}


def _interfaces(cables: Iterable[Cable]) -> dict[tuple[str, str], str]:
    """Return the interface of each cabled port, by (device, port): ``eth1`` and so on in the order of the ports. ``eth0`` is the management port."""
    ports: dict[str, set[str]] = {}
    for cable in cables:
        for end in (cable.a, cable.b):
            ports.setdefault(end.device, set()).add(end.port)
    return {
        (device, port): f"eth{number}"
        for device, used in ports.items()
        for number, port in enumerate(sorted(used, key=natural), 1)
    }


def _table(interfaces: dict[tuple[str, str], str]) -> str:
    rows = ((device, port, interface) for (device, port), interface in sorted(interfaces.items()))
    return csv_text(columns("device", "port", "interface"), rows)
