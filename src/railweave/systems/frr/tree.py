"""FRR configuration as text: each level of sections is indented by one more space, and sections end as in FRR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, printed

if TYPE_CHECKING:
    from collections.abc import Iterable


_CLOSERS = {"address-family": "exit-address-family", "vni": "exit-vni"}


def closer(word: str) -> str:
    """Return the line that ends a section, by the first word of its header."""
    return _CLOSERS.get(word, "exit")


def to_text(sections: Iterable[Section]) -> str:
    """Return sections as the text of a file. Top-level sections are separated by ``!``."""
    return "\n".join(printed(sections, closer)) + "\n"
