"""What FRR does where its text does not say (``reads`` of its ``system.yaml``)."""

from __future__ import annotations

from functools import cache

from railweave.model.catalog import catalog


@cache
def unprinted(field: str) -> int:
    """The number that a field has where no line says it. Raises ``KeyError`` where the file has none."""
    return int(catalog().systems["frr"].reads.defaults[field].value or 0)
