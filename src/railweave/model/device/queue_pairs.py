"""The number of queue pairs that NCCL uses per connection, and the decision to split each message over all of them.

NCCL's proxy posts the parts of a split message one after the other, at 0.67 us each (``model.catalog.rdma``). Without
splitting, successive messages use the queue pairs in rotation, so several messages in flight also use all paths.
Splitting therefore helps only if one queue pair cannot send fast enough.
``tests/prediction/simulation/test_splitting.py`` compares this rule with predictions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.rdma import PLUGIN, QUEUE_PAIRS, SPLIT
from railweave.model.device.host_scope import LongHaul, environment, long_haul

if TYPE_CHECKING:
    from railweave.model.network.model import Job, Network


def queue_pairs(wanted: Job, colors: int, far: LongHaul | None) -> dict[str, tuple[str, str]]:
    """Return (value, reason) of each NCCL variable for queue pairs and long links, by variable name.

    - ``wanted``: the job settings of the fabric file.
    - ``colors``: the number of path colors of a NIC, or 0 without path colors.
    - ``far``: the settings for long links; None if there are none.

    The number of queue pairs from the fabric file or the path colors overrides the number that long links need.
    """
    variables = _own(wanted, colors, far)
    more = environment(far) if far else {}
    return variables | more | variables


def _own(wanted: Job, colors: int, far: LongHaul | None) -> dict[str, tuple[str, str]]:
    """Return (value, reason) of the two variables for queue pairs, by variable name. Return {} to keep NCCL's default.

    ``wanted`` holds the job settings of the fabric file, ``colors`` is the number of path colors of a NIC, and ``far`` holds the
    settings for long links or is None. With path colors too, messages stay whole: the net plugin gives each to the queue pair
    that is expected to deliver it first.
    """
    if wanted.qps_per_connection is None and not colors:
        return {}
    why = "queue pairs per connection" if wanted.qps_per_connection else "one queue pair per path color"
    if colors and wanted.net_plugin not in {None, PLUGIN}:
        return {
            QUEUE_PAIRS: (str(wanted.qps_per_connection or colors), why),
            SPLIT: ("1", "every message is split over all queue pairs, as the plug-in's document has it"),
        }
    bounded = far is not None and far.per_connection is not None
    whole = (
        "messages take the queue pairs in turn: split over all of them, each part would take the proxy 0.67 us, "
        "and predictions are slower"
    )
    return {
        QUEUE_PAIRS: (str(wanted.qps_per_connection or colors), why),
        SPLIT: ("1", "every message is split over all queue pairs, as the distance bounds each of them")
        if bounded
        else ("0", whole),
    }


def splits(network: Network, colors: int) -> bool:
    """Return True if the design makes NCCL split each message over all queue pairs.

    Variables that the fabric file sets by name are ignored. ``colors`` is the number of path colors of a NIC.
    """
    return _decided(network, colors).get(SPLIT) == "1"


def _decided(network: Network, colors: int) -> dict[str, str]:
    far = next((haul for fabric in network.fabrics if (haul := long_haul(network, fabric)) is not None), None)
    variables = queue_pairs(network.hosts.job, colors if colors > 1 else 0, far)
    return {name: value for name, (value, _) in variables.items()}


def designed_variables(network: Network, colors: int) -> dict[str, str]:
    """Return NCCL's variables for long links and queue pairs, as they appear in the servers' ``nccl.env``.

    ``colors`` is the number of path colors of a NIC.
    """
    values, job = _decided(network, colors), network.hosts.job
    for name in (QUEUE_PAIRS, SPLIT):
        if name in job.environment:
            values.pop(name, None)
            given = str(job.environment[name])
            values |= {name: given} if given.isdecimal() else {}
    return values
