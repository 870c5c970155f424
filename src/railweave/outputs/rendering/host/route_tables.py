"""``rt_tables.conf``: names of the routing tables, for people who read ``ip route``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.host import names

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig


def rt_tables_conf(config: HostConfig) -> str:
    """The file's text, the same that ``railweave host apply`` writes: there it is then no change (RLB document, Table 8)."""
    return names.text(
        config.name, config.network, {one.table: one.table_name for nic in config.nics for one in nic.addresses}
    )
