"""Explanations of terms. They are on the page itself, because pages are often read without the documentation."""

from __future__ import annotations

from railweave.pages.shell import element, text

NETWORK = (
    (
        "rail",
        "All NICs of the same position in every server, such as every first NIC, and the leaves that they are connected to.",
    ),
    ("stripe", "A group of leaves, usually one per rail, and the servers connected to them."),
    (
        "leaf, spine",
        "A leaf is a switch that servers are connected to; a spine joins leaves. A super-spine joins spines.",
    ),
    (
        "path color",
        "A class of uplinks. A NIC has one address for each color, and packets to that address use the links of that color.",
    ),
    (
        "oversubscription",
        (
            "A leaf's bandwidth to servers over its bandwidth to spines, of the worst leaf. At 1:1 the uplinks carry all that the "
            "servers can send; above it they do not. Below 1 the leaf is undersubscribed: it has more bandwidth to spines than to servers."
        ),
    ),
    ("queue pair", "One RDMA connection between two NICs. NCCL and RCCL open several between the same two."),
    (
        "pinned",
        "Every packet of the queue pair takes the same links or, where links run in parallel, the same switches.",
    ),
    ("headroom", "Buffer that a switch keeps for what still arrives after it has asked its neighbor to pause (PFC)."),
)
"""The terms of the report, with their meanings."""

PREDICTION = (
    (
        "bus bandwidth",
        "The rate that nccl-tests prints: bytes over time, scaled so that it can be compared with the speed of the links.",
    ),
    ("ideal", "The least time that the hardware allows, with nothing in the way."),
    ("queue pair", "One RDMA connection between two NICs. NCCL and RCCL open several between the same two."),
    (
        "marked",
        "A switch marks packets (ECN) when its queue grows; the receiver then asks the sender to slow down (DCQCN).",
    ),
    ("PFC pauses", "A switch or NIC that runs out of buffer asks its neighbor to stop sending for a moment."),
    ("timeouts", "Packets were lost or held for so long that the sender sent them again."),
    ("proxy", "The thread of NCCL or RCCL on the processor that hands messages to a NIC."),
)
"""The terms of a page with predictions, with their meanings."""

BENCHMARKS = (
    (
        "bus bandwidth",
        "The rate that nccl-tests prints: bytes over time, scaled so that it can be compared with the speed of the links.",
    ),
    (
        "band",
        "What a measured number should lie between, as far as published results and several runs of the simulator tell.",
    ),
    (
        "pair",
        "What perftest measured between two NICs. Pairs that share no link run at once, in a round.",
    ),
    (
        "path color",
        "A class of uplinks. A NIC has one address for each color, and packets to that address use the links of that color.",
    ),
    (
        "score",
        (
            "How much likelier the pairs are if this part is slow than if none is, as a natural logarithm: 7 are about 1,000 to 1. "
            "Of two scores only the difference matters."
        ),
    ),
    (
        "ratio",
        "Measured over predicted, or over the baseline; of times the other way round. Below 1 it is worse.",
    ),
)
"""The terms of a page with benchmark results, with their meanings."""

TUNING = (
    PREDICTION[0],
    ("knob", "A field of the fabric file, or a parameter of the simulator, that a study may give other values."),
    ("trial", "One combination of values, measured with one or several seeds."),
    (
        "runs",
        "Simulations that the trials took: one for each combination and seed; what was measured before costs none.",
    ),
    ("combinations", "How many there are: what trying all of them would take, on each seed."),
    (
        "by chance",
        "How likely chance alone would make the proposed values look so much better, on fresh seeds. Above 5 % nothing is proposed.",
    ),
    ("PFC pauses", "A switch or NIC that runs out of buffer asks its neighbor to stop sending for a moment."),
    ("ECN marks", "Packets that switches marked because their queue grew; senders then slow down (DCQCN)."),
    (
        "fairness",
        "Jain's index of what part of its speed each job keeps when all run together: 1 where all lose alike.",
    ),
)
"""The terms of a page with a tuning study, with their meanings."""


def term_id(term: str) -> str:
    """Return the HTML ID of a term's explanation."""
    return "term-" + term.replace(",", "").replace(" ", "-").lower()


def linked(label: str, terms: tuple[tuple[str, str], ...], term: str = "") -> str:
    """Return a label as markup. If ``terms`` explains ``term`` (default: the label), the label links to the explanation."""
    name = term or label
    if name not in dict(terms):
        return text(label)
    return element("a", text(label), href=f"#{term_id(name)}", class_="term")


def glossary(terms: tuple[tuple[str, str], ...]) -> str:
    """Return a definition list in HTML. ``terms`` has (term, meaning)."""
    rows = (element("dt", text(term), id=term_id(term)) + element("dd", text(meaning)) for term, meaning in terms)
    return element("div", element("dl", *rows), class_="card")


def tile(value: str, label: str) -> str:
    """Return a list item for a prominent number with its label."""
    return element("li", element("b", text(value)), element("span", linked(label, PREDICTION)))
