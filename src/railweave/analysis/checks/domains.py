"""Rules about links between GPUs outside the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.catalog.server_shapes import NOT_MODELLED, THE_FIELD, wider_domains
from railweave.model.findings.registry import FindingPlace, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.checks.subject import Subject


@check(
    "nvlink-domain",
    "warning",
    applies="network",
    why=f"{NOT_MODELLED}: predicted times of collectives and jobs are too long, and far too long for traffic "
    "inside a domain",
    fix=f"set `{THE_FIELD}` in the server model (docs/hardware.md), or take a model of the catalog such as gb300-nvl72",
)
def nvlink_domain(subject: Subject) -> Iterator[FindingPlace]:
    """Server models name the NVLink domain of their GPUs, if it is wider than a server."""
    servers = subject.network.servers
    wider = wider_domains(catalog(), (server.model for server in servers))
    for server in servers:
        if server.model in wider:
            yield FindingPlace(server.name, f"{server.model}: {wider[server.model]}")


@check(
    "nvlink-rack",
    "warning",
    applies="network",
    why="predictions take the servers of a rack for one NVLink domain, so they are wrong if the rack is not",
    fix="correct `racks:`, or the `stripe:` of the servers: a domain is one rack, and its servers are on one stripe",
)
def nvlink_rack(subject: Subject) -> Iterator[FindingPlace]:
    """The servers of a rack that is an NVLink domain are on one stripe, and are not more than a domain has."""
    network, known = subject.network, catalog()
    racks: dict[str, list[tuple[str, str]]] = {}
    for server in network.servers:
        model, place = known.servers.get(server.model), network.positions.get(server.name)
        if model is not None and model.domain_servers > 1 and place is not None and server.nics:
            racks.setdefault(place.rack, []).append((server.model, server.nics[0].stripe))
    for rack, servers in racks.items():
        stripes = dict.fromkeys(stripe for _, stripe in servers)
        if len(stripes) > 1:
            yield FindingPlace(rack, f"its servers are on stripes {', '.join(stripes)}")
        most = max(known.servers[model].domain_servers for model, _ in servers)
        if len(servers) > most:
            yield FindingPlace(rack, f"it has {counted(len(servers), 'server')}, but an NVLink domain has {most}")
