"""A run of a collective as charts: utilisation, queues, pauses, marks, rates and completion times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.pages.charts import Axis, Line, bars, columns, heatmap, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from railweave.prediction.simulation.engines.measured import Measured

BUCKETS = 120
"""Columns of a chart at most: finer intervals are put together."""

TOP = 24
"""Links that are shown one by one, the busiest."""

QUEUES = 6
"""Queues that are shown one by one, the deepest."""

PERCENTILES = ((0, "slowest"), (10, "10th percentile"), (50, "median"), (90, "90th percentile"), (100, "fastest"))


@dataclass(frozen=True)
class Chart:
    """A chart with its title, and what to know of it."""

    id: str
    title: str
    about: str
    markup: str


def run_charts(found: Measured, marks: Sequence[tuple[float, str]] = ()) -> list[Chart]:
    """The charts of a run; those of which nothing was measured are left out. ``marks``: moments in us, and what happened."""
    charts = [*_over_time(found, marks), _by_link(found), _completion(found)]
    return [chart for chart in charts if chart.markup]


def direction(found: Measured) -> NDArray[np.int64]:
    """By port: 0 server to leaf, 1 leaf to spine, 2 spine to leaf, 3 leaf to server."""
    wiring, nics = found.wiring, len(found.wiring.nics)
    ends = wiring.cables[wiring.port_cable, :2].astype(np.int64)
    owner = np.searchsorted(wiring.first_port, np.arange(len(ends)), side="right") - 1
    of_server = ends[:, 0] < nics
    is_near = ends[:, 0] == owner  # a cable's first end is the lower one
    return np.where(of_server, np.where(is_near, 0, 3), np.where(is_near, 1, 2))


DIRECTIONS = ("servers to leaves", "leaves to spines", "spines to leaves", "leaves to servers")


def _link_name(links: dict[str, Any], port: int) -> str:
    """The end that sends, with its port, and who is at the other."""
    near = next(end for end in links["link"][port].split("--") if f"{end}:".startswith(f"{links['from'][port]}:"))
    return f"{near} → {links['to'][port]}"


def _over_time(found: Measured, marks: Sequence[tuple[float, str]]) -> list[Chart]:
    raw = found.raw
    if raw is None or "ports" not in raw or not len(raw["ports"]["time_ps"]):
        return []
    ports = raw["ports"]
    intervals = int(-(-min(found.time_ps, int(raw["end_ps"])) // found.every_ps))
    per = max(1, -(-intervals // BUCKETS))
    count = -(-intervals // per)
    width_ps = per * found.every_ps
    axis = Axis([(place + 1) * width_ps / 1e6 for place in range(count)], "us", marks)
    inside = ports["time_ps"] <= np.uint64(count * width_ps)
    time = ports["time_ps"][inside]
    bucket = ((time - np.uint64(1)) // np.uint64(width_ps)).astype(np.int64)
    port = ports["port"][inside].astype(np.int64)
    busy = np.zeros((len(found.wiring.port_cable), count))
    np.add.at(busy, (port, bucket), ports["utilisation"][inside] / per)
    links = found.links
    charts: list[Chart] = []
    of = direction(found)
    mean = [
        Line(name, (busy[of == place].mean(axis=0) * 100).tolist())
        for place, name in enumerate(DIRECTIONS)
        if (of == place).any()
    ]
    about = "Mean over all links of a direction, percent of line rate."
    charts.append(Chart("utilisation", "Utilisation over time", about, lines(axis, mean, "%", most=100)))
    charts.append(_rates(found, axis, per, count))
    order = np.argsort(-links["utilisation"], kind="stable")[:TOP].tolist()
    rows = [(_link_name(links, one), busy[one].tolist()) for one in order]
    about = f"The {len(rows)} busiest of {len(busy):,} directions of links: the fuller the color, the fuller the link."
    charts.append(Chart("heatmap", "Busiest links over time", about, heatmap(axis, rows)))
    charts.append(_queues(found, axis, port, time, ports["queued_bytes"][inside], width_ps, links))
    by_name: dict[str, Any] = dict(ports)
    for name, column, title, about, unit in (
        ("ecn", "ecn_ce_packets", "ECN marks", "Packets marked by switches.", "packets"),
        ("pfc", "paused_ps", "PFC pauses", "Microseconds for which senders were paused, all ports together.", "us"),
        ("drops", "dropped_packets", "Dropped packets", "Packets dropped, for whatever reason.", "packets"),
    ):
        counted: NDArray[np.uint64] = by_name[column][inside]
        values = np.bincount(bucket, counted.astype(np.float64), count)
        values = values / 1e6 if name == "pfc" else values
        if values.any():
            charts.append(Chart(name, title, about, columns(axis, values.tolist(), unit)))
        elif name != "drops":
            charts.append(Chart(name, title, about, '<p class="none">None in this run.</p>'))
    return charts


def _queues(
    found: Measured,
    axis: Axis,
    port: NDArray[np.int64],
    time: NDArray[np.uint64],
    queued: NDArray[np.uint64],
    width_ps: int,
    links: dict[str, Any],
) -> Chart:
    """What waits at the end of the last interval of each bucket."""
    at_end = time % np.uint64(width_ps) == 0
    held = np.zeros((len(found.wiring.port_cable), len(axis.places)))
    held[port[at_end], (time[at_end] // np.uint64(width_ps)).astype(np.int64) - 1] = queued[at_end] / 1e3
    deepest = [one for one in np.argsort(-held.max(axis=1), kind="stable")[:QUEUES].tolist() if held[one].any()]
    about = f"The {len(deepest)} deepest queues of switch ports, KB."
    if not deepest:
        return Chart("queues", "Queue depths", "", '<p class="none">Nothing waited in this run.</p>')
    shown = [Line(f"{links['from'][one]} → {links['to'][one]}", held[one].tolist()) for one in deepest]
    return Chart("queues", "Queue depths", about, lines(axis, shown, "KB"))


def between(low: float, high: float) -> str:
    """Two rates as a range; one number where they read the same."""
    first, last = f"{low:,.1f}", f"{high:,.1f}"
    return first if first == last else f"{first} to {last}"


def _rates(found: Measured, axis: Axis, per: int, count: int) -> Chart:
    """Percentiles over the job's queue pairs of what each delivered, by bucket, and of what it is allowed."""
    raw = found.raw
    if raw is None or "queue_pairs" not in raw:
        return Chart("rates", "", "", "")
    rows = raw["queue_pairs"]
    width_ps = per * found.every_ps
    inside = (rows["time_ps"] <= np.uint64(count * width_ps)) & (rows["queue_pair"] < found.own)
    bucket = ((rows["time_ps"][inside] - np.uint64(1)) // np.uint64(width_ps)).astype(np.int64)
    pair = rows["queue_pair"][inside].astype(np.int64)
    carried = np.zeros((found.own, count))
    np.add.at(carried, (pair, bucket), rows["delivered_bytes"][inside] * 8e3 / width_ps)
    under_way = np.zeros((found.own, count), np.bool_)
    under_way[pair, bucket] = True
    several: list[Line] = []
    for percent, name in PERCENTILES:
        values = [
            float(np.percentile(carried[:, place][under_way[:, place]], percent)) if under_way[:, place].any() else None
            for place in range(count)
        ]
        several.append(Line(name, values))
    allowed = rows["rate_mbps"][inside] / 1e3
    about = (
        f"What {found.own:,} queue pairs delivered, Gb/s: percentiles over those with something under way. DCQCN allowed "
        f"{between(allowed.min(), allowed.max())} Gb/s."
        if len(allowed)
        else ""
    )
    return Chart("rates", "Rates of queue pairs", about, lines(axis, several, "Gb/s"))


def _by_link(found: Measured) -> Chart:
    links = found.links
    order = np.argsort(-links["utilisation"], kind="stable")[:TOP].tolist()
    counted = [name for name in ("ecn_ce_packets", "pfc_rx", "dropped_packets") if name in links]
    rows = [
        (
            _link_name(links, one),
            float(links["utilisation"][one]),
            "\n".join(
                [
                    f"{links['tx_bytes'][one]:,.0f} bytes at {links['rate_gbps'][one]:g}G",
                    *(f"{name}: {int(links[name][one]):,}" for name in counted),
                ]
            ),
        )
        for one in order
    ]
    of, busy = direction(found), links["utilisation"]
    mean = "; ".join(
        f"{name} {busy[of == place].mean():.1%} (most {busy[of == place].max():.1%})"
        for place, name in enumerate(DIRECTIONS)
        if (of == place).any()
    )
    return Chart("links", "Utilisation by link", f"Over the whole collective. Means: {mean}.", bars(rows))


def _completion(found: Measured) -> Chart:
    flows = found.flows
    took = np.sort(flows["fct_us"][~np.isnan(flows["fct_us"])])
    if not len(took):
        return Chart("fct", "Flow completion", "", '<p class="none">No queue pair finished.</p>')
    places = np.unique(np.linspace(0, len(took) - 1, min(len(took), BUCKETS)).astype(np.int64))
    share = (places + 1) / len(flows["fct_us"]) * 100
    axis = Axis(took[places].tolist(), "us")
    late = len(flows["fct_us"]) - len(took)
    about = (
        f"Share of {len(flows['fct_us']):,} queue pairs that had delivered all by then: first {took[0]:,.1f} us, median "
        f"{np.median(took):,.1f}, last {took[-1]:,.1f}{f'; {late:,} never did' if late else ''}."
    )
    return Chart("fct", "Flow completion", about, lines(axis, [Line("finished", share.tolist())], "%", most=100))
