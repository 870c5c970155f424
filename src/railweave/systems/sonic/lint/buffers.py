"""Pools and profiles of the packet buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.sonic.lint.files import number, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.sonic.lint.files import Files


@check(
    "sonic-pool",
    "error",
    applies="sonic",
    why="the chip refuses the pool, and the switch runs without lossless buffers",
    fix="let a pool hold its headroom: xoff is part of size",
)
def pools(files: Files) -> Iterator[str]:
    """A pool holds its headroom (public platforms: size and xoff together exceed the chip, so xoff is part of size)."""
    for (name, *_), row in files.rows("BUFFER_POOL"):
        size, xoff = number(text(row, "size")), number(text(row, "xoff"))
        if size is not None and xoff is not None and xoff > size:
            yield f"BUFFER_POOL|{name}: xoff {xoff} is over the size {size}"


@check(
    "sonic-threshold",
    "error",
    applies="sonic",
    why="a profile needs one threshold of the kind that its pool's mode has",
    fix="give it dynamic_th or static_th, not both",
)
def thresholds(files: Files) -> Iterator[str]:
    """A profile has one threshold."""
    for (name, *_), row in files.rows("BUFFER_PROFILE"):
        given = [one for one in ("dynamic_th", "static_th") if text(row, one)]
        if len(given) != 1:
            yield f"BUFFER_PROFILE|{name}: {' and '.join(given) or 'no threshold'}"


@check(
    "sonic-headroom-twice",
    "error",
    applies="sonic",
    why="buffer manager makes priority groups of its own from CABLE_LENGTH, over those that stand here",
    fix="remove CABLE_LENGTH, or the lossless rows of BUFFER_PG",
)
def twice(files: Files) -> Iterator[str]:
    """Headroom comes from one place (buffermgr of sonic-swss: no cable length, no profile of its own)."""
    lengths = {port for _, row in files.rows("CABLE_LENGTH") for port in row if text(row, port) not in {"", "0m"}}
    for parts, row in files.rows("BUFFER_PG"):
        if parts[0] in lengths and "lossless" in text(row, "profile"):
            yield f"BUFFER_PG|{'|'.join(parts)}: {parts[0]} has a cable length too"
