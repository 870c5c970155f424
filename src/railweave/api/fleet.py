"""Checks on the GPU servers of a network, many servers at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.running_verbs import FleetCheck, FleetMesh
from railweave.outputs.folder.sources import path_of

if TYPE_CHECKING:
    from railweave.live.fleet.checked import FleetCheckResult
    from railweave.live.fleet.meshed import MeshResult


@verb(FleetCheck)
def fleet_check(options: FleetCheck) -> FleetCheckResult:
    """Run ``railweave host check`` on servers over SSH, and summarize the results (docs/fleet.md).

    - ``progress``: called with a short description of the current activity.

    A server that does not answer is a row of the result. Servers that are absent by ``status:`` are not queried. Raises ``InputError`` for
    wrong input, and as ``load`` does.
    """
    from railweave.live.collect.access_file import read_access
    from railweave.live.fleet.checked import check_servers

    network, ways = options.network(), read_access(path_of(options.access))
    return check_servers(
        network,
        ways,
        options.hosts,
        only=options.only,
        sudo=options.sudo,
        at_once=options.at_once,
        say=options.progress,
    )


@verb(FleetMesh)
def fleet_mesh(options: FleetMesh) -> MeshResult:
    """Let servers send packets of the designed size to each other on every path color, and summarize which returned (docs/fleet.md).

    ``hosts`` are the servers that send; the targets may be other servers. Arguments and errors are those of ``fleet_check``.
    """
    from railweave.live.collect.access_file import read_access
    from railweave.live.fleet.meshed import mesh_servers

    network, ways = options.network(), read_access(path_of(options.access))
    return mesh_servers(network, ways, options.hosts, sudo=options.sudo, at_once=options.at_once, say=options.progress)
