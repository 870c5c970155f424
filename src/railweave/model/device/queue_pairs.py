"""NCCL's queue pairs of a connection, and whether each message is split over all of them.

A message that is split is posted part by part by one proxy, 0.67 us each (``model.catalog.rdma``). Whole messages take the queue
pairs in turn, and those under way fill all paths as well; so splitting pays only where a queue pair cannot send fast enough by
itself. ``tests/prediction/simulation/test_splitting.py`` holds this rule to predictions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.rdma import QUEUE_PAIRS, SPLIT
from railweave.model.device.host_scope import LongHaul, environment, long_haul

if TYPE_CHECKING:
    from railweave.model.network.model import Job, Network


def queue_pairs(wanted: Job, colors: int, far: LongHaul | None) -> dict[str, tuple[str, str]]:
    """Return the variables of queue pairs and long links, each with value and reason; ``colors``: path colors of a NIC, 0 without.

    Queue pairs of the fabric file, and one a path color, come before those that long links ask for.
    """
    variables = _own(wanted, colors, far)
    more = environment(far) if far else {}
    return variables | more | variables


def _own(wanted: Job, colors: int, far: LongHaul | None) -> dict[str, tuple[str, str]]:
    """Return both variables of queue pairs; empty: NCCL's own default.

    Only with path colors does a net plugin weigh paths by the parts of a message, so those designs split.
    """
    if colors:
        why = "queue pairs per connection" if wanted.qps_per_connection else "one queue pair per path color"
        return {
            QUEUE_PAIRS: (str(wanted.qps_per_connection or colors), why),
            SPLIT: ("1", "every message is split over all queue pairs, hence all paths"),
        }
    if wanted.qps_per_connection is None:
        return {}
    bounded = far is not None and far.per_connection is not None
    whole = (
        "messages take the queue pairs in turn: split over all of them, each part would take the proxy 0.67 us, "
        "and predictions are slower"
    )
    return {
        QUEUE_PAIRS: (str(wanted.qps_per_connection), "queue pairs per connection"),
        SPLIT: ("1", "every message is split over all queue pairs, as the distance bounds each of them")
        if bounded
        else ("0", whole),
    }


def splits(network: Network, colors: int) -> bool:
    """Return whether the design itself splits messages, whatever the fabric file sets; ``colors``: paths of a NIC."""
    return _decided(network, colors).get(SPLIT) == "1"


def _decided(network: Network, colors: int) -> dict[str, str]:
    far = next((haul for fabric in network.fabrics if (haul := long_haul(network, fabric)) is not None), None)
    variables = queue_pairs(network.hosts.job, colors if colors > 1 else 0, far)
    return {name: value for name, (value, _) in variables.items()}


def designed_variables(network: Network, colors: int) -> dict[str, str]:
    """Return NCCL's variables of long links and queue pairs, as servers' ``nccl.env`` has them; ``colors``: paths of a NIC."""
    values, job = _decided(network, colors), network.hosts.job
    for name in (QUEUE_PAIRS, SPLIT):
        if name in job.environment:
            values.pop(name, None)
            given = str(job.environment[name])
            values |= {name: given} if given.isdecimal() else {}
    return values
