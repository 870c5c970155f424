"""All devices that are watched: whether their numbers come, what they carry, and what is wrong at each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from railweave.counting import counted
from railweave.operations.watch.console.view import Shown, Values, table
from railweave.operations.watch.console.words import UNKNOWN, ago, per_second, percent, rate
from railweave.pages.markup import element, text
from railweave.pages.shell import section

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.network.devices import Switch
    from railweave.operations.watch.console.state import Console

HEADS = ("Device", "Role", "State", "Anomalies", "Carried", "Busiest port", "Pauses/s", "Marks/s", "Drops/s")


def device_list(console: Console, query: Mapping[str, str], values: Values) -> Shown:
    """The page. ``fabric``, ``role`` and ``stripe`` (several with blanks between) of the query say which."""
    wanted = [one for one in console.network.switches if one.name in console.devices and _wanted(one, query)]
    counts = Counter(one.device for one in console.anomalies() if one.finding.severity != "info")
    worst = console.worst()
    rows = [_row(console, values, one, counts[one.name], worst.get(one.name, "")) for one in wanted]
    chosen = ", ".join(text(f"{name} {query[name]}") for name in ("fabric", "role", "stripe") if query.get(name))
    about = counted(len(wanted), "switch", "switches") + (f" of {chosen}." if chosen else ".")
    more = element("p", element("a", "All devices", href="/devices")) if chosen else ""
    return Shown(
        "Devices",
        [section("devices", "Devices", "", element("p", about, class_="about") + more + table(HEADS, rows, numbers=5))],
        values.live,
    )


def _wanted(one: Switch, query: Mapping[str, str]) -> bool:
    stripes = query.get("stripe", "").split()
    return (
        query.get("fabric", one.fabric) == one.fabric
        and query.get("role", one.role) == one.role
        and (not stripes or one.stripe in stripes)
    )


def _row(console: Console, values: Values, one: Switch, wrong: int, worst: str) -> str:
    name, numbers = one.name, console.ports.numbers
    place = console.ports.slices.get(name, slice(0, 0))
    ports = console.ports.ports[place]
    received, sent = numbers["received"][place], numbers["sent"][place]
    speeds = np.array([port.speed_gbps * 1e9 for port in ports])
    busy = np.fmax(received, sent) * 8 / speeds if len(ports) else np.zeros(0)
    busiest = float(np.nanmax(busy)) if (~np.isnan(busy)).any() else float("nan")
    sums = {column: _sum(numbers[column][place]) for column in ("paused", "marks", "drops")}
    return element(
        "tr",
        element("th", element("a", text(name), href=f"/devices/{quote(name, safe='')}"), scope="row", class_="mono"),
        element("td", text(one.role + (f" of {one.stripe}" if one.role == "leaf" and one.stripe else ""))),
        state_cell(console, values, name),
        element(
            "td",
            values.html(
                f"{name}/wrong", element("span", f"{wrong:,}", class_=f"pill {worst}") if wrong else "", "span"
            ),
        ),
        values.word(f"{name}/carried", rate(8 * (_sum(received) + _sum(sent))), "td", class_="number"),
        values.bar(f"{name}/busiest", busiest, percent(busiest)),
        *(values.word(f"{name}/{column}", per_second(total), "td", class_="number") for column, total in sums.items()),
    )


def state_cell(console: Console, values: Values, name: str, tag: str = "td") -> str:
    """A cell that says whether a device's numbers come, and how old they are where they do not."""
    device = console.devices[name]
    reached, age = device.reached, device.reached.age_s
    if device.state == "up":
        shown = element("span", "up", class_="pill good")
    elif device.state == "not known":
        shown = element("span", "not known", class_="pill not-known") + text(f" {reached.why or UNKNOWN}")
    else:
        last = f", silent for {ago(age)}" if age is not None else ""
        shown = element("span", "down", class_="pill error") + text(f" {reached.why or UNKNOWN}{last}")
    return element(tag, values.html(f"{name}/state", shown, "span"))


def _sum(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    known = values[~np.isnan(values)]
    return float(known.sum()) if len(known) else float("nan")
