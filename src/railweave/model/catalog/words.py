"""The models that a word means, the same in the fabric file and on the command line."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from railweave.model.catalog.models import Catalog

HOW_TO_ADD = (
    "another is described in a hardware file: `railweave hardware show MODEL` prints one to start from, "
    "--hardware DIR reads it (docs/hardware.md)"
)


def servers_named(catalog: Catalog, word: str) -> list[str]:
    """Server models that a word means: by their name or their NIC's in the catalog, else by a part of one."""
    nics = {name: model.nics["gpu"].nic for name, model in catalog.servers.items() if "gpu" in model.nics}
    exact = [name for name, nic in nics.items() if word.lower() in {name, nic}]
    return exact or [name for name, nic in nics.items() if word.lower() in name or word.lower() in nic]


def switches_named(catalog: Catalog, word: str) -> list[str]:
    """Switch models that a word means: its name in the catalog, else those that begin with it, else those of that maker."""
    word = word.lower()
    if word in catalog.switches:
        return [word]
    begin = [name for name in catalog.switches if name.startswith(word)] if word else []
    return begin or [name for name, model in catalog.switches.items() if model.vendor.lower() == word]


def unknown_switch(catalog: Catalog, word: str) -> tuple[str, str]:
    """What is wrong with a word that means no switch model, and what would be right."""
    return (
        f"switch model {word!r} is not in the catalog",
        _instead(word, catalog.switches),
    )


def unknown_server(catalog: Catalog, word: str) -> tuple[str, str]:
    """What is wrong with a word that means no server model, and what would be right."""
    return (
        f"server model {word!r} is not in the catalog",
        _instead(word, catalog.servers),
    )


def _instead(word: str, known: Collection[str]) -> str:
    """What to write in place of a word that means no model: a misspelt one's name first."""
    close = difflib.get_close_matches(word.lower(), known, 1, cutoff=0.8)
    return f"{f'did you mean {close[0]!r}? ' if close else ''}known models: {', '.join(sorted(known))}; {HOW_TO_ADD}"
