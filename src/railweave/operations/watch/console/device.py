"""The list of devices, and the page of each device.

The page of a switch shows its ports, queues and sessions with their expected values. The page of a server shows the
leaf ports to which the server connects.
"""

from __future__ import annotations

from collections import Counter
from time import localtime, strftime
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from railweave.counting import counted
from railweave.model.state.telemetry import Series, bgp_word
from railweave.operations.watch.console.anomaly_list import anomaly_cards
from railweave.operations.watch.console.view import (
    UNKNOWN,
    PageView,
    Values,
    ago,
    per_second,
    percent,
    rate,
    size,
)
from railweave.pages.palette import network_strokes, stroke_rules
from railweave.pages.shell import element, section, text
from railweave.pages.table import Cell, Column, Table, columns, html_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.device.expected import Port, Session
    from railweave.model.network.devices import Server, Switch
    from railweave.operations.watch.console.state import Console


RATES = ("Carried", "Busiest port", "Pauses/s", "Marks/s", "Drops/s")
HEADS = columns("Device", "Role", "State", "Anomalies", *RATES, numbers=RATES)


def device_list(console: Console, query: Mapping[str, str], values: Values) -> PageView:
    """Return the page with the list of devices. Values that change while the page is open are added to ``values``.

    The query parameters ``fabric``, ``role`` and ``stripe`` select devices. A parameter may have several values,
    separated by blanks.
    """
    wanted = [
        device for device in console.network.switches if device.name in console.devices and _wanted(device, query)
    ]
    counts = Counter(anomaly.device for anomaly in console.anomalies() if anomaly.finding.severity != "info")
    worst = console.worst()
    rows = [_row(console, values, device, counts[device.name], worst.get(device.name, "")) for device in wanted]
    chosen = ", ".join(text(f"{name} {query[name]}") for name in ("fabric", "role", "stripe") if query.get(name))
    about = counted(len(wanted), "switch", "switches") + (f" of {chosen}." if chosen else ".")
    more = element("p", element("a", "All devices", href="/devices")) if chosen else ""
    return PageView(
        "Devices",
        [section("devices", "Devices", "", element("p", about, class_="about") + more + html_table(HEADS, rows))],
        values.live,
    )


def _wanted(device: Switch, query: Mapping[str, str]) -> bool:
    stripes = query.get("stripe", "").split()
    return (
        query.get("fabric", device.fabric) == device.fabric
        and query.get("role", device.role) == device.role
        and (not stripes or device.stripe in stripes)
    )


def _row(console: Console, values: Values, device: Switch, wrong: int, worst: str) -> str:
    name, numbers = device.name, console.ports.numbers
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
        element("td", text(device.role + (f" of {device.stripe}" if device.role == "leaf" and device.stripe else ""))),
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
    """Return a table cell with the state of the device ``name``. If no numbers of the device arrive, the cell shows since when, and why.

    Values that change while the page is open are added to ``values``. ``tag`` is the HTML tag of the cell.
    """
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


PORT_RATES = ("Received", "Sent", "Used", "Paused/s", "Pauses/s", "Marks/s", "Drops/s", "Errors/s")
PORT_HEADS = columns("Port", "Other end", "Color", "State", *PORT_RATES, numbers=PORT_RATES)
SESSION_HEADS = columns("Neighbor", "Port", "Color", "AS", "State", "Flaps", "Prefixes", numbers=("Flaps", "Prefixes"))
QUEUE_COLUMNS = (
    Column("Port", "mono", "port"),
    Column("Queue", key="queue"),
    Column("Sent", "number", "sent"),
    Column("Dropped", "number", "dropped"),
    Column("Marked", "number", "marked"),
    Column("Peak", "number", "peak_bytes"),
)
MESSAGE_COLUMNS = (Column("Time", "mono", "time"), Column("About", key="kind"), Column("Message", "mono", "text"))
SHOWN_MESSAGES = 50
NIC_COUNTERS = {
    "nic_resends": "Resends",
    "nic_timeouts": "Timeouts",
    "nic_receiver_not_ready": "Receiver not ready",
    "nic_pauses_sent": "Pauses sent",
    "nic_pauses_received": "Pauses received",
    "nic_ecn_marked_packets": "Marks",
    "nic_lossless_drops": "Lossless drops",
    "nic_link_errors": "Link errors",
}
"""The counters of a NIC that a page shows, by metric, with their titles."""
NIC_HEADS = columns("Port", "NIC", "Interface", *NIC_COUNTERS.values(), numbers=tuple(NIC_COUNTERS.values()))
_COUNTED = ("paused", "pauses", "marks", "drops", "errors")


