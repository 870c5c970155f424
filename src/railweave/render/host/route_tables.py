"""``rt_tables.conf``: names of the routing tables, for people who read ``ip route``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.render.host.comments import head

if TYPE_CHECKING:
    from railweave.device.host_model import HostConfig


def rt_tables_conf(config: HostConfig) -> str:
    """The file's text: a number and a name a line (RLB document, Table 8)."""
    lines = head(
        config,
        "/etc/iproute2/rt_tables.d/railweave.conf",
        "Names of the routing tables for `ip`; routing itself goes by number and works without them.",
    )
    rows = [f"{one.table}\t{one.table_name}" for nic in config.nics for one in nic.addresses]
    return "\n".join([*lines, *rows]) + "\n"
