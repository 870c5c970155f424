"""The files of a GPU server, from its ``HostConfig``; one module per subject. Nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.rendering.host import boot, kernel_mode, naming, network_manager, nic_qos, units
from railweave.outputs.rendering.host.bios import bios
from railweave.outputs.rendering.host.host_json import host_json
from railweave.outputs.rendering.host.job import nccl_env_files
from railweave.outputs.rendering.host.net_setup import net_setup_sh
from railweave.outputs.rendering.host.netplan import netplan_yaml
from railweave.outputs.rendering.host.nic_nvm import nic_nvm
from railweave.outputs.rendering.host.route_tables import rt_tables_conf
from railweave.outputs.rendering.host.sysctl_conf import sysctl_conf

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig


def files(config: HostConfig) -> dict[str, str]:
    """Text by path below the server's folder."""
    return {
        "host.json": host_json(config),
        "netplan.yaml": netplan_yaml(config),
        "net-setup.sh": net_setup_sh(config),
        "rt_tables.conf": rt_tables_conf(config),
        "sysctl.conf": sysctl_conf(config),
        **naming.files(config),
        **kernel_mode.files(config),
        **network_manager.files(config),
        **nic_qos.files(config),
        "nic-nvm.sh": nic_nvm(config),
        **boot.files(config),
        **units.files(config),
        "bios.md": bios(config),
        **nccl_env_files(config),
    }
