"""The comment at the head of a server's file: whose it is, where it goes, why it is as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig


def head(config: HostConfig, goes_to: str, *why: str) -> list[str]:
    """The lines, with ``#``. ``why`` are lines of text; an empty one parts paragraphs."""
    lines = [f"{config.name} of {config.network}, written by railweave. Goes to {goes_to}", *why]
    return [f"# {line}".rstrip() for line in lines]
