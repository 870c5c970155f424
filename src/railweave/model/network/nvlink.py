"""NVLink domains: servers whose GPUs NVLink joins, such as the compute trays of a rack.

A domain is computed from the server models and the rack positions of a whole network, and is not part of
``design.json``. Servers that ``status:`` marks as absent keep their place in a domain, so an absent server makes its
domain smaller and moves no other server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.network.model import Network


def nvlink_domains(network: Network) -> dict[str, str]:
    """Return the NVLink domain of each server whose model joins several servers, by server name.

    Servers of a model that are in the same rack form a domain with the name of the rack. Servers without a rack form
    domains in the network's order, as many servers at a time as a full domain has, and each stripe begins a new domain.
    A rack with more servers than a full domain has several domains.
    """
    members: dict[tuple[str, str, bool], list[str]] = {}
    full: dict[tuple[str, str, bool], int] = {}
    for server in network.servers:
        model = network.catalog.servers.get(server.model)
        if model is None or model.domain_servers == 1 or not server.nics:
            continue
        place = network.positions.get(server.name)
        key = (server.nics[0].stripe if place is None else place.rack, server.model, place is None)
        members.setdefault(key, []).append(server.name)
        full[key] = model.domain_servers
    racks = [place for place, _, in_order in members if not in_order]
    domains: dict[str, str] = {}
    for key, servers in members.items():
        place, model_name, in_order = key
        base = f"{place}-domain" if in_order else place
        base += f"-{model_name}" if not in_order and racks.count(place) > 1 else ""
        for number, server_name in enumerate(servers):
            part = number // full[key] + 1
            domains[server_name] = f"{base}{part}" if in_order else base if part == 1 else f"{base}-{part}"
    return domains
