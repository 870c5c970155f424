"""Checks of the software that a job uses: the net plugin, the collective library, and the tuner's table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .outcome import failed, not_applicable, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server

_USUAL = (
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/opt/rocm/lib",
)


def _folders(server: Server) -> list[str]:
    """Return the folders in which the dynamic loader searches for libraries: the folders in the job's environment, then the default folders."""
    job_folders = [word for word in server.environment.get("LD_LIBRARY_PATH", "").split(":") if word.startswith("/")]
    return list(dict.fromkeys([*job_folders, *_USUAL]))


def _find(server: Server, pattern: str) -> list[str]:
    paths: list[str] = []
    for folder in _folders(server):
        paths += [f"{folder}/{name}" for name in server.machine.names(folder) if re.fullmatch(pattern, name)]
    return paths


def _no_plugin(server: Server) -> str:
    named = server.environment.get("NCCL_NET_PLUGIN", "") not in {"", "none"}
    return "" if named else "the job's environment names no net plugin"


def _no_tuner(server: Server) -> str:
    on = server.environment.get("RAILWEAVE_NET_TUNER", "0") != "0"
    return "" if on else "jobs do not choose by it"


@of_server(
    "job-plugin",
    rule="The net plugin that the job's environment names exists, and its libraries are found.",
    why="Without the plugin, NCCL continues without a message: each NIC then has one path, which the switches "
    "choose by hash.",
    how="folders of LD_LIBRARY_PATH and the usual ones; ldd FILE",
    source="NCCL, NCCL_NET_PLUGIN; host.json job.environment",
    unless=_no_plugin,
    design=True,
)
def plugin(server: Server) -> Iterator[Outcome]:
    """Check that NCCL's network plugin and its libraries are installed. The plugin's file name is derived in the same way as by NCCL."""
    name = server.environment["NCCL_NET_PLUGIN"]
    file = name if name.startswith("lib") or "/" in name else f"lib(nccl|rccl)-net-{re.escape(name)}.so"
    paths = _find(server, file) if "/" not in name else [name]
    if not paths:
        remedy = "build it by make plugin, and install it on every server by sudo cmake --install build/plugin (docs/plugin.md)"
        yield failed(
            "not found", file.replace("(nccl|rccl)", "nccl"), "host.json job.environment.NCCL_NET_PLUGIN", remedy
        )
        return
    answer = server.machine.run("ldd", paths[0])
    missing = re.findall(r"^\s*(\S+) => not found", answer.out, re.MULTILINE)
    if missing:
        yield failed(
            f"{paths[0]} lacks {', '.join(missing)}", "all its libraries", "ldd(1)", "install rdma-core (libibverbs1)"
        )
    else:
        yield ok(paths[0])


@of_server(
    "job-library",
    rule="The collective library exists, in the version that the fabric file requires.",
    why="Ranks with different versions refuse to connect, or choose different algorithms and hang.",
    how="names of libnccl.so.* and librccl.so.*",
    source="fabric file, hosts.versions.collective_library",
)
def library(server: Server) -> Iterator[Outcome]:
    """Check the version of the collective library (NCCL or RCCL), which its file name contains."""
    name = "rccl" if server.library == "RCCL" else "nccl"
    wanted = str(server.versions.get("collective_library") or "")
    versions = sorted({path.rpartition(f"lib{name}.so.")[2] for path in _find(server, rf"lib{name}\.so\.\d+\.\d+.*")})
    if not versions:
        seen = f"no lib{name} in the usual folders"
        if wanted:
            yield warning(
                seen, wanted, "host.json versions.collective_library", "install it, or use a container that has it"
            )
        else:
            yield not_applicable(f"{seen}: jobs may bring their own")
    elif wanted and not any(version == wanted or version.startswith(wanted + ".") for version in versions):
        yield failed(", ".join(versions), wanted, "host.json versions.collective_library", f"install {wanted}")
    elif len(versions) > 1:
        yield warning(", ".join(versions), "one", "the loader takes the first it finds", "remove the others")
    else:
        yield ok(versions[0])


@of_server(
    "job-environment",
    rule="The job's environment does not contradict the design.",
    why="NCCL_IB_GID_INDEX leaves each NIC only one path; without NCCL_NET, a missing plugin is not noticed.",
    how="host.json job.environment",
    source="NCCL, environment variables; docs/plugin.md",
    design=True,
)
def environment(server: Server) -> Iterator[Outcome]:
    """Check that the environment variables planned for jobs do not contradict each other."""
    variables = server.environment
    if variables.get("NCCL_NET_PLUGIN") == "railweave" and variables.get("NCCL_IB_GID_INDEX"):
        yield failed(
            "NCCL_IB_GID_INDEX is set", "unset", "docs/plugin.md", "remove it from hosts.nccl of the fabric file"
        )
    else:
        yield ok(f"{len(variables)} variables")


@of_server(
    "job-tuner",
    rule="The tuner's table exists if jobs use it.",
    why="A rank without the table chooses different algorithms than other ranks, and the job hangs.",
    how="the file that RAILWEAVE_NET_TUNER_FILE names",
    source="docs/plugin.md, tuner",
    unless=_no_tuner,
    design=True,
)
def tuner(server: Server) -> Iterator[Outcome]:
    """Check that the file with the table of the NCCL tuner plugin is installed."""
    file = server.environment.get("RAILWEAVE_NET_TUNER_FILE", "/etc/railweave/tuner.json")
    if server.machine.text(file) is None:
        yield failed(
            f"no {file}", "one", "host.json job.environment", f"install hosts/tuner.json of the build as {file}"
        )
    else:
        yield ok(file)
