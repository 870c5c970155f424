"""FRRouting: see ``System`` for what each part is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.protocol import System

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.config.tree import ConfigTree
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding
    from railweave.findings.validators import Validator
    from railweave.systems.protocol import Runbook


class Frr(System):
    """FRRouting."""

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """``frr.conf``."""
        from railweave.systems.frr import render

        return render.files(config)

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """What has no place in these files, and the operator's own statements."""
        from railweave.systems.frr import render

        return render.gaps(config)

    def lines(self, config: DeviceConfig) -> list[str]:
        """Every statement with what it stands in."""
        from railweave.systems.frr import render

        return render.lines(config)

    def trees(self, config: DeviceConfig) -> dict[str, ConfigTree]:
        """The lines of ``frr.conf``."""
        from railweave.systems.frr.changes import config_tree
        from railweave.systems.frr.render import tree

        return {"frr.conf": config_tree(tree(config))}

    def check_extra(self, text: str) -> None:
        """Raises ``RenderError`` with the line where the operator's own statements cannot be read."""
        from railweave.systems.frr import render

        render.check_extra(text)

    @property
    def validators(self) -> Sequence[Validator]:
        """FRR's own parser."""
        from railweave.systems.frr.validator import VALIDATOR

        return (VALIDATOR,)

    @property
    def runbook(self) -> Runbook:
        """In ``vtysh``."""
        from railweave.systems.frr import runbook

        return runbook


SYSTEM = Frr()
