"""NVLink domains: servers whose GPUs NVLink joins, such as the compute trays of a rack.

Domains are computed from the server models and the rack positions of a whole network; ``design.json`` does not contain
them. A server that ``status:`` marks as absent keeps its place in its domain. So the domain gets smaller, and no other
server moves to a different domain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.network.model import Network


def nvlink_domains(network: Network) -> dict[str, str]:
    """Return the name of the NVLink domain of each server, by server name. Servers whose model has no NVLink to other servers are left out.

    Servers of one model in the same rack form a domain with the name of the rack. If a rack has more servers than a full
    domain, it has several domains. Servers without a rack fill one domain after another, in the network's order and
    separately for each stripe.
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
