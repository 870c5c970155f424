"""Runs by the words that name them: a store, ``STORE#RUN`` for those of its runs whose id begins so, or a run of a store that is known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import Argument, InputError, Problem
from railweave.operations.store.store import opened

if TYPE_CHECKING:
    from railweave.operations.store.records import Run


def runs_of(word: str, beside: str = "") -> list[Run]:
    """The runs that a word names. ``beside``: the word of a store in which it may be a run.

    Raises ``InputError`` where a store has no run of that id, and as ``opened`` does.
    """
    store, hashed, run = word.rpartition("#")
    if not hashed or Path(word).exists():
        store, run = word, ""
    if not run and beside and not Path(word).exists() and re.fullmatch("[0-9a-f]{1,16}", word):
        store, run = store_of(beside), word
    with opened(store) as found:
        runs = found.runs(ids=[run] if run else [])
    if run and not runs:
        fix = f"`railweave bench show {store}` lists them"
        raise InputError([Problem(Argument(word), f"no run of {store} has an id that begins with {run!r}", fix)])
    return runs


def store_of(word: str) -> str:
    """The store of a word."""
    store, hashed, _ = word.rpartition("#")
    return store if hashed and not Path(word).exists() else word
