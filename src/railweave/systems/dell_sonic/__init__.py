"""Enterprise SONiC Distribution by Dell Technologies: see ``System`` for what each part is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.protocol import System

if TYPE_CHECKING:
    from railweave.config.tree import ConfigTree
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding


class DellSonic(System):
    """Enterprise SONiC Distribution by Dell Technologies."""

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """``prepare.cli`` and ``sonic.cli``."""
        from railweave.systems.dell_sonic import render

        return render.files(config)

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """What has no place in these files, and the operator's own statements."""
        from railweave.systems.dell_sonic import render

        return render.gaps(config)

    def lines(self, config: DeviceConfig) -> list[str]:
        """Every statement with what it stands in."""
        from railweave.systems.dell_sonic import render

        return render.lines(config)

    def trees(self, config: DeviceConfig) -> dict[str, ConfigTree]:
        """The commands of ``prepare.cli`` and ``sonic.cli``."""
        from railweave.systems.dell_sonic.changes import config_tree
        from railweave.systems.dell_sonic.render import prepare, tree

        return {"prepare.cli": config_tree(prepare(config)), "sonic.cli": config_tree(tree(config))}

    def check_extra(self, text: str) -> None:
        """Raises ``RenderError`` with the line where the operator's own statements cannot be read."""
        from railweave.systems.dell_sonic import render

        render.check_extra(text)

    def lint(self, config: DeviceConfig) -> list[Finding]:
        """Commands are known, and what they name is defined."""
        from railweave.systems.dell_sonic.lint import lint
        from railweave.systems.dell_sonic.render import tree

        return lint(config.name, tree(config))


SYSTEM = DellSonic()
