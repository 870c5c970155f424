"""What renderers print, read by the lint of each operating system, which is loaded where there is a switch for it.

What they find is by their own rules, those of ``railweave.systems.NAME.lint``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings.registry import check
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.checks.subject import Subject
    from railweave.findings import Finding

WHY = "each rule of it says why, and has an id of its own: see its lint"


def _linted(subject: Subject, nos: str) -> Iterator[Finding]:
    for config in subject.configs.values():
        if config.nos == nos:
            yield from system(nos).lint(config)


@check("sonic-lint", "error", applies="network", why=WHY)
def sonic_lint(subject: Subject) -> Iterator[Finding]:
    """Tables and routing of SONiC have nothing that the published models let through and the switch does not."""
    return _linted(subject, "sonic")


@check("dell-lint", "error", applies="network", why=WHY)
def dell_lint(subject: Subject) -> Iterator[Finding]:
    """Commands of Enterprise SONiC are known, and what they name is defined."""
    return _linted(subject, "dell_sonic")


@check("junos-lint", "error", sometimes="warning", applies="network", why=WHY, slow=True)
def junos_lint(subject: Subject) -> Iterator[Finding]:
    """Junos has no mistakes that published models let through."""
    return _linted(subject, "junos")


@check("eos-lint", "error", applies="network", why=WHY, slow=True)
def eos_lint(subject: Subject) -> Iterator[Finding]:
    """EOS has no mistakes that AVD's schema lets through."""
    return _linted(subject, "eos")
