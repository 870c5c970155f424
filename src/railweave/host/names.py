"""The file that gives routing tables their names (``ip route show table gpu0_subnet1``), read by iproute2."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_FILE = Path("/etc/iproute2/rt_tables.d/railweave.conf")

_LINE = re.compile(r"\s*(0x[0-9a-fA-F]+|\d+)\s+([^\s#]+)\s*(?:#.*)?")


def text(host: str, network: str, tables: Mapping[int, str]) -> str:
    """The file's content: a number and a name a line, with a tab between as in iproute2's own file."""
    return (
        f"# {host} of {network}, written by railweave. Goes to {DEFAULT_FILE}\n"
        "# Names of the routing tables for `ip`; routing itself goes by number and works without them.\n"
        + "".join(f"{number}\t{name}\n" for number, name in sorted(tables.items()))
    )


def pairs(text: str | None) -> set[tuple[int, str]]:
    """Numbers and names as iproute2 reads them from a file, whoever wrote it; none where there is no file."""
    found = [_LINE.fullmatch(line) for line in (text or "").splitlines()]
    return {(int(one[1], 16 if one[1].startswith("0x") else 10), one[2]) for one in found if one}
