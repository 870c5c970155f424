"""Folders of a test in which a registry looks for its packages too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    import pytest


def plug_in(monkeypatch: pytest.MonkeyPatch, registry: ModuleType, places: Path) -> None:
    """Add a folder to the places of a registry (``railweave.systems``): for imports, and for what only locates its packages."""
    assert registry.__spec__ is not None
    every = [*registry.__path__, str(places)]
    monkeypatch.setattr(registry, "__path__", every)
    monkeypatch.setattr(registry.__spec__, "submodule_search_locations", every)
