"""The page of anomalies: each cause with its effects, its evidence, and the field of the fabric file that it contradicts."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING
from urllib.parse import quote

from railweave.counting import counted
from railweave.operations.watch.console.view import PageView, Values, ago, clock
from railweave.pages.shell import element, section, text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from railweave.operations.watch.anomalies import Anomaly
    from railweave.operations.watch.console.state import Console

MOST = 200
"""The largest number of causes, and of closed anomalies, that the page shows. Further ones are only counted."""


def anomalies(console: Console, values: Values) -> PageView:
    """Return the page of anomalies: open causes with their effects, then closed anomalies.

    Values that change while the page is open are added to ``values``.
    """
    listed = console.anomalies()
    now = values.html("anomalies", anomaly_cards(listed, console.watching.anomalies.devices))
    over = console.watching.anomalies.listed(closed=True)
    past = values.html("over", _over(over, console.watching.anomalies.devices))
    seen = values.html("seen", console.watching.validator.seen.to_html())
    counts = (
        "How much of the expected state the devices showed at the last comparison. What was not seen was not compared."
    )
    about = "A cause stands before what it explains. What comes and goes is one anomaly, with how often it was seen to begin."
    return PageView(
        "Anomalies",
        [
            section("now", "Now", about, now),
            section("seen", "What was seen", counts, seen),
            section(
                "past", "Over", "What was wrong before: since the watch began, or as long as --store keeps it.", past
            ),
        ],
        values.live,
    )


def anomaly_cards(listed: Sequence[Anomaly], devices: Collection[str], *, linked: bool = True) -> str:
    """Return anomalies as markup: each cause, followed by the anomalies that it explains. ``devices`` have pages.

    If ``linked`` is True, each cause has a link to its own page.
    """
    if not listed:
        return element("p", "Nothing: what the devices say is what the design has.", class_="about")
    heads = [anomaly for anomaly in listed if not anomaly.follows]
    names = {head.name for head in heads}
    below: dict[str, list[Anomaly]] = {}
    for anomaly in listed:
        if anomaly.follows in names:
            below.setdefault(anomaly.follows, []).append(anomaly)
        elif anomaly.follows:
            heads.append(anomaly)
    cards = [_card(head, below.get(head.name, []), devices, linked=linked) for head in heads[:MOST]]
    more = len(heads) - MOST
    return "".join(cards) + (
        element("p", f"And {more:,} more: /api/anomalies has them all.", class_="about") if more > 0 else ""
    )


def _card(anomaly: Anomaly, explained: Sequence[Anomaly], devices: Collection[str], *, linked: bool) -> str:
    finding = anomaly.finding
    times = f", {anomaly.times} times" if anomaly.times > 1 else ""
    facts = [("First seen", clock(anomaly.first) + times), ("Last seen", clock(anomaly.last))]
    if anomaly.evidence != finding.what:
        facts.append(("At first", anomaly.evidence))
    if anomaly.count > 1:
        facts.append(("Findings", f"{anomaly.count} of this kind here"))
    if anomaly.acknowledged:
        note = anomaly.acknowledged
        facts.append(("Acknowledged", f"{clock(note.at)}, {note.by}: {note.why}"))
    if anomaly.silenced:
        facts.append(("Silenced", anomaly.silenced))
    facts += [(name, words) for name, words in (("Why", finding.why), ("Fix", finding.fix)) if words]
    pairs = "".join(element("dt", text(name)) + element("dd", text(words)) for name, words in facts)
    if finding.place:
        pairs += element("dt", "Design") + element("dd", element("span", text(finding.place), class_="mono"))
    more = ""
    if explained:
        rows = "".join(
            element(
                "li",
                element("span", text(each.finding.id), class_="mono"),
                " ",
                place_link(each, devices),
                text(f": {each.finding.what}"),
            )
            for each in explained[:MOST]
        )
        summary = element("summary", text(f"This explains {counted(len(explained), 'more anomaly', 'more anomalies')}"))
        more = element("details", summary, element("ul", rows), id=f"explains-{anomaly.number}")
    marks = [*(["deploy at work"] if anomaly.deploy else []), *(["silenced"] if anomaly.silenced else [])]
    deploy = "".join(" " + element("span", mark, class_="pill") for mark in marks)
    head = element("span", text(finding.severity), class_=f"pill {finding.severity}")
    title = element(
        "h3", head, " ", element("span", text(finding.id), class_="mono"), " ", place_link(anomaly, devices), deploy
    )
    link = element("a", "Where to look next, its history, acknowledge, silence", href=f"/anomalies/{anomaly.number}")
    attributes = {"data_number": anomaly.number, "data_rule": finding.id, "data_where": finding.where}
    return element(
        "article",
        title,
        element("p", text(finding.what), class_="chosen"),
        element("dl", pairs),
        more,
        element("p", link) if linked else "",
        class_=f"card anomaly {finding.severity}",
        **attributes,
    )


def place_link(anomaly: Anomaly, devices: Collection[str]) -> str:
    """Return the place of an anomaly, as a link to the page of its device if it is one of ``devices``."""
    href = f"/devices/{quote(anomaly.device, safe='')}" if anomaly.device in devices else None
    return element(
        "a" if href else "span", text(anomaly.finding.where), href=href, id=f"at-{anomaly.number}", class_="mono"
    )


def _over(over: Sequence[Anomaly], devices: Collection[str]) -> str:
    if not over:
        return element("p", "Nothing yet.", class_="about")
    rows = [
        element(
            "li",
            element("time", text(f"{clock(anomaly.first)} to {clock(anomaly.last)}")),
            " ",
            element("span", text(anomaly.finding.severity), class_=f"pill {anomaly.finding.severity}"),
            " ",
            element("span", text(anomaly.finding.id), class_="mono"),
            " ",
            place_link(anomaly, devices),
            text(f": {anomaly.evidence}"),
            text(f" ({anomaly.times} times)" if anomaly.times > 1 else ""),
        )
        for anomaly in over[:MOST]
    ]
    more = len(over) - MOST
    rest = [element("li", f"And {more:,} more: /api/anomalies?closed=1 has them all.")] if more > 0 else []
    return element("ul", *rows, *rest, class_="over card")


def since(at: float) -> str:
    """Return the time since ``at`` (seconds since 1970) as text, such as ``12 min``."""
    return ago(time() - at)
