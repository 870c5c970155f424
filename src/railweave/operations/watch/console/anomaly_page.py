"""The page of one anomaly: what to look at next, its history, and the forms to acknowledge and silence it."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from railweave.errors import OutputError
from railweave.operations.watch.console.anomaly_list import anomaly_cards
from railweave.operations.watch.console.history import events
from railweave.operations.watch.console.view import PageView, Values, clock
from railweave.pages.shell import element, section, text
from railweave.pages.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.operations.watch.anomalies import Anomaly
    from railweave.operations.watch.console.state import Console

DURATIONS = (("30m", "30 minutes"), ("2h", "2 hours"), ("8h", "8 hours"), ("1d", "a day"), ("7d", "a week"))
"""The durations of silences that the form offers."""
MOST_CHANGES = 200
BEFORE_S, AFTER_S = 900.0, 600.0
_COLUMNS = (Column("When", "when", "time"), Column("Change", key="change"), Column("What", key="what"))


def anomaly_page(console: Console, number: int, values: Values) -> PageView | None:
    """Return the page of an anomaly, or None if no anomaly has the number."""
    anomalies = console.watching.anomalies
    anomaly = anomalies.with_number(number)
    if anomaly is None:
        return None
    below = [each for each in anomalies.listed() if each.follows == anomaly.name]
    card = values.html("anomaly", anomaly_cards([anomaly, *below], anomalies.devices, linked=False))
    links = element("ul", *(element("li", link) for link in _links(console, anomaly)))
    around = (
        f"Deploys, jobs and causes that began from 15 minutes before {clock(anomaly.first)} until 10 minutes after."
    )
    parts = [
        section("anomaly", f"Anomaly {number}", "", card),
        section("next", "Where to look next", "", links),
        section("changes", "What became of it", "Its changes, as the store has them.", _changes(console, anomaly)),
        section("around", "What else happened", around, _around(console, anomaly)),
    ]
    if anomaly.closed is None:
        parts.append(section("act", "Acknowledge or silence", "", _forms(console, anomaly)))
    return PageView(f"Anomaly {number}", parts, values.live)


def _links(console: Console, anomaly: Anomaly) -> Iterator[str]:
    device, port = anomaly.device, anomaly.port
    if device in console.watching.anomalies.devices:
        yield element(
            "a",
            text(f"{device}: its ports, queues and sessions, with graphs"),
            href=f"/devices/{quote(device, safe='')}",
        )
    far = console.watching.anomalies.ends.get((device, port))
    if far:
        yield element(
            "a", text(f"{far}: the device at the other end of {port}"), href=f"/devices/{quote(far, safe='')}"
        )
    nic = next(
        (nic.name for server in console.network.servers if server.name == far for nic in server.nics if (nic.leaf, nic.leaf_port) == (device, port)),
        None,
    )  # fmt: skip
    if nic is not None:
        query = urlencode({"src": f"{far}:{nic}"})
        yield element("a", text(f"the paths of queue pairs of {far}:{nic}"), href=f"/path?{query}")
    span = next((seconds for seconds in (900, 21600, 172800) if time() - anomaly.first < seconds), 172800)
    yield element("a", text(f"traffic, deploys and jobs since {clock(anomaly.first)}"), href=f"/history?span={span}")
    fabric = console.fabric_file
    name = fabric.name if fabric is not None else "FABRIC"
    yield "again now: " + element("code", text(f"railweave check {name} --live --only {anomaly.finding.id}"))
    if anomaly.finding.place:
        yield "in the fabric file: " + element("code", text(anomaly.finding.place))


def _changes(console: Console, anomaly: Anomaly) -> str:
    store = console.watching.store
    if store is None:
        return element("p", "Not kept: start the watch with --store FILE.", class_="about")
    try:
        changes = store.events(0, time() + 1, number=anomaly.number, most=MOST_CHANGES)
    except OutputError as error:
        return element("p", text(str(error)), class_="wrong")
    rows = [(Cell(event.time, clock(event.time)), event.change, _said(event.anomaly)) for event in reversed(changes)]
    return Table(_COLUMNS, rows).to_html() if rows else element("p", "Nothing yet.", class_="about")


def _around(console: Console, anomaly: Anomaly) -> str:
    begin, end = anomaly.first - BEFORE_S, anomaly.first + AFTER_S
    rows = [
        (Cell(event.begin, clock(event.begin)), event.kind, event.title)
        for event in events(console, max(time() - begin, 1))
        if begin <= event.begin <= end and event.title != anomaly.name
    ]
    return Table(_COLUMNS, rows).to_html() if rows else element("p", "Nothing that is known.", class_="about")


def _said(anomaly: Anomaly) -> str:
    parts = [anomaly.finding.what.partition(". This explains ")[0]]
    parts += [f"follows from {anomaly.follows}"] if anomaly.follows else []
    parts += [f"silenced: {anomaly.silenced}"] if anomaly.silenced else []
    parts += [f"acknowledged by {anomaly.acknowledged.by}: {anomaly.acknowledged.why}"] if anomaly.acknowledged else []
    return "; ".join(parts)


def _forms(console: Console, anomaly: Anomaly) -> str:
    if not console.writable:
        return element(
            "p", "Read only: start the watch with --write-token to acknowledge and silence here.", class_="about"
        )
    back = element("input", type="hidden", name="back", value=f"/anomalies/{anomaly.number}")

    def field(label: str, name: str, kind: str = "text", **more: object) -> str:
        key = f"{form}-{name}"
        box = element("input", type=kind, name=name, id=key, required="required", maxlength="500", **more)
        return element("label", text(f"{label} "), box, for_=key)

    forms: list[str] = []
    for form, action, words in (
        ("ack", f"/api/anomalies/{anomaly.number}/acknowledge", "Acknowledge"),
        ("silence", "/api/silences", "Silence"),
    ):
        more = ""
        if form == "silence":
            options = (element("option", text(label), value=value) for value, label in DURATIONS)
            choice = element("select", *options, name="for", id="silence-for")
            number = element("input", type="hidden", name="anomaly", value=str(anomaly.number))
            more = number + element("label", "for ", choice, for_="silence-for")
        fields = [
            field("Name", "by"),
            field("Reason", "why"),
            field("Token", "token", "password", autocomplete="current-password"),
        ]
        button = element("button", text(words), type="submit")
        forms.append(element("form", *fields, more, back, button, method="post", action=action, class_="search write"))
    return "".join(forms)
