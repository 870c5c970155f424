"""Enterprise SONiC Distribution by Dell Technologies. The class ``systems.loader.System`` explains what each part is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding


def trees(config: DeviceConfig) -> dict[str, ConfigTree]:
    """Return the commands of ``prepare.cli`` and ``sonic.cli`` as trees of sections, by file name."""
    from railweave.systems.dell_sonic.changes import config_tree
    from railweave.systems.dell_sonic.render import prepare, tree

    return {"prepare.cli": config_tree(prepare(config)), "sonic.cli": config_tree(tree(config))}


def quoted(file: str, text: str) -> str:
    """Return a text in quotation marks if it contains spaces or characters that begin a comment; otherwise unchanged.

    ``file`` has no effect. Raises ``RenderError`` if the text cannot be written as one word.
    """
    from railweave.systems.dell_sonic.tree import quoted_word

    del file
    return quoted_word(text)


def by_hand(device: str) -> str:
    """Return the steps that an operator takes at the console to change a device.

    railweave does not change such devices, because no public document describes a candidate configuration or a rollback of
    Enterprise SONiC.
    """
    return (
        "no public document of Enterprise SONiC shows how it takes a change back by itself, so nothing here changes it: on its console, "
        f"type what differs of devices/{device}/prepare.cli (`buffer init lossless` asks and restarts the switch by itself: answer `y`, wait), log in again, "
        f"then type what differs of devices/{device}/sonic.cli"
    )


def mistakes(config: DeviceConfig) -> list[Finding]:
    """Return findings about unknown commands, and about names that are used but not defined."""
    from railweave.systems.dell_sonic.lint import lint
    from railweave.systems.dell_sonic.render import tree

    return lint(config.name, tree(config))
