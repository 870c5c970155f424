"""What a device of a plan is, by its name in the plan: an operating system of switches, or a server. Everything else in this room knows devices alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from railweave.errors import NetworkPart, Problem, RenderError, SpecError
from railweave.live.fleet import host_tree
from railweave.live.fleet import transaction as of_server
from railweave.systems import system

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.systems.transaction import Transaction

SERVER = "server"
"""The kind of a device that is a server."""


def transaction(kind: str) -> Transaction | None:
    """How devices of a kind are changed; None: nothing here changes one."""
    return cast("Transaction", of_server) if kind == SERVER else system(kind).transaction


def tree(kind: str, device: str, file: str, text: str) -> ConfigTree:
    """A text of a device as a tree. Raises ``SpecError``."""
    try:
        if kind == SERVER:
            return host_tree.parsed(text)
        reader = system(kind).reader
        assert reader is not None  # noqa: S101 - a plan has no device of such a system
        return reader.parsed(file, text)
    except RenderError as error:
        what = f"{file} cannot be read: {error.what}"
        raise SpecError(
            [Problem(NetworkPart(device), what, "see what the device shows for its configuration")]
        ) from None
