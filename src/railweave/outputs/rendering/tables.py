"""The tables of a network: ``cabling.csv``, ``addresses.csv``, ``racks.csv`` and ``panels.csv``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.naming import named
from railweave.outputs.rendering.panels import Modules, panels, panels_csv
from railweave.pages.table import columns, csv_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from railweave.model.network.devices import Switch
    from railweave.model.network.model import Network
    from railweave.outputs.rendering.panels import Panel

CABLING = columns(
    "a_device", "a_port", "a_lanes", "a_optic", "b_device", "b_port", "b_lanes", "b_optic",
    "speed_gbps", "length_m", "length_is", "fabric", "kind", "color",
)  # fmt: skip
ADDRESSES = columns(
    "kind", "device", "interface", "address", "prefix", "color", "vlan", "mac", "origin", "rail", "leaf", "leaf_port", "rdma",
)  # fmt: skip
"""The columns of addresses.csv. The last four apply only to NICs."""


def cabling_csv(network: Network) -> str:
    """Return the cabling table with one row per cable. The column ``length_is`` is ``planned`` or ``measured``."""
    return csv_text(CABLING, _cables(network))


RACKS = columns(
    "rack",
    "unit",
    "device",
    "port",
    "to_rack",
    "to_unit",
    "to_device",
    "to_port",
    "length_m",
    "speed_gbps",
    "optic",
    "to_optic",
)


def racks_csv(network: Network) -> str:
    """Return the table of cable ends at racks, one end per row. Rows are ordered by rack, then by unit from the lowest up.

    The end of a cable at a device that is in no rack has no row.
    """
    rows: list[tuple[object, ...]] = []
    for cable in network.cables:
        for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
            here, there = network.positions.get(near.device), network.positions.get(far.device)
            if here is not None:
                to = (there.rack, there.unit) if there else ("", "")
                rows.append(
                    (
                        *(here.rack, here.unit, near.device, near.port, *to, far.device, far.port),
                        *(f"{cable.length_m:g}", cable.speed_gbps, near.optic, far.optic),
                    )
                )
    racks = {position.rack: place for place, position in enumerate(network.positions.values())}
    return csv_text(RACKS, sorted(rows, key=lambda row: (racks[str(row[0])], row[1])))


def tables_of(network: Network) -> dict[str, Callable[[Network], str]]:
    """Return the functions that write this network's tables, by file name.

    ``racks.csv`` is included only if the fabric file places devices in racks, and ``panels.csv`` only if links cross
    shuffle panels.
    """
    racks = {"racks.csv": racks_csv} if network.positions else {}
    shuffled = tuple(panel for panel in panels(Modules(network).crossings()) if not panel.is_breakout)
    crossed = {"panels.csv": partial(_panels_csv, shuffled)} if shuffled else {}
    return {"cabling.csv": cabling_csv, "addresses.csv": addresses_csv, **racks, **crossed}


def _panels_csv(shuffled: Sequence[Panel], _: Network) -> str:
    return panels_csv(shuffled)


def _cables(network: Network) -> Iterator[tuple[object, ...]]:
    for cable in network.cables:
        fabric = network.fabric(cable.fabric)
        a, b = cable.a, cable.b
        yield (
            *(a.device, a.port, a.lanes, a.optic, b.device, b.port, b.lanes, b.optic),
            *(
                cable.speed_gbps,
                f"{cable.length_m:g}",
                "measured" if cable.measured else "planned",
                cable.fabric,
                cable.kind,
            ),
            "" if cable.color is None else fabric.color_name(cable.color),
        )
    shared: set[tuple[str, str]] = set()
    for fabric, _, router, link in network.external_links():
        if (link.leaf, link.port) in shared:
            continue  # several tenants, each with its own tag, are on one cable
        shared.add((link.leaf, link.port))
        near = (link.leaf, link.port, "", "", router.name, "", "", "")
        yield (*near, link.speed_gbps, "", "by the operator", fabric.name, "external", "")


def addresses_csv(network: Network) -> str:
    """Return the table of all addresses.

    These are the addresses of management, router IDs, loopbacks, tunnel endpoints, gateways, links, external routers and NICs.
    """
    width = len(ADDRESSES)
    return csv_text(ADDRESSES, (row + ("",) * (width - len(row)) for row in address_rows(network)))


def address_rows(network: Network) -> Iterator[tuple[object, ...]]:
    """Yield the rows of addresses.csv: kind, device, interface, address, prefix, color, VLAN, MAC address, origin, and more for NICs."""
    for switch in network.switches:
        address, _, length = switch.management_address.partition("/")
        yield ("management", switch.name, "", address, f"/{length}", "", "", "", "pool")
        yield from _loopbacks(network, switch)
    interfaces = {switch.name: catalog().systems[switch.nos].vlan_interface for switch in network.switches}
    ports = {f"{server.name}:{nic.name}": nic.leaf_port for server in network.servers for nic in server.nics}
    ports |= {edge_port.nic: edge_port.port for fabric in network.fabrics for edge_port in fabric.edge_ports}
    for segment in network.segments:
        fabric = network.fabric(segment.fabric)
        for subnet in segment.subnets:
            color = fabric.color_name(subnet.color)
            yield (
                "gateway",
                segment.leaf,
                interfaces[segment.leaf].format(vlan=segment.vlan) if segment.vlan else ports[segment.nic],
                subnet.gateway,
                subnet.prefix,
                color,
                segment.vlan or "",
                "",
                "design",
            )
    for cable in network.cables:
        for end in (cable.a, cable.b) if cable.prefix_length is not None else ():
            yield ("link", end.device, end.port, end.address, f"/{cable.prefix_length}", "", "", "", "pool")
    for _, _, router, link in network.external_links():
        tag = link.vlan or ""
        length = f"/{link.prefix_length}"
        yield ("external", link.leaf, link.port, link.address, length, "", tag, "", "design")
        yield ("external", router.name, "", link.peer_address, length, "", tag, "", "design")
    for server in network.servers:
        for nic in server.nics:
            fabric = network.fabric(nic.fabric)
            mac = f"{nic.mac} (placeholder)" if nic.mac_is_placeholder else nic.mac
            for nic_address in nic.addresses:
                color = fabric.color_name(nic_address.color)
                yield (
                    "nic",
                    server.name,
                    nic.netdev,
                    nic_address.address,
                    f"/{nic_address.prefix_length}",
                    color,
                    nic.vlan or "",
                    mac,
                    nic_address.origin,
                    nic.rail,
                    nic.leaf,
                    nic.leaf_port,
                    nic.rdma,
                )


def _loopbacks(network: Network, switch: Switch) -> Iterator[tuple[object, ...]]:
    """Yield rows for a switch's router id, for its overlay loopback and tunnel endpoints (if they differ), and for loopbacks of VRFs."""
    system, fabric = catalog().systems[switch.nos], network.fabric(switch.fabric)
    yield ("router-id", switch.name, system.loopback, switch.router_id, "/32", "", "", "", "pool")
    if switch.loopback not in {"", switch.router_id}:
        yield ("loopback", switch.name, system.loopback, switch.loopback, _alone(switch.loopback), "", "", "", "pool")
    for endpoint in switch.endpoints:
        if endpoint.address not in {switch.router_id, switch.loopback}:
            at = system.tunnel_loopback or system.loopback
            color = fabric.color_name(endpoint.color)
            yield ("tunnel", switch.name, at, endpoint.address, _alone(endpoint.address), color, "", "", "pool")
    for tenant in fabric.tenants:
        for address in tenant.on(switch.name).loopbacks:
            at = named(system.vrf_loopback, unit=tenant.slot)
            yield ("vrf-loopback", switch.name, at, address, _alone(address), "", "", "", "design")


def _alone(address: str) -> str:
    """Return the prefix length of a host prefix, with its slash: ``/32`` or ``/128``."""
    return "/128" if ":" in address else "/32"
