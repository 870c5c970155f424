"""Runs of benchmarks that prove a network, with what each of them should give."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from railweave.api.sources import network_of
from railweave.model.catalog import in_force
from railweave.model.network.model import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from railweave.operations.bench.plan import Memory, Plan


def bench_plan(
    source: Network | Path | str,
    suite: str = "quick",
    *,
    hosts: str | None = None,
    memory: Memory | None = None,
    fabric: str | None = None,
    parts: Sequence[str] = (),
    predict: bool = True,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """The runs of perftest and nccl-tests that prove a network, and what each should give (docs/bench.md). ``Plan.to_json`` is the file's text.

    - ``suite``: quick, acceptance, knobs, table12, table1.3 or fifty-km.
    - ``hosts``: the servers that take part, in the order of their ranks, as of ``simulate``; all where it is left out.
    - ``memory``: where perftest's buffers lie, host, cuda or rocm; in GPUs beside the NICs where it is left out and there are any.
    - ``fabric``: the fabric that is proved, where there are several; that of the GPUs' own NICs where it is left out.
    - ``parts``: of the suite; all where none is named.
    - ``predict``: whether to predict, which takes most of the time.
    - ``device``, ``hardware``: see ``load``.
    - ``progress``: called now and then with what is going on.

    Predictions run in parallel processes. Raises ``InputError`` for an argument that cannot be, and as ``load`` does.
    """
    from railweave.operations.bench.planning.making import plan
    from railweave.prediction.simulation.job_fabric import job_network

    whole = network_of(source, device, hardware)
    network = job_network(whole, fabric)
    with in_force(network.catalog):
        return plan(
            network,
            suite,
            fabric=whole.name if isinstance(source, Network) else str(source),
            design_digest=hashlib.sha256(whole.to_json()).hexdigest(),
            hosts=hosts,
            memory=memory,
            parts=parts,
            predict=predict,
            progress=progress,
        )
