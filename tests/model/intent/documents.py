"""A document from text, as the readers of fabric files see it."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

from railweave.model.intent.reading.document import Document, read_document

if TYPE_CHECKING:
    from pathlib import Path


def document(folder: Path, text: str) -> Document:
    """The document of YAML text, read from ``folder/fabric.yaml``."""
    file = folder / "fabric.yaml"
    file.write_text(dedent(text), encoding="utf-8")
    return read_document(file)
