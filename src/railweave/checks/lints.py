"""What renderers print, read by the lint of each operating system, which is loaded where there is a switch for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.checks.registry import check
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.checks.registry import Subject
    from railweave.findings import Finding


def _linted(subject: Subject, nos: str) -> Iterator[Finding]:
    for config in subject.configs.values():
        if config.nos == nos:
            yield from system(nos).lint(config)


@check("sonic-lint")
def sonic_lint(subject: Subject) -> Iterator[Finding]:
    """Tables and routing of SONiC have nothing that the published models let through and the switch does not."""
    return _linted(subject, "sonic")


@check("dell-lint")
def dell_lint(subject: Subject) -> Iterator[Finding]:
    """Commands of Enterprise SONiC are known, and what they name is defined."""
    return _linted(subject, "dell_sonic")


@check("junos-lint", slow=True)
def junos_lint(subject: Subject) -> Iterator[Finding]:
    """Mistakes that published models let through."""
    return _linted(subject, "junos")


@check("eos-lint", slow=True)
def eos_lint(subject: Subject) -> Iterator[Finding]:
    """Mistakes that AVD's schema lets through."""
    return _linted(subject, "eos")
