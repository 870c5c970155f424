"""Sentences that explain the time of a collective: the link, queue or host limit that is the bottleneck, and its extent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.prediction.simulation.bottleneck import bottleneck

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.simulation.engines.measured import Columns, PacketCounts
    from railweave.prediction.simulation.prediction import Prediction

FULL = 0.9
"""The fraction of time from which a busy link, proxy or server counts as the bottleneck.

If nothing is this busy, waiting determines the time.
"""


NEVER_ARRIVED = "Some messages never arrived: their queue pairs have no working path, or have stopped."


def _binds(prediction: Prediction) -> str:
    bound = bottleneck(prediction.load, prediction.time_ps)
    part = f"the {bound.what} were" if bound.kind == "server" else f"{bound.kind} {bound.what} was"
    busy = f"{part} busy for {bound.busy:.1%} of the time: "
    if bound.busy >= FULL:
        return f"{busy}this is the bottleneck. Next busiest: {_with_article(bound.next_kind)}, {bound.next_busy:.1%}."
    return f"{busy}nothing is full, so {1 - bound.busy:.1%} of the time was spent waiting (for latency, or for the causes below)."


def reasons(prediction: Prediction) -> list[str]:
    """Return sentences about the bottleneck, followed by sentences about congestion, loss and waiting."""
    statements = [_binds(prediction) if prediction.complete else NEVER_ARRIVED]
    measured, counted = prediction.measured, prediction.counters
    if measured is None or counted is None:
        return statements
    links, used = measured.links, measured.used
    if counted["timeouts"]:
        statements.append(
            f"{_many(counted['timeouts'], 'retransmission timeout')}: queue pairs lost packets and were silent until then "
            f"({_timeout_text(prediction.timeout_ps)} each: 4.096 us x 2^NCCL_IB_TIMEOUT, unless `host.timeout` is set); "
            f"{counted['retransmitted_packets']:,} packets were sent again."
        )
    if counted.get("failed_queue_pairs"):
        statements.append(
            f"{_many(counted['failed_queue_pairs'], 'queue pair')} gave up after NCCL_IB_RETRY_CNT retries: NCCL ends the job with an error."
        )
    lost = {name[8:]: count for name, count in counted.items() if name.startswith("dropped_") and count}
    if lost:
        where = _most(links, used, "dropped_packets")
        statements.append(f"{sum(lost.values()):,} packets were dropped ({', '.join(sorted(lost))}){where}.")
    if counted["pfc_pauses"]:
        where = _most(links, used, "paused_us", " us")
        statements.append(
            f"{_many(counted['pfc_pauses'], 'PFC pause')}, {counted['pfc_pause_ps'] / 1e6:,.1f} us in total{where}."
        )
    if counted["ecn_marked_packets"]:
        where = _most(links, used, "ecn_ce_packets")
        statements.append(
            f"{counted['ecn_marked_packets']:,} packets were marked (ECN){where}; {counted['cnps']:,} notifications slowed senders."
            f"{_slowest(measured)}"
        )
    queued = _of_job(links["most_queued_bytes"], used)
    if len(queued) and queued.max() > 0:
        port = int(queued.argmax())
        statements.append(
            f"The deepest queue held {queued[port] / 1e3:,.0f} KB: {links['from'][port]} towards {links['to'][port]}."
        )
    return statements


def _of_job(values: NDArray[Any], used: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return the values by port, with 0 at ports that carry only background traffic.

    ``used`` has True for each port that the job's messages use; None means all ports.
    """
    return values if used is None else np.where(used, values, np.zeros_like(values))


def _most(links: Columns, used: NDArray[np.bool_] | None, column: str, unit: str = "") -> str:
    values = _of_job(links[column], used)
    port = int(values.argmax())
    if not values[port]:
        return ", all of them on links of other traffic" if links[column].any() else ""
    most = "most of it" if used is None else "most on this job's links"
    shown = f"{values[port]:,.1f}" if unit else f"{int(values[port]):,}"
    return f", {most} at {links['from'][port]} towards {links['to'][port]} ({shown}{unit})"


def _slowest(measured: PacketCounts) -> str:
    rates: dict[str, Any] = measured.rates
    if not rates:
        return ""
    of_job = ~rates["background"]
    if not of_job.any():
        return ""
    rate = rates["rate_gbps"][of_job]
    return f" The median queue pair was allowed {np.median(rate):,.0f} Gb/s, the slowest {rate.min():,.1f}."


def _timeout_text(timeout_ps: int) -> str:
    return f"{timeout_ps / 1e12:.3g} s" if timeout_ps >= 10**12 else f"{timeout_ps / 1e9:.3g} ms"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _with_article(kind: str) -> str:
    return {"link": "a link", "proxy": "NCCL's proxy of a NIC", "server": "the links between the GPUs of a server"}.get(
        kind, kind
    )
