"""The file that gives our routing tables their names (``ip route show table gpu0_subnet1``), read by iproute2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .host_file import HostFile

DEFAULT_FILE = Path("/etc/iproute2/rt_tables.d/railweave.conf")


def text(plan: HostFile) -> str:
    """The file's content."""
    tables = {path.table: path.table_name for nic in plan.nics for path in nic.paths}
    lines = [f"{number} {name}\n" for number, name in sorted(tables.items())]
    return (
        f"# Written by railweave host for {plan.host} of {plan.network}; `railweave host undo` removes it.\n"
        + "".join(lines)
    )
