"""Rules about priority flow control: congestion notification profiles and the classes that they pause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.junos.lint.cos import COS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.junos.lint.words import Words


def _profiles(root: Words) -> Iterator[tuple[str, Words]]:
    yield from root.at(COS, "congestion-notification-profile").below.items()


@check(
    "junos-pfc-watchdog-output",
    why="commit rejects it: a pfc-watchdog configuration requires an output configuration",
    fix="add `output ieee-802.1 code-point … flow-control-queue …` to the profile",
)
def watchdog_output(root: Words) -> Iterator[str]:
    """A congestion notification profile with ``pfc-watchdog`` has an ``output`` section.

    Source: ``junos:must`` of class-of-service/congestion-notification-profile/pfc-watchdog.
    """
    for name, profile in _profiles(root):
        if profile.has("pfc-watchdog") and not profile.has("output"):
            yield f"congestion-notification-profile {name} has pfc-watchdog and no output section"


@check(
    "junos-watchdog-action",
    why="the watchdog has one action for all ports",
    fix="set the same watchdog-action in every profile",
)
def watchdog_action(root: Words) -> Iterator[str]:
    """The PFC watchdog has one action on the whole switch (default: drop).

    Source: the PFC watchdog's page of the QFX5240 guide.
    """
    actions = {
        name: profile.value("pfc-watchdog", "watchdog-action") or "drop"
        for name, profile in _profiles(root)
        if profile.has("pfc-watchdog")
    }
    if len(set(actions.values())) > 1:
        yield f"watchdog actions differ: {', '.join(f'{name} {action}' for name, action in actions.items())}"


@check(
    "junos-pfc-code-point",
    why="commit rejects it: MRU and XON are not allowed without PFC",
    fix="add `pfc` at that code point, or remove MRU and XON",
)
def pfc_code_point(root: Words) -> Iterator[str]:
    """A code point of a congestion notification profile sets ``mru`` or ``xon`` only if it also sets ``pfc``.

    Source: ``junos:must`` of ``mru`` and ``xon``.
    """
    for name, profile in _profiles(root):
        for (_, kind, _, value), code_point in profile.every("input", "*", "code-point", "*"):
            for word in ("mru", "xon"):
                if code_point.inside(word) is not None and code_point.inside("pfc") is None:
                    yield f"congestion-notification-profile {name} has {word} without pfc at {kind} {value}"


@check(
    "junos-pfc-kind",
    why="a profile pauses by DSCP or by 802.1p, but not by both",
    fix="use one profile for each, on different interfaces",
)
def pfc_kind(root: Words) -> Iterator[str]:
    """The inputs of a congestion notification profile are all DSCPs or all 802.1p priorities.

    Source: Junos documentation, the page on PFC with DSCP.
    """
    for name, profile in _profiles(root):
        if profile.has("input", "dscp") and profile.has("input", "ieee-802.1"):
            yield f"congestion-notification-profile {name} has both dscp and ieee-802.1 inputs"


@check(
    "junos-pfc-queue",
    why="pausing a queue that is not lossless stops traffic without protecting it",
    fix="name the queue of the `no-loss` class, and use its pfc-priority as code point",
)
def pfc_queue(root: Words) -> Iterator[str]:
    """The output of a congestion notification profile pauses only queues of lossless classes, at their PFC priority (this follows from the meaning of PFC)."""
    lossless = {
        forwarding_class.inside("queue-num"): forwarding_class.inside("pfc-priority")
        for forwarding_class in root.at(COS, "forwarding-classes", "class").below.values()
        if forwarding_class.inside("no-loss") is not None
    }
    for name, profile in _profiles(root):
        for (*_, value), code_point in profile.every("output", "ieee-802.1", "code-point", "*"):
            for queue in code_point.names("flow-control-queue"):
                if queue not in lossless:
                    yield f"congestion-notification-profile {name} pauses queue {queue}, which no lossless class has"
                elif (priority := lossless[queue]) and priority.isdecimal() and value != f"{int(priority):03b}":
                    yield f"congestion-notification-profile {name} pauses queue {queue} at {value}, its class has priority {priority}"


@check(
    "junos-pfc-class",
    why="the port sends pauses for these packets, but still drops them, because their class is not lossless",
    fix="classify the code point into a `no-loss` class",
)
def pfc_class(root: Words) -> Iterator[str]:
    """A code point that a profile pauses at ingress belongs to a lossless class (this follows from the meaning of PFC)."""
    by_account = any(profile.has("input", "pfc-account") for _, profile in _profiles(root))
    lossless = {
        name
        for name, forwarding_class in root.at(COS, "forwarding-classes", "class").below.items()
        if forwarding_class.inside("no-loss") is not None
        or (by_account and forwarding_class.inside("pfc-priority") is not None)
    }
    classified: dict[str, set[str]] = {}
    for kind in ("dscp", "dscp-ipv6"):
        pattern = ("*", "forwarding-class", "*", "loss-priority", "*", "code-points", "*")
        for (_, _, class_name, *_, value), _ in root.at(COS, "classifiers", kind).every(*pattern):
            classified.setdefault(value, set()).add(class_name)
    for name, profile in _profiles(root):
        for (*_, value), code_point in profile.every("input", "dscp", "code-point", "*"):
            if code_point.inside("pfc") is not None and not classified.get(value, set()) & lossless:
                yield f"congestion-notification-profile {name} has pfc at {value}, which is in no lossless class"


@check(
    "junos-pfc-account",
    why=(
        "the port sends no pauses for a code point whose account is not in the profile (derived from the meaning "
        "of accounts)"
    ),
    fix="define `input pfc-account NAME pfc-priority N` in the same profile",
)
def pfc_account(root: Words) -> Iterator[str]:
    """The PFC account that a code point names is defined in the same profile, and has a priority."""
    for name, profile in _profiles(root):
        accounts = profile.at("input", "pfc-account").below
        for (*_, value), code_point in profile.every("input", "*", "code-point", "*"):
            account = code_point.value("pfc-account-name")
            if account and account not in accounts:
                yield f"congestion-notification-profile {name} has no pfc-account {account}, which code point {value} names"
            elif account and not accounts[account].names("pfc-priority"):
                yield f"pfc-account {account} of congestion-notification-profile {name} has no pfc-priority"
