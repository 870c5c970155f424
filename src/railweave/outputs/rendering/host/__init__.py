"""The files of a GPU server, rendered from its ``HostConfig``. There is one module per subject; no decision is made here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.host.environment import exports
from railweave.host.files import rt_tables_text
from railweave.outputs.rendering.host import boot, net_setup, netplan, nic_qos, units
from railweave.outputs.rendering.host.boot import bios, sysctl_conf
from railweave.outputs.rendering.host.host_json import host_json
from railweave.outputs.rendering.host.net_setup import net_setup_sh
from railweave.outputs.rendering.host.netplan import netplan_yaml
from railweave.outputs.rendering.host.nic_qos import nic_nvm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.host_model import HostConfig, Variable


def rt_tables_conf(config: HostConfig) -> str:
    """Return the text of rt_tables.conf (RLB document, Table 8).

    ``railweave host apply`` writes exactly the same text, so it does not change a file that was installed from this output.
    """
    return rt_tables_text(
        config.name,
        config.network,
        {address.table: address.table_name for nic in config.nics for address in nic.addresses},
    )


def nccl_env_files(config: HostConfig) -> dict[str, str]:
    """Return ``nccl.env`` by path: a single file, or a file in a folder for each tenant. The result is empty for a server without GPUs."""
    if not config.gpus:
        return {}
    if not config.tenant_jobs:
        return {"nccl.env": _nccl_env(config, config.job)}
    return {f"tenants/{tenant}/nccl.env": _nccl_env(config, variables) for tenant, variables in config.tenant_jobs}


def _nccl_env(config: HostConfig, job: Sequence[Variable]) -> str:
    """Return the text of nccl.env: each variable with its reason. A variable whose value is known only at a job's start is a comment."""
    lines = [
        f"# Environment of {config.library} jobs on {config.name}, written by railweave for {config.network}.",
        "# For a shell: set -a; . nccl.env; set +a",
    ]
    late = [variable for variable in job if variable.resolve]
    if late:
        lines.append("# `railweave host env -- PROGRAM` sets all of it, and what is only known when a job starts:")
        lines += [f"#   {variable.name}: {variable.why}" for variable in late]
    for variable in job:
        if not variable.resolve:
            # Quoted as by `railweave host env`, so that a reference such as $LD_LIBRARY_PATH has the same meaning in both.
            lines += [
                "",
                f"# {variable.why}",
                exports({variable.name: variable.value}).removeprefix("export ").rstrip("\n"),
            ]
    return "\n".join(lines) + "\n"


def files(config: HostConfig) -> dict[str, str]:
    """Return the texts of a server's files, by path below the server's folder."""
    return {
        "host.json": host_json(config),
        "netplan.yaml": netplan_yaml(config),
        "net-setup.sh": net_setup_sh(config),
        "rt_tables.conf": rt_tables_conf(config),
        "sysctl.conf": sysctl_conf(config),
        **net_setup.naming_files(config),
        **netplan.kernel_mode_files(config),
        **netplan.network_manager_files(config),
        **nic_qos.files(config),
        "nic-nvm.sh": nic_nvm(config),
        **boot.files(config),
        **units.files(config),
        "bios.md": bios(config),
        **nccl_env_files(config),
    }
