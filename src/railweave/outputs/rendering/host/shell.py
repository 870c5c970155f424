"""The parts of scripts: a head with the design, and bodies from shell files in ``scripts/``, which are the same on every server.

The functions of a NIC vendor come from its folder (``railweave.nics``).
"""

from __future__ import annotations

import shlex
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig


def comment_head(config: HostConfig, goes_to: str, *why: str) -> list[str]:
    """Return the first lines of a file as comments with ``#``. ``why`` holds lines of text; an empty line separates paragraphs.

    ``goes_to`` is the path of the file on the server.
    """
    lines = [f"{config.name} of {config.network}, written by railweave. Goes to {goes_to}", *why]
    return [f"# {line}".rstrip() for line in lines]


BY_NAME = "disable=SC2034,SC2329  # vendors' functions are called by name, and take what they need of the values"
"""The shellcheck directive for scripts with the functions of several vendors."""


@cache
def body(name: str) -> str:
    """Return a part of a script: the content of a file in ``scripts/``."""
    return files("railweave.outputs.rendering.host").joinpath("scripts", name).read_text(encoding="utf-8")


def head(title: str, *, network: str, server: str | None = None, lint: str | None = None) -> list[str]:
    """Return the first lines of a script. ``lint`` is a shellcheck directive for the whole script."""
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
