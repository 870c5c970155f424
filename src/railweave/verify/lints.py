"""What renderers print, read by lints of ours. Each is loaded where there is a switch for it: most networks have one system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding
    from railweave.verify.registry import Subject


def _running(subject: Subject, nos: str) -> list[DeviceConfig]:
    return [config for config in subject.configs.values() if config.nos == nos]


@check("sonic-lint")
def sonic_lint(subject: Subject) -> Iterator[Finding]:
    """Tables and routing of SONiC have nothing that the published models let through and the switch does not."""
    if own := _running(subject, "sonic"):
        from railweave.render.sonic import frr, tables
        from railweave.verify.sonic_lint import lint

        for config in own:
            yield from lint(config.name, tables(config), frr.tree(config))


@check("dell-lint")
def dell_lint(subject: Subject) -> Iterator[Finding]:
    """Commands of Enterprise SONiC are known, and what they name is defined."""
    if own := _running(subject, "dell_sonic"):
        from railweave.render.dell_sonic import tree
        from railweave.verify.dell_lint import lint

        for config in own:
            yield from lint(config.name, tree(config))


@check("junos-lint", slow=True)
def junos_lint(subject: Subject) -> Iterator[Finding]:
    """Mistakes that published models let through."""
    if own := _running(subject, "junos"):
        from railweave.render.junos import tree
        from railweave.verify.junos_lint import lint

        for config in own:
            yield from lint(config.name, tree(config))


@check("eos-lint", slow=True)
def eos_lint(subject: Subject) -> Iterator[Finding]:
    """Mistakes that AVD's schema lets through."""
    if own := _running(subject, "eos"):
        from railweave.render.eos import lines
        from railweave.verify.eos_lint import lint

        for config in own:
            yield from lint(config.name, lines(config))
