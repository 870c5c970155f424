"""Gaps between a design and its configuration that all systems describe in the same words.

They concern statements that the operator wrote, and parts of the design that a platform or release lacks or expresses differently.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from railweave.model.catalog.systems import release_key
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from railweave.model.config.sections import Section
    from railweave.model.config.statements import Statements
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding


def note(name: str, fault: str, why: str, fix: str = "") -> Rule:
    """Return the rule (a kind of finding) for a part of the design that a system lacks without harm, or expresses differently.

    Its severity is ``info``. ``name`` is the rule's id, and ``fault``, ``why`` and ``fix`` are its texts: fault, reason and remedy.
    """
    return Rule(name, "info", "rendering", fault, why, fix)


def warning(name: str, fault: str, why: str, fix: str = "") -> Rule:
    """Return the rule (a kind of finding) for a part of the design that a system lacks, or that was never tried on the system.

    Its severity is ``warning``. ``name`` is the rule's id, and ``fault``, ``why`` and ``fix`` are its texts: fault, reason and remedy.
    """
    return Rule(name, "warning", "rendering", fault, why, fix)


STATEMENT = note(
    "extra-statement", "a statement of the operator's own was merged in", "it comes from `extra:`, not from the design"
)
ROUTING = warning(
    "extra-routing",
    "own statements touch routing",
    "routes, paths and the checks on them are computed without these statements",
    "use a field of the fabric file where there is one, or try them in the emulation",
)
ONE_END = warning(
    "extra-one-end",
    "own statements set an MTU or ECN at this end of a link alone",
    "the other end is a server's NIC or another switch, whose configuration does not change with it: longer packets are dropped on the way, or senders do "
    "not slow down as they are marked (Thor2 guide, section 2.5: settings of NIC and switch match)",
    "use `mtu` and `qos.classes.NAME.ecn` of the fabric file, from which both ends follow",
)
PLATFORM_LACKS = note(
    "platform-lacks",
    "the switch model has none of the queues, buffers or load balancing that the fabric file wants",
    "what the fabric file wants of them is left out of its configuration",
)
QUEUE_MOVED = note(
    "queue-moved",
    "a class has another queue than its `queue` in the fabric file",
    "PFC works on queues there: a lossless class has that of its priority, and others give way; the number is local to the switch",
)
NOT_IN_RELEASE = warning(
    "release-lacks",
    "the switch's release does not have a statement of its configuration",
    "the statement comes with a later release: this one refuses it",
    "name a newer release (`release`), or leave out what needs the statement",
)
_BOTH_ENDS = re.compile(
    r"(?i)(?<![\w-])(mtu|ecn|explicit-congestion-notification|drop-profiles?|wred[-_]?\w*)(?![\w-])"
)
"""A pattern of words such as ``mtu`` and ``ecn``, in all systems. Statements with these words must agree at both ends of a link."""


def extra_findings(device: str, lines: Sequence[str], routing: tuple[str, ...]) -> list[Finding]:
    """Return findings about ``lines``, statements that the operator wrote and railweave merged into a device's configuration.

    There is a note for every line, one warning if any line affects routing, and one if any line sets a value that both ends
    of a link must share. ``routing`` has the first words of lines that affect routing.
    """
    findings = [STATEMENT.finding(device, f"own statement: {line}") for line in lines]
    if any(line.startswith(routing) for line in lines):
        findings.append(ROUTING.finding(device))
    texts = (line.partition("description")[0] for line in lines)
    words = list(dict.fromkeys(match[1].lower() for text in texts for match in [_BOTH_ENDS.search(text)] if match))
    if words:
        findings.append(ONE_END.finding(device, f"own statements set {', '.join(words)} at this end alone"))
    return findings


def left_out_findings(config: DeviceConfig) -> list[Finding]:
    """Return the findings ``platform-lacks`` and ``queue-moved`` that apply to a configuration.

    - ``platform-lacks``: a part of the design was left out because the platform does not have it.
    - ``queue-moved``: a traffic class has a different queue than the fabric file requests.
    """
    findings: list[Finding] = []
    if config.left_out:
        findings.append(PLATFORM_LACKS.finding(config.name, f"{config.model} has no {', no '.join(config.left_out)}"))
    if config.qos and config.qos.moved:
        moved = ", ".join(f"{name} has queue {now} for `queue: {asked}`" for name, asked, now in config.qos.moved)
        findings.append(QUEUE_MOVED.finding(config.name, moved))
    return findings


def release_findings(
    config: DeviceConfig, tables: Iterable[Statements[Any]], sections: Callable[[DeviceConfig], Iterable[Section]]
) -> list[Finding]:
    """Return a finding ``release-lacks`` for each statement of a configuration that the device's release does not have.

    ``tables`` describe the statements and give the first release of each. ``sections`` is a function that renders the configuration. It is
    called only if the release lacks at least one statement of the tables.
    """
    later = {
        table: {since for since in table.releases if release_key(config.release) < release_key(since)}
        for table in tables
    }
    printed = sections(config) if any(later.values()) else ()
    lines = [pair for table, releases in later.items() if releases for pair in table.since(printed, releases)]
    return [
        NOT_IN_RELEASE.finding(config.name, f"`{line}` is of release {since} and later, not of {config.release}")
        for line, since in lines
    ]