def switch(console: Console, name: str, values: Values) -> PageView:
    """Return the page of a switch: its ports, queues and sessions with their expected values.

    Values that change while the page is open are added to ``values``.
    """
    expected = console.expected[name]
    device = console.network.switch(name)
    colors = {each.session.interface: each.color for each in expected.sessions}
    ports = [port_row(console, values, port, colors.get(port.name, "")) for port in expected.ports]
    last = console.devices[name].stream.last()
    listed = [each for each in console.anomalies() if each.device == name]
    description = (
        f"{device.role} of fabric {device.fabric}, {device.model}, {device.nos} {device.release}, AS {device.asn}"
    )
    queues = values.html("queues", _queues(last))
    chart = _chart(name, expected.ports) if console.watching.store else NOT_KEPT
    return PageView(
        name,
        [
            element("p", text(description), " ", state_cell(console, values, name, "span"), class_="about"),
            section(
                "anomalies",
                "Anomalies",
                "",
                values.html("anomalies", anomaly_cards(listed, console.watching.anomalies.devices)),
            ),
            section("ports", "Ports", "Those of the design, with what passes them now.", html_table(PORT_HEADS, ports)),
            *_nics(console, values, expected.ports),
            section("past", "A port over time", "", chart),
            section(
                "queues",
                "Queues",
                "Those that have carried something, by port and queue: counts since the device began.",
                queues,
            ),
            *_messages(console, name),
            section("sessions", "Sessions", "BGP sessions of the design.", _sessions(values, expected.sessions, last)),
        ],
        values.live,
        styles=[stroke_rules(network_strokes(console.network))],
        scripts=["uplot/uPlot.iife.min.js", "charts.js"] if console.watching.store else [],
        heading=name,
    )


def _messages(console: Console, name: str) -> list[str]:
    """Return a section with the latest syslog messages of the switch ``name``. The list is empty if syslog is not received."""
    syslog = console.watching.syslog
    if syslog is None:
        return []
    rows = [
        (Cell(event.time, strftime("%Y-%m-%d %H:%M:%S", localtime(event.time))), event.kind or "other", event.text)
        for event in syslog.events(name)[:SHOWN_MESSAGES]
    ]
    messages = Table(MESSAGE_COLUMNS, rows)
    shown = messages.to_html() if rows else element("p", "It has sent nothing.", class_="about")
    return [section("messages", "Syslog", f"The last {SHOWN_MESSAGES} messages, the newest first.", shown)]


SPANS = (("900", "15 minutes"), ("21600", "6 hours"), ("172800", "48 hours"))


NOT_KEPT = element(
    "p", "Samples are not kept: start the watch with --store FILE, and a port's last 48 hours are here.", class_="about"
)


def _chart(name: str, ports: Iterable[Port]) -> str:
    """Return the markup of a device's traffic chart: a list of its ``ports``, a list of time spans, and the element into which the script draws."""
    port_choice = element("select", *(element("option", text(port.name)) for port in ports), id="chart-port")
    span = element(
        "select", *(element("option", text(words), value=seconds) for seconds, words in SPANS), id="chart-span"
    )
    choice = element(
        "div", element("label", "Port ", port_choice), " ", element("label", "Time ", span), class_="bar chart-choice"
    )
    return choice + element("div", "", id="chart-device", data_device=name)


def port_row(console: Console, values: Values, port: Port, color: str) -> str:
    """Return the table row of a watched port. ``color`` is the markup of the port's path color.

    Values that change while the page is open are added to ``values``.
    """
    numbers = console.ports.of(port.device, port.name)
    key = f"{port.device}/{port.name}"
    used = max(numbers["received"], numbers["sent"]) * 8 / (port.speed_gbps * 1e9)
    peer = (
        element("a", text(port.peer), href=f"/devices/{quote(port.peer, safe='')}")
        if port.kind != "external"
        else text(port.peer)
    )
    up = numbers["up"]
    state = element("span", "up" if up else "down", class_=f"pill {'good' if up else 'error'}") if up == up else UNKNOWN
    hue = _hue(console, port)
    return element(
        "tr",
        element("th", text(port.name), scope="row", class_="mono"),
        element("td", peer, text(f" {port.peer_port}"), class_="mono"),
        element("td", hue, text(color), class_="color"),
        element("td", values.html(f"{key}/up", state, "span")),
        values.word(f"{key}/received", rate(8 * numbers["received"]), "td", class_="number"),
        values.word(f"{key}/sent", rate(8 * numbers["sent"]), "td", class_="number"),
        values.bar(f"{key}/used", used, percent(used)),
        *(values.word(f"{key}/{column}", per_second(numbers[column]), "td", class_="number") for column in _COUNTED),
        id=f"port-{port.name}",
    )


