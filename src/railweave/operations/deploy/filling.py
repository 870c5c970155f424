"""A change with the values of secrets in it, as a device is given it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.outputs.folder.rendering import with_secrets
from railweave.systems.transaction import Given

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.tree import Command
    from railweave.operations.deploy.changes import DeviceChange


def given(change: DeviceChange, label: str, secrets: Mapping[str, str], before: Mapping[str, str]) -> Given:
    """What a device is given. Raises ``InputError`` for a secret that its configuration cannot hold."""

    def filled(file: str, text: str) -> str:
        return with_secrets(f"devices/{change.device}/{file}", text, secrets, change.system)

    def command(file: str, one: Command) -> Command:
        return filled(file, one) if isinstance(one, str) else json.loads(filled("patch.json", json.dumps(one)))

    return Given(
        label,
        {file: [command(file, one) for one in lines] for file, lines in change.commands.items()},
        {file: filled(file, text) for file, text in change.target.items()},
        before,
    )
