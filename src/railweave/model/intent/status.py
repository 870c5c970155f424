"""``status:``: which switches, servers and links are not there yet, or not any more."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, WithJsonSchema

from railweave.model.intent.base import WrongValueError
from railweave.model.intent.names import count_of, expand

if TYPE_CHECKING:
    from collections.abc import Callable

Status = Literal["planned", "active", "drained", "failed"]
"""``planned``: not delivered or not cabled yet. ``drained``: taken out of use on purpose. ``failed``: broken."""

_EXAMPLES = [
    "H100-[17-32]",
    "stripe2-*",
    "H100-03:gpu0_eth",
    "plane2",
    "stripe1-leaf1--spine2",
    "stripe1-leaf1:et-0/0/0:0--spine2",
]


def _pattern(text: str) -> str:
    for end in text.split("--"):
        device, colon, port = end.partition(":")
        if not device or (colon and not port):
            raise WrongValueError(
                f"{text!r} names no device or link",
                "write a name, a host list (H100-[01-04]), a name with `*`, SERVER:NIC, a plane, or a link as A--B or A:port--B:port",
            )
        count_of(device)
    return text


Pattern = Annotated[
    str, AfterValidator(_pattern), WithJsonSchema({"type": "string", "minLength": 1, "examples": _EXAMPLES})
]
"""Which switches, servers or links: names with ``*`` for any letters, or host lists."""


@lru_cache(maxsize=256)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a name is one of those that a pattern stands for: a host list, or a text with ``*`` for any letters."""
    parts = expand(pattern) if "[" in pattern else [pattern]
    if "*" not in pattern:
        return frozenset(parts).__contains__
    found = re.compile("|".join(".*".join(map(re.escape, part.split("*"))) for part in parts))
    return lambda name: found.fullmatch(name) is not None
