"""Tests of every single fault of a network, and tests of all forwarding tables while one link after another is down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.design.fault_targets import FaultTarget, fault_targets
from railweave.errors import InputError, Option, Problem, SpecError
from railweave.json_values import JsonObject
from railweave.live.lab import fib
from railweave.live.lab.frr import held_sessions
from railweave.live.lab.frr.routers import daemons_of
from railweave.live.lab.kernel.shaping import set_links
from railweave.model.intent.reading.document import Document, validate
from railweave.model.intent.scenario import Scenario, ScenarioFile
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from railweave.live.lab.running import Running


Words = dict[str, object]

SLOW = "100M"
"""The rate of a slow link. The rate is sufficient for the test packets, so none should be lost."""


def written(text: str) -> Words:
    """Return the fields of a fault written on a command line, such as ``link-down link=A--B for=2s``, by name: kind, start and arguments.

    The start is ``0s`` if the text gives none. Raises ``InputError`` if a word after the first is not ``KEY=VALUE``.
    """
    kind, *rest = text.split()
    words: Words = {"at": "0s", "kind": kind}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(
                [Problem(Option("--fault"), f"{part!r} is no KEY=VALUE", 'write "link-down link=A--B for=2s"')]
            )
        words[key] = int(value) if value.isdecimal() else value
    return words


def targets(lab: Running, faults: Iterable[Words]) -> list[FaultTarget]:
    """Return the faults with the links and devices that they affect. Raises ``SpecError`` if a fault is invalid or its target does not exist."""
    document = Document("--fault", {"faults": list(faults)})
    try:
        return fault_targets(lab.plan.network, ScenarioFile(validate(Scenario, document), document))
    except SpecError as error:  # an option has no lines
        raise SpecError([replace(problem, place=Option("--fault")) for problem in error.problems]) from None


def of_words(lab: Running, texts: Iterable[str], *, every: bool) -> list[FaultTarget]:
    """Return the faults that are written on a command line, or all single faults if ``every`` is True.

    Raises ``InputError`` for an invalid text, and ``SpecError`` if a target does not exist.
    """
    return targets(lab, every_single(lab) if every else map(written, texts))


def every_single(lab: Running) -> list[Words]:
    """Return a fault for each link, NIC, switch and plane, and one fault of each further kind.

    The faults of further kinds are at a leaf, a spine or a link between them.
    """
    return [{"at": "0s", **words} for words in _all(lab)]


def _all(lab: Running) -> Iterator[Words]:
    network, configs = lab.plan.network, lab.plan.configs
    fabric_links = [cable for cable in network.cables if cable.kind == "fabric"]
    for cable in fabric_links:
        yield {"kind": "link-down", "link": cable.name}
    for cable in network.cables:
        if cable.kind == "server":
            yield {"kind": "nic-down", "nic": f"{cable.a.device}:{cable.a.port}"}
    for name in configs:
        yield {"kind": "device-down", "device": name}
    for plane in dict.fromkeys(f"{switch.fabric}/{switch.plane}" for switch in network.switches if switch.plane):
        yield {"kind": "plane-down", "plane": plane}
    one_each = [
        next((name for name, config in configs.items() if config.role == role), "") for role in ("leaf", "spine")
    ]
    for name in filter(None, one_each):
        for kind in ("blackhole", "device-reboot", "bgp-down"):
            yield {"kind": kind, "device": name}
        for daemon in daemons_of(lab.frr, configs[name]):
            yield {"kind": "daemon-kill", "device": name, "daemon": daemon}
    if fabric_links:
        cable = fabric_links[0]
        yield {"kind": "bgp-session-down", "device": cable.a.device, "neighbor": cable.b.device}
        yield {"kind": "link-lossy", "link": cable.name, "loss": "100%"}
        yield {"kind": "link-slow", "link": cable.name, "rate": SLOW}
        yield {"kind": "link-flap", "link": cable.name, "period": "1s", "count": 3}
    slaac = next(
        (c for c in network.cables if c.kind == "server" and network.fabric(c.fabric).server_mode == "slaac"), None
    )
    if slaac is not None and lab.plan.overlay is not None:  # with the design's lifetimes it would take a month
        lifetime = lab.plan.overlay.ra_valid_lifetime_s + lab.plan.overlay.ra_interval_s
        yield {"kind": "ra-stopped", "device": slaac.b.device, "port": slaac.b.port, "for": f"{lifetime}s"}


LIMIT_S = 20
"""The longest time that routers may take to converge after a link goes down, and after it returns, in seconds."""


@dataclass(frozen=True)
class LinkOutage(JsonObject):
    """The result of taking one link down.

    - ``entries``: the number of compared table entries.
    - ``settled_s``: the seconds from the link going down until the kernels' routes matched the computed ones; None if
      ``LIMIT_S`` was exceeded.
    - ``returned_s``: the seconds from the link's return until the routes matched again; None if ``LIMIT_S`` was
      exceeded.
    - ``failures``: the differences that remained if the limit was exceeded.
    """

    link: str
    entries: int
    settled_s: float | None
    returned_s: float | None
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """True if the routers converged both after the link went down and after it returned."""
        return self.settled_s is not None and self.returned_s is not None


def sweep(
    lab: Running, progress: Callable[[str], None] = silent, links: Sequence[str] | None = None
) -> list[LinkOutage]:
    """Take each link down, one at a time, and compare every kernel's table with the routes computed for that state.

    ``links`` are the links to take down; None means all links.
    """
    outages: list[LinkOutage] = []
    whole = lab.control_plane.routes()
    links = links or [cable.name for cable in lab.plan.network.cables]
    for number, link in enumerate(links, 1):
        progress(f"link {number} of {len(links)}: {link}")
        expected = lab.control_plane.routes([link])
        entries = len(expected.fibs) * len(expected.prefixes)
        set_links(lab, [link], "down")
        try:
            settled, wrong = fib.wait(lab, expected, LIMIT_S)
        finally:
            set_links(lab, [link], "up")
        returned, left = held_sessions.wait_and_release(lab, whole, LIMIT_S, poll_s=0.2)
        failures = [f"down: {difference}" for difference in wrong] + [f"back: {difference}" for difference in left]
        outages.append(LinkOutage(link, entries, settled, returned, tuple(failures[:8])))
    return outages
