"""Junos OS Evolved: see ``System`` for what each part is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.protocol import System

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding


class Junos(System):
    """Junos OS Evolved."""

    def trees(self, config: DeviceConfig) -> dict[str, ConfigTree]:
        """The statements of ``junos.conf``."""
        from railweave.systems.junos.changes import config_tree
        from railweave.systems.junos.render import tree

        return {"junos.conf": config_tree(tree(config))}

    def configurations(self, config: DeviceConfig) -> list[str]:
        """``junos.conf``."""
        del config
        return ["junos.conf"]

    def quoted(self, file: str, text: str) -> str:
        """In quotation marks where a word of Junos needs them."""
        from railweave.systems.junos.tree import quoted

        return quoted(text) if file in {"junos.conf", "junos.set"} else super().quoted(file, text)

    def lint(self, config: DeviceConfig) -> list[Finding]:
        """Mistakes that published models let through."""
        from railweave.systems.junos.lint import lint
        from railweave.systems.junos.render import tree

        return lint(config.name, tree(config))


SYSTEM = Junos()
