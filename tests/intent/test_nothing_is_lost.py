"""Every field of the fabric file is rendered for every operating system, or a finding names it."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import pytest

from railweave.intent.fabric import FabricFile
from railweave.systems import systems
from tests.intent.asked import CONTEXT, FABRICS, Given
from tests.intent.leaves import Leaf, leaves
from tests.intent.trial import place, text_of, trial, with_value

if TYPE_CHECKING:
    from collections.abc import Iterator


def given(leaf: Leaf) -> Given:
    return next((one for pattern, one in CONTEXT.items() if fnmatch(str(leaf), pattern)), Given())


def cases(leaf: Leaf) -> Iterator[tuple[str, str, object]]:
    """Texts of a fabric file before and after a change of a field, with the new value."""
    how = given(leaf)
    for name in [how.fabric] if how.fabric else list(FABRICS):
        raw = FABRICS[name]
        for at, value in how.beside.items():
            raw = with_value(raw, [int(one) if one.isdigit() else one for one in at.split(".")], value)
        at = place(raw, leaf.path)
        if at is None:
            continue
        if how.now is not None:
            raw = with_value(raw, at, how.now)
        for value in how.values or leaf.others(_now(raw, at)):
            yield text_of(raw), text_of(with_value(raw, at, value)), value
        return


def _now(raw: dict[str, Any], at: list[str | int]) -> object:
    value: Any = FabricFile.model_validate(raw)
    for word in at:
        value = value[word] if isinstance(value, dict | tuple) else getattr(value, str(word), None)
    return value
