"""``tuner.json``: which algorithm, protocol and channels NCCL takes on this network, for the net plugin's tuner.

One table for all servers of a job: ranks that choose differently would wait for each other for ever (docs/plugin.md).
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from railweave.model.device.host import config_of
from railweave.model.device.host_job import rdma_nics, uses_own_plugin
from railweave.model.device.host_model import HostNic
from railweave.model.device.queue_pairs import queue_pairs
from railweave.prediction.collectives.job import Job, Nic, Server, gpu_link
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.tuner_table import tuner_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.host_model import HostConfig
    from railweave.model.device.host_scope import HostScope
    from railweave.prediction.collectives.tuner_table import TunerRow

SCHEMA = 1
"""Version of ``tuner.json``, as ``plugin/src/tuner.c`` reads it."""


def tuner_json(members: Sequence[HostScope]) -> str:
    """The table for jobs on these servers; empty where they are not alike or their jobs do not use the plugin."""
    first = members[0]
    config = config_of(first)
    nics = [nic for nic in rdma_nics(config.nics) if nic.addresses] if config.nics else []
    alike = len({one.server.model for one in members}) == 1
    if len(members) < 2 or not alike or not nics or not uses_own_plugin(first, nics):
        return ""
    paths = len(nics[0].addresses)
    far = first.long_haul.get(nics[0].fabric)
    words = {name: value for name, (value, _) in queue_pairs(first.hosts.job, paths, far).items()}
    fabric, ports = first.fabrics[nics[0].fabric], defaultdict[int, list[HostNic]](list)
    for nic in nics:
        ports[fabric.nic_number(nic.rail)].append(nic)
    rows = tuner_rows(partial(_job, config, list(ports.values())), len(members), parameters(words), paths)
    return tuner_text(config.network, paths, rows) if rows else ""


def tuner_text(network: str, paths: int, rows: Sequence[TunerRow]) -> str:
    """The file's text, a row a line."""
    lines = ",\n".join(f"  {json.dumps(_row(one))}" for one in rows)
    return f'{{"schema": {SCHEMA}, "network": {json.dumps(network)}, "paths": {paths}, "rows": [\n{lines}]}}\n'


def _job(config: HostConfig, nics: Sequence[Sequence[HostNic]], servers: int) -> Job:
    """The job on so many servers like this one; ``nics`` are the ports of each NIC."""
    nearest = tuple(number * len(nics) // config.gpus for number in range(config.gpus))
    one = Server(
        config.name,
        tuple(Nic(own[0].name, own[0].rail, sum(one.speed_gbps for one in own) * 1000, len(own)) for own in nics),
        nearest,
        config.gpu,
        link=gpu_link(config.gpu),
    )
    return Job((one,) * servers, config.library)


def _row(row: TunerRow) -> dict[str, str | int]:
    return {
        "collective": row.collective.replace("-", "_"),
        "ranks": row.ranks,
        "nodes": row.nodes,
        "max_bytes": row.max_bytes,
        "algorithm": row.algorithm.lower(),
        "protocol": row.protocol.lower(),
        "channels": row.channels,
    }
