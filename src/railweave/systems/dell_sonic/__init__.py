"""Enterprise SONiC Distribution by Dell Technologies: see ``System`` for what each part is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.protocol import System

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding


class DellSonic(System):
    """Enterprise SONiC Distribution by Dell Technologies."""

    def trees(self, config: DeviceConfig) -> dict[str, ConfigTree]:
        """The commands of ``prepare.cli`` and ``sonic.cli``."""
        from railweave.systems.dell_sonic.changes import config_tree
        from railweave.systems.dell_sonic.render import prepare, tree

        return {"prepare.cli": config_tree(prepare(config)), "sonic.cli": config_tree(tree(config))}

    def quoted(self, file: str, text: str) -> str:
        """In quotation marks where it has blanks, or what begins a comment."""
        from railweave.systems.dell_sonic.tree import quoted_word

        del file
        return quoted_word(text)

    def by_hand(self, device: str) -> str:
        """Dell's manuals are behind a login, and what is public of it has neither a candidate nor a rollback."""
        return (
            "no public document of Enterprise SONiC shows how it takes a change back by itself, so nothing here changes it: on its console, "
            f"type what differs of devices/{device}/prepare.cli (`buffer init lossless` asks and restarts the switch by itself: answer `y`, wait), log in again, "
            f"then type what differs of devices/{device}/sonic.cli"
        )

    def lint(self, config: DeviceConfig) -> list[Finding]:
        """Commands are known, and what they name is defined."""
        from railweave.systems.dell_sonic.lint import lint
        from railweave.systems.dell_sonic.render import tree

        return lint(config.name, tree(config))


SYSTEM = DellSonic()
