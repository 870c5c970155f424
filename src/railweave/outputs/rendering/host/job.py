"""``nccl.env``: the environment of a collective job, as a file that a shell reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.host.environment import exports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.host_model import HostConfig, Variable


def nccl_env_files(config: HostConfig) -> dict[str, str]:
    """``nccl.env``; where the GPUs belong to several tenants, one for each in a folder of its name; nothing without GPUs."""
    if not config.gpus:
        return {}
    if not config.tenant_jobs:
        return {"nccl.env": _nccl_env(config, config.job)}
    return {f"tenants/{tenant}/nccl.env": _nccl_env(config, variables) for tenant, variables in config.tenant_jobs}


def _nccl_env(config: HostConfig, job: Sequence[Variable]) -> str:
    """One variable a line, with why; what is only known when a job starts is named in comments."""
    lines = [
        f"# Environment of {config.library} jobs on {config.name}, written by railweave for {config.network}.",
        "# For a shell: set -a; . nccl.env; set +a",
    ]
    late = [one for one in job if one.resolve]
    if late:
        lines.append("# `railweave host env -- PROGRAM` sets all of it, and what is only known when a job starts:")
        lines += [f"#   {one.name}: {one.why}" for one in late]
    for one in job:
        if not one.resolve:
            # Quoted as `railweave host env` does, so that references such as $LD_LIBRARY_PATH mean the same to both.
            lines += ["", f"# {one.why}", exports({one.name: one.value}).removeprefix("export ").rstrip("\n")]
    return "\n".join(lines) + "\n"