def _nics(console: Console, values: Values, ports: Iterable[Port]) -> list[str]:
    """Return a section with the counters of the NICs to which ``ports`` lead. The list is empty if no port leads to a NIC.

    Values that change while the page is open are added to ``values``. A NIC whose server does not report a counter has a dash.
    """
    wanted = [port for port in ports if port.kind == "server"]
    servers = {port.peer for port in wanted}
    nics = {
        (server.name, nic.name): nic.netdev
        for server in console.network.servers
        if server.name in servers
        for nic in server.nics
    }
    last = {name: console.devices[name].stream.last() for name in servers if name in console.devices}
    rows: list[str] = []
    for port in wanted:
        netdev, key = nics.get((port.peer, port.peer_port), ""), f"{port.peer}/{port.peer_port}"
        numbers = {metric: last.get(port.peer, {}).get(Series(metric, netdev)) for metric in NIC_COUNTERS}
        link = element("a", text(port.peer), href=f"/devices/{quote(port.peer, safe='')}")
        rows.append(
            element(
                "tr",
                element("th", text(port.name), scope="row", class_="mono"),
                element("td", link, text(f" {port.peer_port}"), class_="mono"),
                element("td", text(netdev), class_="mono"),
                *(
                    values.word(
                        f"{key}/{metric}", UNKNOWN if number is None else f"{number:,.0f}", "td", class_="number"
                    )
                    for metric, number in numbers.items()
                ),
            )
        )
    if not rows:
        return []
    about = "Counts since the driver was loaded, as the servers report them every minute."
    if not last:
        about = "No server is asked: give access.yaml a login for servers, or leave out --no-servers."
    return [section("nic-counters", "Counters of NICs", about, html_table(NIC_HEADS, rows))]


def _hue(console: Console, port: Port) -> str:
    place = console.links.places.get(port.link)
    cable = None if place is None else console.network.cables[place]
    swatch = "" if cable is None else console.swatches.get((cable.fabric, cable.color), "")
    return element("i", "", class_=f"swatch {swatch}") if swatch else ""


def _queues(last: dict[Series, float]) -> str:
    queues: dict[tuple[str, str], dict[str, float]] = {}
    names = {"queue_sent": "sent", "queue_dropped": "dropped", "queue_marked": "marked", "queue_peak": "peak"}
    for series, number in last.items():
        if series.metric in names and number:
            queues.setdefault((series.port, series.index), {})[names[series.metric]] = number
    if not queues:
        return element("p", "No queue has a number that is not zero.", class_="about")
    rows = [
        (
            port,
            queue,
            *(int(numbers.get(name, 0)) for name in ("sent", "dropped", "marked")),
            Cell(numbers.get("peak"), size(numbers.get("peak", float("nan")))),
        )
        for (port, queue), numbers in sorted(queues.items())
    ]
    return Table(QUEUE_COLUMNS, rows).to_html()


def _sessions(values: Values, sessions: Iterable[Session], last: dict[Series, float]) -> str:
    by_neighbor: dict[str, dict[str, float]] = {}
    for series, number in last.items():
        if series.metric in {"bgp_state", "bgp_flaps", "bgp_received"}:
            by_neighbor.setdefault(series.index, {})[series.metric] = number
    rows: list[str] = []
    for session in sessions:
        port = session.session.interface
        names = {port, f"{port}.0", str(session.session.peer_address)}
        metrics = next(
            (
                neighbor_metrics
                for name, neighbor_metrics in by_neighbor.items()
                if names & {name, name.rpartition("%")[2]}
            ),
            dict[str, float](),
        )
        number = metrics.get("bgp_state")
        word = UNKNOWN if number is None else bgp_word(number) or UNKNOWN
        good = "good" if word == "established" else "error"
        received = metrics.get("bgp_received")
        shown = UNKNOWN if received is None else f"{received:,.0f}"
        flaps = metrics.get("bgp_flaps")
        rows.append(
            element(
                "tr",
                element("th", text(session.session.peer), scope="row", class_="mono"),
                element("td", text(port), class_="mono"),
                element("td", text(session.color)),
                element("td", text(session.session.peer_as)),
                element("td", values.html(f"bgp/{port}", element("span", text(word), class_=f"pill {good}") if number is not None else UNKNOWN, "span")),
                values.word(f"bgp/{port}/flaps", UNKNOWN if flaps is None else f"{flaps:,.0f}", "td", class_="number"),
                values.word(f"bgp/{port}/received", f"{shown} of {session.received:,}", "td", class_="number"),
            )
        )  # fmt: skip
    return html_table(SESSION_HEADS, rows) if rows else element("p", "None.", class_="about")


def server(console: Console, host: Server, values: Values) -> PageView:
    """Return the page of a server. Values that change while the page is open are added to ``values``.

    The state and the rates in the row of a NIC are those of the leaf port to which the NIC is connected. So the traffic that is shown as
    received is the traffic that the server sends.
    """
    rows: list[str] = []
    by_link = {port.link: port for port in console.ports.ports if port.peer == host.name}
    for cable in console.network.cables_of(host.name):
        port = by_link.get(cable.name)
        if port is not None:
            rows.append(port_row(console, values, port, f"{cable.a.port} at {port.device}"))
    nics = {nic.name for nic in host.nics}
    listed = [each for each in console.anomalies() if each.device == host.name]
    about = "The ports of the leaves that its NICs are on: received is what the server sends."
    heads = tuple(Column("NIC") if head.title == "Color" else head for head in PORT_HEADS)
    return PageView(
        host.name,
        [
            element("p", text(f"server, {host.model}, {len(nics)} NICs"), class_="about"),
            section(
                "anomalies",
                "Anomalies",
                "",
                values.html("anomalies", anomaly_cards(listed, console.watching.anomalies.devices)),
            ),
            section("ports", "NICs", about, html_table(heads, rows)),
            *_nics(console, values, by_link.values()),
        ],
        values.live,
        heading=host.name,
    )
