"""The rule about NVLink, which connects GPUs outside the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
