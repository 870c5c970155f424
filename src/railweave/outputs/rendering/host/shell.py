"""The parts of which scripts consist: a head that depends on the design, and bodies that are the same on every server.

The bodies are shell files in ``scripts/``. The functions of a NIC vendor come from its folder (``railweave.nics``).
"""

from __future__ import annotations

import shlex
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from railweave.reading import packaged_text

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig


def comment_head(config: HostConfig, goes_to: str, *why: str) -> list[str]:
    """Return the first lines of a file, as comments that begin with ``#``.

    ``goes_to`` is the path of the file on the server. ``why`` has lines of text; an empty line separates paragraphs.
    """
    lines = [f"{config.name} of {config.network}, written by railweave. Goes to {goes_to}", *why]
    return [f"# {line}".rstrip() for line in lines]


BY_NAME = "disable=SC2034,SC2329  # vendors' functions are called by name, and take what they need of the values"
"""The shellcheck directive for scripts with functions of several vendors."""


@cache
def body(name: str) -> str:
    """Return the content of a file in ``scripts/``, which is the body of a script or a part of it."""
    return packaged_text(files("railweave.outputs.rendering.host").joinpath("scripts", name))


def head(title: str, *, network: str, server: str | None = None, lint: str | None = None) -> list[str]:
    """Return the first lines of a script: ``title`` and origin as comments. ``lint`` is a shellcheck directive for the whole script."""
    whose = f"{network}, server {server}" if server else network
    return [
        "#!/usr/bin/env bash",
        f"# {title}",
        f"# Written by railweave for {whose}; change the fabric file, not this.",
        *([f"# shellcheck {lint}"] if lint else []),
        "set -euo pipefail",
        "",
    ]


def array(name: str, lines: list[str]) -> list[str]:
    """Return the lines of a bash array, one element per line."""
    return [f"{name}=(", *(f"    {shlex.quote(line)}" for line in lines), ")"]
