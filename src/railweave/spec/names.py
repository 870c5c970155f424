"""Lists of names in the host-list notation of cluster schedulers: ``H100-[01-04,07]``."""

from __future__ import annotations

import re

_RANGE = re.compile(r"^(?P<head>[^\[\]]*)\[(?P<body>[0-9,\-]+)\](?P<tail>[^\[\]]*)$")


def expand(pattern: str) -> list[str]:
    """The names a pattern stands for, in order; a plain name stands for itself.

    ``H100-[01-03]`` gives ``H100-01, H100-02, H100-03``: the width of the first number is kept. Raises ``ValueError``
    for a malformed or backward range.
    """
    if "[" not in pattern and "]" not in pattern:
        return [pattern]
    match = _RANGE.match(pattern)
    if match is None:
        raise ValueError(f"{pattern!r} is not a host list: write it as H100-[01-04,07]")
    names: list[str] = []
    for part in match["body"].split(","):
        first, _, last = part.partition("-")
        last = last or first
        if not first or int(first) > int(last):
            raise ValueError(f"{part!r} in {pattern!r} is not a range: write low-high, for example 01-04")
        names += [
            f"{match['head']}{number:0{len(first)}d}{match['tail']}" for number in range(int(first), int(last) + 1)
        ]
    return names
