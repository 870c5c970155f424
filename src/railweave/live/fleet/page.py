"""The page with the results of many servers: a matrix, then the failures. It is one HTML file without scripts or external files."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.fleet.checked import FleetCheckResult
from railweave.pages.shell import element, html_page, section, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.live.fleet.meshed import MeshResult

_STYLE = """
.matrix th:first-child,.matrix td:first-child{position:sticky;left:0;background:var(--card);z-index:1;font-weight:600;white-space:nowrap}
.matrix th:first-child{z-index:2}
.matrix td{white-space:nowrap;padding:4px 8px}
.matrix td.silent{max-width:0}
.matrix th{padding:5px 8px}
.matrix td span,.key span{display:inline-block;min-width:34px;text-align:center;padding:1px 8px;border-radius:6px;font-size:12px;font-weight:600}
.failed{color:var(--error);background:var(--error-bg)}
.warning{color:var(--warning);background:var(--warning-bg)}
.ok{color:var(--good);background:var(--good-bg)}
.unknown{color:var(--info);background:var(--info-bg)}
.nothing{color:var(--muted)}
@media(max-width:1080px){.matrix td,.matrix th{padding-left:3px;padding-right:3px}.matrix td span{padding:1px 5px}}
.card p{margin:4px 0 0;overflow-wrap:anywhere}
.card ul{margin:6px 0 0;padding-left:18px;overflow-wrap:anywhere}
.card .look{color:var(--warning);font-weight:600}
"""
_KEY = (
    ("failed", "failed"),
    ("warning", "warning"),
    ("ok", "as designed"),
    ("unknown", "not seen, or not tried"),
    ("nothing", "not applicable"),
)


def page(result: FleetCheckResult | MeshResult) -> str:
    """Return the page as one HTML document, in the style of the report."""
    checks = isinstance(result, FleetCheckResult)
    about = (
        "The GPU servers of the network, checked by railweave fleet check."
        if checks
        else (
            "Packets of the designed size between the NICs of servers, on every path color, sent by railweave fleet mesh."
        )
    )
    cards = list(_findings(result) if isinstance(result, FleetCheckResult) else _groups(result))
    cards += [_card("no answer", reply.server, [reply.error, reply.fix]) for reply in result.silent]
    marks = element("p", *(f"{element('span', word, class_=name)} " for name, word in _KEY), class_="about key")
    parts = [
        (
            "failures",
            "Failures",
            "" if cards else "Nothing failed.",
            element("div", *cards, class_="cards") if cards else "",
        ),
        (
            "servers",
            "Servers",
            "The worst verdict on each subject, and how often it was given."
            if checks
            else "Probes by path color: how many failed, of how many.",
            marks + element("div", result.table.to_html(), class_="matrix"),
        ),
    ]
    verdict = ("as designed", "good") if result.good else (_worst(result), "error")
    header = [
        element("h1", text(result.network), " ", element("span", text(verdict[0]), class_=verdict[1])),
        element("p", text(about), class_="description"),
        element("p", text(result.summary()), class_="lead"),
    ]
    title = f"{result.network}: {'servers' if checks else 'paths between servers'}"
    return html_page(
        title,
        [_STYLE],
        header=header,
        links=[(name, heading) for name, heading, _, _ in parts],
        main=[section(*part) for part in parts],
        footer="Made by railweave.",
    )


def _worst(result: FleetCheckResult | MeshResult) -> str:
    if isinstance(result, FleetCheckResult):
        bad = sum(any(v.verdict == "failed" for v in answer.verdicts) for answer in result.answers)
        return f"{counted(bad, 'server')} with failures" if bad else f"{len(result.silent)} did not answer"
    return (
        f"{len(result.failed):,} of {counted(len(result.results), 'probe')} failed" if result.failed else "not complete"
    )


def _findings(result: FleetCheckResult) -> Iterable[str]:
    for finding in result.findings():
        names = ", ".join(finding.where[:12]) + (
            f" and {len(finding.where) - 12} more" if len(finding.where) > 12 else ""
        )
        shared = f"{finding.look.capitalize()}." if finding.common else ""
        lines = [
            names,
            f"Seen {finding.seen}; wanted {finding.wanted}.",
            f"Do: {finding.remedy}" if finding.remedy else "",
        ]
        yield _card(finding.verdict, finding.check, lines, look=shared)
    for address in result.addresses:
        yield _card("failed", "address", [address.text])
    for odd in result.odd:
        yield _card("failed" if result.generic else "warning", odd.check, [odd.text])


def _groups(result: MeshResult) -> Iterable[str]:
    for group in result.common:
        yield _card("failed", result.sentence(group), [], items=result.examples(group))
    for reason, count in Counter(probe_result.message for probe_result in result.untried).items():
        yield _card("not tried", counted(count, "probe"), [reason])


def _card(verdict: str, title: str, lines: Sequence[str], look: str = "", items: Sequence[str] = ()) -> str:
    return element(
        "article",
        element("h3", text(verdict)),
        element("p", text(title), class_="chosen"),
        *([element("p", text(look), class_="look")] if look else []),
        *(element("p", text(line)) for line in lines if line),
        *([element("ul", *(element("li", text(item)) for item in items))] if items else []),
        class_="card",
    )
