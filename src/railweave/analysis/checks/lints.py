"""Vendor-specific syntax checks (lints) of each operating system. A lint is loaded only if a switch of the network has the system.

The rules of a lint are in ``railweave.systems.NAME.lint``; ``system.yaml`` states that a system has a lint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.catalog import catalog
from railweave.model.findings.registry import Rule
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.analysis.checks.subject import Subject
    from railweave.model.catalog.systems import Lint
    from railweave.model.findings import Finding


UNPRINTABLE = Rule(
    "unprintable",
    "error",
    "network",
    "The configuration of a device has a value for which its operating system has no statement.",
    "the rules of the operating system could not be checked on this device",
    "correct the value in the device's configuration",
)


def _looking(nos: str) -> Callable[[Subject], Iterator[Finding]]:
    def look(subject: Subject) -> Iterator[Finding]:
        for config in subject.configs.values():
            if config.nos == nos:
                try:
                    yield from system(nos).lint(config)
                except RenderError as error:  # of a value that the system has no form for
                    yield UNPRINTABLE.finding(config.name, f"{nos} cannot say what its configuration asks for: {error}")

    return look


def _rule(nos: str, lint: Lint) -> Rule:
    return Rule(
        id=lint.id,
        severity="error",
        sometimes="warning" if lint.warns else None,
        applies="network",
        holds=lint.holds,
        why="each rule of the lint gives its own reason, and has an id of its own (below)",
        check=_looking(nos),
        slow=lint.slow,
    )


LINTS = tuple(
    sorted(
        (
            _rule(nos, known_system.lint)
            for nos, known_system in reversed(catalog().systems.items())
            if known_system.lint is not None
        ),
        key=lambda rule: rule.slow,
    )
)
"""The lints as checks, with quick lints first. The report's page lists them in this order."""
