"""SONiC: see ``System`` for what each part is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.protocol import System

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.config.tree import ConfigTree
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding
    from railweave.findings.validators import Validator


class Sonic(System):
    """SONiC."""

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """``config_db.json`` and ``frr.conf``."""
        from railweave.systems.sonic import render

        return render.files(config)

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """What has no place in these files, and the operator's own statements."""
        from railweave.systems.sonic import render

        return render.gaps(config)

    def lines(self, config: DeviceConfig) -> list[str]:
        """Every statement with what it stands in."""
        from railweave.systems.sonic import render

        return render.lines(config)

    def trees(self, config: DeviceConfig) -> dict[str, ConfigTree]:
        """The tables of ``config_db.json`` and the lines of ``frr.conf``."""
        from railweave.systems.frr.changes import config_tree as frr_tree
        from railweave.systems.sonic.changes import config_tree
        from railweave.systems.sonic.render import frr, tables

        return {"config_db.json": config_tree(tables(config)), "frr.conf": frr_tree(frr.tree(config))}

    def check_extra(self, text: str) -> None:
        """Raises ``RenderError`` with the line where the operator's own statements cannot be read."""
        from railweave.systems.sonic import render

        render.check_extra(text)

    def lint(self, config: DeviceConfig) -> list[Finding]:
        """Tables and routing have nothing that the published models let through and the switch does not."""
        from railweave.systems.sonic.lint import lint
        from railweave.systems.sonic.render import frr, tables

        return lint(config.name, tables(config), frr.tree(config))

    @property
    def validators(self) -> Sequence[Validator]:
        """By libyang with SONiC's published models."""
        from railweave.systems.sonic.validator import VALIDATOR

        return (VALIDATOR,)


SYSTEM = Sonic()
